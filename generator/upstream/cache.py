"""Charts and manifests on this machine, by the digest of their bytes: what is there needs no network."""

import hashlib
import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from generator.errors import UsageError
from generator.process import cache_home

_DAY = 86400


def digest(content: bytes) -> str:
    """Return the digest of some bytes as the lock writes it."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def cached(locked: str, suffix: str) -> Path | None:
    """Return the file with this digest, None where there is none or it does not hold what it should any more."""
    file = _place(locked, suffix)
    try:
        return file if digest(file.read_bytes()) == locked else None
    except OSError:
        return None


def store(content: bytes, suffix: str) -> Path:
    """Keep some bytes. Several processes may do so at once: each file is whole at any time. Raises UsageError."""
    file = _place(digest(content), suffix)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        _sweep(file.parent)
        _write(file, content)
    except OSError as error:
        raise UsageError(
            f"{file.parent}: cannot be written: {error.strerror}; free some space, or set XDG_CACHE_HOME elsewhere"
        ) from None
    return file


def _write(file: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=".part-")
    try:
        with os.fdopen(handle, "wb") as part:
            part.write(content)
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _place(locked: str, suffix: str) -> Path:
    return cache_home() / "charts" / f"{locked.removeprefix('sha256:')}{suffix}"


def _sweep(folder: Path) -> None:
    """Remove what runs that were killed left a day ago or earlier."""
    for part in folder.glob(".part-*"):
        with suppress(OSError):
            if part.stat().st_mtime < time.time() - _DAY:
                part.unlink()
