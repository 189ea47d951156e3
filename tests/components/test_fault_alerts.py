"""Faults that Prometheus tells where there is no Zabbix: all that Zabbix knows, by one of them, of what is read."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec import structs
from reference import ROOT, load

from generator.components import compose
from generator.components.component import Component
from generator.components.kube_prometheus_stack.watched import rules
from generator.components.limits import PORT_COUNTERS
from generator.components.zabbix.templates.devices import gpu, infiniband
from generator.components.zabbix.templates.queues import queues
from generator.components.zabbix.templates.storage import ceph, minio
from generator.model.cluster import Cluster
from generator.model.gitops import Window
from generator.model.monitoring import Prometheus, Zabbix

TWINS = {
    "GPUs are missing": "GPUsMissing",
    "No GPU metrics for 15 minutes": "GPUsNotMeasured",
    "GPU {#GPU} is hot": "GPUHot",
    "GPU {#GPU} is too hot": "GPUTooHot",
    "GPU {#GPU}: fault of the device (XID {ITEM.LASTVALUE1})": "GPUFault",
    "GPU {#GPU}: uncorrectable memory error": "GPUMemoryError",
    "GPU {#GPU}: memory can no longer be repaired": "GPUMemoryWorn",
    "InfiniBand ports are missing": "InfiniBandPortsMissing",
    "No InfiniBand counters for 15 minutes": "InfiniBandNotMeasured",
    "{#PORT}: the link is down": "InfiniBandLinkDown",
    "{#PORT}: the link is slower than the fabric": "InfiniBandLinkSlow",
    **{f"{{#PORT}}: {words}": "InfiniBandErrors" for words in PORT_COUNTERS.values()},
    "Ceph warns": "CephWarns",
    "Ceph is in error": "CephInError",
    "No data from Ceph for 10 minutes": "CephNotSeen",
    "Data has lacked copies for an hour": "CephDataLacksCopies",
    "OSDs are down": "CephOSDsDown",
    "Monitors are out of quorum": "CephMonitorsOut",
    "Ceph's {#CLASS} is nearly full": "CephClassNearlyFull",
    "Ceph's {#CLASS} is full": "CephClassFull",
    "Pool {#NAME} is nearly full": "CephPoolNearlyFull",
    "Pool {#NAME} is nearly at its quota: writes pause there": "CephPoolNearItsQuota",
    "No data from MinIO for 10 minutes": "MinIONotSeen",
    "Drives are offline": "MinIODrivesOffline",
    "Nodes are offline": "MinIOServersOffline",
    "MinIO has no write quorum": "MinIOTakesNoWrites",
    "One more lost drive ends MinIO's writes": "MinIOAtItsQuorum",
    "MinIO is nearly full": "MinIONearlyFull",
    "No data on queues for 10 minutes": "QueuesNotSeen",
    "Queue {#QUEUE}: jobs have waited for a day and none runs": "JobsWaitForADay",
    "Gangs have quota and no place for an hour": "GangsWithoutPlace",
}
"""Zabbix' triggers, and the alerts that tell the same."""
# An Xid of a program is its job's own affair. Zabbix notes it, and tells nobody; there is no such alert in Prometheus.
NOTED = {"GPU {#GPU}: XID {ITEM.LASTVALUE1}"}
SEVERITIES = {"DISASTER": "critical", "HIGH": "critical", "AVERAGE": "warning", "WARNING": "warning"}


def watched_by(cluster: Cluster, prometheus: Prometheus | None, zabbix: Zabbix | None) -> Cluster:
    monitoring = structs.replace(cluster.monitoring, prometheus=prometheus, zabbix=zabbix)
    return structs.replace(cluster, monitoring=monitoring)


@pytest.fixture(scope="module")
def whole() -> Cluster:
    """Return a cluster with all that can be alerted of, and no Zabbix."""
    return watched_by(load("ml50"), Prometheus(), None)


