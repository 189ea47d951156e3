"""An API server on loopback, killed as a crash kills it, and back after a while on what etcd kept."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from generator.rehearsal.twin.running import running


def serving(port: int) -> tuple[int, list[str]]:
    """Return the process of the API server at a port, and how it was started."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_text().split("\0")[:-1]
            if f"--secure-port={port}" in words:
                return int(folder.name), words
    raise AssertionError("no API server runs")


@contextlib.contextmanager
def restarted(folder: Path, port: int, ready: Callable[[], bool], away: float) -> Iterator[None]:
    """Kill the API server, and have another one after some seconds, as long as the block."""
    number, words = serving(port)
    os.kill(number, signal.SIGKILL)
    time.sleep(away)
    with running(folder / "again", words, ready):
        yield
