"""A messenger on loopback that takes messages by an incoming webhook, and answers as Slack and Mattermost do."""

import contextlib
import json
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any, NamedTuple

TOKEN = "T0AB3/B9XyZ77/qLm4Kt8Wv2Rz6Nc1Ds5Fh0Jp"
OK = (200, "ok")


class Answer(NamedTuple):
    """What it answers once; `wait` are seconds before it does."""

    code: int
    body: str
    headers: Mapping[str, str] = MappingProxyType({})
    wait: float = 0


class Messenger:
    """What was sent, what of it was taken, and what is answered next; `ok` where nothing is said."""

    def __init__(self, url: str) -> None:
        self.url = f"{url}/services/{TOKEN}"
        self.sent: list[tuple[str, str]] = []
        self.taken: list[str] = []
        self.answers: list[Answer] = []
        self.refused = ""
        """What no message may hold."""
        self.over = threading.Event()


def said(body: dict[str, Any]) -> str:
    """Return what a message shows: its text, and title and text of what is attached."""
    parts = [body, *body.get("attachments", ())]
    return "\n".join(text for one in parts for text in (one.get("title"), one.get("text")) if text)


@contextlib.contextmanager
def messenger() -> Iterator[Messenger]:
    """Serve until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            text = said(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            found.sent.append((self.path, text))
            answer = found.answers.pop(0) if found.answers else Answer(*OK)
            if found.refused and found.refused in text:
                answer = Answer(400, "invalid_payload")
            found.over.wait(answer.wait)
            if answer.code == 200:
                found.taken.append(text)
            self.send_response(answer.code)
            for name, value in {"Content-Length": str(len(answer.body)), **answer.headers}.items():
                self.send_header(name, value)
            with contextlib.suppress(OSError):
                self.end_headers()
                self.wfile.write(answer.body.encode())

        def do_GET(self) -> None:
            found.sent.append((self.path, "followed"))
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found = Messenger(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield found
    finally:
        found.over.set()
        server.shutdown()
        thread.join()
        server.server_close()
