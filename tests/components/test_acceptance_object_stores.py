"""What tries object stores, against one on loopback that is damaged in one way; a real one: `tests/real/`."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any, ClassVar
from urllib.parse import urlsplit

import pytest

from generator.components.static import read_text

RUN = "acceptance-x7k2p"


class Damaged(BaseHTTPRequestHandler):
    """Speaks as much of S3 as is asked for; `how` it is damaged, the test says."""

    protocol_version = "HTTP/1.1"
    how = ""
    held: ClassVar[dict[str, bytes]] = {}
    asked = Event()
    """Set by the request that is slow, where one is."""
    written = Event()
    """Set once that has written, whoever still waits for the answer."""

    def answer(self, code: int, body: bytes = b"") -> None:
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.how == "busy" and self.path.endswith("0-1"):
            self.answer(503, b"<Error><Code>SlowDown</Code></Error>")
            return
        slow = self.how == "slow" and self.path.endswith("0-0")
        if slow:
            self.asked.set()
            time.sleep(1)
        self.held[self.path] = body
        if slow:
            self.written.set()
        self.answer(200)

    def do_GET(self) -> None:
        whole = self.held.get(self.path)
        if "list-type" in self.path:
            names = "".join(f"<Key>{one.removeprefix('/b/')}</Key>" for one in sorted(self.held))
            self.answer(200, f"<ListBucketResult>{names}</ListBucketResult>".encode())
        elif whole is None:
            self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
        elif not self.path.endswith("1-0") or self.how in ("", "busy", "kept", "slow"):
            self.answer(200, whole)
        elif self.how == "bit":
            self.answer(200, whole[:-1] + bytes([whole[-1] ^ 1]))
        elif self.how == "short":
            self.answer(200, whole[:-1])
        elif self.how == "other":
            self.answer(200, self.held[self.path.replace("1-0", "0-0")])

    def do_DELETE(self) -> None:
        if self.how == "kept":
            self.answer(403, b"<Error><Code>AccessDenied</Code></Error>")
            return
        self.held.pop(urlsplit(self.path).path, None)
        self.answer(204)

    def log_message(self, *_words: object) -> None:
        """Say nothing."""


@pytest.fixture
def store() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Damaged)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    Damaged.held.clear()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/b"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def begun(store: str, folder: Path) -> "subprocess.Popen[str]":
    """Begin the program on the store."""
    (folder / "keys/ceph-datasets").mkdir(parents=True)
    for name in ("access", "secret"):
        (folder / "keys/ceph-datasets" / name).write_text("any")
    (folder / "it.py").write_text(read_text("acceptance/object_stores.py.txt"))
    env = {
        "STORES": f"ceph-datasets {store}\n", "KEYS": str(folder / "keys"), "CA": "", "SIZE": "65536",
        "MOST": str(4 * 65536), "SECONDS_EACH": "0.2", "THREADS": "2", "RUN": RUN, "JOB_COMPLETION_INDEX": "0",
    }  # fmt: skip
    return subprocess.Popen(
        [sys.executable, "-B", str(folder / "it.py")],
        env=env | {"PATH": os.environ["PATH"]},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: "subprocess.Popen[str]", code: int) -> str:
    """Return what the program said, once it has ended with this code."""
    try:
        said, wrong = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, wrong) == (code, "")
    return said


def tried(store: str, folder: Path) -> str:
    """Return what the program says of the store."""
    return ended(begun(store, folder), 0)


def found_in(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text.splitlines()[1])
    return found


def test_a_good_store_is_found_good_and_left_empty(store: str, tmp_path: Path) -> None:
    found = found_in(tried(store, tmp_path))
    assert found | {"put": 0, "get": 0} == {
        "put": 0, "get": 0, "different": 0, "failed": 0, "errors": [], "left": 0,
    }  # fmt: skip
    assert (found["put"]["objects"], found["get"]["objects"]) == (4, 4)
    assert found["put"]["bytes"] == 4 * 65536
    assert not Damaged.held


@pytest.mark.parametrize("how", ["bit", "short", "other"])
def test_one_object_that_is_another_is_found(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(Damaged, "how", how)
    found = found_in(tried(store, tmp_path))
    assert (found["different"], found["failed"]) == (1, 0), found


def test_requests_that_are_refused_are_counted_with_the_store_s_word(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Damaged, "how", "busy")
    found = found_in(tried(store, tmp_path))
    assert (found["failed"], found["errors"]) == (1, ["PUT: HTTP 503 SlowDown"])
    assert not Damaged.held


def test_what_cannot_be_taken_away_is_told(store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Damaged, "how", "kept")
    assert found_in(tried(store, tmp_path))["left"] == 4


def test_a_store_that_does_not_answer_is_told(store: str, tmp_path: Path) -> None:
    text = tried(store.replace("127.0.0.1", "127.0.0.9"), tmp_path)
    assert "Connection refused" in text.splitlines()[1]


def test_who_is_told_to_end_takes_away_what_was_on_its_way(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Damaged, "how", "slow")
    Damaged.asked.clear()
    Damaged.written.clear()
    process = begun(store, tmp_path)
    assert Damaged.asked.wait(30)
    # Until the program waits for its threads, which is what it does nearly all the time.
    time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    assert "== end" not in ended(process, 143)
    assert Damaged.written.wait(30)
    assert not Damaged.held
