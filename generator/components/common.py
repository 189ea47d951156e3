"""What several components say alike."""

from collections.abc import Iterable

from generator.components.component import Manifest
from generator.model.cluster import Cluster
from generator.model.nodes import Machine
from generator.model.text import Taint

__all__ = [
    "CEPH",
    "OBJECTS",
    "OIDC_PREFIX",
    "POOL",
    "RACK",
    "SCRATCH",
    "UNWATCHED",
    "class_owner",
    "ethernet",
    "fullname",
    "release_of",
    "tolerations",
]

# Labels that kubeadm puts on nodes (bootstrap) and components select by. `.internal` is reserved for private use.
POOL = "gen.internal/pool"
CEPH = "gen.internal/ceph"
OBJECTS = "gen.internal/objects"
SCRATCH = "gen.internal/scratch"
RACK = "topology.rook.io/rack"
# Before every name that the site's identity provider gives: without it, a group of its own called `system:masters`
# would rule the cluster.
OIDC_PREFIX = "oidc:"
# On an Ingress: an ingress controller that publishes no address would hold the wave for ever.
UNWATCHED = {"argocd.argoproj.io/ignore-healthcheck": "true"}


def tolerations(machines: Iterable[Machine]) -> list[Manifest]:
    """Return what a pod needs to run on all of these nodes: one toleration for each taint, without repeats."""
    taints = {(taint.key, taint.effect): taint for machine in machines for taint in machine.taints}
    return [toleration(taint) for taint in taints.values()]


def toleration(taint: Taint) -> Manifest:
    """Tolerate one taint, whatever its value: the operators' own defaults do the same."""
    return {"key": taint.key, "operator": "Exists", "effect": taint.effect}


def class_owner(cluster: Cluster, storage_class: str | None) -> tuple[str, ...]:
    """Return the component that makes a storage class, the default one for None: a claim that waits for its class
    would hold its wave for ever. Nobody's where the site brings the class.
    """
    storage = cluster.storage
    owners = {
        storage.scratch.storage_class if storage.scratch else "": "scratch",
        storage.nfs.storage_class if storage.nfs else "": "csi-nfs",
    }
    ceph = "ceph-cluster" if storage.ceph else None
    owner = owners.get(storage_class, ceph) if storage_class else ceph
    return (owner,) if owner else ()


def release_of(cluster: Cluster, component: str, namespace: str) -> tuple[str, str]:
    """Return name and namespace of a component's Helm release: the adopted one's where there is one, else our own,
    which is named as the component is.
    """
    adopted = cluster.settings(component).adopt
    return (adopted.release, adopted.namespace) if adopted else (component, namespace)


def fullname(release: str, chart: str) -> str:
    """Return what most charts name their objects after: the release, and the chart unless its name is in there."""
    return release if chart in release else f"{release}-{chart}"


def ethernet(cluster: Cluster) -> list[str]:
    """Return the names of the interfaces that carry the node network, on any node."""
    names = {machine.networks["node"].interface: None for machine in cluster.machines}
    return [name for name in names if name]
