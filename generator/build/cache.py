"""What was made of the same bytes before: kept below gen's folder in the user's cache, by digest."""

import contextlib
import os
import time
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path
from tempfile import mkstemp
from typing import Any

import msgspec

from generator.process import cache_home

FORMAT = b"1"
"""To be raised when gen makes something else of the same bytes: what was kept before is then never found again."""

KEPT = 30 * 86400
"""Seconds for which something is kept that nobody asks for."""


def remembered(of: Iterable[bytes], make: Callable[[], Any]) -> Any:
    """Return what `make` makes of these bytes, which is plain data as JSON has it, or what it made of them before.
    What it raises is raised, and made anew each time. Where the cache cannot be used only time is lost.
    """
    file = _folder() / _digest(of)
    try:
        found = msgspec.json.decode(file.read_bytes())
    except (OSError, msgspec.DecodeError):
        found = make()
        _keep(file, found)
        return found
    _touch(file)
    return found


def _folder() -> Path:
    return cache_home() / "built"


def _digest(of: Iterable[bytes]) -> str:
    """Return one digest of all parts, each with its length: what ends one part cannot begin the next."""
    digest = sha256(FORMAT)
    for part in of:
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return digest.hexdigest()


def _touch(file: Path) -> None:
    """Note that something is still asked for: once a day, so that reading stays reading."""
    with contextlib.suppress(OSError):
        if time.time() - file.stat().st_mtime > 86400:
            os.utime(file)


def _keep(file: Path, value: Any) -> None:
    # Whole numbers beyond 64 bits, or broken characters: nothing that is worth a second format.
    with contextlib.suppress(OSError, OverflowError, UnicodeEncodeError):
        content = msgspec.json.encode(value)
        if not file.parent.is_dir():
            file.parent.mkdir(parents=True, exist_ok=True)
        forget(file.parent)
        handle, name = mkstemp(dir=file.parent)
        with os.fdopen(handle, "wb") as temporary:
            temporary.write(content)
        Path(name).replace(file)


def forget(folder: Path) -> None:
    """Remove what nobody asked for in `KEPT` seconds; looks once a day."""
    note, now = folder / "looked-through", time.time()
    if note.exists() and now - note.stat().st_mtime < 86400:
        return
    note.touch()
    for file in folder.iterdir():
        with contextlib.suppress(OSError):
            if now - file.stat().st_mtime > KEPT:
                file.unlink()
