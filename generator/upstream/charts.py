"""Charts and upstream manifests in the digests of the lock: from the cache, else from where they are published."""

import tarfile
from io import BytesIO
from pathlib import Path
from typing import Literal

from msgspec import Struct

from generator.components.component import Release
from generator.layout.lock import Lock
from generator.model.versions import Chart
from generator.upstream.cache import cached, digest, store
from generator.upstream.documents import documents
from generator.upstream.findings import RefusedError
from generator.upstream.pull import Sources, pull_chart, pull_manifest


class How(Struct, frozen=True, kw_only=True):
    """How to fetch: from the cache, else from the network, unless `offline`. `again` names the components whose charts
    and manifests may have another digest than before.
    """

    sources: Sources
    offline: bool = False
    again: frozenset[str] = frozenset()


class Source(Struct, frozen=True):
    """A chart or manifest by its name in the lock, and the mirror it comes through, of the component `of`. In a mirror
    a manifest lies below its own host and path.
    """

    name: str
    release: Release | None
    mirror: str | None
    of: str

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


def fetch(source: Source, lock: Lock, how: How) -> Fetched:
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
    named = (found.get("name"), str(found.get("version")).removeprefix("v")) if isinstance(found, dict) else ()
    if named != (one.name, one.version.removeprefix("v")):
        raise RefusedError(f"{name}: what came calls itself {' '.join(map(str, named))}", "ask who serves it")
