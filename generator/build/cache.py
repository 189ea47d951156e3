"""What was made of the same bytes before: kept below gen's folder in the user's cache, by digest."""

import contextlib
import os
import time
from collections.abc import Callable, Iterable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

import msgspec

from generator.build.objects import TargetedPatch
from generator.errors import UsageError
from generator.process import cache_home
from generator.repository.whole import write_whole
from generator.spec.pyyaml import yaml

Value = TypeVar("Value")

_BESIDE = ("../layout/files.py", "../model/fields.py")
"""The modules beside this package whose code decides what is made of bytes."""

KEPT = 30 * 86400
"""Seconds for which something is kept that nobody asks for."""

LARGEST = 32 * 2**20
"""Bytes of what is kept at most: more is made anew each time."""


_UNFILLED = {"apiVersion", "kind", "metadata", "type", "immutable"}
"""The fields of a Secret that a controller fills, as that with the token of a ServiceAccount."""


def remembered(of: Iterable[bytes], make: Callable[[], Value], kind: type[Value]) -> Value:
    """Return what `make` makes of these bytes, plain data of this kind, or what it made of them before. What it raises
    is raised, and made anew each time. Where the cache cannot be used only time is lost. No value of a Secret is kept.
    """
    file = place(of)
    found = recall(file, kind)
    if found is None:
        found = make()
        keep(file, found)
    return found


def place(of: Iterable[bytes]) -> Path | None:
    """Return where what is made of these bytes is kept; None for a user without a home."""
    try:
        return cache_home() / "built" / _digest(of)
    except UsageError:
        return None


def recall(file: Path | None, kind: type[Value]) -> Value | None:
    """Return what was kept at a place, None where there is nothing of this kind."""
    try:
        found = msgspec.json.decode(file.read_bytes(), type=kind) if file else None
    except (OSError, msgspec.DecodeError):
        return None
    if file:
        _touch(file)
    return found


def _digest(of: Iterable[bytes]) -> str:
    """Return one digest of all parts, each with its length: what ends one part cannot begin the next."""
    digest = sha256(_reader())
    for part in of:
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return digest.hexdigest()


@cache
def _reader() -> bytes:
    """Return what tells one gen from another, as far as it decides what is made: its code, and PyYAML's release."""
    here = Path(__file__).parent
    code = [path.read_bytes() for path in (*sorted(here.glob("*.py")), *(here / name for name in _BESIDE))]
    return sha256(b"".join((*code, yaml.__version__.encode()))).digest()


def _touch(file: Path) -> None:
    """Note that something is still asked for: once a day, so that reading stays reading."""
    with contextlib.suppress(OSError):
        if time.time() - file.stat().st_mtime > 86400:
            os.utime(file)


def _holds_secret(value: object) -> bool:
    """Tell whether a Secret that says a value is among objects, alone or each with its file: as its own, or as a copy
    that `kubectl apply` made.
    """
    # The target of a patch says `kind: Secret` as well.
    if isinstance(value, msgspec.Struct) and not isinstance(value, TargetedPatch):
        return _holds_secret(msgspec.structs.astuple(value))
    if isinstance(value, list | tuple):
        return any(map(_holds_secret, value))
    if not isinstance(value, dict):
        return False
    if value.get("kind") == "Secret":
        return not value.keys() <= _UNFILLED or "last-applied-configuration" in str(value.get("metadata"))
    return _holds_secret(value.get("items"))


def keep(file: Path | None, value: object) -> None:
    """Keep something at a place, or nothing where that cannot be done."""
    if file is None or _holds_secret(value):
        return
    # Whole numbers beyond 64 bits, or broken characters: nothing that is worth a second format.
    with contextlib.suppress(OSError, OverflowError, UnicodeEncodeError):
        content = msgspec.json.encode(value)
        if len(content) > LARGEST:
            return
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(file, content)
        forget(file.parent)


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
