from ipaddress import IPv6Network

import pytest
from msgspec import structs

from generator.components.common import proxy_variables
from generator.model.cluster import Cluster
from generator.model.nodes import LoadBalancer
from generator.model.site import Proxy
from generator.model.text import AddressRange


@pytest.fixture
def behind(ml50: Cluster) -> Cluster:
    """With a proxy, and with a range for Services outside all other networks."""
    balancer = LoadBalancer(range=AddressRange.parse("10.50.0.8-10.50.0.12"), announce="none")
    return structs.replace(
        ml50,
        site=structs.replace(ml50.site, proxy=Proxy(http="http://proxy.example.org:3128")),
        networks=structs.replace(ml50.networks, load_balancer=balancer),
    )


def directly(cluster: Cluster, *past: str) -> list[str]:
    return proxy_variables(cluster, *past)["NO_PROXY"].split(",")


def test_what_is_inside_is_reached_without_the_proxy(behind: Cluster) -> None:
    assert directly(behind, "argocd-redis") == [
        "localhost", "127.0.0.1", "10.10.0.0/22", "10.20.0.0/22", "10.244.0.0/16", "10.96.0.0/12",
        "10.50.0.8/30", "10.50.0.12/32", ".cluster.local", ".svc", f".{behind.site.domain}",
        behind.kubernetes.endpoint.host, "argocd-redis",
    ]  # fmt: skip


def test_of_two_families_both_are_inside(behind: Cluster) -> None:
    six = {name: IPv6Network(f"fd00:{name}::/48") for name in "1234"}
    kubernetes = structs.replace(behind.kubernetes, pod_cidr6=six["1"], service_cidr6=six["2"])
    assert behind.networks.storage
    networks = structs.replace(
        behind.networks,
        node=structs.replace(behind.networks.node, cidr6=six["3"]),
        storage=structs.replace(behind.networks.storage, cidr6=six["4"]),
    )
    dual = structs.replace(behind, kubernetes=kubernetes, networks=networks)
    assert set(directly(dual)) - set(directly(behind)) == {str(each) for each in six.values()}


def test_nothing_is_named_twice(behind: Cluster) -> None:
    given = ("10.244.0.0/16", ".svc", "git.corp", "git.corp")
    proxy = Proxy(http="http://proxy.example.org:3128", no_proxy=given)
    site = structs.replace(behind.site, proxy=proxy)
    assert directly(structs.replace(behind, site=site), "git.corp") == [*directly(behind), "git.corp"]


def test_without_a_proxy_nothing_is_said(ml50: Cluster) -> None:
    assert proxy_variables(ml50) == {}
