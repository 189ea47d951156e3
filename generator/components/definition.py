"""What gen knows of a component whatever the cluster: each component's module holds one `DEFINITION`."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TypeAlias

from msgspec import Struct, structs

from generator.components.component import Chart, Component, Manifest, Tier
from generator.components.jobs import JobKind, Jobs
from generator.components.listening import Listening
from generator.components.operated import Api, Made, MadePods, Names, OperatedKind
from generator.model.change import ChangeRule
from generator.model.cluster import Cluster
from generator.model.finding import Path
from generator.model.nodes import Machine
from generator.model.served import minor_of
from generator.model.versions import numbers


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


class Scraped(Struct, frozen=True):
    """What pods have whose own metrics are read: labels, and the name of the port that tells them."""

    labels: dict[str, str]
    port: str


class Versions(Struct, frozen=True):
    """The versions of a component that are known, the default first; with `by_minor` the default is the first one that
    supports the cluster's minor of Kubernetes.
    """

    component: str
    known: tuple[Version, ...] = ()
    by_minor: bool = False

    def of(self, cluster: Cluster) -> Version:
        """Return the version a cluster uses: the one its file names, else the default. One that is neither known nor
        like any falls back to the default: a rule reports it.
        """
        wanted = cluster.settings(self.component).version
        return (self.named(wanted) if wanted else None) or self._default(cluster)

    def _default(self, cluster: Cluster) -> Version:
        minor = minor_of(cluster.kubernetes.version) if self.by_minor else 0
        fitting = (one for one in self.known if one.kubernetes[0] <= minor <= one.kubernetes[1])
        return next(fitting, self.known[0])

    def named(self, wanted: str) -> Version | None:
        """Return the version of this name: a known one, or one like the nearest that is known, where all that comes of
        it is judged once it is vendored. None where it is neither.
        """
        for version in self.known:
            if version.version == wanted:
                return version
        return _like(min(self.known, key=partial(_apart, wanted)), wanted) if self.known else None


def _apart(wanted: str, version: Version) -> tuple[bool, bool]:
    mine, theirs = numbers(wanted), numbers(version.version)
    return mine[:1] != theirs[:1], mine[:2] != theirs[:2]


def _like(known: Version, wanted: str) -> Version | None:
    """Return a version that is a known one but for its name, wherever that stands in charts, addresses and tags of
    images; None where that is no way to a version that exists: another major one, no charts or manifests to be judged
    by, or images by digest.
    """
    v = "v" if known.version.startswith("v") else ""
    if not re.fullmatch(rf"{v}\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?", wanted) or _apart(wanted, known)[0]:
        return None
    if not (known.charts or known.manifests) or any("@" in image for image in known.images.values()):
        return None
    old, new = known.version.removeprefix("v"), wanted.removeprefix("v")
    return structs.replace(
        known,
        version=wanted,
        charts=tuple(structs.replace(one, version=one.version.replace(old, new)) for one in known.charts),
        manifests=tuple(one.replace(old, new) for one in known.manifests),
        images={name: image.replace(old, new) for name, image in known.images.items()},
        schemas=(),
        proven="",
    )


class Pair(Struct, frozen=True, kw_only=True):
    """Versions of a component that go with versions of the component `other`: `own` and `others`, each from the first
    on and before the second, by as many of their numbers as are given.
    """

    own: tuple[tuple[int, ...], tuple[int, ...]]
    other: str
    others: tuple[tuple[int, ...], tuple[int, ...]]

    def says(self, version: str, other: str) -> bool:
        """Tell whether two versions go together."""
        return all(low <= numbers(one) < high for one, (low, high) in ((version, self.own), (other, self.others)))


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


class Download(Struct, frozen=True):
    """What programs fetch from outside when they start, and what to set so that they need not."""

    what: str
    instead: str


class Shown(Struct, frozen=True):
    """Objects that are nobody else's: their API group (core: ""), their kind's name in addresses, and a selector by
    labels.
    """

    group: str
    plural: str
    labels: str = ""


class Evidence(Struct, frozen=True, kw_only=True):
    """What shows in a running cluster that a component is there, whoever installed it.

    `images` are how the repositories of its programs' images end, whatever the registry. `objects` are what it is made
    of beside programs. Definitions do not show it: they outlive who brought them, unless it is nothing else
    (`definitions`, API groups).
    """

    images: tuple[str, ...] = ()
    objects: tuple[Shown, ...] = ()
    definitions: tuple[str, ...] = ()


Make: TypeAlias = Callable[[Cluster], Component]

ALL_NODES = ""


class Definition(Struct, frozen=True, kw_only=True, eq=False):
    """A component, whatever the cluster. All that is asked of a cluster here is safe on any that decodes."""

    name: str
    tier: Tier
    make: Make | None = None
    """What it is on a cluster that wants it. None for Argo CD, which is made from all others, and where
    `make_with_jobs` says it."""
    make_with_jobs: Callable[[Cluster, Jobs], Component] | None = None
    """The same for what names every kind of job there is: those of the whole catalogue are handed in."""
    wanted: Callable[[Cluster], object] = lambda _cluster: True
    """What of a cluster asks for it, nothing true where that cluster does not have it ..."""
    absence: str = ""
    """... and then the reason in a few words."""
    versions: Versions | None = None
    """None for what is made of our own objects and has another component's version."""
    jumps: Callable[[], tuple[ChangeRule, ...]] = tuple
    """What it means when its version moves: which upstream forbids, which have no way back. Asked for only where
    something is compared, as `changes` are: nothing else need import all those rules."""
    pairs: tuple[Pair, ...] = ()
    """Where there are some for another component, no other versions of the two go together ..."""
    unpaired: str = ""
    """... and then the reason."""
    namespaces: tuple[str, ...] = ()
    """Every namespace that it may live in, so that no team takes it."""
    reach: tuple[str, ...] = ()
    """Other namespaces that it writes to on any cluster, its charts included."""
    chart_kinds: tuple[str, ...] = ()
    """The cluster-scoped kinds ("group/Kind", core: "/Kind") that its charts and upstream manifests bring on any
    cluster ..."""
    own_kinds: tuple[str, ...] = ()
    """... and those of its own objects beside them. Its tier's project allows all of these, and the namespaces,
    whether a cluster has the component or not: what was taken out of a cluster is yet to be deleted."""
    hosts: Callable[[Cluster], Iterator[tuple[Path, str]]] = lambda _cluster: iter(())
    """The names that users reach it by, each with its place in the cluster file."""
    listens: Callable[[Cluster], Iterable[Listening]] = lambda _cluster: ()
    """What of it listens on nodes themselves, on the host's network: the host firewall lets in nothing else."""
    apis: tuple[Api, ...] = ()
    """The API groups whose definitions come with it."""
    brings: tuple[Made, ...] = ()
    """Objects that it makes when it runs, whatever objects there are."""
    pods: tuple[MadePods, ...] = ()
    """Pods that its steps make when they run."""
    kinds: tuple[OperatedKind, ...] = ()
    """The kinds of objects that its programs act on, as far as these name or make others."""
    label_names: Names = ()
    """Labels that may be on any object, and what they name: rows as of `Names`, with the label for the way."""
    jobs: tuple[JobKind, ...] = ()
    """The kinds of jobs that its operator runs."""
    daemons_on: str | None = None
    """The nodes that its DaemonSets must reach: `ALL_NODES`, or those with this label; None where it chooses."""
    resources: tuple[str, ...] = ()
    """How the names of extended resources begin that it offers on nodes."""
    offers: Callable[[Cluster, Machine], Mapping[str, int | None]] = lambda _cluster, _machine: {}
    """How many of each extended resource pods find on a node; None, for how names begin, where nobody can tell."""
    metrics: Callable[[Cluster], Mapping[str, Mapping[str, Scraped | None] | None]] = lambda _cluster: {}
    """The metrics that it serves to autoscalers, by API group and name, with what pods must have that tell them
    themselves; None for a group of which nobody here can tell the names.
    """
    one_node_volumes: tuple[str, ...] = ()
    """The provisioners of its StorageClasses of whose volumes, as file systems, only one node mounts each at a time."""
    node_labels: tuple[str, ...] = ()
    """How the labels begin that it puts on nodes, by what it finds there."""
    downloads: Callable[[Manifest], Download | None] = lambda _values: None
    """What it fetches from outside beside images, with these chart values of the user's."""
    changes: Callable[[], tuple[ChangeRule, ...]] = tuple
    """What changes of its objects, its charts' ones, and its files mean for what runs."""
    replaced_together: str = ""
    """The command that replaces the pods of its workloads with `OnDelete`, where one after the other would not do."""
    shown_by: Evidence = Evidence()
    """What shows that a running cluster has it."""
    notes: str = ""
    """What the documentation says of it, in Markdown."""
    image_joining: ImageJoining | None = None
    """How its operator reads images in parts; such an operator alone takes digests there."""
    short_tags: tuple[str, ...] = ()
    """Its images of which upstream moves a tag like `v20` to each new build."""
    operator_images: OperatorImages | None = None
    """What its operator starts without any object that names it."""

    @property
    def known(self) -> tuple[Version, ...]:
        """Its versions, none where it has those of another component."""
        return self.versions.known if self.versions else ()
