"""What the last render saw that found nothing to change: clusters of which all still is so need not be rendered.

Like Git's index it takes a file to be as it was when all is equal that a write to it alters, most of all the time of
its last change, which nobody can set. Kept in the Git folder; whatever is wrong with it, all clusters are rendered.
"""

import os
import stat
import sys
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import structs

from generator import __version__
from generator.errors import UsageError
from generator.repository.git_folder import locate
from generator.repository.outcome import Outcome, Rendered

SETTLED = 2_000_000_000
"""How many nanoseconds after a file's last change the time of the next one is another for certain: filesystems keep a
tick of the kernel's, or two seconds."""

_BY_CLUSTER = ("clusters", "overlays")
_TOPS = (*_BY_CLUSTER, "base", "workflows", "schemas")

Identity = tuple[int, ...]
"""Inode, kind and permissions, size, and times of a file or folder; empty for one that may not be trusted."""

Seen = dict[str, dict[str, Identity]]
"""What stood there, by cluster and path; under the name "" what belongs to no cluster."""


class Memory(msgspec.Struct, frozen=True):
    """What a render saw that found nothing to change: the program, the files, and what it made of the clusters with
    which nothing was wrong. `left` is a digest of the files as the last render left them, with changes or without,
    `left_by` one of its program, and `refused` whether it refused to write.
    """

    program: dict[str, Identity]
    seen: Seen
    clusters: dict[str, Rendered]
    left: str = ""
    left_by: str = ""
    refused: bool = False


NOTHING = Memory({}, {}, {})


class Look:
    """The files of a repository, as they stood before anything of it was read."""

    def __init__(self, root: Path, file: Path, before: Memory, seen: Seen, begun: int) -> None:
        self._root = root
        self._file = file
        self._before = before
        self._seen = seen
        self._begun = begun

    @cached_property
    def _program(self) -> dict[str, Identity]:
        """The program, which is looked at where the files alone do not tell: it has more of them than most clusters."""
        return _program()

    @classmethod
    def at(cls, root: Path) -> "Look | None":
        """Look at a repository; None outside of Git, and where not everything can be seen."""
        with suppress(OSError, UsageError):
            if place := locate(root):
                file = place.git_dir / "gen" / f"unchanged{place.prefix.rstrip('/').replace('/', '-')}.json"
                begun = time.time_ns()
                return cls(root, file, _memory(file), _seen(os.path.realpath(root)), begun)
        return None

    @property
    def whole(self) -> bool:
        """Whether nothing differs from what the last render saw, in no cluster and nowhere else."""
        return self._same_program and bool(self._before.clusters) and self._before.seen == self._seen

    @property
    def answer(self) -> Literal["nothing", "refused", "unknown"]:
        """What a render would come to, as far as the last one tells. Unlike `whole` it trusts a file of the last
        moment: enough for a word on what comes next.
        """
        if self._before.left != _digest(self._seen) or self._before.left_by != _digest(self._program):
            return "unknown"
        return "refused" if self._before.refused else "nothing"

    def edited_last(self, name: str) -> bool:
        """Whether a cluster's file was changed after all other files of the cluster."""
        files = {path: one for path, one in self._seen.get(name, {}).items() if stat.S_ISREG(one[1])}
        edited = files.pop(f"clusters/{name}/cluster.yaml", None)
        return edited is not None and all(one[-1] < edited[-1] for one in files.values())

    def unchanged(self, names: Iterable[str]) -> dict[str, Rendered]:
        """Return those of the clusters of which nothing changed, with what they were rendered as."""
        known = self._before.clusters if self._same_program else {}
        return {name: known[name] for name in names if name in known and self._stands(name, known[name])}

    def remember(self, outcome: Outcome, wrong: Iterable[str]) -> None:
        """Keep what was seen, and after a render that found nothing to change what it made of it. Clusters of which
        something is `wrong` are rendered again each time.
        """
        with suppress(OSError):
            made = self._made(outcome, wrong)
            _save(self._file, structs.replace(made, **self._left(), refused=outcome.refused))

    def keep(self) -> None:
        """Keep that a render of what was seen changes nothing: somebody has looked."""
        with suppress(OSError):
            _save(self._file, structs.replace(self._before, **self._left(), refused=False))

    def _left(self) -> dict[str, str]:
        """Return the digests of what stands there now, none where a cluster file was changed meanwhile; and of the
        program, where it was there for a while before: it may be looked at last.
        """
        after = _seen(os.path.realpath(self._root))
        files = [(name, f"clusters/{name}/cluster.yaml") for name in after]
        same = all(after[name].get(file) == self._seen.get(name, {}).get(file) for name, file in files)
        program = _settled(self._program, self._begun)
        return {"left": _digest(after), "left_by": _digest(program)} if same else {"left": "", "left_by": ""}

    def _made(self, outcome: Outcome, wrong: Iterable[str]) -> Memory:
        program = _settled(self._program, self._begun)
        if outcome.plan.changes or outcome.notes or program != self._program:
            return self._before
        left = {*wrong, *(name.split("/")[0] for name in (*outcome.stale, *outcome.damaged))}
        clusters = {name: one for name, one in outcome.rendered.items() if name not in left}
        seen = {name: _settled(files, self._begun) for name, files in self._seen.items()}
        return Memory(program, seen, clusters)

    @property
    def _same_program(self) -> bool:
        return self._before.program == self._program

    def _stands(self, name: str, one: Rendered) -> bool:
        """Tell whether all files of a cluster, its own and the shared ones, are as they were."""
        before, now = self._before.seen, self._seen
        shared = all(before[""].get(path, ()) == now[""].get(path) for path in one.shared)
        return shared and before.get(name) == now.get(name)


