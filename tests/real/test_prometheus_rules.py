"""What our rules alert of, on Prometheus' own test program."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import promtool
import pytest
from msgspec import structs
from reference import without_backups

from generator.components.gpu_care.names import LOOKED
from generator.components.gpu_care.templates import templates
from generator.components.kube_prometheus_stack import kube_prometheus_stack
from generator.components.kube_prometheus_stack.alerts import gpu_care_missed
from generator.components.mlperf.names import GOOD as BENCHMARK_GOOD
from generator.components.reports.metrics import FAILED, SCHEDULED, SUCCEEDED
from generator.components.workflows import drill
from generator.components.workflows.backup import NEWEST
from generator.model.cluster import Cluster
from generator.model.monitoring import Prometheus

pytestmark = pytest.mark.real

ALERTS = ("BackupTooOld", "BackupNeverSeen")
# What a nightly backup's metric says every 10 minutes, from a run at 0 on: a value and how often it comes again.
DAY = 143
EVERY_NIGHT = f"0+0x{DAY} 86400x{DAY} 172800x{DAY} 259200x{DAY}"
ONCE = f"0+0x{9 * DAY}"
FORGOTTEN = f"0+0x{DAY}"


def groups(cluster: Cluster) -> Any:
    monitoring = structs.replace(cluster.monitoring, prometheus=Prometheus(), zabbix=None)
    objects = kube_prometheus_stack(structs.replace(cluster, monitoring=monitoring)).objects
    (rule,) = [one for one in objects if one["metadata"]["name"] == "backups"]
    return rule["spec"]


def judge(folder: Path, rules: Any, *tests: Any) -> None:
    """Have Prometheus' own tool try the rules."""
    promtool.judge(folder, rules, *tests, every="10m")


@pytest.mark.parametrize(
    ("told", "hours", "fires"),
    [
        pytest.param(EVERY_NIGHT, 84, (), id="it works every night"),
        pytest.param(ONCE, 47, (), id="one night missed"),
        pytest.param(ONCE, 49, ("BackupTooOld",), id="two nights missed"),
        pytest.param(FORGOTTEN, 47, (), id="the controller was started anew"),
        pytest.param(FORGOTTEN, 49, ("BackupTooOld",), id="started anew, and two nights missed"),
        pytest.param(FORGOTTEN, 71, ("BackupTooOld",), id="started anew and missed for as long"),
        pytest.param(FORGOTTEN, 73, ("BackupNeverSeen",), id="nobody remembers it"),
        pytest.param("", 47, (), id="it is new"),
        pytest.param("", 49, ("BackupNeverSeen",), id="it never worked"),
    ],
)
def test_a_backup_is_missed_after_two_of_its_intervals(
    ml50: Cluster, tmp_path: Path, told: str, hours: int, fires: tuple[str, ...]
) -> None:
    judged(ml50, tmp_path, {NEWEST: told}, hours, dict.fromkeys(fires, "critical"), ALERTS)


WEEK = 7 * (DAY + 1)
GOOD_TWICE = f"0+0x{WEEK - 1} 604800x{WEEK - 1} 604800x{WEEK}"
DRILLS = {"DrillTooOld": "warning", "DrillNeverSeen": "warning", "DrillFailed": "critical"}


@pytest.mark.parametrize(
    ("newest", "good", "days", "fires"),
    [
        pytest.param(f"0+0x{3 * WEEK}", f"1x{3 * WEEK}", 13, (), id="one drill missed"),
        pytest.param(f"0+0x{3 * WEEK}", f"1x{3 * WEEK}", 15, ("DrillTooOld",), id="two drills missed"),
        pytest.param(GOOD_TWICE, f"1x{WEEK - 1} 1x{2 * WEEK}", 20, (), id="it works every week"),
        pytest.param(f"0+0x{3 * WEEK}", f"1x{WEEK - 1} 0+0x{2 * WEEK}", 6, (), id="it will fail"),
        pytest.param(f"0+0x{3 * WEEK}", f"1x{WEEK - 1} 0+0x{2 * WEEK}", 8, ("DrillFailed",), id="the last one failed"),
        pytest.param("", f"0+0x{WEEK}", 1, ("DrillFailed",), id="the first one failed"),
        pytest.param("", "", 13, (), id="it is new"),
        pytest.param("", "", 15, ("DrillNeverSeen",), id="it never was"),
    ],
)
def test_a_drill_is_missed_after_two_of_its_intervals_and_told_once_it_failed(  # noqa: PLR0913, PLR0917 - a case
    ml50: Cluster, tmp_path: Path, newest: str, good: str, days: int, fires: tuple[str, ...]
) -> None:
    series = {drill.NEWEST: newest, drill.GOOD: good}
    judged(ml50, tmp_path, series, 24 * days, {one: DRILLS[one] for one in fires}, DRILLS)


