"""Charts and upstream manifests in the digests of the lock: from the cache, else from where they are published."""

import tarfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Literal

from msgspec import Struct

from generator.model.versions import Chart
from generator.upstream.cache import cached, digest, store
from generator.upstream.documents import documents
from generator.upstream.pull import Sources, pull_chart, pull_manifest
from generator.upstream.wrong import RefusedError

__all__ = ["Fetched", "Wanted", "chart", "manifest"]


class Wanted(Struct, frozen=True, kw_only=True):
    """How something is to be fetched: `locked` is the digest it must have, None where it is new; `again`: it may have
    another. What is not in the cache comes from the network, unless `offline`. It is part of the component `of`.
    """

    locked: str | None
    again: bool
    offline: bool
    sources: Sources
    of: str


class Fetched(Struct, frozen=True):
    """A file in the cache, its digest, and whether it was there."""

    path: Path
    digest: str
    how: Literal["cached", "pulled"]


def chart(one: Chart, repository: str, wanted: Wanted) -> Fetched:
    """Return a chart; `repository` is its own or a mirror. Raises RefusedError."""

    def pulled() -> bytes:
        content = pull_chart(one, repository, wanted.sources)
        _readable(one, repository, content)
        return content

    return _fetch(f"chart {one.name} {one.version} from {repository}", ".tgz", pulled, wanted)


def manifest(url: str, mirror: str | None, wanted: Wanted) -> Fetched:
    """Return an upstream manifest; in a mirror it lies below its own host and path. Raises RefusedError."""
    address = f"{mirror.rstrip('/')}/{url.partition('://')[2]}" if mirror else url
    return _fetch(f"manifest {address}", ".yaml", lambda: pull_manifest(address, wanted.sources), wanted)


def _fetch(name: str, suffix: str, pull: Callable[[], bytes], wanted: Wanted) -> Fetched:
    locked = None if wanted.again else wanted.locked
    if locked and (found := cached(locked, suffix)):
        return Fetched(found, locked, "cached")
    if wanted.offline:
        new = "--update asks for it anew" if wanted.again else "gen.lock does not name its digest yet"
        why = f"{locked} is not in the cache" if locked else new
        raise RefusedError(f"{name}: {why}, and --offline forbids to fetch it", "run once without --offline")
    content = pull()
    if locked and digest(content) != locked:
        raise RefusedError(
            f"{name}: gen.lock says {locked}, but what came is {digest(content)}: it was published again as the "
            "same version, packaged anew by a mirror, or tampered with",
            f"ask who publishes it; when the new one is right: `gen vendor --update {wanted.of}`",
        )
    return Fetched(store(content, suffix), digest(content), "pulled")


def _readable(one: Chart, repository: str, content: bytes) -> None:
    """Refuse an archive that did not come whole, or is of another chart, before its digest is locked for ever."""
    name = f"chart {one.name} {one.version} from {repository}"
    try:
        with tarfile.open(fileobj=BytesIO(content), mode="r:gz") as archive:
            members = archive.getmembers()
            top = next(each for each in members if each.name.count("/") == 1 and each.name.endswith("/Chart.yaml"))
            file = archive.extractfile(top)
            found = documents(file.read().decode())[0].value if file else {}
    except (OSError, EOFError, tarfile.TarError, ValueError, StopIteration, IndexError) as error:
        why = str(error) or "there is no Chart.yaml in it"
        raise RefusedError(f"{name}: what came is no whole chart: {why}", "run again; else ask who serves it") from None
    named = (found.get("name"), str(found.get("version")).removeprefix("v")) if isinstance(found, dict) else ()
    if named != (one.name, one.version.removeprefix("v")):
        raise RefusedError(f"{name}: what came calls itself {' '.join(map(str, named))}", "ask who serves it")