def _memory(file: Path) -> Memory:
    try:
        found = msgspec.json.decode(file.read_bytes(), type=Memory)
    except (OSError, ValueError):
        return NOTHING
    return found if "" in found.seen or not found.clusters else NOTHING


def _digest(found: Seen | dict[str, Identity]) -> str:
    """Return a digest that a chance does not hit; hashlib would load OpenSSL, for which a check need not wait."""
    return f"{zlib.crc32(msgspec.json.encode(found, order='sorted')):08x}"


def _save(file: Path, memory: Memory) -> None:
    temporary = file.with_suffix(f".{os.getpid()}.new")
    try:
        file.parent.mkdir(exist_ok=True)
        temporary.write_bytes(msgspec.json.encode(memory))
        temporary.replace(file)
    except (OSError, ValueError):
        # Without it the next render takes longer.
        with suppress(OSError):
            temporary.unlink()


def _settled(files: Mapping[str, Identity], now: int) -> dict[str, Identity]:
    """Return files without the identities that say too little: a link's nothing of what it leads to, and a file's of
    this moment nothing of its next change.
    """
    return {path: one if _tells(one, now) else () for path, one in files.items()}


def _tells(one: Identity, now: int) -> bool:
    return stat.S_IFMT(one[1]) in {stat.S_IFREG, stat.S_IFDIR} and one[-1] < now - SETTLED


def _program() -> dict[str, Identity]:
    """Return what identifies gen: its files, beside which Python keeps what it made of them; the folder of what it
    imports, which changes with each installation; and who runs it, who may read more or less than another.
    """
    package = Path(__file__).parents[1]
    files = ((path, one) for path, one in _walk(str(package), "", but="__pycache__") if stat.S_ISREG(one.st_mode))
    libraries = _identity(Path(msgspec.__file__).parents[1].stat())
    return {
        f"{__version__} on {sys.version} as {os.geteuid()}": libraries,
        **{path: _identity(one) for path, one in files},
    }


def _seen(base: str) -> Seen:
    found: Seen = {"": {}}
    for path, one in _below(base):
        top, _, rest = path.partition("/")
        name = rest.partition("/")[0] if top in _BY_CLUSTER else ""
        found.setdefault(name, {})[path] = _identity(one)
    return found


def _below(base: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the folders that gen writes to with all that is in them, and the files beside them."""
    with os.scandir(base) as entries:
        for entry in entries:
            if entry.name in _TOPS or not entry.is_dir(follow_symlinks=False):
                yield entry.name, entry.stat(follow_symlinks=False)
    for top in _TOPS:
        if Path(base, top).is_dir():
            yield from _walk(base, top)


def _walk(base: str, folder: str, *, but: str = "") -> Iterator[tuple[str, os.stat_result]]:
    """Yield all below a folder, except what has the name `but`."""
    pending = [folder]
    while pending:
        folder = pending.pop()
        with os.scandir(f"{base}/{folder}") as entries:
            for entry in entries:
                if entry.name == but:
                    continue
                path = f"{folder}/{entry.name}"
                yield path, entry.stat(follow_symlinks=False)
                if entry.is_dir(follow_symlinks=False):
                    pending.append(path)


def _identity(one: os.stat_result) -> Identity:
    return one.st_ino, one.st_mode, one.st_size, one.st_mtime_ns, one.st_ctime_ns
