"""Ceph, played (cephplayed.py) for pods that really run: the Job that asks it is whole, with its script and judge, and
what it finds as `ceph` asks the test. What Rook's own script writes is looked for, and not what Ceph makes of it.
"""

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cephforms import judge
from cephplayed import IMAGE, Answer, Ceph
from onenode.argo import references
from onenode.images import files, image
from onenode.node import Node
from onenode.simulated import python

TOOLS = ("bash", "mktemp", "tail", "timeout")
TOOLBOX = """#!/usr/bin/bash
set -eu
[ "$*" = --skip-watch ]
echo "[$ROOK_CEPH_USERNAME] key = $(</var/lib/rook-ceph-mon/secret.keyring)" >/etc/ceph/keyring
echo "mon_host = $(</etc/rook/mon-endpoints)" >/etc/ceph/ceph.conf
"""
CLIENT = """#!/usr/bin/python3
import json, pathlib, sys, urllib.request

for name in ("ceph.conf", "keyring"):
    assert pathlib.Path("/etc/ceph", name).read_text().strip(), name
body = json.dumps(["ceph", *sys.argv[1:]]).encode()
with urllib.request.urlopen("http://127.0.0.1:PORT/", body) as answer:
    code, said = json.load(answer)
print(said, file=sys.stderr if code else sys.stdout)
sys.exit(code)
"""
LOOKING = {
    f"ceph --connect-timeout 15 {' '.join(words)} --format json": name for name, words in judge()["ASKED"].items()
}
"""What the judge of room asks, by what it calls the answer."""


class Served:
    """Which Ceph answers now."""

    def __init__(self) -> None:
        self.now = Ceph({})

    def answer(self, words: list[str]) -> Answer:
        """Return the exit code of a command and what it prints."""
        if name := LOOKING.get(" ".join(words)):
            return 0, json.dumps(self.now.forms()[name])
        return self.now.answer(words)


@contextlib.contextmanager
def serving(node: Node) -> Iterator[Served]:
    """Answer until the block ends, and give the node the image that asks."""
    made = Served()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            words = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(made.answer(words)).encode())

        def log_message(self, *_words: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        held = python() | files(Path("/usr/bin") / name for name in TOOLS)
        held["/usr/bin/ceph"] = CLIENT.replace("PORT", str(server.server_port)).encode()
        held["/usr/local/bin/toolbox.sh"] = TOOLBOX.encode()
        node.load(image(node.folder / "ceph.tar", IMAGE, held, Env=["PATH=/usr/bin"]), *references(IMAGE))
        try:
            yield made
        finally:
            server.shutdown()
