"""What `gen vendor` has to do: the components whose charts and manifests do not stand as they should."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from generator.components import compose
from generator.components.component import Component
from generator.errors import UsageError
from generator.layout.lock import LockFile, key
from generator.layout.states import State
from generator.layout.upstream import Inputs, Upstream, brings, inputs, state
from generator.model.cluster import Cluster
from generator.repository.vendored import intact, on_disk, vendored, vendored_names
from generator.spec.near import suggest, there_are
from generator.upstream.findings import Place


class ClusterSite(Struct, frozen=True):
    """A cluster, all that is installed on it, and the state of what comes from upstream."""

    cluster: Cluster
    components: tuple[Component, ...]
    states: Mapping[str, State]

    @property
    def complete(self) -> bool:
        """Whether all CRDs come from what gen knows: nothing is installed by somebody else."""
        return all(settings.managed for settings in self.cluster.components.values())


class Task(Struct, frozen=True):
    """One component to inflate, and why: `state` is what stands now."""

    cluster: Cluster
    component: Component
    inputs: Inputs
    state: State

    @property
    def place(self) -> Place:
        """Cluster and component."""
        return self.cluster.name, self.component.name


def needed(component: Component) -> set[str]:
    """Return the charts and manifests of a component, as the lock names them."""
    return {*(key(release.chart) for release in component.releases), *component.manifests}


def sites(root: Path, clusters: Iterable[Cluster], lock: LockFile) -> list[ClusterSite]:
    """Return what is installed on these clusters, once all of it is vendored. What is damaged, or made of what the lock
    does not name, counts as stale.
    """
    return [_site(root, cluster, lock) for cluster in clusters]


def _site(root: Path, cluster: Cluster, lock: LockFile) -> ClusterSite:
    bringing = [one.name for one in compose(cluster) if brings(one)]
    components = compose(cluster, bringing)
    known = vendored(on_disk(root), cluster.name, vendored_names(root, cluster.name))
    states = {one.name: _state(root, cluster, one, known.get(one.name), lock) for one in components if brings(one)}
    return ClusterSite(cluster, components, states)


def _state(root: Path, cluster: Cluster, component: Component, known: Upstream | None, lock: LockFile) -> State:
    found = state(cluster, component, known, lock)
    if found != "vendored" or known is None:
        return found
    named = needed(component) <= lock.sources
    return "vendored" if named and intact(root, cluster.name, component.name, known.found) else "stale"


def tasks(found: Sequence[ClusterSite], wanted: Sequence[str], *, everything: bool) -> list[Task]:
    """Return what is to be inflated: of the components `wanted`, or all; only what is not vendored or stale, unless it
    was named or `everything` is to be done again. Raises UsageError for a name that no cluster has.
    """
    known = {name for site in found for name in site.states}
    for name in wanted:
        if name not in known:
            hint = suggest(name, known, there_are(sorted(known)))
            raise UsageError(f"{name}: no cluster has a component of this name with a chart or manifest; {hint}")
    return [
        Task(site.cluster, one, inputs(site.cluster, one), site.states[one.name])
        for site in found
        for one in site.components
        if one.name in site.states
        and (one.name in wanted if wanted else everything or site.states[one.name] != "vendored")
    ]
