"""What one shard's render comes to, as a file: made anywhere, joined with the others' in one place."""

import re
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec import Struct

from generator.errors import UsageError
from generator.layout.lock import LOCK, LockFile, Writer
from generator.model.cluster import cluster_file
from generator.repository.cluster_files import content_of
from generator.repository.outcome import Outcome, Rendered
from generator.repository.own_code import this_gen
from generator.repository.places import names
from generator.repository.scaffold import scaffold
from generator.repository.shards import Shard
from generator.repository.vendored import locked, on_disk

_END = ".share"
# Nothing else is generated; a share is made elsewhere, by whoever can write to the folder of shares.
_GENERATED = re.compile(
    r"((base|overlays|workflows|schemas)|clusters/[^/]+/(argocd|bootstrap))(/(?!\.{1,2}(/|$))[^/]+)+"
)


class SharedChange(Struct, frozen=True):
    """One file that is to change: a digest of what it replaces, empty for nothing, and what it is to hold; None where
    it goes.
    """

    path: str
    old: str
    new: bytes | None


class Share(Struct, frozen=True, kw_only=True):
    """What one shard comes to. `writer` is the gen that made it, `inputs` a digest of all cluster files and `before` of
    gen.lock as that one read them: shares of others do not go together. `lock` is gen.lock as these clusters leave it,
    and `used` what they need of it; None where nobody asked, as a render does.
    """

    number: int
    of: int
    writer: Writer
    inputs: str
    before: str
    rendered: Mapping[str, Rendered]
    seconds: Mapping[str, float]
    changes: tuple[SharedChange, ...]
    lock: LockFile
    used: frozenset[str] | None = None
    notes: tuple[str, ...] = ()


def digest(content: bytes | None) -> str:
    """Return what tells one content from another; empty for a file that does not exist."""
    return "" if content is None else blake2b(content, digest_size=16).hexdigest()


def inputs_of(root: Path) -> str:
    """Return the digest of all cluster files."""
    found = blake2b(digest_size=16)
    for name in names(root):
        found.update(f"\0{name}\0{digest(content_of(root, cluster_file(name)))}".encode())
    return found.hexdigest()


def share_of(root: Path, shard: Shard, inputs: str, outcome: Outcome, used: frozenset[str] | None = None) -> Share:
    """Return the share of a render that has written nothing. `inputs` is the digest from before it read anything. What
    every repository has, and gen.lock, is left to the joining.
    """
    changes, joined = outcome.plan.changes, {LOCK, *scaffold()}
    change = next((one for one in changes if one.path == LOCK), None)
    standing = on_disk(root)(LOCK)
    return Share(
        number=shard.number,
        of=shard.of,
        writer=this_gen(),
        inputs=inputs,
        before=digest(standing),
        rendered=outcome.rendered,
        seconds=outcome.seconds,
        changes=tuple(SharedChange(one.path, digest(one.old), one.new) for one in changes if one.path not in joined),
        lock=locked(lambda _: change.new if change else standing),
        used=used,
        notes=outcome.notes,
    )


def save(folder: Path, share: Share) -> Path:
    """Write a share whole, or not at all, and return where. Raises UsageError."""
    file = folder / f"{share.number}-of-{share.of}{_END}"
    temporary = file.with_suffix(".new")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(zlib.compress(msgspec.msgpack.encode(share), 1))
        temporary.replace(file)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise UsageError(f"{file}: cannot be written: {error.strerror}; give --to a folder that can") from None
    return file


def load(folder: Path) -> list[Share]:
    """Return all shares of a whole, in order. Raises UsageError where one is missing, of another whole or not whole."""
    files = sorted(folder.glob(f"*{_END}"))
    shares = sorted((_read(file) for file in files), key=lambda one: one.number)
    if not shares:
        raise UsageError(
            f"{folder}: there is no share in it; `gen render --shard 1/2 --to {folder}` makes the first one"
        )
    wholes = sorted({one.of for one in shares})
    if len(wholes) > 1:
        listed = " and ".join(map(str, wholes))
        raise UsageError(f"{folder}: holds shares of wholes of {listed} parts; remove those of one whole")
    there = {one.number for one in shares}
    if missing := [str(Shard(number, wholes[0])) for number in range(1, wholes[0] + 1) if number not in there]:
        raise UsageError(
            f"{folder}: not all shares are there, {', '.join(missing)} missing; "
            f"`gen render --shard {missing[0]} --to {folder}` makes the first of them"
        )
    return shares


def _read(file: Path) -> Share:
    try:
        return msgspec.msgpack.decode(zlib.decompress(file.read_bytes()), type=Share)
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}") from None
    except (zlib.error, msgspec.DecodeError):
        raise UsageError(
            f"{file}: is not a share as this gen writes them: cut short, or of another gen; make it again"
        ) from None


def gathered(shares: Sequence[Share]) -> dict[str, SharedChange]:
    """Return the changes of all shares by path. Raises UsageError where two would leave a file different, and for
    one that gen does not generate.
    """
    found: dict[str, SharedChange] = {}
    for share in shares:
        for one in share.changes:
            if not _GENERATED.fullmatch(one.path):
                raise UsageError(
                    f"{one.path!r}: shard {share.number}/{share.of} would write it, and gen generates no such file: "
                    "its share was made by something else; find out by what, and make it again"
                )
            if found.setdefault(one.path, one).new != one.new:
                raise UsageError(
                    f"{one.path}: shard {share.number} of {share.of} would write it otherwise than another one; all "
                    "their clusters share this file: do it undivided, without --shard"
                )
    return found
