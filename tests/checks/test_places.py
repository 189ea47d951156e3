from ipaddress import IPv4Address, IPv4Network, IPv6Network

import pytest
from msgspec import structs

from generator.checks.places import (
    POD,
    by_place,
    free_address,
    free_network,
    given_twice,
    hardware_path,
    is_host,
    network_path,
    overlap,
    repeats,
    sections,
)
from generator.model.cluster import Cluster
from generator.model.finding import Finding
from generator.model.nodes import HardwareOverride, Network, NetworkOverride, Networks


def with_node_network(cluster: Cluster, cidr: str) -> Cluster:
    networks: Networks = structs.replace(cluster.networks, node=Network(cidr=IPv4Network(cidr)), load_balancer=None)
    return structs.replace(cluster, networks=networks)


def test_the_free_address_follows_the_last_node(ml50: Cluster) -> None:
    assert free_address(ml50, "node") == "10.10.0.175"
    assert free_address(ml50, "ipoib") == "10.30.0.116"


def test_the_free_address_is_none_of_the_load_balancers(ml50: Cluster) -> None:
    last = structs.replace(ml50.nodes[-1], address=IPv4Address("10.10.3.223"))
    free = IPv4Address(free_address(structs.replace(ml50, nodes=(*ml50.nodes[:-1], last)), "node"))
    balancer = ml50.networks.load_balancer
    assert balancer
    assert free not in balancer.range
    assert free not in {node.address for node in ml50.nodes}


@pytest.mark.parametrize(("cidr", "free"), [("129.254.202.248/29", "129.254.202.254"), ("129.254.202.250/31", "")])
def test_a_full_network_has_no_free_address(cidr: str, free: str, a30: Cluster) -> None:
    cluster = with_node_network(a30, cidr)
    at_250 = structs.replace(a30.nodes[0], address=IPv4Address("129.254.202.250"))
    assert free_address(structs.replace(cluster, nodes=(*a30.nodes, at_250)), "node") == free


def test_a_hole_is_found_when_the_end_of_the_network_is_taken(a30: Cluster) -> None:
    last = structs.replace(a30.nodes[0], address=IPv4Address("129.254.202.254"))
    assert free_address(structs.replace(a30, nodes=(*a30.nodes, last)), "node") == "129.254.202.2"


def test_a_network_that_is_not_there_has_no_free_address(a30: Cluster) -> None:
    assert free_address(a30, "storage") == ""


@pytest.mark.parametrize("prefix", [10, 12, 16, 20, 28])
def test_a_free_network_overlaps_none(prefix: int, ml50: Cluster) -> None:
    free = IPv4Network(free_network(ml50, prefix, "10.10.0.0", besides=()))
    kubernetes, networks = ml50.kubernetes, ml50.networks
    taken = [kubernetes.pod_cidr, kubernetes.service_cidr, networks.node.cidr]
    assert free.prefixlen == prefix
    assert not any(free.overlaps(each) for each in taken)


def test_the_wished_network_is_taken_where_it_is_free(ml50: Cluster) -> None:
    assert free_network(ml50, 16, "10.200.0.0", besides=()) == "10.200.0.0/16"
    assert free_network(ml50, 16, "10.244.0.0", besides=POD) == "10.244.0.0/16"


def test_a_network_too_large_for_private_addresses_is_not_found(ml50: Cluster) -> None:
    assert free_network(ml50, 4, "10.0.0.0", besides=()) == ""


@pytest.mark.parametrize(
    ("address", "cidr", "host"),
    [
        ("10.0.0.0", "10.0.0.0/24", False),
        ("10.0.0.1", "10.0.0.0/24", True),
        ("10.0.0.255", "10.0.0.0/24", False),
        ("10.0.1.1", "10.0.0.0/24", False),
        ("10.0.0.0", "10.0.0.0/31", True),
        ("10.0.0.1", "10.0.0.0/31", True),
        ("10.0.0.0", "10.0.0.0/32", True),
    ],
)
def test_the_edges_of_a_network_are_no_hosts(address: str, cidr: str, *, host: bool) -> None:
    assert is_host(IPv4Address(address), IPv4Network(cidr)) is host


def test_families_never_overlap() -> None:
    assert not overlap(IPv4Network("0.0.0.0/0"), IPv6Network("::/0"))
    assert not overlap(IPv6Network("::/0"), IPv4Network("0.0.0.0/0"))
    assert overlap(IPv6Network("fd00::/8"), IPv6Network("fd00::/64"))


def test_each_repeat_names_the_first() -> None:
    items: list[tuple[str, tuple[str | int, ...]]] = [("a", (0,)), ("b", (1,)), ("a", (2,)), ("a", (3,))]
    assert list(repeats(items)) == [("a", (2,), (0,)), ("a", (3,), (0,))]


def test_what_is_given_twice_is_told_with_both_places() -> None:
    items: list[tuple[str, tuple[str | int, ...]]] = [("{a}", ("x", 0)), ("b", ("x", 1)), ("{a}", ("x", 2))]
    finding = Finding(at=("x", 2), also=("x", 0), message="two are named {a}", fix="rename one")
    assert list(given_twice(items, "two are named {}", "rename one")) == [finding]


def test_pools_come_before_nodes_each_at_its_place(a30: Cluster) -> None:
    places = [at for at, _ in sections(a30)]
    assert places == [*(("pools", name) for name in a30.pools), *(("nodes", index) for index in range(3))]


def test_nodes_are_grouped_by_the_place_of_their_hardware(a30: Cluster) -> None:
    node = structs.replace(a30.nodes[2], hardware=HardwareOverride(cpu=8))
    cluster = structs.replace(a30, nodes=(*a30.nodes[:2], node))
    found = by_place(cluster, cluster.machines[1:], "cpu")
    assert found == {
        ("pools", "bench", "hardware", "cpu"): [cluster.machines[1]],
        ("nodes", 2, "hardware", "cpu"): [cluster.machines[2]],
    }
    assert list(by_place(cluster, cluster.machines[1:], "memory")) == [("pools", "bench", "hardware", "memory")]


def test_hardware_stands_on_the_node_that_overrides_it(a30: Cluster) -> None:
    node = structs.replace(a30.nodes[1], hardware=HardwareOverride(cpu=8))
    cluster = structs.replace(a30, nodes=(a30.nodes[0], node, a30.nodes[2]))
    assert hardware_path(cluster, cluster.machines[1], "cpu") == ("nodes", 1, "hardware", "cpu")
    assert hardware_path(cluster, cluster.machines[1], "memory") == ("pools", "bench", "hardware", "memory")


def test_a_network_key_stands_where_it_is_said_last(a30: Cluster) -> None:
    override = NetworkOverride(mtu=1500)
    machine = a30.machines[1]
    pool = structs.replace(a30.pools["bench"], networks={"node": override})
    on_pool = structs.replace(a30, pools={**a30.pools, "bench": pool})
    node = structs.replace(a30.nodes[1], networks={"node": override})
    on_node = structs.replace(on_pool, nodes=(a30.nodes[0], node, a30.nodes[2]))
    assert network_path(a30, machine, "node", "mtu") == ("networks", "node", "mtu")
    assert network_path(on_pool, machine, "node", "mtu") == ("pools", "bench", "networks", "node", "mtu")
    assert network_path(on_node, machine, "node", "mtu") == ("nodes", 1, "networks", "node", "mtu")
