"""What several components say alike."""

from collections.abc import Iterable

from generator.components.component import Manifest
from generator.model.cluster import Cluster
from generator.model.nodes import Machine
from generator.model.text import Taint

__all__ = ["CEPH", "OBJECTS", "POOL", "RACK", "SCRATCH", "UNWATCHED", "ethernet", "tolerations"]

# Labels that kubeadm puts on nodes (bootstrap) and components select by. `.internal` is reserved for private use.
POOL = "gen.internal/pool"
CEPH = "gen.internal/ceph"
OBJECTS = "gen.internal/objects"
SCRATCH = "gen.internal/scratch"
RACK = "topology.rook.io/rack"
# On an Ingress: an ingress controller that publishes no address would hold the wave for ever.
UNWATCHED = {"argocd.argoproj.io/ignore-healthcheck": "true"}


def tolerations(machines: Iterable[Machine]) -> list[Manifest]:
    """Return what a pod needs to run on all of these nodes: one toleration for each taint, without repeats."""
    taints = {(taint.key, taint.effect): taint for machine in machines for taint in machine.taints}
    return [toleration(taint) for taint in taints.values()]


def toleration(taint: Taint) -> Manifest:
    """Tolerate one taint, whatever its value: the operators' own defaults do the same."""
    return {"key": taint.key, "operator": "Exists", "effect": taint.effect}


def ethernet(cluster: Cluster) -> list[str]:
    """Return the names of the interfaces that carry the node network, on any node."""
    names = {machine.networks["node"].interface: None for machine in cluster.machines}
    return [name for name in names if name]
