"""Addresses for Services of type LoadBalancer, handed out and announced by Cilium."""

import re

from generator.components.cilium import VERSIONS as CILIUM_VERSIONS
from generator.components.common import ethernet
from generator.components.component import Component, Manifest, Tier
from generator.components.definition import Definition
from generator.model.cluster import Cluster
from generator.model.text import AddressRange

# Cilium's operator makes the CRDs when it starts: they are in no chart, so a dry run may come before them.
METADATA = {
    "name": "load-balancer",
    "annotations": {"argocd.argoproj.io/sync-options": "SkipDryRunOnMissingResource=true"},
}


def load_balancer(cluster: Cluster) -> Component:
    """Hand out `networks.loadBalancer.range` where Cilium is the network."""
    balancer = cluster.networks.load_balancer
    assert balancer
    objects = [pool(balancer.range)]
    if balancer.announce == "l2":
        objects.append(announcement(ethernet(cluster)))
    return Component(
        name="load-balancer",
        tier=DEFINITION.tier,
        summary="Addresses for Services of type LoadBalancer",
        version=CILIUM_VERSIONS.of(cluster).version,
        objects=tuple(objects),
        needs=("cilium",),
    )


def pool(addresses: AddressRange) -> Manifest:
    """Return the pool of addresses, first and last included. Nothing is protected: the pool is remade at once."""
    return {
        "apiVersion": "cilium.io/v2",
        "kind": "CiliumLoadBalancerIPPool",
        "metadata": METADATA,
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
        "metadata": METADATA,
        "spec": {
            "interfaces": [f"^{re.escape(interface)}$" for interface in interfaces],
            "loadBalancerIPs": True,
            "externalIPs": False,
        },
    }


DEFINITION = Definition(
    name="load-balancer",
    tier=Tier.NETWORK,
    make=load_balancer,
    wanted=lambda cluster: cluster.networks.load_balancer and cluster.networks.cni == "cilium",
    absence="there is no networks.loadBalancer",
    own_kinds=("cilium.io/CiliumL2AnnouncementPolicy", "cilium.io/CiliumLoadBalancerIPPool"),
)
