"""From what the file says to what each node is: pool keys filled in, overrides applied."""

from ipaddress import IPv4Address
from typing import TypeVar

from msgspec import structs

from generator.model.cluster import Cluster, ClusterFile, Spec
from generator.model.nodes import (
    Fabric,
    Hardware,
    HardwareOverride,
    Machine,
    Network,
    NetworkOverride,
    Networks,
    Node,
    Overridable,
    Pool,
)
from generator.model.text import Port, Taint

T = TypeVar("T")

# What kubeadm puts on a node of this role when it is told nothing.
DEFAULT_TAINTS = {
    "control-plane": (Taint("node-role.kubernetes.io/control-plane", "", "NoSchedule"),),
    "worker": (),
}


def resolve(file: ClusterFile) -> Cluster:
    """Return the cluster with its nodes. A node of an unknown pool is left out: a rule reports it."""
    spec = file.spec
    nodes = tuple(_with_places(node, spec) for node in spec.nodes)
    machines = tuple(
        machine(index, node, spec.pools[node.pool], spec.networks)
        for index, node in enumerate(nodes)
        if node.pool in spec.pools
    )
    fields = {name: getattr(spec, name) for name in Spec.__struct_fields__} | {"nodes": nodes}
    return Cluster(name=file.metadata.name, machines=machines, labels=dict(file.metadata.labels), **fields)


def _with_places(node: Node, spec: Spec) -> Node:
    """Fill in the addresses and cables that a node's line leaves to its networks and its unit; its own count."""
    pool = spec.pools.get(node.pool)
    if pool is None:
        return node
    hcas = _hardware(pool.hardware, node.hardware).hcas
    followed = following(spec.networks, node.address, with_hcas=bool(hcas))
    cables = _cables(spec.fabric, first(node.unit, pool.unit), node.port, hcas)
    return structs.replace(node, addresses=followed | node.addresses, fabric=cables | node.fabric)


def following(networks: Networks, address: IPv4Address, *, with_hcas: bool) -> dict[str, IPv4Address]:
    """Return the addresses that a node with this one in the node network has in those that follow it. One that lies
    beyond its network is reported by a rule, and so is one outside the node network, which nothing follows.
    """
    home = networks.node.cidr
    number = int(address) - int(home.network_address)
    return {
        name: IPv4Address((int(network.cidr.network_address) + number) % 2**32)
        for name, network in networks.declared.items()
        if network.follow and network.cidr != home and address in home and (with_hcas or name != "ipoib")
    }


def _cables(fabric: Fabric | None, unit: str | None, port: int | None, hcas: tuple[str, ...]) -> dict[str, Port]:
    rails = fabric.units.get(unit, {}) if fabric and unit else {}
    return {hca: Port(rails[hca], port) for hca in hcas if hca in rails} if port else {}


def machine(index: int, node: Node, pool: Pool, networks: Networks) -> Machine:
    """Fill in one node: what it says of itself counts, else what its pool says."""
    filled = structs.asdict(node)
    filled |= {name: first(filled[name], getattr(pool, name)) for name in Overridable.__struct_fields__}
    filled |= {
        "hardware": _hardware(pool.hardware, node.hardware),
        # In order, whatever the order of keys in the file.
        "labels": dict(sorted({**pool.labels, **node.labels}.items())),
        "taints": first(filled["taints"], DEFAULT_TAINTS[pool.role]),
        "networks": _networks(networks, pool, node),
    }
    return Machine(index=index, role=pool.role, **filled)


def alike(cluster: Cluster, pool: str) -> Machine:
    """Return what every machine of a pool is that says nothing of itself, as those are which Cluster API makes."""
    nobody = Node(name=pool, pool=pool, address=IPv4Address(0))
    return machine(-1, nobody, cluster.pools[pool], cluster.networks)


def first(own: T | None, shared: T) -> T:
    """Return the node's own value where it has one."""
    return shared if own is None else own


def _hardware(shared: Hardware, own: HardwareOverride | None) -> Hardware:
    said = structs.asdict(own) if own else {}
    return structs.replace(shared, **{name: value for name, value in said.items() if value is not None})


def _networks(networks: Networks, pool: Pool, node: Node) -> dict[str, Network]:
    return {
        name: _override(_override(network, pool.networks.get(name)), node.networks.get(name))  # type: ignore[call-overload]
        for name, network in networks.declared.items()
    }


def _override(network: Network, override: NetworkOverride | None) -> Network:
    if override is None:
        return network
    given = {name: value for name in NetworkOverride.__struct_fields__ if (value := getattr(override, name))}
    return structs.replace(network, **given)
