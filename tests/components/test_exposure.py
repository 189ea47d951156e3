"""The way from outside: a listener and a certificate for each host, closed to all but its team."""

from typing import Any

import pytest
from msgspec import structs
from reference import load
from validation.schemas import folders, refused

from generator.components import CATALOGUE, JOBS, compose
from generator.components.cilium import ROUTING_CRDS, cilium
from generator.components.component import Component, Manifest
from generator.components.exposure import DEFINITION as EXPOSURE
from generator.components.exposure import exposure
from generator.components.exposure.layout import MOST_HOSTS
from generator.components.kueue import TEAM
from generator.components.tenants import tenants
from generator.model.cluster import Cluster


@pytest.fixture(scope="module")
def serving() -> Cluster:
    return load("gpu-serving")


def of_kind(component: Component, kind: str) -> list[Manifest]:
    return [one for one in component.objects if one["kind"] == kind]


def listeners(cluster: Cluster) -> dict[str, Manifest]:
    (gateway,) = of_kind(exposure(cluster), "Gateway")
    return {one["name"]: one for one in gateway["spec"]["listeners"]}


def hosts(cluster: Cluster) -> dict[str, str]:
    return {host: team.name for team in cluster.teams for host in team.hosts}


def without(cluster: Cluster) -> Cluster:
    return structs.replace(cluster, networks=structs.replace(cluster.networks, exposure=None))


def test_only_where_the_file_asks_for_it(serving: Cluster, ml50: Cluster) -> None:
    assert not EXPOSURE.wanted(ml50)
    assert EXPOSURE.wanted(serving)


def test_objects_are_valid(serving: Cluster) -> None:
    made = exposure(serving).objects
    assert [said for one in made for said in refused(one, folders(serving))] == []
    (gateway,) = of_kind(exposure(serving), "Gateway")
    assert refused(gateway | {"spec": gateway["spec"] | {"listener": []}}, folders(serving))


def test_a_listener_takes_routes_of_its_own_team_alone(serving: Cluster) -> None:
    plain, *others = listeners(serving).values()
    assert plain["allowedRoutes"]["namespaces"] == {"from": "Same"}
    allowed = {one["hostname"]: one["allowedRoutes"]["namespaces"] for one in others}
    owned = {host: {"matchLabels": {TEAM: team}} for host, team in hosts(serving).items()}
    assert allowed == {host: {"from": "Selector", "selector": labels} for host, labels in owned.items()}
    assert {*hosts(serving).values()} <= {one.labels[TEAM] for one in tenants(serving, JOBS).namespaces}


def test_each_host_has_a_certificate_of_its_own(serving: Cluster) -> None:
    signed = {one["spec"]["secretName"]: one["spec"]["dnsNames"] for one in of_kind(exposure(serving), "Certificate")}
    assert signed == {host: [host] for host in hosts(serving)}
    for name, one in listeners(serving).items():
        shown = [each["name"] for each in one.get("tls", {}).get("certificateRefs", [])]
        assert shown == ([] if name == "http" else [name])
    assert {secret.name for secret in exposure(serving).secrets} == signed.keys()


def test_nothing_but_the_redirection_answers_without_tls(serving: Cluster) -> None:
    assert [one["name"] for one in listeners(serving).values() if one["protocol"] != "HTTPS"] == ["http"]
    (route,) = of_kind(exposure(serving), "HTTPRoute")
    (rule,) = route["spec"]["rules"]
    assert "backendRefs" not in rule
    assert [one["requestRedirect"]["scheme"] for one in rule["filters"]] == ["https"]
    assert [one["sectionName"] for one in route["spec"]["parentRefs"]] == ["http"]


def test_the_address_is_the_declared_one(serving: Cluster) -> None:
    (gateway,) = of_kind(exposure(serving), "Gateway")
    assert gateway["spec"]["addresses"] == [{"type": "IPAddress", "value": "10.60.1.230"}]


def test_it_waits_for_what_gives_addresses_and_certificates(serving: Cluster) -> None:
    (made,) = (one for one in compose(serving) if one.name == "exposure")
    assert {"cilium", "load-balancer", "issuers"} <= {*made.needs}
    assert not [one.name for one in compose(serving) if "exposure" in one.needs]


def test_as_many_hosts_fit_as_rules_let_through(serving: Cluster) -> None:
    team = structs.replace(serving.teams[0], hosts=tuple(f"h{each}.example.org" for each in range(MOST_HOSTS)))
    assert len(listeners(structs.replace(serving, teams=(team,)))) == 64


def test_cilium_brings_definitions_and_a_class_where_there_is_a_gateway(serving: Cluster) -> None:
    made, plain = cilium(serving), cilium(without(serving))
    assert (made.manifests, plain.manifests) == (ROUTING_CRDS, ())
    values, quiet = (one.releases[0].values["gatewayAPI"] for one in (made, plain))
    assert (values["enabled"], values["gatewayClass"]) == (True, {"create": "true"})
    assert "enabled" not in quiet
    assert "gateway.networking.k8s.io/GatewayClass" in made.kinds
    assert not [kind for kind in plain.kinds if "gateway" in kind or "Custom" in kind]


def test_definitions_are_of_one_version_whatever_cilium_s() -> None:
    assert {address.split("/")[5] for address in ROUTING_CRDS} == {"v1.6.1"}
    (version,) = CATALOGUE["cilium"].known
    assert CATALOGUE["cilium"].versions
    other = CATALOGUE["cilium"].versions.named("1.20.7")
    assert other
    assert (version.manifests, other.manifests) == (ROUTING_CRDS, ROUTING_CRDS)


@pytest.mark.parametrize(("team", "counted"), [("search", 2), ("speech", 0)])
def test_rights_and_openings_come_with_hosts(serving: Cluster, team: str, counted: int) -> None:
    mine = [one for one in tenants(serving, JOBS).objects if one["metadata"].get("namespace") == team]
    named = {(one["kind"], one["metadata"]["name"]): one for one in mine}
    assert (("RoleBinding", "routes") in named) == bool(counted)
    assert (("CiliumNetworkPolicy", "team-gateway") in named) == bool(counted)
    assert sum("gateway" in key for key in named["ResourceQuota", "team"]["spec"]["hard"]) == counted


def test_viewers_make_no_routes(serving: Cluster) -> None:
    bound = [one for one in tenants(serving, JOBS).objects if one["metadata"]["name"] == "routes"]
    assert {each["name"] for one in bound for each in one["subjects"]} == {"oidc:assistant", "oidc:search"}


def test_the_gateway_reaches_pods_of_teams_and_that_is_all(serving: Cluster) -> None:
    found: list[Any] = [
        one["spec"] for one in tenants(serving, JOBS).objects if one["metadata"]["name"] == "team-gateway"
    ]
    assert found == [{"endpointSelector": {}, "ingress": [{"fromEntities": ["ingress"]}]}] * 2
    alone = [one["metadata"]["name"] for one in tenants(without(serving), JOBS).objects]
    assert "team-gateway" not in alone
