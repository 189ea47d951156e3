import re
from ipaddress import IPv4Address

import pytest
from msgspec import structs
from validation.schemas import refused

from generator.components.calico import calico
from generator.components.component import Component, Manifest
from generator.components.load_balancer import DEFINITION as LOAD_BALANCER
from generator.components.load_balancer import load_balancer
from generator.model.cluster import Cluster
from generator.model.nodes import Bgp, BgpPeer, LoadBalancer
from generator.model.text import AddressRange


def build(cluster: Cluster) -> Component:
    component = load_balancer(cluster)
    assert component is not None
    return component


def of_kind(cluster: Cluster, kind: str) -> Manifest:
    return next(manifest for manifest in build(cluster).objects if manifest["kind"] == kind)


def told_by_bgp(cluster: Cluster, text: str = "10.50.0.0-10.50.0.9") -> Cluster:
    peers = tuple(BgpPeer(address=IPv4Address(f"129.254.202.{last}"), as_number=64513) for last in (1, 2))
    balancer = LoadBalancer(range=AddressRange.parse(text), announce="bgp", bgp=Bgp(peers=peers))
    return structs.replace(cluster, networks=structs.replace(cluster.networks, load_balancer=balancer))


def calico_settings(cluster: Cluster) -> Manifest:
    (installation,) = calico(cluster).objects
    settings: Manifest = installation["spec"]["calicoNetwork"]
    return settings


def test_only_with_a_range(ml50: Cluster, a30: Cluster) -> None:
    assert not LOAD_BALANCER.wanted(a30)
    assert LOAD_BALANCER.wanted(told_by_bgp(a30))
    networks = structs.replace(ml50.networks, load_balancer=None)
    assert not LOAD_BALANCER.wanted(structs.replace(ml50, networks=networks))


def test_objects_are_valid(a30: Cluster) -> None:
    for manifest in build(told_by_bgp(a30)).objects:
        assert refused(manifest, ["calico/v3.32.1"]) == []


def test_calico_hands_out_the_range_in_networks_and_tells_each_router(a30: Cluster) -> None:
    cluster = told_by_bgp(a30)
    first, second, configuration, *peers = build(cluster).objects
    assert [one["spec"]["cidr"] for one in (first, second)] == ["10.50.0.0/29", "10.50.0.8/31"]
    assert [one["metadata"]["name"] for one in (first, second)] == [
        "load-balancer-10-50-0-0-29",
        "load-balancer-10-50-0-8-31",
    ]
    for one in (first, second):
        assert one["spec"]["allowedUses"] == ["LoadBalancer"]
        # Calico refuses these pools with a tunnel, and blocks larger than the pool.
        assert (one["spec"]["vxlanMode"], one["spec"]["ipipMode"]) == ("Never", "Never")
        assert one["spec"]["blockSize"] == int(one["spec"]["cidr"].split("/")[1])
    assert configuration["metadata"]["name"] == "default"
    assert configuration["spec"] == {
        "asNumber": 64512,
        "nodeToNodeMeshEnabled": False,
        "serviceLoadBalancerIPs": [{"cidr": "10.50.0.0/29"}, {"cidr": "10.50.0.8/31"}],
    }
    assert [one["spec"]["peerIP"] for one in peers] == ["129.254.202.1", "129.254.202.2"]
    assert len({one["metadata"]["name"] for one in peers}) == 2
    assert build(cluster).needs == ("calico",)


def test_blocks_are_calico_s_own_where_the_pool_is_larger(a30: Cluster) -> None:
    assert build(told_by_bgp(a30, "10.50.0.0/24")).objects[0]["spec"]["blockSize"] == 26


def test_nodes_speak_bgp_only_to_routers_and_tell_them_nothing_of_pods(a30: Cluster) -> None:
    settings = calico_settings(told_by_bgp(a30))
    assert settings["bgp"] == "Enabled"
    assert [one["disableBGPExport"] for one in settings["ipPools"]] == [True]
    assert settings["ipPools"][0]["encapsulation"] == "VXLAN"
    settings = calico_settings(a30)
    assert settings["bgp"] == "Disabled"
    assert [one["disableBGPExport"] for one in settings["ipPools"]] == [False]


def test_calico_tells_nobody_where_routers_know_already(a30: Cluster) -> None:
    balancer = LoadBalancer(range=AddressRange.parse("10.50.0.0/28"), announce="none")
    cluster = structs.replace(a30, networks=structs.replace(a30.networks, load_balancer=balancer))
    assert [manifest["kind"] for manifest in build(cluster).objects] == ["IPPool"]
    assert calico_settings(cluster)["bgp"] == "Disabled"


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


def test_a_dry_run_may_come_before_the_crds(ml50: Cluster, a30: Cluster) -> None:
    for manifest in (*build(ml50).objects, *build(told_by_bgp(a30)).objects):
        options = manifest["metadata"]["annotations"]["argocd.argoproj.io/sync-options"]
        assert options == "SkipDryRunOnMissingResource=true"
    assert build(ml50).needs == ("cilium",)
