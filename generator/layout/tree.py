"""Everything that is written for a cluster, as paths and bytes."""

from collections.abc import Iterable

from msgspec import Struct

from generator import __version__
from generator.components import compose
from generator.components.component import Component, Secret
from generator.layout.argocd import argocd, argocd_custom, namespaces, root
from generator.layout.bootstrap import bootstrap
from generator.layout.files import Files, corner, document
from generator.layout.overlay import base, custom, overlay
from generator.model.cluster import Cluster

__all__ = ["Tree", "lay_out", "lock", "merge"]


class Tree(Struct, frozen=True):
    """What one cluster, or several, are written as: `files` are generated, `once` are made when absent and
    then the user's. `components` names what was written for each cluster, in order.
    """

    files: Files
    once: Files
    components: dict[str, tuple[str, ...]]


def lay_out(cluster: Cluster) -> Tree:
    """Return the tree of one cluster, the bases it uses included. Pure: the same cluster gives the same bytes."""
    components = compose(cluster)
    files: Files = {}
    once = argocd_custom(cluster) | _corner(cluster)
    for component in components:
        files |= base(component) | overlay(cluster, component)
        once |= custom(cluster.name, component)
    files |= namespaces(cluster, components) | argocd(cluster, components)
    files |= bootstrap(cluster) | _root(cluster) | _secrets(cluster, components)
    return Tree(files, once, {cluster.name: tuple(component.name for component in components)})


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
        "loss": secret.loss,
        "rotate": secret.rotate,
        "readers": list(secret.readers),
        **({"labels": secret.labels} if secret.labels else {}),
        **({"copyOf": secret.copy_of} if secret.copy_of else {}),
    }


def merge(trees: Iterable[Tree]) -> Tree:
    """Return the tree of several clusters. A base that two of them would write differently is a mistake in a
    component (what differs between clusters belongs in the overlay) and raises ValueError.
    """
    files: Files = {}
    once: Files = {}
    components: dict[str, tuple[str, ...]] = {}
    for tree in trees:
        for path, content in tree.files.items():
            if files.setdefault(path, content) != content:
                raise ValueError(f"{path} is not the same for all clusters: it belongs in their overlays")
        once |= tree.once
        components |= tree.components
    return Tree(files, once, components)


def lock() -> Files:
    """Return `gen.lock`: which gen wrote the tree."""
    return {"gen.lock": f'# Written by gen. Commit it and never edit it.\ngen: "{__version__}"\n'.encode()}
