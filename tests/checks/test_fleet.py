"""Rules across clusters: pairs of clusters that are wrong together."""

from ipaddress import IPv4Address
from pathlib import Path

import pytest
from msgspec import structs

from generator.checks import FLEET_RULES, check_together
from generator.model.cluster import Cluster, Kubernetes
from generator.model.finding import Severity
from generator.model.gitops import Gitops
from generator.model.nodes import Exposure, LoadBalancer, Networks, Node
from generator.model.site import Repository
from generator.model.teams import Team
from generator.model.text import AddressRange
from generator.spec.decode import decode
from generator.spec.reader import read

VALID = Path(__file__).parent.parent / "wrong" / "valid" / "minimal.yaml"


def minimal() -> Cluster:
    cluster = decode(read(VALID.read_bytes(), VALID.name))
    assert isinstance(cluster, Cluster)
    return structs.replace(cluster, name="one")


def endpoint(cluster: Cluster, address: str, by: str) -> Kubernetes:
    return structs.replace(
        cluster.kubernetes, endpoint=structs.replace(cluster.kubernetes.endpoint, address=address, by=by)
    )


def neighbour() -> Cluster:
    """Return a cluster that goes well with the minimal one."""
    cluster = minimal()
    nodes = tuple(structs.replace(node, address=node.address + 100) for node in cluster.nodes)
    return structs.replace(
        cluster, name="two", nodes=nodes, kubernetes=endpoint(cluster, "10.10.0.110:6443", "kube-vip")
    )


def nodes(cluster: Cluster, **first: object) -> tuple[Node, ...]:
    return (structs.replace(cluster.nodes[0], **first), *cluster.nodes[1:])


def networks(cluster: Cluster, text: str) -> Networks:
    return structs.replace(cluster.networks, load_balancer=LoadBalancer(range=AddressRange.parse(text)))


def found(one: Cluster, two: Cluster) -> list[tuple[str, str]]:
    return [(finding.file.split("/")[1], finding.code) for finding in check_together({"one": one, "two": two})]


def exposed(cluster: Cluster, host: str) -> Cluster:
    """Return a cluster with a team that has this host."""
    exposure = Exposure(domain="apps.example.org", address=IPv4Address("10.10.0.250"))
    team = structs.replace(cluster.teams[0], hosts=(host,)) if cluster.teams else Team(name="serving", hosts=(host,))
    networks = structs.replace(cluster.networks, exposure=exposure)
    return structs.replace(cluster, networks=networks, teams=(team, *cluster.teams[1:]))


ONE, TWO = minimal(), neighbour()
MAC = "02:00:00:00:00:01"
CASES: dict[str, tuple[str, Cluster, Cluster]] = {
    "address": ("GEN-FLEET-001", ONE, structs.replace(TWO, nodes=nodes(TWO, address=IPv4Address("10.10.0.21")))),
    "mac": (
        "GEN-FLEET-001",
        structs.replace(ONE, nodes=nodes(ONE, mac=MAC)),
        structs.replace(TWO, nodes=nodes(TWO, mac=MAC)),
    ),
    "moving endpoint": (
        "GEN-FLEET-002",
        ONE,
        structs.replace(TWO, kubernetes=endpoint(TWO, "10.10.0.10:7443", "kube-vip")),
    ),
    "load balancer's port": (
        "GEN-FLEET-002",
        structs.replace(ONE, kubernetes=endpoint(ONE, "10.10.0.9:6443", "external")),
        structs.replace(TWO, kubernetes=endpoint(TWO, "10.10.0.9:6443", "external")),
    ),
    "endpoint on a node": (
        "GEN-FLEET-003",
        ONE,
        structs.replace(TWO, kubernetes=endpoint(TWO, "10.10.0.21:6443", "kube-vip")),
    ),
    "host": (
        "GEN-FLEET-004",
        structs.replace(ONE, gitops=Gitops(host="argocd.example.org")),
        structs.replace(TWO, gitops=Gitops(host="argocd.example.org")),
    ),
    "host of a team": ("GEN-FLEET-004", exposed(ONE, "api.apps.example.org"), exposed(TWO, "api.apps.example.org")),
    "range": (
        "GEN-FLEET-005",
        structs.replace(ONE, networks=networks(ONE, "10.10.0.240-10.10.0.245")),
        structs.replace(TWO, networks=networks(TWO, "10.10.0.245-10.10.0.250")),
    ),
    "repository": (
        "GEN-FLEET-007",
        ONE,
        structs.replace(TWO, repository=Repository(url="https://git.lab.example.org/other.git")),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_second_cluster_has_the_finding(case: str) -> None:
    code, one, two = CASES[case]
    assert found(one, two) == [("two", code)]


def test_every_rule_across_clusters_has_a_case() -> None:
    assert {code for code, _, _ in CASES.values()} == set(FLEET_RULES)


def test_neighbours_go_together() -> None:
    assert found(ONE, TWO) == []


def test_a_load_balancer_outside_serves_two_clusters_at_two_ports() -> None:
    one = structs.replace(ONE, kubernetes=endpoint(ONE, "10.10.0.9:6443", "external"))
    two = structs.replace(TWO, kubernetes=endpoint(TWO, "10.10.0.9:7443", "external"))
    assert found(one, two) == []


def test_ranges_side_by_side_are_apart() -> None:
    one = structs.replace(ONE, networks=networks(ONE, "10.10.0.240-10.10.0.244"))
    two = structs.replace(TWO, networks=networks(TWO, "10.10.0.245-10.10.0.250"))
    assert found(one, two) == []


def test_one_cluster_alone_and_none_are_fine(ml50: Cluster) -> None:
    assert list(check_together({"ml50": ml50})) == []
    assert list(check_together({})) == []


def test_the_reference_clusters_have_no_errors_together(ml50: Cluster, a30: Cluster) -> None:
    together = check_together({"ml50": ml50, "a30-bench": a30})
    assert [finding for finding in together if finding.severity is Severity.ERROR] == []
