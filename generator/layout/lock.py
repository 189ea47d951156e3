"""`gen.lock`: what came from outside, by digest, and which gen and Helm wrote the tree."""

import re
from collections.abc import Mapping

from msgspec import Struct

from generator import __version__
from generator.components.component import HELM, Chart
from generator.layout.emit import emit
from generator.layout.files import Files

LOCK = "gen.lock"


_WRITER = re.compile(rb'^(gen|code): *"?([^"\s]+)', re.MULTILINE)


class Writer(Struct, frozen=True):
    """The gen that wrote a repository: its version, and the digest of the code that decides what is rendered; empty
    where that is not known, as of a gen that runs from its source.
    """

    version: str = ""
    code: str = ""


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


def written_by(content: bytes) -> Writer:
    """Return who wrote a `gen.lock`, also one with conflicts in it; empty where it does not say."""
    found = {key: value.decode(errors="replace") for key, value in reversed(_WRITER.findall(content))}
    return Writer(found.get(b"gen", ""), found.get(b"code", ""))


def lock_file(lock: LockFile, code: str = "") -> Files:
    """Return `gen.lock`; one line for each entry, sorted, so that two branches merge as text. `code` is the digest of
    this gen's own code.
    """
    content = {
        "gen": __version__,
        **({"code": code} if code else {}),
        **({"helm": HELM} if lock.charts else {}),
        **{
            name: dict(sorted(entries.items()))
            for name, entries in (("charts", lock.charts), ("manifests", lock.manifests), ("images", lock.images))
            if entries
        },
    }
    return {LOCK: f"# Written by gen. Commit it and never edit it.\n{emit(content)}".encode()}
