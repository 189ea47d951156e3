"""How a node registers with Kubernetes: what kubeadm is told, and what rules take for granted of nodes."""

from msgspec import Struct

from generator.components.common import CACHE, CEPH, OBJECTS, POOL, RACK, SCRATCH
from generator.components.component import Manifest
from generator.components.parts import taint_entry
from generator.model.cluster import Cluster
from generator.model.nodes import Machine
from generator.model.text import Taint

SOCKET = "unix:///run/containerd/containerd.sock"


class Registration(Struct, frozen=True, kw_only=True):
    """A node registers by its Ethernet addresses (hosts with InfiniBand have several), with the labels that components
    select by, and with exactly its own taints.
    """

    name: str
    addresses: tuple[str, ...]
    labels: dict[str, str]
    taints: tuple[Taint, ...]

    @property
    def document(self) -> Manifest:
        """As `nodeRegistration` of kubeadm's files; without taints it says `[]`, or kubeadm would add its own."""
        labels = ",".join(f"{key}={value}" for key, value in self.labels.items())
        return {
            "name": self.name,
            "criSocket": SOCKET,
            "kubeletExtraArgs": arguments({"node-ip": ",".join(self.addresses), "node-labels": labels}),
            "taints": [taint_entry(taint) for taint in self.taints],
        }


def registration(cluster: Cluster, machine: Machine) -> Registration:
    """Return how a node registers."""
    return Registration(
        name=machine.name,
        addresses=tuple(str(address) for address in (machine.address, machine.address6) if address),
        labels=node_labels(cluster, machine),
        taints=machine.taints,
    )


def node_labels(cluster: Cluster, machine: Machine) -> dict[str, str]:
    """Return the labels of a node, the user's own included. Rook reads the rack when it first makes an OSD: it must be
    there from the start (facts: storage 2.2).
    """
    storage = cluster.storage
    roles = {
        CEPH: storage.ceph is not None and machine.pool in storage.ceph.pools and machine.disks_for("ceph"),
        OBJECTS: storage.objects is not None and machine.pool in storage.objects.pools,
        SCRATCH: storage.scratch is not None and machine.disks_for("scratch"),
        CACHE: machine.disks_for("cache"),
    }
    return {
        POOL: machine.pool,
        **{label: "true" for label, present in roles.items() if present},
        **({RACK: machine.rack} if machine.rack else {}),
        **machine.labels,
    }


def arguments(named: dict[str, str]) -> list[dict[str, str]]:
    """Return arguments as v1beta4 wants them."""
    return [{"name": name, "value": value} for name, value in named.items()]
