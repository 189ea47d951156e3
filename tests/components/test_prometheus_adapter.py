"""prometheus-adapter: what it serves to autoscalers, and only where there is something to serve."""

import re
from typing import Any

import pytest
from msgspec import structs
from reference import load

from generator.components import compose, metrics
from generator.components.kube_prometheus_stack import SCRAPED, kube_prometheus_stack
from generator.components.prometheus_adapter import DEFINITION, GPU_USE, METRICS, QUEUE_SECONDS, prometheus_adapter
from generator.model.cluster import Adopt, Cluster, ComponentSettings
from generator.model.monitoring import Prometheus

GROUP = "custom.metrics.k8s.io"


@pytest.fixture(scope="module")
def serving() -> Cluster:
    return load("gpu-serving")


def values(cluster: Cluster) -> dict[str, Any]:
    return prometheus_adapter(cluster).releases[0].values


def with_settings(cluster: Cluster, name: str, **settings: Any) -> Cluster:
    return structs.replace(cluster, components={name: ComponentSettings(**settings)})


def test_it_is_there_where_prometheus_and_teams_are(serving: Cluster, ml50: Cluster) -> None:
    assert DEFINITION.wanted(serving)
    assert not DEFINITION.wanted(ml50)
    assert not DEFINITION.wanted(structs.replace(serving, teams=()))
    monitored = structs.replace(ml50, monitoring=structs.replace(ml50.monitoring, prometheus=Prometheus()))
    assert DEFINITION.wanted(monitored)


def test_it_comes_after_what_it_asks_and_what_signs_for_it(serving: Cluster) -> None:
    (made,) = [one for one in compose(serving) if one.name == "prometheus-adapter"]
    assert {"cert-manager", "kube-prometheus-stack"} <= set(made.needs)


def test_everything_prometheus_holds_is_not_listed(serving: Cluster) -> None:
    rules = values(serving)["rules"]
    assert rules["default"] is False
    assert [one["name"]["as"] for one in rules["custom"]] == ["triton_queue_seconds", "gpu_engine_active"]


@pytest.mark.parametrize("one", METRICS, ids=lambda one: one.name)
def test_a_rule_asks_of_the_pods_that_the_autoscaler_asks_for(one: Any) -> None:
    """Each selector of a series has the pods' matchers, and each sum is by pod; the labels are the rule's own."""
    rule = one.rule
    series = re.findall(r"\b(?:nv_|DCGM_)\w+(\{.*?\})?", rule["metricsQuery"])
    assert set(series) == {"{<<.LabelMatchers>>}"}
    assert rule["metricsQuery"].count("by (<<.GroupBy>>)") == len(re.findall(r"\b(?:sum|avg)\(", rule["metricsQuery"]))
    assert {each["resource"] for each in rule["resources"]["overrides"].values()} == {"namespace", "pod"}
    assert all(f'{label}!=""' in rule["seriesQuery"] for label in rule["resources"]["overrides"])


def test_labels_of_the_exporter_are_those_that_prometheus_renames() -> None:
    """The exporter's own pod and namespace would be those of every GPU."""
    assert (GPU_USE.pod, GPU_USE.namespace) == ("exported_pod", "exported_namespace")
    assert (QUEUE_SECONDS.pod, QUEUE_SECONDS.namespace) == ("pod", "namespace")


def test_it_asks_prometheus_by_the_name_of_the_release(serving: Cluster) -> None:
    assert values(serving)["prometheus"]["url"] == "http://kube-prometheus-stack-prometheus.monitoring.svc:9090"
    theirs = with_settings(serving, "kube-prometheus-stack", adopt=Adopt(release="prom", namespace="metrics"))
    # The chart keeps 26 letters of `prom-kube-prometheus-stack`, which are all.
    assert values(theirs)["prometheus"]["url"] == "http://prom-kube-prometheus-stack-prometheus.metrics.svc:9090"
    longer = with_settings(serving, "kube-prometheus-stack", adopt=Adopt(release="observe", namespace="metrics"))
    assert values(longer)["prometheus"]["url"] == "http://observe-kube-prometheus-st-prometheus.metrics.svc:9090"


def test_the_chart_s_budget_keeps_its_own_number(serving: Cluster, a30: Cluster) -> None:
    """It has maxUnavailable of 1, and the API server refuses a budget with both."""
    assert values(serving)["podDisruptionBudget"] == {"enabled": True}
    assert values(a30)["podDisruptionBudget"] == {"enabled": False}


def test_the_api_server_trusts_it_by_a_certificate(serving: Cluster) -> None:
    made = prometheus_adapter(serving)
    assert values(serving)["certManager"] == {"enabled": True}
    assert [one.name for one in made.secrets] == ["prometheus-adapter", "prometheus-adapter-root-cert"]
    # The API server trusts the CA alone: with another one it takes none of the former one's certificates.
    shown, authority = made.secrets
    assert (authority.by_hand, shown.by_hand) == ("", "")
    assert authority.turn
    assert authority.turn.signs == (shown.name,)
    assert f"delete {shown.name} as well" in authority.rotate
    (ignored,) = made.ignore
    assert (ignored.kind, ignored.name, ignored.pointers) == (
        "APIService",
        "v1beta1.custom.metrics.k8s.io",
        ("/spec/caBundle",),
    )


def test_what_is_served_is_known_from_the_component(serving: Cluster, ml50: Cluster) -> None:
    assert metrics(serving) == {GROUP: {"triton_queue_seconds": SCRAPED, "gpu_engine_active": None}}
    assert metrics(ml50) == {}
    assert metrics(with_settings(serving, "prometheus-adapter", managed=False)) == {GROUP: None}
    assert metrics(with_settings(serving, "prometheus-adapter", values={"rules": {}})) == {GROUP: None}


def test_prometheus_reads_pods_of_teams_that_ask_for_it_and_no_others(serving: Cluster) -> None:
    (monitor,) = [one for one in kube_prometheus_stack(serving).objects if one["kind"] == "PodMonitor"]
    assert monitor["spec"]["namespaceSelector"] == {"matchNames": [team.name for team in serving.teams]}
    assert monitor["spec"]["selector"] == {"matchLabels": SCRAPED.labels}
    assert monitor["spec"]["sampleLimit"] > 0
    assert monitor["spec"]["bodySizeLimit"] == "16MB", "all is held before values are counted"
    alone = structs.replace(serving, teams=())
    assert not [one for one in kube_prometheus_stack(alone).objects if one["kind"] == "PodMonitor"]