def alerts(cluster: Cluster) -> dict[str, Any]:
    found = (rule for one in rules(cluster) for group in one["spec"]["groups"] for rule in group["rules"])
    return {rule["alert"]: rule for rule in found if "alert" in rule}


def triggers(node: Any) -> Iterator[Any]:
    """Yield all triggers of a template."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield from value if key in {"triggers", "trigger_prototypes"} else triggers(value)
    elif isinstance(node, list):
        for one in node:
            yield from triggers(one)


def test_each_trigger_of_zabbix_has_its_alert_of_like_severity(whole: Cluster) -> None:
    known = {
        one["name"]: one["priority"] for made in (gpu, infiniband, ceph, minio, queues) for one in triggers(made())
    }
    assert known.keys() == TWINS.keys() | NOTED
    assert {known[name] for name in NOTED} == {"INFO"}
    told = alerts(whole)
    severities = {name: told[twin]["labels"]["severity"] for name, twin in TWINS.items()}
    assert severities == {name: SEVERITIES[known[name]] for name in TWINS}


@pytest.mark.parametrize("name", ["ml50", "a30-bench", "gpu-serving"])
def test_each_fault_is_told_by_one_system(name: str) -> None:
    cluster = load(name)
    monitoring = cluster.monitoring
    assert bool(monitoring.zabbix) is (name == "ml50")
    assert bool(monitoring.prometheus) is not bool(monitoring.zabbix)
    alone = alerts(watched_by(cluster, Prometheus(), None)).keys()
    beside = alerts(watched_by(cluster, Prometheus(), Zabbix(host="zabbix.example.org"))).keys()
    assert alone & set(TWINS.values())
    assert not beside & set(TWINS.values())
    # Of these Zabbix knows nothing.
    others = {"JobsGivenUp", "TeamMetricsRefused", "ApplicationDegraded", "ApplicationOutOfSync", "CertificateNotReady"}
    assert others <= alone & beside


def test_only_what_is_there_is_alerted_of() -> None:
    bench, serving = alerts(load("a30-bench")), alerts(load("gpu-serving"))
    assert not [name for name in bench if name.startswith(("InfiniBand", "Ceph", "MinIO"))]
    assert {"GPUsMissing", "JobsWaitForADay"} <= bench.keys()
    assert {"InfiniBandLinkDown", "CephInError"} <= serving.keys()
    assert not [name for name in serving if name.startswith("MinIO")]


def test_devices_are_counted_as_the_file_says() -> None:
    told = alerts(load("gpu-serving"))
    assert 'node=~"a100-1|a100-2|a100-3|a100-4"})) < 8' in told["GPUsMissing"]["expr"]
    assert "node_infiniband_rate_bytes_per_second" in told["InfiniBandLinkSlow"]["expr"]
    assert f"< {200 * 125_000_000} and" in told["InfiniBandLinkSlow"]["expr"]


def test_adapters_of_another_name_are_looked_for_on_their_nodes_alone(whole: Cluster) -> None:
    first, *others = (machine for machine in whole.machines if machine.hardware.hcas)
    renamed = structs.replace(first, hardware=structs.replace(first.hardware, hcas=("mlx5_4",)))
    cluster = structs.replace(whole, machines=(renamed, *others))
    expr = alerts(cluster)["InfiniBandLinkDown"]["expr"]
    assert f'{{node=~"{first.name}",device=~"mlx5_4"}}' in expr
    assert f'{{node=~"{"|".join(machine.name for machine in others)}",device=~"mlx5_0|mlx5_1"}}' in expr


@pytest.mark.parametrize(
    ("windows", "left_out"),
    [
        pytest.param([], "", id="none"),
        pytest.param([{"tiers": ("gpu", "network")}], ',project!~"gpu|network"', id="tiers"),
        pytest.param([{"components": ("kueue",)}], ',name!~"kueue"', id="components"),
    ],
)
def test_what_is_synced_at_its_times_may_differ_until_then(
    whole: Cluster, windows: list[dict[str, Any]], left_out: str
) -> None:
    times = tuple(Window(kind="allow", schedule="0 22 * * 6", duration="8h", **one) for one in windows)
    gitops = structs.replace(whole.gitops, windows=times)
    expr = alerts(structs.replace(whole, gitops=gitops))["ApplicationOutOfSync"]["expr"]
    assert expr.endswith(f'operation=""{left_out}}})')


def test_nothing_is_out_of_sync_where_all_is_synced_at_its_times(whole: Cluster) -> None:
    window = Window(kind="allow", schedule="0 22 * * 6", duration="8h")
    gitops = structs.replace(whole.gitops, windows=(window,))
    assert "ApplicationOutOfSync" not in alerts(structs.replace(whole, gitops=gitops))


def values(components: dict[str, Component], name: str) -> Any:
    return components[name].releases[0].values


def made(components: dict[str, Component], name: str, kind: str, called: str) -> Any:
    (one,) = (item for item in components[name].objects if (item["kind"], item["metadata"]["name"]) == (kind, called))
    return one["spec"]


READ: dict[str, Callable[[dict[str, Component]], Any]] = {
    "DCGM": lambda parts: values(parts, "gpu-operator")["dcgmExporter"]["serviceMonitor"]["relabelings"],
    "node_infiniband": lambda parts: values(parts, "kube-prometheus-stack")["prometheus-node-exporter"]["prometheus"][
        "monitor"
    ]["relabelings"],
    "kube": lambda parts: values(parts, "kube-prometheus-stack")["kube-state-metrics"],
    # Rook makes the monitor, and its chart lets it.
    "ceph": lambda parts: (
        made(parts, "ceph-cluster", "CephCluster", "rook-ceph")["monitoring"]["enabled"]
        and values(parts, "rook-ceph")["monitoring"]["enabled"]
    ),
    "minio": lambda parts: made(parts, "minio", "ServiceMonitor", "minio"),
    "kueue": lambda parts: values(parts, "kueue")["enablePrometheus"],
    "argocd": lambda parts: made(parts, "kube-prometheus-stack", "ServiceMonitor", "argo-cd"),
    "certmanager": lambda parts: (
        made(parts, "kube-prometheus-stack", "ServiceMonitor", "cert-manager")
        and values(parts, "cert-manager")["prometheus"]["enabled"]
        and made(parts, "cert-manager", "NetworkPolicy", "cert-manager")["ingress"]
    ),
}
"""What has Prometheus read the metrics of each beginning."""


def test_every_metric_that_is_alerted_of_is_read(whole: Cluster) -> None:
    parts = {one.name: one for one in compose(whole)}
    groups = ("gpus", "infiniband", "ceph", "minio", "queues", "jobs-given-up", "applications", "certificates")
    found = [one["spec"]["groups"][0]["rules"] for one in rules(whole) if one["metadata"]["name"] in groups]
    assert len(found) == len(groups)
    expressions = " ".join(rule["expr"] for some in found for rule in some)
    plain = re.sub(r"\{[^}]*\}|\[[^]]*\]|\bby \([^)]*\)|\bon \([^)]*\)|\bgroup_left \([^)]*\)", " ", expressions)
    metrics = set(re.findall(r"\b[A-Za-z]\w*_\w+", plain)) - {"max_over_time", "min_over_time"}
    metrics -= {"last_over_time", "count_over_time", "sum_over_time"}
    unread = {metric for metric in metrics if not metric.startswith(tuple(READ))}
    assert unread == set()
    used = {begin for begin in READ if any(metric.startswith(begin) for metric in metrics)}
    assert used == READ.keys()
    assert [begin for begin, reads in READ.items() if not reads(parts)] == []


def test_each_alert_is_explained(whole: Cluster) -> None:
    text = (ROOT / "docs" / "operations.md").read_text()
    assert [name for name in alerts(whole) if f"`{name}`" not in text] == []
