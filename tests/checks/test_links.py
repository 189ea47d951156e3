"""The edges of networks so small that both of their addresses are hosts'."""

from ipaddress import IPv4Network

import pytest
from msgspec import structs

from generator.checks.load_balancer import range_of_hosts
from generator.model.cluster import Cluster
from generator.model.finding import in_words
from generator.model.nodes import LoadBalancer, Network
from generator.model.text import AddressRange


def announcing(cluster: Cluster, cidr: str, addresses: str) -> Cluster:
    balancer = LoadBalancer(range=AddressRange.parse(addresses))
    networks = structs.replace(cluster.networks, node=Network(cidr=IPv4Network(cidr)), load_balancer=balancer)
    return structs.replace(cluster, networks=networks)


@pytest.mark.parametrize(
    ("cidr", "addresses"),
    [
        ("255.255.255.255/32", "255.255.255.255/32"),
        ("0.0.0.0/32", "0.0.0.0/32"),
        ("10.0.0.0/31", "10.0.0.0-10.0.0.1"),
        ("10.0.0.0/30", "10.0.0.1-10.0.0.2"),
    ],
)
def test_addresses_of_hosts_may_be_given_to_services(cidr: str, addresses: str, ml50: Cluster) -> None:
    assert list(range_of_hosts.check(announcing(ml50, cidr, addresses))) == []


def test_both_edges_of_a_network_are_kept_from_services(ml50: Cluster) -> None:
    found = list(range_of_hosts.check(announcing(ml50, "10.0.0.0/30", "10.0.0.0-10.0.0.3")))
    assert [finding.message.split(",")[0].rpartition(" ")[2] for finding in found] == ["10.0.0.0", "10.0.0.3"]
    assert {in_words(finding.edits) for finding in found} == {"range: 10.0.0.1-10.0.0.2"}
