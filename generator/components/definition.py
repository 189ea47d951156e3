"""What gen knows of a component whatever the cluster: each component's module holds one `DEFINITION`."""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from msgspec import Struct

from generator.components.component import Chart, Component
from generator.model.cluster import Cluster
from generator.model.finding import Path


class Version(Struct, frozen=True, kw_only=True):
    """One version of a component, whole.

    `version` names the base folder. `charts` and `manifests` (URLs of files at a tag) are what upstream ships, `images`
    what our own objects run. `schemas` are folders below `../shared/upstream` whose CRDs and chart values this entry
    was checked against; `proven` is the version on which the real program was run, if it was.
    `kubernetes` is the range of minors that upstream supports, both ends included.
    """

    version: str
    charts: tuple[Chart, ...] = ()
    manifests: tuple[str, ...] = ()
    images: dict[str, str] = {}
    schemas: tuple[str, ...] = ()
    proven: str = ""
    kubernetes: tuple[int, int] = (31, 36)

    def chart(self, name: str) -> Chart:
        """Return the chart of that name."""
        return next(chart for chart in self.charts if chart.name == name)


class Versions(Struct, frozen=True):
    """The versions of a component that are known, the default first."""

    component: str
    known: tuple[Version, ...] = ()

    def of(self, cluster: Cluster) -> Version:
        """Return the version a cluster uses: the one its file names, else the default. An unknown one falls back to the
        default: a rule reports it.
        """
        wanted = cluster.settings(self.component).version
        return next((version for version in self.known if version.version == wanted), self.known[0])


class ImageJoining(Struct, frozen=True, kw_only=True):
    """How an operator reads images whose parts stand in fields of its custom resources, which are of the API `group`:
    it writes `repository/image:version` with whatever `version` says, a tag and a digest as well. `system_added` are
    the fields, by kind, to whose version it adds the node's system, as in `580.95.05-ubuntu24.04`.
    """

    group: str
    system_added: Mapping[str, tuple[str, ...]] = {}


class OperatorImages(Struct, frozen=True, kw_only=True):
    """Images that an operator starts by itself: objects of `kind` name only their registry, at the path `registry`, and
    without that they come from `default`. Each of the `names` has the component's version as its tag.
    """

    versions: Versions
    kind: str
    registry: Path
    default: str
    names: tuple[str, ...]


Make: TypeAlias = Callable[[Cluster], Component]


def always(_cluster: Cluster) -> bool:
    """Tell that every cluster has it."""
    return True


def no_hosts(_cluster: Cluster) -> Iterator[tuple[Path, str]]:
    """Yield nothing: most components are reached by no name of their own."""
    return iter(())


class Definition(Struct, frozen=True, kw_only=True, eq=False):
    """A component: `make` says what it is on a cluster that wants it, and is None for Argo CD alone, which is made from
    all others. `wanted` returns what of a cluster asks for it, nothing true where that cluster does not have it, and
    `absence` is then the reason in a few words. `versions` are None for what is made of our own objects and has another
    component's version. `namespaces` are those it may live in beside the ones its `Component` declares, so that no team
    takes them. `hosts` yields the names that users reach it by, each with its place in the cluster file. `notes` is
    what the documentation says of it, in Markdown.
    """

    name: str
    make: Make | None = None
    wanted: Callable[[Cluster], object] = always
    absence: str = ""
    versions: Versions | None = None
    namespaces: tuple[str, ...] = ()
    hosts: Callable[[Cluster], Iterator[tuple[Path, str]]] = no_hosts
    notes: str = ""
    image_joining: ImageJoining | None = None
    """How its operator reads images in parts; such an operator alone takes digests there."""
    operator_images: OperatorImages | None = None
    """What its operator starts without any object that names it."""

    @property
    def known(self) -> tuple[Version, ...]:
        """Its versions, none where it has those of another component."""
        return self.versions.known if self.versions else ()
