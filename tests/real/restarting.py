"""A control plane on loopback, killed as a crash kills it, and back after a while on what etcd kept."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from generator.rehearsal.twin.running import listens, running


def serving(word: str) -> tuple[int, list[str]]:
    """Return the process that was started with a word, and all words that it was started with."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_text().split("\0")[:-1]
            if word in words:
                return int(folder.name), words
    raise AssertionError(f"no program runs with {word}")


@contextlib.contextmanager
def restarted(folder: Path, port: int, ready: Callable[[], bool], away: float, *, etcd: bool = False) -> Iterator[None]:
    """Kill the API server, with `etcd` its etcd as well, and have others after some seconds, as long as the block."""
    number, words = serving(f"--secure-port={port}")
    with contextlib.ExitStack() as stack:
        store = _store(words) if etcd else None
        os.kill(number, signal.SIGKILL)
        if store:
            os.kill(store[0], signal.SIGKILL)
        time.sleep(away)
        if store:
            stack.enter_context(running(store[1], store[2], lambda: listens(store[3])))
        stack.enter_context(running(folder / "again", words, ready))
        yield


def _store(server: list[str]) -> tuple[int, Path, list[str], int]:
    """Return the process of an API server's etcd, the folder that it runs in, its words and its port."""
    (address,) = [word.partition("=")[2] for word in server if word.startswith("--etcd-servers=")]
    number, words = serving(f"--listen-client-urls={address}")
    return number, Path(f"/proc/{number}/cwd").readlink(), words, int(address.rpartition(":")[2])
