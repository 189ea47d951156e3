"""One writer at a time."""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from generator.errors import UsageError

_PAUSE = 0.05


class WriteLock(Struct, frozen=True):
    """The right to write below `root`, which is open as the descriptor `folder`; `exclusive` gives it."""

    root: Path
    folder: int


@contextmanager
def exclusive(root: Path, waiting: Callable[[str], None], *, seconds: float = 30) -> Iterator[WriteLock]:
    """Hold the repository at `root` from planning to the last write.

    While another process holds it, `waiting` is told so once. Raises `UsageError` when it is still held after
    `seconds`, or when `root` cannot be opened. The lock ends with the process, however that ends.
    """
    try:
        folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise UsageError(f"{root}: cannot be opened: {error.strerror}") from None
    try:
        _take(folder, root, waiting, seconds)
        yield WriteLock(root, folder)
    finally:
        os.close(folder)


def _take(folder: int, root: Path, waiting: Callable[[str], None], seconds: float) -> None:
    end = time.monotonic() + seconds
    told = False
    while not _free(folder):
        if time.monotonic() >= end:
            raise UsageError(
                f"{root}: another gen has been writing here for {seconds:g} seconds; "
                "wait until it is done, or end it, and run again"
            )
        if not told:
            waiting(f"{root}: another gen is writing here; waiting up to {seconds:g} seconds")
            told = True
        time.sleep(_PAUSE)


def _free(folder: int) -> bool:
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # Some network filesystems cannot lock a folder: better without a lock than not at all.
        return True
    return True
