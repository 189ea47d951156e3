"""Who reaches Prometheus and what belongs to it, and whom they reach.

The chart is in no module: `PODS` is what 88.5.3 makes of our values, with Grafana 12.11.1 and kube-state-metrics 8.4.0,
as Helm printed it.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from msgspec import structs
from reference import load

from generator.components import compose
from generator.components.component import Manifest
from generator.components.kube_prometheus_stack import prometheus_url
from generator.model.cluster import Adopt, Cluster
from generator.model.fields import dig, mapping, sequence
from generator.model.monitoring import Prometheus, Zabbix

STACK = "kube-prometheus-stack"
NAME = "app.kubernetes.io/name"
PROMETHEUS, ALERTMANAGER, GRAFANA, STATE = (
    {NAME: name} for name in ("prometheus", "alertmanager", "grafana", "kube-state-metrics")
)
OPERATOR = {
    "app": f"{STACK}-operator",
    NAME: f"{STACK}-prometheus-operator",
    "app.kubernetes.io/component": "prometheus-operator",
}


class Pod(NamedTuple):
    """A pod of the chart's, the ports that monitors have Prometheus read, and that webhooks have API servers call."""

    labels: dict[str, str]
    read: set[int]
    called: set[int]


PODS = {
    "prometheus": Pod(PROMETHEUS, {9090, 8080}, set()),
    "alertmanager": Pod(ALERTMANAGER, {9093, 8080}, set()),
    "grafana": Pod(GRAFANA, {3000}, set()),
    "kube-state-metrics": Pod(STATE, {8080}, set()),
    "prometheus-operator": Pod(OPERATOR, {10250}, {10250}),
}


def watched(name: str) -> Cluster:
    """Return a reference cluster with Prometheus alone."""
    cluster = load(name)
    settings = cluster.monitoring.prometheus or Prometheus()
    return structs.replace(cluster, monitoring=structs.replace(cluster.monitoring, prometheus=settings, zabbix=None))


CLUSTERS = [watched(name) for name in ("ml50", "a30-bench", "gpu-serving")]
on_each = pytest.mark.parametrize("cluster", CLUSTERS, ids=lambda cluster: cluster.name)


def with_values(cluster: Cluster, **values: Any) -> Cluster:
    settings = structs.replace(cluster.settings(STACK), values=values)
    return structs.replace(cluster, components={**cluster.components, STACK: settings})


def policies(cluster: Cluster) -> list[Manifest]:
    return [one for part in compose(cluster) for one in part.objects if one["kind"].endswith("NetworkPolicy")]


def chosen(policy: Manifest, space: str, labels: dict[str, str]) -> bool:
    selector = dig(policy, "spec", "podSelector") or dig(policy, "spec", "endpointSelector")
    return policy["metadata"]["namespace"] == space and mapping(dig(selector, "matchLabels")).items() <= labels.items()


def rules(cluster: Cluster, labels: dict[str, str], way: str, space: str = "monitoring") -> list[Any]:
    """Return the rules of all policies on a pod of the stack's."""
    found = [one for one in policies(cluster) if chosen(one, space, labels)]
    return [rule for one in found for rule in sequence(one["spec"].get(way))]


def meets(rule: Any, way: str, home: str, space: str, labels: dict[str, str]) -> bool:
    """Tell whether a rule of a policy in the namespace `home` names a pod."""
    for peer in (one for one in sequence(rule.get(way)) if "ipBlock" not in one):
        named = dig(peer, "namespaceSelector", "matchLabels", "kubernetes.io/metadata.name") or home
        if named == space and mapping(dig(peer, "podSelector", "matchLabels")).items() <= labels.items():
            return True
    return way not in rule and "fromEntities" not in rule and "toEntities" not in rule


def open_to(cluster: Cluster, labels: dict[str, str], space: str, who: dict[str, str]) -> set[int]:
    """Return the ports of a pod of the stack's that another pod reaches."""
    found = [one for one in rules(cluster, labels, "ingress") if meets(one, "from", "monitoring", space, who)]
    return {port["port"] for rule in found for port in rule["ports"]}


@on_each
def test_prometheus_reads_each_part_where_its_monitor_says(cluster: Cluster) -> None:
    for name, pod in PODS.items():
        assert pod.read <= open_to(cluster, pod.labels, "monitoring", PROMETHEUS), name


