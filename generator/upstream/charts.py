"""Charts and upstream manifests in the digests of the lock: from a cache on this machine, which needs no network, else
from where they are published.
"""

import hashlib
import tarfile
import time
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Literal

from msgspec import Struct

from generator.components.component import Chart, Manifest, Release
from generator.errors import UsageError
from generator.layout.lock import LockFile
from generator.process import cache_home
from generator.repository.whole import PART, write_whole
from generator.upstream.documents import documents
from generator.upstream.download import Sources, pull_chart, pull_manifest
from generator.upstream.findings import RefusedError

_DAY = 86400


class FetchOptions(Struct, frozen=True, kw_only=True):
    """How to fetch: from the cache, else from the network, unless `offline`. `again` names the components whose charts
    and manifests may have another digest than before.
    """

    sources: Sources
    offline: bool = False
    again: frozenset[str] = frozenset()


class Source(Struct, frozen=True):
    """A chart or manifest by its name in the lock, and the mirror it comes through, of the component `of`. In a mirror
    a manifest lies below its own host and path. `given` is what the cluster file says of a chart's values.
    """

    name: str
    release: Release | None
    mirror: str | None
    of: str
    given: Manifest = {}

    @property
    def unique(self) -> tuple[str, str | None]:
        """What two targets may share."""
        return self.name, self.mirror

    @property
    def address(self) -> str:
        """A chart's repository, or a manifest's URL."""
        if self.release:
            return self.mirror or self.release.chart.repository
        return f"{self.mirror.rstrip('/')}/{self.name.partition('://')[2]}" if self.mirror else self.name

    @property
    def told(self) -> str:
        """What messages call it."""
        if self.release:
            return f"chart {self.release.chart.name} {self.release.chart.version} from {self.address}"
        return f"manifest {self.address}"


class Fetched(Struct, frozen=True):
    """A file in the cache, its digest, and whether it was there."""

    path: Path
    digest: str
    how: Literal["cached", "pulled"]


def fetch(source: Source, lock: LockFile, how: FetchOptions) -> Fetched:
    """Return a chart or manifest in the digest that the lock has for it, any where it has none. Raises RefusedError."""
    again, suffix = source.of in how.again, ".tgz" if source.release else ".yaml"
    locked = None if again else (lock.charts if source.release else lock.manifests).get(source.name)
    if locked and (found := cached(locked, suffix)):
        return Fetched(found, locked, "cached")
    if how.offline:
        new = "--update asks for it anew" if again else "gen.lock does not name its digest yet"
        why = f"{locked} is not in the cache" if locked else new
        raise RefusedError(f"{source.told}: {why}, and --offline forbids to fetch it", "run once without --offline")
    content = _pulled(source, how.sources)
    if locked and digest(content) != locked:
        raise RefusedError(
            f"{source.told}: gen.lock says {locked}, but what came is {digest(content)}: it was published again as the "
            "same version, packaged anew by a mirror, or tampered with",
            f"ask who publishes it; when the new one is right: `gen vendor --update {source.of}`",
        )
    return Fetched(store(content, suffix), digest(content), "pulled")


def _pulled(source: Source, sources: Sources) -> bytes:
    if not source.release:
        return pull_manifest(source.address, sources)
    content = pull_chart(source.release.chart, source.address, sources)
    _readable(source.release.chart, source.told, content)
    return content


def _readable(one: Chart, name: str, content: bytes) -> None:
    """Refuse an archive that did not come whole, or is of another chart, before its digest is locked for ever."""
    try:
        with tarfile.open(fileobj=BytesIO(content), mode="r:gz") as archive:
            members = archive.getmembers()
            top = next(each for each in members if each.name.count("/") == 1 and each.name.endswith("/Chart.yaml"))
            file = archive.extractfile(top)
            found = documents(file.read().decode())[0].value if file else {}
    except (OSError, EOFError, tarfile.TarError, ValueError, StopIteration, IndexError) as error:
        why = str(error) or "there is no Chart.yaml in it"
        raise RefusedError(f"{name}: what came is no whole chart: {why}", "run again; else ask who serves it") from None
    chart = found if isinstance(found, dict) else {}
    called, version = chart.get("name"), str(chart.get("version")).removeprefix("v")
    if (called, version) != (one.name, one.version.removeprefix("v")):
        ranged = called == one.name and version.startswith(f"{one.version.removeprefix('v')}.")
        fix = f"write `version: {version}`; Helm takes {one.version} for a range" if ranged else "ask who serves it"
        raise RefusedError(f"{name}: what came calls itself {called} {version}", fix)


def digest(content: bytes) -> str:
    """Return the digest of some bytes as the lock writes it."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def cached(locked: str, suffix: str) -> Path | None:
    """Return the file with this digest, None where there is none or it does not hold what it should any more."""
    file = _cached_file(locked, suffix)
    try:
        return file if digest(file.read_bytes()) == locked else None
    except OSError:
        return None


def store(content: bytes, suffix: str) -> Path:
    """Keep some bytes. Several processes may do so at once: each file is whole at any time. Raises UsageError."""
    file = _cached_file(digest(content), suffix)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        _sweep(file.parent)
        write_whole(file, content)
    except OSError as error:
        raise UsageError(
            f"{file.parent}: cannot be written: {error.strerror}; free some space, or set XDG_CACHE_HOME elsewhere"
        ) from None
    return file


def _cached_file(locked: str, suffix: str) -> Path:
    return cache_home() / "charts" / f"{locked.removeprefix('sha256:')}{suffix}"


def _sweep(folder: Path) -> None:
    """Remove what runs that were killed left a day ago or earlier."""
    for part in folder.glob(f"{PART}*"):
        with suppress(OSError):
            if part.stat().st_mtime < time.time() - _DAY:
                part.unlink()
