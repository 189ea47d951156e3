"""Envoy Gateway: who serves the Gateway of teams on clusters with Calico, and what it may."""

import json
from pathlib import Path
from typing import Any

import pytest
from reference import load
from validation.schemas import folders, refused

from generator.components import CATALOGUE, JOBS, absent, compose
from generator.components.component import Component, Manifest
from generator.components.envoy_gateway import DEFINITION, envoy_gateway
from generator.components.envoy_gateway.layout import GROUP, NAME, NAMESPACE, PORTS, PROXIES
from generator.components.envoy_gateway.rights import reading
from generator.components.exposure import exposure
from generator.components.tenants import tenants
from generator.model.cluster import Cluster
from generator.model.fields import dig
from generator.spec.decode import decode
from generator.spec.reader import read

FILE = Path(__file__).parents[1] / "wrong" / "valid" / "exposure-calico.yaml"


@pytest.fixture(scope="module")
def lab() -> Cluster:
    """Team vision has a host, team language has none."""
    found = decode(read(FILE.read_bytes(), FILE.name))
    assert isinstance(found, Cluster)
    return found


def all_of(component: Component) -> tuple[Manifest, ...]:
    return (*component.base, *component.objects)


def named(component: Component, kind: str, name: str) -> Manifest:
    (found,) = (one for one in all_of(component) if (one["kind"], one["metadata"]["name"]) == (kind, name))
    return found


def test_only_where_the_network_serves_no_gateways(lab: Cluster) -> None:
    assert DEFINITION.wanted(lab)
    for cluster in map(load, ("ml50", "a30-bench", "gpu-serving")):
        assert NAME in absent(cluster)
    gateway, by_cilium = (named(exposure(one), "Gateway", "teams")["spec"] for one in (lab, load("gpu-serving")))
    assert (gateway["gatewayClassName"], by_cilium["gatewayClassName"]) == ("envoy-gateway", "cilium")
    assert ("addresses" in gateway, "infrastructure" in by_cilium) == (False, False)


def test_objects_are_valid(lab: Cluster) -> None:
    made = (*all_of(envoy_gateway(lab)), *exposure(lab).objects)
    assert [said for one in made for said in refused(one, folders(lab))] == []
    proxy = named(exposure(lab), "EnvoyProxy", "teams")
    assert refused(proxy | {"spec": proxy["spec"] | {"envoys": 2}}, folders(lab))


def test_it_is_ready_before_what_needs_it_and_after_what_lets_it_read(lab: Cluster) -> None:
    made = {one.name: one for one in compose(lab)}
    assert "tenants" in made[NAME].needs
    assert NAME in made["exposure"].needs
    assert CATALOGUE[NAME].tier != CATALOGUE["exposure"].tier


def test_its_service_asks_for_the_address_of_the_file(lab: Cluster) -> None:
    service = named(exposure(lab), "EnvoyProxy", "teams")["spec"]["provider"]["kubernetes"]["envoyService"]
    assert json.loads(service["annotations"]["projectcalico.org/loadBalancerIPs"]) == ["10.50.0.9"]
    assert (service["type"], service["externalTrafficPolicy"]) == ("LoadBalancer", "Cluster")


def test_the_gateway_is_what_its_object_tells_of(lab: Cluster) -> None:
    reference = named(exposure(lab), "Gateway", "teams")["spec"]["infrastructure"]["parametersRef"]
    proxy = named(exposure(lab), "EnvoyProxy", reference["name"])
    assert proxy["metadata"]["namespace"] == named(exposure(lab), "Gateway", "teams")["metadata"]["namespace"]
    assert proxy["apiVersion"] == f"{reference['group']}/v1alpha1"


def test_an_answer_may_take_an_hour_whatever_the_route(lab: Cluster) -> None:
    """Envoy's own bound is 15 seconds, and a GRPCRoute can say no other."""
    policy, gateway = (named(exposure(lab), kind, "teams") for kind in ("BackendTrafficPolicy", "Gateway"))
    assert policy["spec"]["timeout"] == {"http": {"requestTimeout": "1h"}}
    (target,) = policy["spec"]["targetRefs"]
    assert target == {"group": gateway["apiVersion"].partition("/")[0], "kind": "Gateway", "name": "teams"}
    assert policy["metadata"]["namespace"] == gateway["metadata"]["namespace"]
    assert "BackendTrafficPolicy" not in {one["kind"] for one in exposure(load("gpu-serving")).objects}


def test_it_may_read_and_judge_each_kind_of_its_own_that_is_defined(lab: Cluster) -> None:
    """Where a definition is and the right is not, it waits for ever to see all objects of the kind."""
    named_by = f"/{GROUP}_"
    own = {one.rpartition(named_by)[2].removesuffix(".yaml") for one in envoy_gateway(lab).manifests if named_by in one}
    (reader,) = (one for one in reading(lab) if one["kind"] == "ClusterRole")
    may = {
        verb: {kind for one in reader["rules"] if verb in one["verbs"] for kind in one["resources"]}
        for verb in ("list", "watch", "update")
    }
    assert own
    assert own <= may["list"] & may["watch"]
    assert {f"{one}/status" for one in own} <= may["update"]


