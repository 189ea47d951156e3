"""Argo CD's projects: what the Applications of a tier, or one of the user's own, may write, and where."""

from collections.abc import Mapping, Sequence

from generator.components import CATALOGUE
from generator.components.argo_cd import NAMESPACE
from generator.components.common import SYNC_WAVE
from generator.components.component import NAMESPACES, Component, Manifest, Tier
from generator.components.definition import Definition
from generator.components.extras import definitions
from generator.layout.upstream import Upstream, home
from generator.layout.windows import sync_windows
from generator.model.cluster import Cluster

SERVER = "https://kubernetes.default.svc"
ROOT = "root"
OF_EXTRAS = "extra-"
"""How the names of projects begin that components of the user's own have."""
ROOT_KINDS = [{"group": "argoproj.io", "kind": "Application"}, {"group": "argoproj.io", "kind": "AppProject"}]
FIRST = {SYNC_WAVE: "-1"}


def projects(cluster: Cluster, components: Sequence[Component], known: Mapping[str, Upstream]) -> list[Manifest]:
    """Return a project for each tier and each component of the user's own, one for the namespaces, one for the root,
    and the closed default.

    A tier's project allows what all of the catalogue's components of that tier may write, those included that the
    cluster does not have: Argo CD deletes nothing that a project does not allow, and the project changes in the commit
    that takes a component out, before its objects are deleted. What a cluster's own values add is allowed beside it.
    No window closes root or the namespaces: a window that is wrong is mended through them.
    """
    extras = [*definitions(cluster).values()]
    ours = [one for one in components if one.name not in cluster.extras]
    by_tier = {tier: [one for one in ours if one.tier == tier] for tier in Tier}
    stated = {tier: [one for one in CATALOGUE.values() if one.tier == tier] for tier in Tier}
    places = {tier: _stated_places(stated[tier], cluster) | _places(by_tier[tier], known) for tier in Tier}
    of_extras = _stated_places(extras, cluster)
    places[Tier.TENANTS] = _all_but(of_extras.union(*(places[tier] for tier in places if tier != Tier.TENANTS)))
    return [
        _project(cluster, ROOT, "Applications and projects, nothing else", {NAMESPACE}, set(), ROOT_KINDS),
        _project(cluster, NAMESPACES, "all Namespaces", {None}, {"/Namespace"}),
        *(
            _project(
                cluster,
                tier.value,
                ", ".join(sorted(one.name for one in stated[tier])),
                spaces,
                _stated_kinds(stated[tier]) | _kinds(by_tier[tier], known),
                windows=sync_windows(cluster, tier, [one.name for one in stated[tier]]),
            )
            for tier, spaces in places.items()
        ),
        *(_of_extra(cluster, one) for one in extras),
        _closed(),
    ]


def project_of(cluster: Cluster, component: Component) -> str:
    """Return the name of the project that a component's Application is in."""
    return f"{OF_EXTRAS}{component.name}" if component.name in cluster.extras else component.tier.value


def _of_extra(cluster: Cluster, one: Definition) -> Manifest:
    """Return the project of a component of the user's own: what the file states, whatever its chart brings and whatever
    else its tier may write. It is the first of a commit, and the last that leaves: Argo CD prunes against the order of
    the waves, and waits for each to be gone, so that it may still delete what the component wrote.
    """
    name, windows = f"{OF_EXTRAS}{one.name}", sync_windows(cluster, one.tier, [one.name])
    return _project(cluster, name, one.name, _stated_places([one], cluster), _stated_kinds([one]), windows=windows)


def _closed() -> Manifest:
    """Return the project of Applications that name none. Argo CD's server makes it open; what is not named here stays
    as it made it.
    """
    spec = {
        "description": "closed",
        "sourceRepos": [],
        "destinations": [],
        "clusterResourceWhitelist": [],
        "namespaceResourceBlacklist": [{"group": "*", "kind": "*"}],
    }
    return _app_project("default", spec)


