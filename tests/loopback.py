"""An HTTP server on loopback that says what a test wants, and a kubeconfig that leads to it."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import yaml

Reply: TypeAlias = tuple[int, dict[str, str], bytes]
"""Status, headers and body."""


class Asked(NamedTuple):
    """A request, with its number and its body read as JSON."""

    number: int
    method: str
    path: str
    body: Any
    headers: Any = None


@contextmanager
def serving(reply: Callable[[Asked], Reply | None]) -> Iterator[str]:
    """Serve what `reply` says, and end the connection without a word where that is nothing; yields the address."""
    count, lock = iter(range(1_000_000)), threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # head and body are two writes: the second would wait 40 ms for an answer

        def do_GET(self) -> None:
            text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            with lock:
                asked = Asked(next(count), self.command, self.path, json.loads(text or b"{}"), self.headers)
                said = reply(asked)
            if said is None:
                self.close_connection = True
                return
            status, headers, body = said
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.do_GET()

        def do_PATCH(self) -> None:
            self.do_GET()

        def do_PUT(self) -> None:
            self.do_GET()

        def do_DELETE(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            pass

    with _running(Handler) as url:
        yield url


@contextmanager
def _running(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        running.daemon_threads = True
        thread = threading.Thread(target=running.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{running.server_address[1]}"
        finally:
            running.shutdown()
            thread.join()


@contextmanager
def dripping(status: int, seconds: float) -> Iterator[str]:
    """Serve an answer that comes in so many seconds, a byte at a time; yields the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            with suppress(OSError):  # whoever asked has gone
                for _ in range(int(seconds * 20)):
                    self.wfile.write(b" ")
                    time.sleep(0.05)

        def log_message(self, *_: object) -> None:
            pass

    with _running(Handler) as url:
        yield url


@contextmanager
def mute() -> Iterator[tuple[str, Callable[[], int]]]:
    """Take connections and say nothing to them; yields the address, and what counts them once they are given up."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def count() -> int:
            listening.settimeout(0)
            found = 0
            with suppress(BlockingIOError):
                while True:
                    listening.accept()[0].close()
                    found += 1
            return found

        yield f"http://127.0.0.1:{listening.getsockname()[1]}", count


def config(folder: Path, url: str, **user: Any) -> Path:
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "clusters": [{"name": "here", "cluster": {"server": url}}],
        "users": [{"name": "me", "user": user}],
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(content))
    return path