def judged(  # noqa: PLR0913, PLR0917 - what a case consists of
    cluster: Cluster,
    folder: Path,
    told: Mapping[str, str],
    hours: int,
    fires: Mapping[str, str],
    among: Iterable[str],
) -> None:
    """Let promtool judge: of these alerts those fire, with these severities, after what the metrics told."""
    nightly = structs.replace(cluster.backups[0], name="nightly", schedule="0 0 * * *", suspended=False)
    rules = groups(structs.replace(without_backups(cluster), backups=(nightly,)))
    said = {one["alert"]: one["annotations"] for one in rules["groups"][0]["rules"]}
    expected = {name: [alert(severity, said[name])] for name, severity in fires.items()}
    asked = [{"alertname": one, "eval_time": f"{hours}h", "exp_alerts": expected.get(one, [])} for one in among]
    series = [
        {"series": f'{name}{{backup="nightly",pod="a"}}', "values": values} for name, values in told.items() if values
    ]
    test = {"interval": "10m", "input_series": series, "alert_rule_test": asked}
    judge(folder, rules, test)


def alert(severity: str, said: Mapping[str, str]) -> dict[str, Any]:
    return {"exp_labels": {"severity": severity, "backup": "nightly"}, "exp_annotations": said}


def test_each_node_without_a_new_snapshot_of_etcd_is_told_by_name(ml50: Cluster, tmp_path: Path) -> None:
    """Every six hours: cp-1 takes its own, cp-2 is first looked at after twelve and has none, cp-3 never is."""
    backup = ml50.kubernetes.etcd.backup
    assert backup
    assert [machine.name for machine in ml50.control_plane] == ["cp-1", "cp-2", "cp-3"]
    etcd = structs.replace(ml50.kubernetes.etcd, backup=structs.replace(backup, every_hours=6))
    kubernetes = structs.replace(ml50.kubernetes, etcd=etcd)
    rules = groups(structs.replace(without_backups(ml50), kubernetes=kubernetes))
    series = {"etcd": "0+0x35 21600x35 43200x35", "etcd/cp-1": "0+0x35 21600x35 43200x35", "etcd/cp-2": "_x72 0+0x30"}
    fires = {"BackupTooOld": "etcd/cp-2", "BackupNeverSeen": "etcd/cp-3"}
    notes = {one["expr"]: one["annotations"] for one in rules["groups"][0]["rules"]}
    asked = []
    for name, backup_name in fires.items():
        own = {str(note): note for expr, note in notes.items() if NEWEST in expr and f'"{backup_name}"' in expr}
        (annotations,) = own.values()
        labels = {"severity": "critical", "backup": backup_name}
        alerts = [{"exp_labels": labels, "exp_annotations": annotations}]
        asked.append({"alertname": name, "eval_time": "13h", "exp_alerts": alerts})
        asked.append({"alertname": name, "eval_time": "11h", "exp_alerts": []})
    told = [{"series": f'{NEWEST}{{backup="{name}",pod="a"}}', "values": values} for name, values in series.items()]
    judge(tmp_path, rules, {"interval": "10m", "input_series": told, "alert_rule_test": asked})


@pytest.mark.parametrize(
    ("told", "fires"),
    [
        pytest.param("1x60", (), id="good"),
        pytest.param("1x30 0+0x30", ("BenchmarkFailed",), id="not valid, or slower"),
        pytest.param("0+0x30 1x30", (), id="good again"),
        pytest.param("_x60", (), id="never run"),
    ],
)
def test_a_benchmark_that_was_no_result_is_told_until_one_is(
    tmp_path: Path, a30: Cluster, told: str, fires: tuple[str, ...]
) -> None:
    (rule,) = [one for one in kube_prometheus_stack(a30).objects if one["metadata"]["name"] == "benchmarks"]
    series = [{"series": f'{BENCHMARK_GOOD}{{benchmark="resnet50-server", pod="a"}}', "values": told}]
    words = "The last run of benchmark resnet50-server was not valid, or dropped: see `gen workflow list`"
    labels = {"severity": "warning", "benchmark": "resnet50-server"}
    alert = {"exp_labels": labels, "exp_annotations": {"summary": words}}
    asked = {"eval_time": "9h", "alertname": "BenchmarkFailed", "exp_alerts": [alert] if fires else []}
    judge(tmp_path, rule["spec"], {"interval": "10m", "input_series": series, "alert_rule_test": [asked]})