def test_it_reads_the_namespaces_of_teams_with_hosts_alone(lab: Cluster) -> None:
    settings = json.loads(named(envoy_gateway(lab), "ConfigMap", NAME)["data"]["envoy-gateway.yaml"])
    watch = settings["provider"]["kubernetes"]["watch"]
    assert watch == {"type": "Namespaces", "namespaces": [NAMESPACE, "exposure", "vision"]}
    made = (*all_of(envoy_gateway(lab)), *tenants(lab, JOBS).objects)
    bound = {one["metadata"]["namespace"] for one in made if one["kind"] == "RoleBinding" and _is_its(one)}
    assert bound == {*watch["namespaces"]}
    everywhere = named(envoy_gateway(lab), "ClusterRole", NAME)["rules"]
    assert not {"secrets", "configmaps", "services", "pods"} & {kind for one in everywhere for kind in one["resources"]}


def _is_its(binding: Manifest) -> bool:
    return any((one["name"], one.get("namespace")) == (NAME, NAMESPACE) for one in binding["subjects"])


def test_it_writes_to_no_namespace_of_a_team(lab: Cluster) -> None:
    (reader,) = (one for one in reading(lab) if one["kind"] == "ClusterRole")
    for one in reader["rules"]:
        if {*one["verbs"]} - {"get", "list", "watch"}:
            assert all(kind.endswith("/status") for kind in one["resources"]), one


def test_what_teams_run_comes_after_envoys(lab: Cluster) -> None:
    """Jobs have classes of their own, which begin above the priority of pods without one."""
    envoys = dig(
        named(exposure(lab), "EnvoyProxy", "teams"), "spec", "provider", "kubernetes", "envoyDeployment", "pod"
    )
    controller = dig(named(envoy_gateway(lab), "Deployment", NAME), "spec", "template", "spec")
    assert envoys["priorityClassName"] == controller["priorityClassName"] == "system-cluster-critical"


def test_its_ca_gets_another_key_by_a_person_who_has_all_signed_anew(lab: Cluster) -> None:
    """Without its certificates the CA alone changes nothing: they trust the former one until they are renewed."""
    component = envoy_gateway(lab)
    made = {one["spec"]["secretName"]: one["spec"] for one in component.base if one["kind"] == "Certificate"}
    (authority,) = (name for name, spec in made.items() if spec.get("isCA"))
    declared = {one.name: one for one in component.secrets}
    assert declared[authority].by_hand
    for name, spec in made.items():
        assert (name in declared[authority].rotate.split()) == (spec["issuerRef"]["name"] == authority)
        assert name == authority or declared[name].turn


def policies(component: Component, namespace: str) -> dict[str, dict[str, Any]]:
    return {
        one["metadata"]["name"]: one["spec"]
        for one in component.objects
        if one["kind"] == "NetworkPolicy" and one["metadata"]["namespace"] == namespace
    }


def test_envoys_are_reached_by_all_and_reach_teams_with_hosts_alone(lab: Cluster) -> None:
    found = policies(envoy_gateway(lab), NAMESPACE)
    assert found["default-deny"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    envoys = found["envoys"]
    assert envoys["podSelector"]["matchLabels"] == PROXIES
    assert [[port["port"] for port in one["ports"]] for one in envoys["ingress"]] == [[*PORTS]]
    reached = [dig(to, "namespaceSelector", "matchExpressions") for one in envoys["egress"] for to in one.get("to", [])]
    assert [one[0]["values"] for one in reached if one] == [["vision"]]
    controller = found["envoy-gateway"]
    assert [one["ports"][0]["port"] for one in controller["ingress"]] == [18000]
    assert [to["ipBlock"]["cidr"] for one in controller["egress"] for to in one["to"]] == [
        f"10.10.0.1{number}/32" for number in (1, 2, 3)
    ]


def test_teams_with_hosts_let_envoys_in_and_nobody_else_from_there(lab: Cluster) -> None:
    made = tenants(lab, JOBS)
    (rule,) = policies(made, "vision")["team-gateway"]["ingress"]
    (peer,) = rule["from"]
    assert peer["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": NAMESPACE}
    assert peer["podSelector"]["matchLabels"] == PROXIES
    assert "team-gateway" not in policies(made, "language")


def test_images_come_from_the_mirror_where_objects_hide_them(lab: Cluster) -> None:
    from msgspec import structs

    mirrored = structs.replace(lab, site=structs.replace(lab.site, images="mirror.example.org/all"))
    made = envoy_gateway(mirrored)
    kubernetes = named(exposure(mirrored), "EnvoyProxy", "teams")["spec"]["provider"]["kubernetes"]
    settings = json.loads(named(made, "ConfigMap", NAME)["data"]["envoy-gateway.yaml"])
    hidden = (
        kubernetes["envoyDeployment"]["container"]["image"],
        settings["provider"]["kubernetes"]["shutdownManager"]["image"],
    )
    assert all(one.startswith("mirror.example.org/all/docker.io/envoyproxy/") for one in hidden)
