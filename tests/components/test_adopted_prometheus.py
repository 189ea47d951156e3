"""A release of Prometheus and Grafana that was there before, in a namespace of its own: all that it takes is there."""

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import structs
from reference import load

from generator.components import compose
from generator.components.component import Component
from generator.model.cluster import Adopt, Cluster
from generator.model.fields import dig
from generator.model.monitoring import Prometheus

STACK = "kube-prometheus-stack"
THERE = "observability"


def adopted(name: str, release: str = "kps") -> Cluster:
    cluster = load(name)
    watching = cluster.monitoring.prometheus or Prometheus(host="grafana.example.org")
    settings = structs.replace(cluster.settings(STACK), adopt=Adopt(release=release, namespace=THERE))
    monitoring = structs.replace(cluster.monitoring, prometheus=watching, zabbix=None)
    return structs.replace(cluster, monitoring=monitoring, components={**cluster.components, STACK: settings})


def stack(cluster: Cluster) -> Component:
    (found,) = (one for one in compose(cluster) if one.name == STACK)
    return found


def objects(cluster: Cluster) -> Iterator[dict[str, Any]]:
    return (one for part in compose(cluster) for one in (*part.base, *part.objects))


on_each = pytest.mark.parametrize("name", ["ml50", "a30-bench", "gpu-serving"])


@on_each
def test_its_secrets_are_where_its_pods_are(name: str) -> None:
    found = stack(adopted(name))
    assert {one.namespace for one in found.secrets} == {THERE}
    assert "kps-kube-prometheus-stack-admission" in {one.name for one in found.secrets}
    turned = [one.turn.restarts for one in found.secrets if one.name == "grafana-admin" and one.turn]
    assert turned == [("Deployment/kps-grafana",)]


@on_each
def test_dashboards_and_data_sources_are_where_grafana_looks(name: str) -> None:
    shown = [one for one in objects(adopted(name)) if {"grafana_dashboard", "grafana_datasource"} & labels(one)]
    assert shown
    assert {one["metadata"]["namespace"] for one in shown} == {THERE}
    (release,) = stack(adopted(name)).releases
    sidecars = dig(release.values, "grafana", "sidecar")
    assert {sidecars[kind]["searchNamespace"] for kind in ("dashboards", "datasources")} == {THERE}


def labels(one: dict[str, Any]) -> set[str]:
    return {*(one["metadata"].get("labels") or {})} if one["kind"] == "ConfigMap" else set()


@pytest.mark.parametrize("name", ["ml50", "a30-bench"])
def test_it_reads_what_operations_tell(name: str) -> None:
    policies = [one for one in objects(adopted(name)) if one["kind"] == "NetworkPolicy"]
    way = "kubernetes.io/metadata.name"
    let_in = {
        dig(peer, "namespaceSelector", "matchLabels", way)
        for one in policies
        if one["metadata"]["namespace"] == "argo"
        for rule in one["spec"]["ingress"]
        for peer in rule["from"]
    }
    assert THERE in let_in
