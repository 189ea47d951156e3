"""What a twin keeps for the next one: the data of etcd, with the keys and the addresses that it belongs to."""

import contextlib
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from generator.build.cache import KEPT
from generator.errors import UsageError
from generator.process import cache_home

PARTS = ("etcd/data", "certificates")
"""The folders of a twin without which its objects mean nothing: tokens and `caBundle`s were made with these keys."""
NOTE = "note.json"
MOST = 3
"""How many snapshots are kept; one of 50 nodes takes some 30 MB."""
UNFINISHED = "unfinished-"
ABANDONED = 3600
"""Seconds after which nobody works at an unfinished one any more."""
BLOCK = 2**20


def place(of: Iterable[bytes]) -> Path | None:
    """Return where a twin that came of this is kept, None for a user without a cache. The code of gen counts, too."""
    digest = sha256(_code())
    for part in of:
        digest.update(b"%d:" % len(part))
        digest.update(part)
    try:
        return cache_home() / "twins" / digest.hexdigest()
    except UsageError:
        return None


def _code() -> bytes:
    """Return what tells this gen from another one."""
    root = Path(__file__).parents[2]
    digest = sha256()
    for file in sorted(root.rglob("*")):
        if file.is_file() and file.suffix != ".pyc":
            digest.update(f"{file.relative_to(root)} ".encode())
            digest.update(sha256(file.read_bytes()).digest())
    return digest.digest()


def load(kept: Path | None, folder: Path) -> bytes | None:
    """Put what is kept into the empty folder of a twin, and return what was noted with it. None, and an empty folder,
    where nothing is kept, or no longer.
    """
    with contextlib.suppress(OSError):
        if kept is not None:
            before = kept.stat().st_ino
            os.utime(kept)
            note = (kept / NOTE).read_bytes()
            for part in PARTS:
                _copy(kept / part, folder / part)
            if kept.stat().st_ino == before:  # another run may have put a newer one in its place
                return note
    emptied(folder)
    return None


def keep(kept: Path | None, folder: Path, note: bytes) -> None:
    """Keep what lies in the folder of a twin whose etcd writes nothing at the moment, in the place of what was there:
    whole, or not at all. Where there is no room, or no right to write, only time is lost.
    """
    with contextlib.suppress(OSError):
        if kept is not None:
            kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _unfinished(kept.parent) as made:
                for part in PARTS:
                    _copy(folder / part, made / part)
                (made / NOTE).write_bytes(note)
                forget(kept)
                made.rename(kept)
            _tidy(kept.parent)


def forget(kept: Path) -> None:
    """Remove what is kept, if it is, so that nobody ever sees a part of it."""
    with contextlib.suppress(OSError), _unfinished(kept.parent) as gone:
        kept.rename(gone)


@contextlib.contextmanager
def _unfinished(parent: Path) -> Iterator[Path]:
    """Give an empty folder beside those that are whole. It is removed, unless it was moved."""
    with TemporaryDirectory(prefix=UNFINISHED, dir=parent) as folder:
        made = Path(folder, "made")
        made.mkdir(mode=0o700)
        yield made


def _tidy(parent: Path) -> None:
    """Remove what is too old or too much, and what killed runs left unfinished."""
    now, ages = time.time(), {one: one.stat().st_mtime for one in parent.iterdir()}
    whole = sorted((one for one in ages if not one.name.startswith(UNFINISHED)), key=lambda one: -ages[one])
    for number, one in enumerate(whole):
        if number >= MOST or now - ages[one] > KEPT:
            forget(one)
    for one in ages.keys() - {*whole}:
        if now - ages[one] > ABANDONED:
            shutil.rmtree(one, ignore_errors=True)


def emptied(folder: Path) -> None:
    """Make a folder an empty one."""
    shutil.rmtree(folder)
    folder.mkdir(mode=0o700)


def _copy(source: Path, target: Path) -> None:
    target.mkdir(mode=0o700, parents=True)
    for one in source.iterdir():
        if one.is_dir():
            _copy(one, target / one.name)
        elif one.suffix != ".tmp":  # etcd's next log, still empty
            _copy_file(one, target / one.name)


def _copy_file(source: Path, target: Path) -> None:
    """Copy a file for good, without the room that etcd takes in advance: zeros become holes."""
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with source.open("rb") as old, os.fdopen(handle, "wb") as new:
        while block := old.read(BLOCK):
            if block.count(0) == len(block):
                new.seek(len(block), os.SEEK_CUR)
            else:
                new.write(block)
        new.truncate()
        new.flush()
        os.fsync(new.fileno())
