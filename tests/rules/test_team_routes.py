"""Routes as teams of gpu-serving bring them."""

from functools import cache
from typing import Any

import pytest
from manifests import found, manifest, ml50, reached
from reference import load

from generator.model.cluster import Cluster
from generator.rules.references import there
from generator.rules.team_routes import by_own_hosts, by_the_gateway, to_own_services

TEAM, HOST = "search", "search.apps.serving.example.org"
PARENT = {"name": "teams", "namespace": "exposure"}
BACKEND = {"name": "asr", "port": 8000}


@cache
def serving() -> Cluster:
    return load("gpu-serving")


def route(kind: str = "HTTPRoute", namespace: str = TEAM, **spec: Any) -> Any:
    usual = {"parentRefs": [PARENT], "hostnames": [HOST], "rules": [{"backendRefs": [BACKEND]}]}
    return manifest(kind, "gateway.networking.k8s.io/v1", namespace=namespace, spec=usual | spec)


@pytest.mark.parametrize("kind", ["HTTPRoute", "GRPCRoute"])
def test_a_route_as_teams_make_them_is_fine(kind: str) -> None:
    for rule in (by_own_hosts, by_the_gateway, to_own_services):
        assert found(rule, route(kind), cluster=serving()) == []


def test_another_team_s_host_is_told_with_those_that_the_team_has() -> None:
    (problem,) = found(by_own_hosts, route(hostnames=[HOST, "models.apps.serving.example.org"]), cluster=serving())
    assert reached(problem) == "models.apps.serving.example.org"
    assert problem.fix == "team search has search.apps.serving.example.org, asr.search.apps.serving.example.org"


def test_no_host_is_all_hosts() -> None:
    (problem,) = found(by_own_hosts, route(hostnames=[]), cluster=serving())
    assert "names no host" in problem.message
    (problem,) = found(by_own_hosts, route(namespace="speech"), cluster=serving())
    assert problem.fix == "give the team `hosts`"


@pytest.mark.parametrize(
    "parent",
    [
        {"name": "teams"},
        {"name": "other", "namespace": "exposure"},
        {"kind": "Service", "name": "asr"},
        PARENT | {"kind": "Service"},
    ],
)
def test_another_parent_is_told(parent: Any) -> None:
    (problem,) = found(by_the_gateway, route(parentRefs=[PARENT, parent]), cluster=serving())
    assert reached(problem) == parent
    assert problem.fix == "parentRefs: [{name: teams, namespace: exposure}]"


def test_no_parent_is_told() -> None:
    (problem,) = found(by_the_gateway, route(parentRefs=[]), cluster=serving())
    assert "names no Gateway" in problem.message


def test_services_of_others_are_told_wherever_they_stand() -> None:
    other = BACKEND | {"namespace": "assistant"}
    copy = [{"type": "RequestMirror", "requestMirror": {"backendRef": other}}]
    rules = [
        {"backendRefs": [BACKEND, other]},
        {"backendRefs": [BACKEND], "filters": copy},
        {"backendRefs": [BACKEND | {"filters": copy, "namespace": TEAM}]},
    ]
    problems = found(to_own_services, route(rules=rules), cluster=serving())
    assert [reached(one) for one in problems] == ["assistant"] * 3
    assert len({one.at for one in problems}) == 3


def test_what_no_team_makes_and_what_has_no_gateway_is_left_alone() -> None:
    wrong: dict[str, Any] = {"parentRefs": [], "hostnames": [], "rules": []}
    for rule in (by_own_hosts, by_the_gateway):
        assert found(rule, route(namespace="exposure", **wrong), cluster=serving()) == []
        assert found(rule, route(namespace="vision", **wrong), cluster=ml50()) == []
        assert found(rule, route(**wrong)) == []


@pytest.mark.parametrize("what", [None, 1, "x", [], {}, [None], [1], [[]], {"a": 1}])
def test_whatever_stands_there_no_rule_fails(what: Any) -> None:
    for rule in (by_own_hosts, by_the_gateway, to_own_services):
        for spec in ({"hostnames": what}, {"parentRefs": what}, {"rules": what}, {"rules": [{"backendRefs": what}]}):
            found(rule, route(**spec), cluster=serving())


def test_a_service_or_gateway_that_is_not_there_is_told() -> None:
    named = {
        one.message
        for one in found(there, route(rules=[{"backendRefs": [{"name": "asr", "port": 1}]}]), cluster=serving())
    }
    assert any("Service search/asr" in message for message in named), named
    assert any("Gateway exposure/teams" in message for message in named), named
