"""Programs of a twin: started each in a folder of its own, and waited for until it is ready."""

import contextlib
import socket
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from generator.errors import UsageError
from generator.live.apiserver import program as found
from generator.live.apiserver import tries
from generator.process import Program, background

PATIENCE = 180.0
"""Seconds to wait for a program that runs. The slowest takes two on an idle machine; a minute was too short on a busy
one.
"""


def program(name: str) -> str:
    """Return the path of a program, from gen's cache or PATH. Raises UsageError that says how to get it."""
    return found(name, instead="")


@contextlib.contextmanager
def running(folder: Path, command: Sequence[str], ready: Callable[[], object], **env: str) -> Iterator[Program]:
    """Run a program in a folder of its own, as soon as it is ready. `ready` may raise OSError as long as the program
    does not listen. Raises UsageError with its last words if it ends or never gets ready.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    words = [f"{key}={value}" for key, value in env.items()]
    # `env` becomes the program, so that it is the program that is ended.
    with background(folder, ["/usr/bin/env", *words, *command]) as process:
        until(folder.name, ready, folder, process)
        yield process


def until(what: str, check: Callable[[], object], folder: Path, process: Program) -> None:
    """Wait until a program is ready. Raises UsageError."""
    for _ in tries(PATIENCE):
        if process.poll() is not None:
            raise UsageError(f"the twin's {what} ended:\n{last_words(folder)}")
        with contextlib.suppress(OSError):
            if check():
                return
    raise UsageError(f"the twin's {what} is not ready after {PATIENCE:g} s:\n{last_words(folder)}")


def last_words(folder: Path, lines: int = 30) -> str:
    """Return the end of a program's log."""
    text = (folder / "env.log").read_text(errors="replace")
    return "\n".join(line[:600] for line in text.splitlines()[-lines:])


def listens(port: int, host: str = "127.0.0.1") -> bool:
    """Tell whether something listens; raises OSError where nothing does."""
    with socket.create_connection((host, port), timeout=1):
        return True
