"""Everything that is written for a cluster, as paths and bytes."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from generator.components import compose
from generator.components.component import Component, Secret
from generator.layout.argocd import argocd, argocd_custom, namespaces, root
from generator.layout.bootstrap import bootstrap
from generator.layout.files import Files, corner, document, joined
from generator.layout.lock import LockFile
from generator.layout.overlay import base, custom, overlay
from generator.layout.states import State
from generator.layout.upstream import Upstream, brings, folder, state
from generator.model.cluster import Cluster


class Known(Struct, frozen=True, kw_only=True):
    """What stands beside the cluster file and decides what is written: what is vendored, by component, and the lock."""

    upstream: Mapping[str, Upstream] = {}
    lock: LockFile = LockFile()


NOTHING = Known()


class Tree(Struct, frozen=True):
    """What one cluster, or several, are written as: `files` are generated, `once` are made when absent and
    then the user's. `components` names what was written for each cluster, in order; `states` tells of those that
    bring charts or upstream manifests whether these are vendored, and `held` are the folders with what is.
    """

    files: Files
    once: Files
    components: dict[str, tuple[str, ...]]
    states: dict[str, dict[str, State]] = {}
    held: frozenset[str] = frozenset()


def lay_out(cluster: Cluster, known: Known = NOTHING) -> Tree:
    """Return the tree of one cluster, the bases it uses included. Pure: the same arguments give the same bytes."""
    upstream = known.upstream
    components = compose(cluster, upstream)
    parts: list[Files] = []
    once = argocd_custom(cluster) | _corner(cluster)
    for component in components:
        parts += [base(component), overlay(cluster, component, upstream.get(component.name), known.lock.images)]
        once |= custom(cluster.name, component)
    parts += [namespaces(cluster, components), argocd(cluster, components, upstream)]
    secrets = (secret for component in components for secret in component.secrets)
    parts += [bootstrap(cluster, known.lock.images, secrets), _root(cluster), _secrets(cluster, components)]
    states = {one.name: state(cluster, one, upstream.get(one.name), known.lock) for one in components if brings(one)}
    held = {
        place
        for one in components
        if one.name in upstream
        for place in (folder(cluster.name, one.name), upstream[one.name].base)
    }
    names = tuple(one.name for one in components)
    return Tree(joined(*parts), once, {cluster.name: names}, {cluster.name: states}, frozenset(held))


def _corner(cluster: Cluster) -> Files:
    text = "# Yours: labels and namespaces of your own. gen made this file once and never writes it again.\n"
    return corner(f"overlays/{cluster.name}/namespaces", text)


def _root(cluster: Cluster) -> Files:
    path = f"clusters/{cluster.name}/bootstrap/application-root.yaml"
    return {path: document(root(cluster), f"clusters/{cluster.name}/cluster.yaml")}


def _secrets(cluster: Cluster, components: Iterable[Component]) -> Files:
    """Return the list of Secrets that must exist: declarations, never data."""
    declared = [
        {"component": component.name, **_secret(secret)} for component in components for secret in component.secrets
    ]
    path = f"clusters/{cluster.name}/bootstrap/secrets.yaml"
    return {path: document({"secrets": declared}, f"clusters/{cluster.name}/cluster.yaml")}


def _secret(secret: Secret) -> dict[str, object]:
    return {
        "name": secret.name,
        "namespace": secret.namespace,
        "keys": list(secret.keys),
        "source": secret.source,
        **({"by": secret.by} if secret.by else {}),
        **({"entry": secret.entry} if secret.entry else {}),
        "loss": secret.loss,
        **({} if secret.by_hand or secret.copy_of else {"rotateBy": f"gen secret rotate {secret.full_name}"}),
        "rotate": secret.rotate,
        "readers": list(secret.readers),
        **({"labels": secret.labels} if secret.labels else {}),
        **({"copyOf": secret.copy_of} if secret.copy_of else {}),
        **({"computed": {key: list(one.of) for key, one in secret.computed.items()}} if secret.computed else {}),
    }


def merge(trees: Iterable[Tree]) -> Tree:
    """Return the tree of several clusters. A base that two of them would write differently is a mistake in a
    component (what differs between clusters belongs in the overlay) and raises ValueError.
    """
    files: Files = {}
    once: Files = {}
    components: dict[str, tuple[str, ...]] = {}
    states: dict[str, dict[str, State]] = {}
    held: set[str] = set()
    for tree in trees:
        for path, content in tree.files.items():
            if files.setdefault(path, content) != content:
                raise ValueError(f"{path} is not the same for all clusters: it belongs in their overlays")
        once |= tree.once
        components |= tree.components
        states |= tree.states
        held |= tree.held
    return Tree(files, once, components, states, frozenset(held))