@on_each
def test_api_servers_call_the_operator_alone(cluster: Cluster) -> None:
    for name, pod in PODS.items():
        nodes = {
            int(port["port"])
            for rule in rules(cluster, pod.labels, "ingress")
            if {"host", "remote-node", "kube-apiserver"} <= {*rule.get("fromEntities", ())}
            for to in rule["toPorts"]
            for port in to["ports"]
        }
        anybody = open_to(cluster, pod.labels, "elsewhere", {})
        assert nodes | (anybody - {3000}) == pod.called, name


@on_each
def test_every_part_is_shut_and_nothing_else_is(cluster: Cluster) -> None:
    own = [one for one in policies(cluster) if one["metadata"]["namespace"] == "monitoring"]
    for pod in PODS.values():
        assert any(one["kind"] == "NetworkPolicy" and chosen(one, "monitoring", pod.labels) for one in own)
    for one in own:
        assert [name for name, pod in PODS.items() if chosen(one, "monitoring", pod.labels)], one["metadata"]["name"]


@on_each
def test_who_asks_prometheus_is_let_in(cluster: Cluster) -> None:
    """Whatever component names Prometheus' address has its pods let in, and nobody else brings a policy for that."""
    host = re.escape(prometheus_url(cluster).removeprefix("http://").partition(".")[0])
    address = re.compile(rf"({host}|prometheus-operated)\b|:9090\b")
    others = [one for one in compose(cluster) if one.name != STACK]
    asking = {one.name for one in others if address.search(re.sub(r"docker\.io\S+", "", repr(one)))}
    brought = {
        one.name
        for one in others
        for item in one.objects
        if item["kind"] == "NetworkPolicy" and chosen(item, "monitoring", PROMETHEUS)
    }
    known = {"health-report", "prometheus-adapter"}
    assert asking == brought == known & {one.name for one in others}


def asked(cluster: Cluster) -> Iterator[tuple[Manifest, dict[str, str], int]]:
    """Yield the policies that let pods out to pods of the stack's, with these and the port."""
    for one in policies(cluster):
        home = one["metadata"]["namespace"]
        for rule in sequence(one["spec"].get("egress")):
            for pod in PODS.values():
                if "to" in rule and meets(rule, "to", home, "monitoring", pod.labels):
                    yield from ((one, pod.labels, port["port"]) for port in rule["ports"])


@on_each
def test_what_is_let_out_to_the_stack_is_let_in_there(cluster: Cluster) -> None:
    found = list(asked(cluster))
    for one, labels, port in found:
        space, who = one["metadata"]["namespace"], one["spec"]["podSelector"]["matchLabels"]
        assert port in open_to(cluster, labels, space, who), (space, who, labels)
    assert {one["metadata"]["name"] for one, _, _ in found} >= {"grafana", "prometheus-adapter"}


@on_each
def test_nobody_else_reaches_prometheus_or_alertmanager(cluster: Cluster) -> None:
    """Neither asks who somebody is: whoever reaches them reads every value and silences every alert."""
    for labels in (PROMETHEUS, ALERTMANAGER, STATE):
        for space in ("recommender", "kube-system", "zabbix", "monitoring"):
            assert not open_to(cluster, labels, space, {NAME: "anything"})


@on_each
def test_prometheus_and_alertmanager_go_anywhere(cluster: Cluster) -> None:
    for labels in (PROMETHEUS, ALERTMANAGER):
        shut = [one for one in policies(cluster) if chosen(one, "monitoring", labels)]
        assert {way for one in shut for way in one["spec"]["policyTypes"]} == {"Ingress"}


def grafana_asks(cluster: Cluster, space: str, labels: dict[str, str]) -> bool:
    found = rules(cluster, GRAFANA, "egress")
    return any("to" in rule and meets(rule, "to", "monitoring", space, labels) for rule in found)


@on_each
def test_grafana_asks_what_it_shows_and_no_pod_else(cluster: Cluster) -> None:
    assert grafana_asks(cluster, "monitoring", PROMETHEUS)
    assert grafana_asks(cluster, "monitoring", ALERTMANAGER)
    kept = cluster.monitoring.logs is not None and not cluster.monitoring.logs.to
    assert grafana_asks(cluster, "log-store", {NAME: "loki"}) == kept
    assert not grafana_asks(cluster, "minio", {})
    assert not grafana_asks(cluster, "monitoring", STATE)


