"""From what the file says to what each node is: pool keys filled in, overrides applied."""

from typing import TypeVar

from msgspec import structs

from generator.model.cluster import Cluster, ClusterFile, Spec
from generator.model.nodes import HardwareOverride, Machine, Network, NetworkOverride, Networks, Node, Pool
from generator.model.text import Taint

T = TypeVar("T")

# What kubeadm puts on a node of this role when it is told nothing.
DEFAULT_TAINTS = {
    "control-plane": (Taint("node-role.kubernetes.io/control-plane", "", "NoSchedule"),),
    "worker": (),
}


def resolve(file: ClusterFile) -> Cluster:
    """Return the cluster with its nodes. A node of an unknown pool is left out: a rule reports it."""
    spec = file.spec
    machines = tuple(
        machine(index, node, spec.pools[node.pool], spec.networks)
        for index, node in enumerate(spec.nodes)
        if node.pool in spec.pools
    )
    fields = {name: getattr(spec, name) for name in Spec.__struct_fields__}
    return Cluster(name=file.metadata.name, machines=machines, labels=dict(file.metadata.labels), **fields)


def machine(index: int, node: Node, pool: Pool, networks: Networks) -> Machine:
    """Fill in one node."""
    own = node.hardware or HardwareOverride()
    shared = pool.hardware
    return Machine(
        index=index,
        name=node.name,
        pool=node.pool,
        role=pool.role,
        address=node.address,
        address6=node.address6,
        addresses={str(name): address for name, address in node.addresses.items()},
        rack=node.rack,
        fabric=node.fabric,
        cpu=first(own.cpu, shared.cpu),
        memory=first(own.memory, shared.memory),
        gpu=first(own.gpu, shared.gpu),
        hcas=first(own.hcas, shared.hcas),
        disks=first(own.disks, shared.disks),
        # In order, whatever the order of keys in the file.
        labels=dict(sorted({**pool.labels, **node.labels}.items())),
        taints=first(node.taints, first(pool.taints, DEFAULT_TAINTS[pool.role])),
        networks=_networks(networks, pool, node),
        kernel=first(node.kernel, pool.kernel),
    )


def first(own: T | None, shared: T) -> T:
    """Return the node's own value where it has one."""
    return shared if own is None else own


def _networks(networks: Networks, pool: Pool, node: Node) -> dict[str, Network]:
    declared = {"node": networks.node, "storage": networks.storage, "ipoib": networks.ipoib, "bmc": networks.bmc}
    return {
        name: _override(_override(network, pool.networks.get(name)), node.networks.get(name))  # type: ignore[call-overload]
        for name, network in declared.items()
        if network
    }


def _override(network: Network, override: NetworkOverride | None) -> Network:
    if override is None:
        return network
    given = {name: value for name in NetworkOverride.__struct_fields__ if (value := getattr(override, name))}
    return structs.replace(network, **given)
