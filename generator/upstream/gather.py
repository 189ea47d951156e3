"""Everything that the tasks need, fetched and inflated, in parallel and each thing once."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import Struct

from generator.layout.lock import LockFile, key
from generator.layout.upstream import Inputs
from generator.model.finding import Finding
from generator.process import threads
from generator.upstream.charts import Fetched, FetchOptions, Source, fetch
from generator.upstream.findings import RefusedError
from generator.upstream.helm import helm
from generator.upstream.inflate import of_chart, of_manifest
from generator.upstream.split import Part
from generator.upstream.tasks import Task

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

Key = TypeVar("Key")
Job = TypeVar("Job")
Result = TypeVar("Result")
Tell = Callable[[str], None]


class Inflated(Struct, frozen=True, kw_only=True):
    """What one task became: its parts, each with the namespace of objects that name none; the digests of what they
    came from; how many files were pulled, and the seconds that its fetching and inflating took, other tasks with the
    same inputs included.
    """

    task: Task
    parts: tuple[tuple[str, Part], ...]
    sources: Mapping[str, str]
    pulled: int
    seconds: float


class _Got(Struct, frozen=True):
    """A source that was looked for, and the seconds it took."""

    what: Fetched | Finding
    seconds: float


class _Piece(Struct, frozen=True):
    """A source that is to be inflated."""

    source: Source
    got: _Got
    inputs: Inputs

    @property
    def unique(self) -> bytes:
        """What decides the result."""
        source, inputs = self.source, self.inputs
        of_manifest = (inputs.namespace, inputs.secrets or {})
        what = (source.release, source.given, inputs.kubernetes, inputs.apis) if source.release else of_manifest
        return msgspec.json.encode((self.source.unique, what))


def gather(tasks: Sequence[Task], lock: LockFile, how: FetchOptions, tell: Tell) -> tuple[list[Inflated], LockFile]:
    """Fetch and inflate what the tasks need; return what each became, in their order, and the digests. What cannot be
    had is told in the parts, every such thing. Raises UsageError where Helm or the cache cannot be used at all.
    """
    needed = [_sources(task) for task in tasks]
    if any(source.release for found in needed for source in found):
        helm()
    with threads(os.cpu_count() or 1) as pool:
        unique = {source.unique: source for found in needed for source in found}
        got = _agreed(_all(pool, unique, lambda source: _got(source, lock, how, tell)))
        pieces = [
            [_Piece(source, got[source.unique], task.inputs) for source in found]
            for task, found in zip(tasks, needed, strict=True)
        ]
        parts = _all(pool, {one.unique: one for each in pieces for one in each}, lambda piece: _inflated(piece, tell))
    made = [_made(task, found, parts) for task, found in zip(tasks, pieces, strict=True)]
    return made, _lock(piece for found in pieces for piece in found)


def _sources(task: Task) -> list[Source]:
    name, site = task.component.name, task.cluster.site
    values = task.cluster.settings(name).values  # of the first release
    found = [
        Source(key(release.chart), release, site.charts, name, {} if number else values)
        for number, release in enumerate(task.inputs.releases)
    ]
    return found + [Source(url, None, site.manifests, name) for url in task.inputs.manifests]


def _all(pool: "ThreadPoolExecutor", jobs: Mapping[Key, Job], work: Callable[[Job], Result]) -> dict[Key, Result]:
    return dict(zip(jobs, pool.map(work, jobs.values()), strict=True))


def _got(source: Source, lock: LockFile, how: FetchOptions, tell: Tell) -> _Got:
    begun = perf_counter()
    try:
        found = fetch(source, lock, how)
    except RefusedError as error:
        return _Got(error.finding, perf_counter() - begun)
    seconds = perf_counter() - begun
    tell(f"{found.how} {source.name} in {seconds:.1f} s")
    return _Got(found, seconds)


def _agreed(found: Mapping[tuple[str, str | None], _Got]) -> dict[tuple[str, str | None], _Got]:
    """Refuse what two mirrors give in different digests: the lock holds one."""
    first: dict[str, tuple[str, str | None]] = {}
    agreed: dict[tuple[str, str | None], _Got] = {}
    for (name, mirror), got in found.items():
        agreed[name, mirror] = got
        if isinstance(got.what, Fetched):
            digest, other = first.setdefault(name, (got.what.digest, mirror))
            if got.what.digest != digest:
                what = f"{name}: {got.what.digest} from {mirror or 'its repository'}, but {digest} from "
                fix = "ask who serves the mirror for the very same files"
                refused = Finding(message=what + (other or "its repository"), fix=fix)
                agreed[name, mirror] = _Got(refused, got.seconds)
    return agreed


def _inflated(piece: _Piece, tell: Tell) -> tuple[Part, float]:
    begun = perf_counter()
    if isinstance(piece.got.what, Finding):
        return Part(findings=(piece.got.what,)), piece.got.seconds
    try:
        part = _part(piece, piece.got.what)
    except RefusedError as error:
        part = Part(findings=(error.finding,))
    seconds = perf_counter() - begun
    tell(f"inflated {piece.source.name} in {seconds:.1f} s")
    return part, seconds + piece.got.seconds


def _part(piece: _Piece, fetched: Fetched) -> Part:
    if piece.source.release:
        return of_chart(fetched.path, piece.source.release, piece.inputs, piece.source.given)
    return of_manifest(fetched.path, piece.source.name, piece.inputs)


def _made(task: Task, pieces: Iterable[_Piece], parts: Mapping[bytes, tuple[Part, float]]) -> Inflated:
    found = [(piece, *parts[piece.unique]) for piece in pieces]
    return Inflated(
        task=task,
        parts=tuple((_namespace(piece), part) for piece, part, _ in found),
        sources={piece.source.name: got.digest for piece, *_ in found if isinstance(got := piece.got.what, Fetched)},
        pulled=sum(isinstance(piece.got.what, Fetched) and piece.got.what.how == "pulled" for piece, *_ in found),
        seconds=sum(seconds for *_, seconds in found),
    )


def _namespace(piece: _Piece) -> str:
    release = piece.source.release
    return release.namespace if release else piece.inputs.namespace


def _lock(pieces: Iterable[_Piece]) -> LockFile:
    charts: dict[str, str] = {}
    manifests: dict[str, str] = {}
    for piece in pieces:
        if isinstance(piece.got.what, Fetched):
            (charts if piece.source.release else manifests)[piece.source.name] = piece.got.what.digest
    return LockFile(charts=charts, manifests=manifests)