@pytest.mark.parametrize(
    ("looked", "minutes", "fires"),
    [
        pytest.param("0+600x60", 300, (), id="looked at all the time"),
        pytest.param("0+600x10 6000x50", 150, (), id="not for 50 minutes"),
        pytest.param("0+600x10 6000x50", 170, ("GpuCareTooOld",), id="each look failed"),
        pytest.param("0+600x10", 150, (), id="the controller was started anew"),
        pytest.param("0+600x10", 190, ("GpuCareNeverSeen",), id="started anew, and no look since"),
        pytest.param("", 50, (), id="it is new"),
        pytest.param("", 70, ("GpuCareNeverSeen",), id="it never worked"),
    ],
)
def test_gpus_that_nobody_looks_at_are_told_after_an_hour(
    tmp_path: Path, ml50: Cluster, looked: str, minutes: int, fires: tuple[str, ...]
) -> None:
    monitoring = structs.replace(ml50.monitoring, prometheus=Prometheus(), zabbix=None)
    objects = kube_prometheus_stack(structs.replace(ml50, monitoring=monitoring)).objects
    (rule,) = [one for one in objects if one["metadata"]["name"] == "gpu-care"]
    notes = {one["alert"]: one["annotations"] for one in rule["spec"]["groups"][0]["rules"]}
    alerts = {name: [{"exp_labels": {"severity": "warning"}, "exp_annotations": notes[name]}] for name in fires}
    asked = [
        {"alertname": name, "eval_time": f"{minutes}m", "exp_alerts": alerts.get(name, [])}
        for name in ("GpuCareTooOld", "GpuCareNeverSeen")
    ]
    series = [{"series": f'{LOOKED}{{pod="a"}}', "values": looked}] if looked else []
    judge(tmp_path, rule["spec"], {"interval": "10m", "input_series": series, "alert_rule_test": asked})


def test_the_look_at_gpus_tells_the_metric_that_is_alerted_of(ml50: Cluster) -> None:
    (look,) = [one for one in templates() if one["metadata"]["name"] == "gpu-care"]
    (metric,) = look["spec"]["metrics"]["prometheus"]
    assert f"argo_workflows_{metric['name']}" == LOOKED
    assert ml50.gpu_care
    assert gpu_care_missed(ml50, "monitoring")
    assert gpu_care_missed(structs.replace(ml50, gpu_care=None), "monitoring") is None


@pytest.mark.parametrize(
    ("failed", "good", "hours", "fires"),
    [
        pytest.param("", "3600x300", 4, (), id="it goes well"),
        pytest.param("3600x300", "", 2, ("OperationFailed",), id="it failed"),
        pytest.param("3600x300", "", 24, ("OperationFailed",), id="it failed a day ago"),
        pytest.param("3600x300", "", 26, (), id="it failed long ago"),
        pytest.param("3600x300", "_x12 7200x300", 4, (), id="it went well since"),
        pytest.param("_x12 7200x300", "3600x300", 4, ("OperationFailed",), id="it went well before"),
        pytest.param("3600x60 39600x90", "_x30 18000x120", 12, ("OperationFailed",), id="it failed again"),
        pytest.param("3600x12", "", 8, ("OperationFailed",), id="the controller was started anew"),
        pytest.param("3600x24", "_x12 7200x12", 8, (), id="it went well, and the controller was started anew"),
    ],
)
def test_an_operation_that_failed_is_told_for_a_day_or_until_a_run_goes_well(  # noqa: PLR0913, PLR0917 - a case
    tmp_path: Path, a30: Cluster, failed: str, good: str, hours: int, fires: tuple[str, ...]
) -> None:
    """Operations with alerts of their own are silent here, however they end."""
    (rule,) = [one for one in kube_prometheus_stack(a30).objects if one["metadata"]["name"] == "operations"]
    (annotations,) = [one["annotations"] for one in rule["spec"]["groups"][0]["rules"]]
    said = {"summary": annotations["summary"].replace("{{ $labels.operation }}", "node-removal")}
    labels = {"severity": "warning", "operation": "node-removal"}
    told = {("node-removal", FAILED): failed, ("node-removal", SUCCEEDED): good}
    told |= {(name, FAILED): "3600x300" for name in (*SCHEDULED, "mlperf")}
    series = [
        {"series": f'{metric}{{operation="{name}",pod="a"}}', "values": values}
        for (name, metric), values in told.items()
        if values
    ]
    alerts = [{"exp_labels": labels, "exp_annotations": said}] if fires else []
    asked = {"eval_time": f"{hours}h", "alertname": "OperationFailed", "exp_alerts": alerts}
    judge(tmp_path, rule["spec"], {"interval": "10m", "input_series": series, "alert_rule_test": [asked]})
