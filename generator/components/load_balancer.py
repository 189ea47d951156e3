"""Addresses for Services of type LoadBalancer, handed out and announced by the pod network: Cilium or Calico."""

import re
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import IPv4Network, ip_address, ip_network

from generator.components.calico import BLOCK as CALICO_BLOCK
from generator.components.calico import VERSIONS as CALICO_VERSIONS
from generator.components.cilium import VERSIONS as CILIUM_VERSIONS
from generator.components.common import ethernet
from generator.components.component import Component, Manifest, Tier
from generator.components.definition import Definition, Evidence, Shown
from generator.components.rule_files import read_rules
from generator.model.change import FieldChange, ObjectChange, value_at
from generator.model.cluster import Cluster
from generator.model.fields import mapping, sequence
from generator.model.nodes import Bgp, LoadBalancer
from generator.model.text import AddressRange

NAME = "load-balancer"
# Cilium's operator makes its CRDs when it starts, and Calico's API server serves its kinds: they are in no chart, so a
# dry run may come before them.
EARLY = {"argocd.argoproj.io/sync-options": "SkipDryRunOnMissingResource=true"}


def load_balancer(cluster: Cluster) -> Component:
    """Hand out `networks.loadBalancer.range`, by what is the network."""
    cni, balancer = cluster.networks.cni, cluster.networks.load_balancer
    assert balancer
    versions = CILIUM_VERSIONS if cni == "cilium" else CALICO_VERSIONS
    return Component(
        name=NAME,
        tier=DEFINITION.tier,
        summary="Addresses for Services of type LoadBalancer",
        version=versions.of(cluster).version,
        objects=tuple(by_cilium(cluster, balancer) if cni == "cilium" else by_calico(balancer)),
        needs=(cni,),
    )


def by_cilium(cluster: Cluster, balancer: LoadBalancer) -> Iterator[Manifest]:
    """Yield the pool of addresses, and who answers ARP for them."""
    yield pool(balancer.range)
    if balancer.announce == "l2":
        yield announcement(ethernet(cluster))


def pool(addresses: AddressRange) -> Manifest:
    """Return the pool of addresses, first and last included. Nothing is protected: the pool is remade at once."""
    return {
        "apiVersion": "cilium.io/v2",
        "kind": "CiliumLoadBalancerIPPool",
        "metadata": {"name": NAME, "annotations": EARLY},
        "spec": {
            "blocks": [{"start": str(addresses.first), "stop": str(addresses.last)}],
            "allowFirstLastIPs": "Yes",
        },
    }


def announcement(interfaces: list[str]) -> Manifest:
    """Answer ARP on these interfaces of whichever node holds the lease. The names are regular expressions to
    Cilium: without anchors `eno1` would match `eno10` as well.
    """
    return {
        "apiVersion": "cilium.io/v2alpha1",
        "kind": "CiliumL2AnnouncementPolicy",
        "metadata": {"name": NAME, "annotations": EARLY},
        "spec": {
            "interfaces": [f"^{re.escape(interface)}$" for interface in interfaces],
            "loadBalancerIPs": True,
            "externalIPs": False,
        },
    }


def by_calico(balancer: LoadBalancer) -> Iterator[Manifest]:
    """Yield pools, which Calico's controllers hand out, and the routers that are told of them."""
    networks = balancer.range.networks
    yield from (calico_pool(network) for network in networks)
    if balancer.announce == "bgp" and balancer.bgp:
        yield bgp_configuration(balancer.bgp, networks)
        for peer in balancer.bgp.peers:
            spec = {"peerIP": str(peer.address), "asNumber": peer.as_number}
            yield calico_object("BGPPeer", f"router-{dashed(peer.address)}", spec)


def calico_pool(network: IPv4Network) -> Manifest:
    """Return a pool. It is named by its addresses: Calico refuses to change those, so another range is another pool."""
    spec = {
        "cidr": str(network),
        "blockSize": max(CALICO_BLOCK, network.prefixlen),
        "ipipMode": "Never",
        "vxlanMode": "Never",
        "nodeSelector": "all()",
        "allowedUses": ["LoadBalancer"],
        "assignmentMode": "Automatic",
    }
    return calico_object("IPPool", f"{NAME}-{dashed(network)}", spec)


def bgp_configuration(bgp: Bgp, networks: list[IPv4Network]) -> Manifest:
    """Announce these addresses alone. Nodes need no routes from each other: traffic between them is tunnelled."""
    spec = {
        "asNumber": bgp.as_number,
        "nodeToNodeMeshEnabled": False,
        "serviceLoadBalancerIPs": [{"cidr": str(network)} for network in networks],
    }
    return calico_object("BGPConfiguration", "default", spec)


def dashed(address: object) -> str:
    """Write an address or a network as a part of a name."""
    return re.sub(r"[./]", "-", str(address))


def calico_object(kind: str, name: str, spec: Manifest) -> Manifest:
    """Return one of Calico's objects."""
    metadata = {"name": name, "annotations": EARLY}
    return {"apiVersion": "projectcalico.org/v3", "kind": kind, "metadata": metadata, "spec": spec}


def keeps(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether every address that a pool had is still in one of its blocks."""
    old, new = ([*_spans(side)] for side in (change.old, change.new))
    return all(any(start <= first and last <= stop for start, stop in new) for first, last in old)


def _spans(pool: Manifest) -> Iterator[tuple[int, int]]:
    """Yield the first and the last address of each block that can be read, as numbers."""
    for block in map(mapping, sequence(value_at(pool, "spec.blocks"))):
        with suppress(ValueError):
            if "cidr" in block:
                network = ip_network(str(block["cidr"]), strict=False)
                yield int(network[0]), int(network[-1])
            else:
                first = str(block.get("start"))
                yield int(ip_address(first)), int(ip_address(str(block.get("stop", first))))


DEFINITION = Definition(
    name=NAME,
    tier=Tier.NETWORK,
    make=load_balancer,
    wanted=lambda cluster: cluster.networks.load_balancer,
    absence="there is no networks.loadBalancer",
    own_kinds=(
        "cilium.io/CiliumL2AnnouncementPolicy",
        "cilium.io/CiliumLoadBalancerIPPool",
        "projectcalico.org/BGPConfiguration",
        "projectcalico.org/BGPPeer",
        "projectcalico.org/IPPool",
    ),
    changes=lambda: read_rules("load_balancer_changes.yaml", keeps),
    shown_by=Evidence(
        objects=(Shown("cilium.io", "ciliumloadbalancerippools"), Shown("crd.projectcalico.org", "bgppeers"))
    ),
    notes="Cilium hands the addresses out and answers ARP for them; Calico hands them out and tells routers by BGP.",
)
