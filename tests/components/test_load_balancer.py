import re

import pytest
from msgspec import structs
from network_upstream import crd_errors

from generator.components.component import Component, Manifest
from generator.components.load_balancer import DEFINITION as LOAD_BALANCER
from generator.components.load_balancer import load_balancer
from generator.model.cluster import Cluster
from generator.model.nodes import LoadBalancer
from generator.model.text import AddressRange


def build(cluster: Cluster) -> Component:
    component = load_balancer(cluster)
    assert component is not None
    return component


def of_kind(cluster: Cluster, kind: str) -> Manifest:
    return next(manifest for manifest in build(cluster).objects if manifest["kind"] == kind)


def test_only_with_a_range_and_cilium(ml50: Cluster, a30: Cluster) -> None:
    assert not LOAD_BALANCER.wanted(a30)
    networks = structs.replace(ml50.networks, load_balancer=None)
    assert not LOAD_BALANCER.wanted(structs.replace(ml50, networks=networks))
    networks = structs.replace(ml50.networks, cni="calico")
    assert not LOAD_BALANCER.wanted(structs.replace(ml50, networks=networks))


def test_objects_are_valid(ml50: Cluster) -> None:
    for manifest in build(ml50).objects:
        assert crd_errors(manifest, "cilium/1.20.0/crds") == []


def test_a_wrong_field_would_be_seen(ml50: Cluster) -> None:
    pool = of_kind(ml50, "CiliumLoadBalancerIPPool")
    pool["spec"]["cidrs"] = []
    assert crd_errors(pool, "cilium/1.20.0/crds")


@pytest.mark.parametrize("text", ["10.10.3.224/27", "10.10.3.5-10.10.3.9"])
def test_the_pool_is_the_range(ml50: Cluster, text: str) -> None:
    balancer = LoadBalancer(range=AddressRange.parse(text))
    cluster = structs.replace(ml50, networks=structs.replace(ml50.networks, load_balancer=balancer))
    spec = of_kind(cluster, "CiliumLoadBalancerIPPool")["spec"]
    (block,) = spec["blocks"]
    assert f"{block['start']}-{block['stop']}" == str(balancer.range)
    assert spec["allowFirstLastIPs"] == "Yes"


def test_interfaces_match_nothing_but_themselves(ml50: Cluster) -> None:
    first, *others = ml50.machines
    network = structs.replace(first.networks["node"], interface="bond0.100")
    machines = (structs.replace(first, networks={"node": network}), *others)
    policy = of_kind(structs.replace(ml50, machines=machines), "CiliumL2AnnouncementPolicy")
    patterns = policy["spec"]["interfaces"]
    for name, wanted in {"eno1": 1, "bond0.100": 1, "eno10": 0, "xeno1": 0, "bond0x100": 0, "ibs1": 0}.items():
        assert sum(bool(re.search(pattern, name)) for pattern in patterns) == wanted, name


def test_nothing_is_announced_unless_by_arp(ml50: Cluster) -> None:
    balancer = LoadBalancer(range=AddressRange.parse("10.0.0.0/28"), announce="none")
    cluster = structs.replace(ml50, networks=structs.replace(ml50.networks, load_balancer=balancer))
    assert [manifest["kind"] for manifest in build(cluster).objects] == ["CiliumLoadBalancerIPPool"]


def test_a_dry_run_may_come_before_the_crds(ml50: Cluster) -> None:
    for manifest in build(ml50).objects:
        options = manifest["metadata"]["annotations"]["argocd.argoproj.io/sync-options"]
        assert options == "SkipDryRunOnMissingResource=true"
    assert build(ml50).needs == ("cilium",)
