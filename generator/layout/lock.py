"""`gen.lock`: what came from outside, by digest, and which gen and Helm wrote the tree."""

from collections.abc import Mapping

from msgspec import Struct

from generator import __version__
from generator.components.component import HELM, Chart
from generator.layout.emit import emit
from generator.layout.files import Files

LOCK = "gen.lock"


class LockFile(Struct, frozen=True, kw_only=True):
    """Digests ("sha256:<hex>") of charts by `key`, of manifests by URL, and of images by reference with its tag."""

    charts: Mapping[str, str] = {}
    manifests: Mapping[str, str] = {}
    images: Mapping[str, str] = {}

    @property
    def sources(self) -> frozenset[str]:
        """The charts and manifests that are locked, by the names that the lock gives them."""
        return frozenset({*self.charts, *self.manifests})


def key(chart: Chart) -> str:
    """Return how a chart is named in the lock: by its own repository, whatever mirror it came through."""
    return f"{chart.repository}/{chart.name}:{chart.version}"


def lock_file(lock: LockFile) -> Files:
    """Return `gen.lock`; one line for each entry, sorted, so that two branches merge as text."""
    content = {
        "gen": __version__,
        **({"helm": HELM} if lock.charts else {}),
        **{
            name: dict(sorted(entries.items()))
            for name, entries in (("charts", lock.charts), ("manifests", lock.manifests), ("images", lock.images))
            if entries
        },
    }
    return {LOCK: f"# Written by gen. Commit it and never edit it.\n{emit(content)}".encode()}