def test_some_cluster_keeps_logs() -> None:
    """Else nothing shows that Grafana reaches them."""
    assert [one for one in CLUSTERS if one.monitoring.logs and not one.monitoring.logs.to]


def test_people_reach_grafana_by_the_sites_ingress_alone() -> None:
    serving, a30, ml50 = watched("gpu-serving"), watched("a30-bench"), watched("ml50")
    (named,) = [rule for rule in rules(serving, GRAFANA, "ingress") if "fromEntities" in rule]
    assert (named["fromEntities"], named["toPorts"][0]["ports"][0]["port"]) == (["ingress"], "3000")
    assert not open_to(serving, GRAFANA, "elsewhere", {})
    for none in (a30, ml50):
        assert none.monitoring.prometheus
        assert not none.monitoring.prometheus.host
        assert not open_to(none, GRAFANA, "elsewhere", {})


def test_people_come_from_anywhere_where_the_ingress_is_not_cilium() -> None:
    serving = watched("gpu-serving")
    other = structs.replace(serving, site=structs.replace(serving.site, ingress_class="nginx"))
    assert open_to(other, GRAFANA, "elsewhere", {}) == {3000}
    assert not [rule for rule in rules(other, GRAFANA, "ingress") if "fromEntities" in rule]


SHOWING: tuple[dict[str, Any], ...] = (
    {"ingress": {"enabled": True}},
    {"route": {"main": {"enabled": True}}},
    {"service": {"type": "NodePort"}},
)


@pytest.mark.parametrize("values", SHOWING)
def test_what_values_show_to_others_stays_open(values: dict[str, Any]) -> None:
    """A policy that another component brings for Prometheus would shut it, were there none of its own."""
    for part, labels in (("prometheus", PROMETHEUS), ("alertmanager", ALERTMANAGER), ("grafana", GRAFANA)):
        cluster = with_values(watched("a30-bench"), **{part: values})
        assert {} in rules(cluster, labels, "ingress")
        assert {} not in rules(with_values(cluster, **{part: {"resources": {}}}), labels, "ingress")


def test_grafana_goes_where_values_have_it_go() -> None:
    cluster = with_values(watched("a30-bench"), grafana={"grafana.ini": {"auth.generic_oauth": {"enabled": True}}})
    shut = [one for one in policies(cluster) if chosen(one, "monitoring", GRAFANA)]
    assert {way for one in shut for way in one["spec"]["policyTypes"]} == {"Ingress"}


def test_ports_that_values_move_are_the_ones_that_are_open() -> None:
    values = {
        "prometheusOperator": {"tls": {"internalPort": 10260}},
        "kube-state-metrics": {"service": {"port": 8088}},
        "grafana": {"service": {"targetPort": 3001}},
    }
    cluster = with_values(watched("a30-bench"), **values)
    for labels, port in ((OPERATOR, 10260), (STATE, 8088), (GRAFANA, 3001)):
        assert port in open_to(cluster, labels, "monitoring", PROMETHEUS)


def test_without_alertmanager_no_policy_is_for_it() -> None:
    """A policy that selects nothing is found as a mistake."""
    cluster = watched("a30-bench")
    zabbix = load("ml50").monitoring.zabbix
    assert isinstance(zabbix, Zabbix)
    both = structs.replace(cluster, monitoring=structs.replace(cluster.monitoring, zabbix=zabbix))
    (made,) = [one for one in compose(both) if one.name == STACK]
    assert "alertmanager" not in {one["metadata"]["name"] for one in made.objects}


def test_an_adopted_release_is_shut_where_it_is() -> None:
    cluster = watched("gpu-serving")
    settings = structs.replace(cluster.settings(STACK), adopt=Adopt(release="old", namespace="theirs"))
    moved = structs.replace(cluster, components={**cluster.components, STACK: settings})
    spaces = {one["metadata"]["namespace"] for one in policies(moved)}
    assert "theirs" in spaces
    assert "monitoring" not in spaces
