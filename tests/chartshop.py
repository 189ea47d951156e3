"""Charts made by the test, and servers on loopback that have them."""

import contextlib
import http.client
import http.server
import io
import ssl
import tarfile
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import yaml

from generator.upstream.charts import digest

Answer = Callable[[http.server.BaseHTTPRequestHandler], bool]
CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  text: {{ .Values.text | quote }}
"""


def packaged(
    name: str = "toy", version: str = "1.0.0", files: Mapping[str, str] | None = None, values: str = "text: plain\n"
) -> bytes:
    """Return a chart's archive; `files` are its templates and others, by path."""
    found = {
        "Chart.yaml": f"apiVersion: v2\nname: {name}\nversion: {version}\n",
        "values.yaml": values,
        **({"templates/map.yaml": CONFIG_MAP} if files is None else files),
    }
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for path, text in found.items():
            member = tarfile.TarInfo(f"{name}/{path}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return out.getvalue()


class Shop(http.server.ThreadingHTTPServer):
    """A chart repository: what it has, what was asked for, and a way to answer in another way."""

    daemon_threads = True

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.other: Answer = lambda _: False
        self._charts: list[tuple[str, str, bytes]] = []
        self._scheme = "https" if tls else "http"
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_side=True)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"{self._scheme}://127.0.0.1:{self.server_address[1]}"

    def add(self, name: str = "toy", version: str = "1.0.0", **how: Any) -> str:
        """Add a chart, or put it in the place of one, and return its digest."""
        return self.put(name, version, packaged(name, version, **how))

    def put(self, name: str, version: str, content: bytes) -> str:
        """Add a chart that is packaged, or put it in the place of one, and return its digest."""
        self._charts = [each for each in self._charts if each[:2] != (name, version)] + [(name, version, content)]
        self.files[f"/{name}-{version}.tgz"] = content
        entries: dict[str, list[dict[str, Any]]] = {}
        for each, at, _ in self._charts:
            entries.setdefault(each, []).append(
                {"apiVersion": "v2", "name": each, "version": at, "urls": [f"{self.url}/{each}-{at}.tgz"]}
            )
        self.files["/index.yaml"] = yaml.safe_dump({"apiVersion": "v1", "entries": entries}).encode()
        return digest(content)

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of connections that a test breaks."""


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Shop

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        if self.server.other(self):
            return
        content = self.server.files.get(self.path)
        self.send_response(200 if content is not None else 404)
        self.send_header("Content-Length", str(len(content or b"")))
        self.end_headers()
        self.wfile.write(content or b"")

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def serving(server: http.server.HTTPServer) -> Iterator[None]:
    """Serve in a thread until the block ends."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def locked_with(user: str, password: str) -> Answer:
    """Answer 401 to who does not give these."""
    wanted = f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}"

    def answer(handler: http.server.BaseHTTPRequestHandler) -> bool:
        if handler.headers.get("Authorization") == wanted:
            return False
        handler.send_response(401)
        handler.send_header("WWW-Authenticate", 'Basic realm="charts"')
        handler.send_header("Content-Length", "0")
        handler.end_headers()
        return True

    return answer


class Front(Shop):
    """A registry's door: TLS and a password before a plain registry on loopback."""

    def __init__(self, tls: ssl.SSLContext, behind: int) -> None:
        super().__init__(tls)
        self.RequestHandlerClass = _Passing
        self.behind = behind


class _Passing(_Handler):
    server: Front
    protocol_version = "HTTP/1.1"

    def _pass(self) -> None:
        self.server.asked.append(self.path)
        if self.server.other(self):
            return
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        inner = http.client.HTTPConnection("127.0.0.1", self.server.behind, timeout=20)
        kept = {name: value for name, value in self.headers.items() if name.lower() != "authorization"}
        inner.request(self.command, self.path, body, kept)
        answer = inner.getresponse()
        content = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in {"content-length", "transfer-encoding", "connection", "date", "server"}:
                self.send_header(name, value)
        length = answer.getheader("Content-Length") if self.command == "HEAD" else str(len(content))
        self.send_header("Content-Length", length or "0")
        self.end_headers()
        self.wfile.write(content)
        inner.close()

    do_GET = do_HEAD = do_PUT = do_POST = do_PATCH = _pass  # noqa: N815 - the base class calls them so
