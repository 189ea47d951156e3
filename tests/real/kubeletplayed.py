"""A kubelet, played: it gives the logs of pods."""

import contextlib
import ssl
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from apiserver import ApiServer

LOGS: dict[str, str] = {}
"""What pods have written, by their names."""
ASKED: list[str] = []
"""What was asked for, with its query."""
CUT: set[str] = set()
"""Pods whose next log ends in the middle, with its connection."""


class Kubelet(BaseHTTPRequestHandler):
    """Gives the log of a container, as the API server asks for it."""

    def do_GET(self) -> None:
        """Answer."""
        pod = self.path.split("/")[3]
        text = LOGS.get(pod, "").encode()
        ASKED.append(self.path)
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text[: len(text) // 2] if pod in CUT else text)
        CUT.discard(pod)

    def log_message(self, *_words: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def kubelet(certificate: Path) -> Iterator[int]:
    """Serve logs on loopback, and give the port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Kubelet)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_suffix(".key"))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def node(api: "ApiServer", name: str, port: int) -> None:
    """Let a node be there whose kubelet answers on loopback."""
    api.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
    status = {
        "addresses": [{"type": "Hostname", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
    }
    code, answer = api.request("PATCH", f"/api/v1/nodes/{name}/status", {"status": status}, patch="merge-patch+json")
    assert code == 200, answer