def _app_project(name: str, spec: Manifest) -> Manifest:
    metadata = {"name": name, "namespace": NAMESPACE, "annotations": FIRST}
    return {"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject", "metadata": metadata, "spec": spec}


def _stated_places(definitions: Sequence[Definition], cluster: Cluster) -> set[str | None]:
    """Return the namespaces that components write to on any cluster, and those of the releases that this one adopts;
    None, for what is in no namespace, where some component has none.
    """
    found: set[str | None] = set()
    for one in definitions:
        adopted = cluster.settings(one.name).adopt
        found |= {*(one.namespaces + one.reach or (None,)), *((adopted.namespace,) if adopted else ())}
    return found


def _stated_kinds(definitions: Sequence[Definition]) -> set[str]:
    """Return the cluster-scoped kinds that components write on any cluster."""
    return {kind for one in definitions for kind in (*one.chart_kinds, *one.own_kinds)}


def _places(components: Sequence[Component], known: Mapping[str, Upstream]) -> set[str | None]:
    """Return the namespaces that a cluster's components write to; None stands for what is in no namespace."""
    found: set[str | None] = {home(component) for component in components}
    for component in components:
        found |= {*_brought(component, known)[0], *(space.name for space in component.namespaces)}
        found |= {space for one in own_manifests(component) if (space := one["metadata"].get("namespace"))}
    return found


def _all_but(taken: set[str | None]) -> set[str | None]:
    """Return all namespaces less the platform's. A list of the teams would race with what it allows: a team's
    destination would go in the same commit as its objects, which then could not be pruned any more and stay, rights
    included.
    """
    return {"*", "!default", "!kube-*", *(f"!{space}" for space in taken if space and not space.startswith("kube-"))}


def _kinds(components: Sequence[Component], known: Mapping[str, Upstream]) -> set[str]:
    """Return the cluster-scoped kinds that a cluster's components write."""
    found: set[str] = set()
    for component in components:
        own = (_kind(one) for one in own_manifests(component) if "namespace" not in one["metadata"])
        found |= {*_brought(component, known)[1], *own}
    return found


def destination(namespace: str | None) -> Manifest:
    """Return a place: this cluster, and a namespace or none at all."""
    return {"server": SERVER, **({"namespace": namespace} if namespace else {})}


def _brought(component: Component, known: Mapping[str, Upstream]) -> tuple[set[str], set[str]]:
    """Return the namespaces and cluster-scoped kinds that charts and manifests write to: as found, or, before they
    are vendored, as the component states.
    """
    if component.name in known:
        found = known[component.name].found
        return set(found.namespaces), set(found.kinds)
    return {*component.reach, *(release.namespace for release in component.releases)}, set(component.kinds)


def _project(  # noqa: PLR0913, PLR0917 - the fields of one object
    cluster: Cluster,
    name: str,
    description: str,
    namespaces: set[str | None],
    kinds: set[str],
    only: Sequence[Manifest] = (),
    windows: Sequence[Manifest] = (),
) -> Manifest:
    cluster_kinds = [dict(zip(("group", "kind"), kind.rsplit("/", 1), strict=True)) for kind in sorted(kinds)]
    spec = {
        "description": description,
        "sourceRepos": [cluster.repository.url],
        "destinations": [destination(space) for space in sorted(namespaces, key=lambda space: space or "")],
        "clusterResourceWhitelist": cluster_kinds,
        **({"namespaceResourceWhitelist": list(only)} if only else {}),
        **({"syncWindows": list(windows)} if windows else {}),
    }
    return _app_project(name, spec)


def _kind(manifest: Manifest) -> str:
    return f"{manifest['apiVersion'].rpartition('/')[0]}/{manifest['kind']}"


def own_manifests(component: Component) -> list[Manifest]:
    """Return what the component itself writes, charts and upstream manifests apart."""
    templates = [template for operation in component.operations for template in operation.templates]
    return [*component.base, *component.objects, *templates]
