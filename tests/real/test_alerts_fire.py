"""What Prometheus alerts of devices, storage, queues, Applications, certificates and machines: on its own test program,
with answers of exporters in the form that their sources give them (dcgm-exporter 4.6, node-exporter 1.12.1 and
kube-state-metrics 2.20, Ceph v20 `mgr/prometheus`, MinIO's `metrics-v2.go`, Kueue v0.18.3, Argo CD v3.5.3, cert-manager
v1.21).
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import promtool
import pytest
from exporteroutputs import Device, output
from machineplayed import by_timer
from msgspec import structs
from reference import load
from scrapedanswers import scraped

from generator.components.kube_prometheus_stack.watched import rules
from generator.model.monitoring import Prometheus

pytestmark = pytest.mark.real

Series = dict[str, str]
Fires = dict[str, tuple[dict[str, str], str]]
"""Alerts that fire: the labels of each, and its value as the summary writes it."""
HOUR, DAY = 60, 24 * 60
CORE = {"namespace": "gpu-operator", "pod": "nvidia-dcgm-exporter-x", "job": "nvidia-dcgm-exporter", "node": "gpu-01"}


class Case(NamedTuple):
    """What was told, until when, and which alerts fire then; all others of the group do not."""

    told: Series
    at: int
    fires: Fires
    id: str


def all_rules() -> dict[str, Any]:
    """Return the rules of a cluster with all that can be alerted of."""
    cluster = by_timer(load("ml50"))
    monitoring = structs.replace(cluster.monitoring, prometheus=Prometheus(), zabbix=None)
    cluster = structs.replace(cluster, monitoring=monitoring)
    return {one["metadata"]["name"]: one["spec"] for one in rules(cluster)}


def judge(folder: Path, spec: Any, cases: Iterable[Case], step: int) -> None:
    """Have promtool say that in each case those alerts fire, each once, and no others. Times are in so many minutes."""
    (group,) = spec["groups"]
    promtool.judge(folder, spec, *(tried(case, group["rules"], step) for case in cases), every=f"{step}m")


def tried(case: Case, among: list[Any], step: int) -> dict[str, Any]:
    names = {rule["alert"] for rule in among}
    assert case.fires.keys() <= names
    asked = [
        {"alertname": name, "eval_time": f"{case.at * step}m", "exp_alerts": expected(among, name, case.fires)}
        for name in sorted(names)
    ]
    series = [{"series": name, "values": values} for name, values in case.told.items()]
    return {"name": case.id, "interval": f"{step}m", "input_series": series, "alert_rule_test": asked}


def expected(among: list[Any], name: str, fires: Fires) -> list[Any]:
    """Return the alert as it is told, from the first rule of its name whose own labels do not contradict it."""
    if name not in fires:
        return []
    labels, value = fires[name]
    rule = next(
        one
        for one in among
        if one["alert"] == name and all(labels.get(key, text) == text for key, text in one["labels"].items())
    )
    words = re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda found: labels[found[1]], rule["annotations"]["summary"])
    summary = re.sub(r"\{\{ \$value( \| humanize)? \}\}", value, words)
    return [{"exp_labels": {**labels, **rule["labels"]}, "exp_annotations": {"summary": summary}}]


def gpus(*devices: Device, count: int = 8, heat: int = 41, lost: int = 0) -> str:
    """Return an answer of a node's exporter: these GPUs, and as many more as make `count`."""
    told = {one.number for one in devices}
    text = output([*devices, *(Device(number) for number in range(count) if number not in told)])
    text = re.sub(r'(GPU_TEMP\{gpu="0".*) 41', rf"\1 {heat}", text)
    return re.sub(r'(UNCORRECTABLE_REMAPPED_ROWS\{gpu="0".*) 0', rf"\1 {lost}", text)


def without_rows(*devices: Device) -> str:
    """Return an answer of GPUs before Ampere, such as T4, which retire pages: nothing of rows."""
    return "".join(line for line in gpus(*devices).splitlines(keepends=True) if "REMAP" not in line)


def node(ready: str = "true", name: str = "gpu-01") -> str:
    return "".join(
        f'kube_node_status_condition{{node="{name}",condition="Ready",status="{one}"}} {int(one == ready)}\n'
        for one in ("true", "false", "unknown")
    )


def on_gpus(*answers: tuple[str, int]) -> Series:
    return scraped(CORE, *answers)


STATE = {"job": "kube-state-metrics", "namespace": "monitoring", "pod": "state"}


def state(*answers: tuple[str, int]) -> Series:
    return scraped(STATE, *answers, honored=True)


WELL, ONE = gpus(), {"node": "gpu-01", "gpu": "0"}
GPU_CASES = [
    Case(on_gpus((WELL, HOUR)) | state((node(), HOUR)), 50, {}, id="all is well"),
    Case(on_gpus((WELL, 10), (gpus(count=7), 50)), 14, {}, id="a GPU is away for a moment"),
    Case(on_gpus((WELL, 10), (gpus(count=7), 50)), 40, {"GPUsMissing": ({"node": "gpu-01"}, "7")}, id="a GPU is away"),
    Case(
        on_gpus((gpus(*(Device(0, instance=one) for one in "123")), HOUR)),
        50,
        {},
        id="a GPU that is split counts once",
    ),
    Case(
        on_gpus((gpus(*(Device(0, instance=one) for one in "123"), count=7), HOUR)),
        50,
        {"GPUsMissing": ({"node": "gpu-01"}, "7")},
        id="and hides no other that is away",
    ),
    Case(on_gpus((WELL, 10), ("", 50)) | state((node(), HOUR)), 20, {}, id="the exporter starts"),
    Case(
        on_gpus((WELL, 10), ("", 50)) | state((node(), HOUR)),
        40,
        {"GPUsNotMeasured": ({"node": "gpu-01"}, "1")},
        id="nobody measures",
    ),
    Case(state((node("false"), HOUR)), 40, {}, id="the node is away: the chart's rules tell it"),
    Case(state((node(name="cpu-01"), HOUR)), 40, {}, id="a node without GPUs"),
    Case(on_gpus((gpus(heat=85), HOUR)), 40, {}, id="warm"),
    Case(on_gpus((gpus(heat=88), HOUR)), 4, {}, id="hot for a moment"),
    Case(on_gpus((gpus(heat=88), HOUR)), 40, {"GPUHot": (ONE, "88")}, id="hot"),
    Case(on_gpus((gpus(heat=91), HOUR)), 40, {"GPUHot": (ONE, "91"), "GPUTooHot": (ONE, "91")}, id="too hot"),
    Case(on_gpus((gpus(heat=91), HOUR)), 0, {}, id="too hot for a moment"),
    Case(on_gpus((gpus(Device(0, xid=31)), HOUR)), 40, {}, id="an Xid of a program"),
    Case(
        on_gpus((WELL, 10), (gpus(Device(0, xid=79)), 50)),
        10,
        {"GPUFault": ({**ONE, "err_code": "79"}, "1")},
        id="an Xid of the device",
    ),
    Case(
        on_gpus((WELL, 10), (gpus(Device(0, xid=48, pod="vision/train")), 1), (gpus(Device(0, xid=45)), HOUR)),
        60,
        {"GPUFault": ({**ONE, "err_code": "48"}, "1")},
        id="and one of a program hides it",
    ),
    Case(on_gpus((gpus(Device(0, xid=48)), 10), (WELL, HOUR)), 40, {}, id="the driver was loaded again: it is over"),
    *(
        Case(
            on_gpus((without_rows(), 10), (without_rows(Device(0, xid=code)), 50)),
            10,
            {"GPUFault": ({**ONE, "err_code": str(code)}, "1")},
            id=f"an Xid of a GPU that retires pages: {code}",
        )
        for code in (48, 63, 64)
    ),
    Case(on_gpus((without_rows(), HOUR)), 40, {}, id="a GPU that retires pages tells nothing of rows"),
    Case(on_gpus((gpus(lost=2), HOUR)), 40, {}, id="rows that were remapped long ago"),
    Case(
        on_gpus((gpus(lost=2), 10), ("", 5), (gpus(lost=3), 50)),
        40,
        {"GPUMemoryError": (ONE, "3")},
        id="one more, while the exporter was restarted",
    ),
    Case(on_gpus((gpus(lost=2), 10), (gpus(lost=3), 2 * DAY)), 10 + DAY, {}, id="over after a day"),
    Case(on_gpus((gpus(Device(0, failed=1)), HOUR)), 1, {"GPUMemoryWorn": (ONE, "1")}, id="rows cannot be remapped"),
]


def ports(
    errors: Mapping[str, int] | None = None,
    names: tuple[str, ...] = ("mlx5_0", "mlx5_1"),
    state: int = 4,
    rate: float = 5e10,
) -> str:
    """Return what node-exporter tells of ports (`collector/fixtures/e2e-output.txt`); of the first what is given, and
    of an adapter for Ethernet that is down.
    """
    text = 'node_infiniband_state_id{device="mlx5_9",port="1"} 1\n'
    for name in names:
        first = name == "mlx5_0"
        told = {"state_id": state if first else 4, "rate_bytes_per_second": rate if first else 5e10}
        told |= {f"{one}_total": count if first else 0 for one, count in (errors or {}).items()}
        text += "".join(f'node_infiniband_{one}{{device="{name}",port="1"}} {value:g}\n' for one, value in told.items())
    return text


def on_ports(*answers: tuple[str, int]) -> Series:
    target = {"job": "node-exporter", "namespace": "node-exporter", "pod": "x", "node": "gpu-01"}
    up = "".join(f" {int(bool(text))}x{minutes - 1}" for text, minutes in answers).strip()
    of = ",".join(f'{name}="{value}"' for name, value in target.items())
    return scraped(target, *answers) | {f"up{{{of}}}": up}


FIRST = {"node": "gpu-01", "device": "mlx5_0", "port": "1"}
COUNTED = {
    "symbol_error": "symbol_error",
    "link_error_recovery": "link_error_recovery",
    "port_rcv_errors": "port_errors_received",
    "port_xmit_discards": "port_discards_transmitted",
    "local_link_integrity_errors": "local_link_integrity_errors",
    "excessive_buffer_overrun_errors": "excessive_buffer_overrun_errors",
}
INFINIBAND_CASES = [
    Case(on_ports((ports(), HOUR)) | state((node(), HOUR)), 50, {}, id="all is well"),
    Case(on_ports((ports(), 10), (ports(names=("mlx5_1",)), 50)), 12, {}, id="a port is away for a moment"),
    Case(
        on_ports((ports(), 10), (ports(names=("mlx5_1",)), 50)),
        40,
        {"InfiniBandPortsMissing": ({"node": "gpu-01"}, "1")},
        id="a port is away",
    ),
    Case(
        on_ports((ports(), 10), (ports(names=()), 50)),
        40,
        {"InfiniBandPortsMissing": ({"node": "gpu-01"}, "0")},
        id="all are away",
    ),
    Case(on_ports((ports(), 10), ("", 50)) | state((node(), HOUR)), 20, {}, id="the exporter starts"),
    Case(
        on_ports((ports(), 10), ("", 50)) | state((node(), HOUR)),
        40,
        {"InfiniBandNotMeasured": ({"node": "gpu-01"}, "1")},
        id="nobody measures",
    ),
    Case(on_ports((ports(), 10), (ports(state=2, rate=2.5e9), 50)), 11, {}, id="a link is down for a moment"),
    Case(
        on_ports((ports(), 10), (ports(state=1, rate=1.25e9), 50)),
        40,
        {"InfiniBandLinkDown": (FIRST, "1")},
        id="a link is down, and not slow as well",
    ),
    Case(on_ports((ports(rate=2.5e10), HOUR)), 0, {}, id="a slow link, for a moment"),
    Case(on_ports((ports(rate=2.5e10), HOUR)), 40, {"InfiniBandLinkSlow": (FIRST, "2.5e+10")}, id="a slow link"),
    *(
        Case(
            on_ports((ports({metric: 7}), HOUR), (ports({metric: 37}), HOUR)),
            100,
            {"InfiniBandErrors": ({**FIRST, "counter": counter}, "30")},
            id=f"many errors: {counter}",
        )
        for counter, metric in COUNTED.items()
    ),
    Case(on_ports((ports({"symbol_error": 7}), HOUR), (ports({"symbol_error": 15}), HOUR)), 100, {}, id="few errors"),
    Case(
        on_ports((ports({"link_downed": 7}), HOUR), (ports({"link_downed": 8}), HOUR)),
        100,
        {"InfiniBandErrors": ({**FIRST, "counter": "link_downed"}, "1")},
        id="a link was lost once",
    ),
    Case(on_ports((ports({"link_downed": 7}), 3 * HOUR)), 100, {}, id="and long ago"),
]


def ceph(  # noqa: PLR0913 - what it can tell
    health: int = 0,
    *,
    up: int = 1,
    quorum: int = 1,
    degraded: int = 0,
    used: float = 850.0,
    percent: float = 0.85,
    stored: float = 85.0,
    quota: float = 100.0,
) -> str:
    return f"""\
# HELP ceph_health_status Cluster health status
# TYPE ceph_health_status untyped
ceph_health_status {health:.1f}
ceph_osd_up{{ceph_daemon="osd.0"}} 1.0
ceph_osd_up{{ceph_daemon="osd.1"}} {up:.1f}
ceph_mon_quorum_status{{ceph_daemon="mon.a"}} 1.0
ceph_mon_quorum_status{{ceph_daemon="mon.b"}} {quorum:.1f}
ceph_pg_degraded{{pool_id="1"}} {degraded:.1f}
ceph_pg_degraded{{pool_id="2"}} 0.0
ceph_cluster_by_class_total_bytes{{device_class="hdd"}} 1000.0
ceph_cluster_by_class_total_bytes{{device_class="nvme"}} 1000.0
ceph_cluster_by_class_total_used_raw_bytes{{device_class="hdd"}} 10.0
ceph_cluster_by_class_total_used_raw_bytes{{device_class="nvme"}} {used}
ceph_pool_metadata{{pool_id="1",name="rbd-nvme",type="replicated",description="replica:3",compression_mode="none"}} 1.0
ceph_pool_metadata{{pool_id="2",name="free",type="replicated",description="replica:3",compression_mode="none"}} 1.0
ceph_pool_percent_used{{pool_id="1"}} {percent}
ceph_pool_percent_used{{pool_id="2"}} 0.1
ceph_pool_stored{{pool_id="1"}} {stored}
ceph_pool_stored{{pool_id="2"}} 1000.0
ceph_pool_quota_bytes{{pool_id="1"}} {quota}
ceph_pool_quota_bytes{{pool_id="2"}} 0.0
"""


def of_ceph(*answers: tuple[str, int], pod: str = "a") -> Series:
    target = {"namespace": "rook-ceph", "job": "rook-ceph-mgr", "pod": f"rook-ceph-mgr-{pod}", "cluster": "rook-ceph"}
    return scraped(target, *answers, honored=True)


FINE = ceph()
POOL = {"pool_id": "1", "name": "rbd-nvme"}
CEPH_CASES = [
    Case(of_ceph((FINE, 2 * HOUR)), 100, {}, id="all is well, and all as full as it may be"),
    Case(
        of_ceph((ceph(2, quorum=0, used=960.0, percent=0.86, stored=86.0), HOUR)), 0, {}, id="all is ill for a moment"
    ),
    Case(of_ceph((FINE, 10), ("", 50)), 15, {}, id="a manager starts"),
    Case(of_ceph((FINE, 10), ("", 50)), 40, {"CephNotSeen": ({}, "1")}, id="nothing is told"),
    Case(of_ceph((FINE, 10), (ceph(1), 50)), 15, {}, id="a short warning"),
    Case(of_ceph((FINE, 10), (ceph(1), 50)), 40, {"CephWarns": ({}, "1")}, id="a warning"),
    Case(of_ceph((FINE, 10), (ceph(2), 50)), 12, {"CephInError": ({}, "2")}, id="an error"),
    Case(of_ceph((ceph(degraded=3), 2 * HOUR)), 50, {}, id="copies are made"),
    Case(of_ceph((ceph(degraded=3), 2 * HOUR)), 100, {"CephDataLacksCopies": ({}, "3")}, id="copies are lacking"),
    Case(of_ceph((FINE, 10), (ceph(up=0), 50)), 13, {}, id="an OSD starts"),
    Case(
        of_ceph((FINE, 10), (ceph(up=0), 50)) | of_ceph((ceph(up=0), HOUR), pod="b"),
        40,
        {"CephOSDsDown": ({}, "1")},
        id="an OSD is down, as two managers tell",
    ),
    Case(
        of_ceph((FINE, 10), (ceph(quorum=0), 50)), 40, {"CephMonitorsOut": ({}, "1")}, id="a monitor is out of quorum"
    ),
    Case(
        of_ceph((ceph(used=860.0), HOUR)),
        40,
        {"CephClassNearlyFull": ({"device_class": "nvme"}, "86")},
        id="NVMe is nearly full",
    ),
    Case(
        of_ceph((ceph(used=960.0), HOUR)),
        40,
        {"CephClassNearlyFull": ({"device_class": "nvme"}, "96"), "CephClassFull": ({"device_class": "nvme"}, "96")},
        id="NVMe is full",
    ),
    Case(of_ceph((ceph(percent=0.86), HOUR)), 40, {"CephPoolNearlyFull": (POOL, "86")}, id="a pool is nearly full"),
    Case(of_ceph((ceph(stored=86.0), HOUR)), 40, {"CephPoolNearItsQuota": (POOL, "86")}, id="a pool is near its quota"),
    Case(of_ceph((ceph(stored=86.0, quota=0.0), HOUR)), 40, {}, id="a pool without a quota"),
]


def minio(*, drives: int = 0, servers: int = 0, online: int = 16, free: int = 150) -> str:
    return "".join(
        f"""\
minio_cluster_drive_online_total{{server="minio-{one}"}} {64 - drives}
minio_cluster_drive_offline_total{{server="minio-{one}"}} {drives}
minio_cluster_nodes_offline_total{{server="minio-{one}"}} {servers}
minio_cluster_health_erasure_set_write_quorum{{pool="0",server="minio-{one}",set="0"}} 9
minio_cluster_health_erasure_set_write_quorum{{pool="0",server="minio-{one}",set="1"}} 9
minio_cluster_health_erasure_set_online_drives{{pool="0",server="minio-{one}",set="0"}} 16
minio_cluster_health_erasure_set_online_drives{{pool="0",server="minio-{one}",set="1"}} {online}
minio_cluster_capacity_usable_total_bytes{{server="minio-{one}"}} 1000
minio_cluster_capacity_usable_free_bytes{{server="minio-{one}"}} {free}
"""
        for one in range(2)
    )


def of_minio(*answers: tuple[str, int]) -> Series:
    return scraped({"namespace": "minio", "job": "minio", "pod": "minio-0"}, *answers)


STORED, SET = minio(), {"pool": "0", "set": "1"}
MINIO_CASES = [
    Case(of_minio((STORED, HOUR)), 50, {}, id="all is well, and as full as it may be"),
    Case(of_minio((minio(online=8, free=140), HOUR)), 0, {}, id="no quorum and full, for a moment"),
    Case(of_minio((minio(online=9), HOUR)), 0, {}, id="at the quorum for a moment"),
    Case(of_minio((STORED, 10), ("", 50)), 15, {}, id="servers start"),
    Case(of_minio((STORED, 10), ("", 50)), 40, {"MinIONotSeen": ({}, "1")}, id="nothing is told"),
    Case(of_minio((STORED, 10), (minio(drives=2), 50)), 13, {}, id="drives are away for a moment"),
    Case(of_minio((STORED, 10), (minio(drives=2), 50)), 40, {"MinIODrivesOffline": ({}, "2")}, id="drives are away"),
    Case(of_minio((STORED, 10), (minio(servers=1), 50)), 13, {}, id="a server starts"),
    Case(of_minio((STORED, 10), (minio(servers=1), 50)), 40, {"MinIOServersOffline": ({}, "1")}, id="a server is away"),
    Case(of_minio((minio(online=10), HOUR)), 40, {}, id="one more may go"),
    Case(of_minio((minio(online=9), HOUR)), 40, {"MinIOAtItsQuorum": (SET, "9")}, id="no more may go"),
    Case(of_minio((minio(online=8), HOUR)), 40, {"MinIOTakesNoWrites": (SET, "8")}, id="one too many"),
    Case(of_minio((minio(free=140), HOUR)), 40, {"MinIONearlyFull": ({}, "86")}, id="nearly full"),
]


def kueue(active: int = 0, inadmissible: int = 0, admitted: int = 0, given_up: int = 0, role: str = "leader") -> str:
    of = f'cluster_queue="vision",replica_role="{role}"'
    told = f"""\
kueue_pending_workloads{{cluster_queue="vision",replica_role="{role}",status="active"}} {active}
kueue_pending_workloads{{cluster_queue="vision",replica_role="{role}",status="inadmissible"}} {inadmissible}
kueue_admitted_active_workloads{{{of}}} {admitted}
kueue_cluster_queue_status{{{of},status="active"}} 1
kueue_evicted_workloads_total{{{of},priority_class="normal",reason="Preempted",underlying_cause=""}} {given_up + 7}
"""
    reason = 'priority_class="normal",reason="Deactivated",underlying_cause="RequeuingLimitExceeded"'
    return told + (f"kueue_evicted_workloads_total{{{of},{reason}}} {given_up}\n" if given_up else "")


def of_kueue(*answers: tuple[str, int], pod: str = "a") -> Series:
    target = {"namespace": "kueue-system", "job": "kueue", "pod": f"kueue-controller-manager-{pod}"}
    return scraped(target, *answers) | answered(target, *answers)


def answered(target: dict[str, str], *answers: tuple[str, int]) -> Series:
    """Return what Prometheus says of a target's answers. Where one is empty, there was no target, or no Prometheus."""
    of = ",".join(f'{name}="{value}"' for name, value in target.items())
    spans = (f"1x{minutes - 1}" if text else " ".join("_" * minutes) for text, minutes in answers)
    return {f"up{{{of}}}": " ".join(spans)}


def waiting(scheduler: str = "volcano", *, gated: bool = False) -> str:
    """Return a pod without a node, as kube-state-metrics tells of it."""
    one = 'namespace="vision",pod="train-0",uid="1"'
    told = f'kube_pod_status_unschedulable{{{one}}} 1\nkube_pod_scheduler{{{one},name="{scheduler}"}} 1\n'
    return told + (f'kube_pod_status_reason{{{one},reason="SchedulingGated"}} 1\n' if gated else "")


QUEUE = {"cluster_queue": "vision"}
IDLE = of_kueue((kueue(), 2 * DAY))
QUEUE_CASES = [
    Case(IDLE, DAY + HOUR, {}, id="nothing waits"),
    Case(of_kueue((kueue(), 10), ("", 50)), 15, {}, id="Kueue starts"),
    Case(of_kueue((kueue(), 10), ("", 50)), 40, {"QueuesNotSeen": ({}, "1")}, id="nothing is told"),
    Case(of_kueue((kueue(inadmissible=3), 2 * DAY)), DAY - 5, {}, id="jobs have waited for less than a day"),
    Case(
        of_kueue((kueue(2, 1), 2 * DAY)) | of_kueue((kueue(2, 1, role="follower"), 2 * DAY), pod="b"),
        DAY + 5,
        {"JobsWaitForADay": (QUEUE, "3")},
        id="jobs wait for a day, as two replicas tell",
    ),
    Case(of_kueue((kueue(2, 1, admitted=1), 2 * DAY)), DAY + 5, {}, id="others of the team run"),
    Case(
        of_kueue((kueue(2), HOUR), (kueue(2, admitted=1), 5), (kueue(2), 2 * DAY)),
        DAY + 5,
        {},
        id="one of them has run",
    ),
    Case(
        of_kueue((kueue(2), HOUR)) | of_kueue(("", HOUR + 8), (kueue(2), 2 * DAY), pod="b"),
        DAY + 5,
        {"JobsWaitForADay": (QUEUE, "2")},
        id="Kueue was restarted meanwhile",
    ),
    Case(IDLE | state((waiting(), 2 * HOUR)), 40, {}, id="a gang waits for nodes"),
    Case(
        IDLE | state((waiting(), 25), ("", 3), (waiting(), 25), ("", 3), (waiting(), 30)),
        70,
        {"GangsWithoutPlace": ({"namespace": "vision"}, "54")},
        id="and gives its quota back between",
    ),
    Case(IDLE | state((waiting(gated=True), 2 * HOUR)), 100, {}, id="a gang waits for quota"),
    Case(IDLE | state((waiting("default-scheduler"), 2 * HOUR)), 100, {}, id="a service waits for nodes"),
]


TEN_HOUR, TEN_DAY = 6, 144
"""In steps of ten minutes."""
GIVEN_UP = {"JobsGivenUp": (QUEUE, "1")}
GIVEN_UP_CASES = [
    Case(of_kueue((kueue(), TEN_DAY)), TEN_HOUR, {}, id="others were preempted"),
    Case(of_kueue((kueue(), TEN_HOUR), (kueue(given_up=1), 2 * TEN_DAY)), 7, GIVEN_UP, id="the first of all"),
    Case(
        of_kueue((kueue(given_up=4), 2 * TEN_DAY), (kueue(given_up=5), 2 * TEN_DAY)),
        2 * TEN_DAY + 1,
        GIVEN_UP,
        id="one more",
    ),
    Case(
        of_kueue((kueue(), TEN_HOUR), (kueue(given_up=1), TEN_HOUR))
        | of_kueue(("", 2 * TEN_HOUR), (kueue(), 2 * TEN_DAY), pod="b"),
        5 * TEN_HOUR,
        GIVEN_UP,
        id="and Kueue was restarted",
    ),
    Case(of_kueue((kueue(), TEN_HOUR), (kueue(given_up=1), 2 * TEN_DAY)), 2 * TEN_HOUR + TEN_DAY, {}, id="a day ago"),
    Case(of_kueue(("", TEN_HOUR), (kueue(given_up=4), TEN_DAY)), 2 * TEN_HOUR, {}, id="Prometheus began anew"),
]


def application(sync: str = "Synced", health: str = "Healthy", operation: str = "", auto: str = "true") -> str:
    return (
        f'argocd_app_info{{autosync_enabled="{auto}",dest_namespace="",dest_server="https://kubernetes.default.svc",'
        f'health_status="{health}",name="kueue",namespace="argocd",operation="{operation}",project="scheduling",'
        f'repo="https://git.example.org/clusters",sync_status="{sync}"}} 1\n'
    )


def synced(phase: str, count: int, dry: str = "false") -> str:
    return (
        f'argocd_app_sync_total{{dest_server="https://kubernetes.default.svc",dry_run="{dry}",name="kueue",'
        f'namespace="argocd",phase="{phase}",project="scheduling"}} {count}\n'
    )


def of_argo(*answers: tuple[str, int]) -> Series:
    target = {"namespace": "argocd", "job": "argocd-metrics", "pod": "argocd-application-controller-0"}
    return scraped(target, *answers) | answered(target, *answers)


NAME, GOOD = {"name": "kueue"}, application() + synced("Succeeded", 3)
DRIFTED = application("OutOfSync")
APPLICATION_CASES = [
    Case(of_argo((GOOD, 2 * HOUR)), 100, {}, id="all is well"),
    Case(of_argo((GOOD, 10), (application(health="Degraded"), HOUR)), 20, {}, id="ill for a moment"),
    Case(
        of_argo((GOOD, 10), (application(health="Degraded"), HOUR)),
        40,
        {"ApplicationDegraded": ({**NAME, "health_status": "Degraded"}, "1")},
        id="ill",
    ),
    Case(of_argo((application("OutOfSync", operation="sync"), 2 * HOUR)), 50, {}, id="a long sync"),
    Case(
        of_argo((application("OutOfSync", operation="sync"), 2 * HOUR)),
        100,
        {"ApplicationSyncEndless": (NAME, "1")},
        id="tried again for ever",
    ),
    Case(of_argo((DRIFTED, 2 * HOUR)), 50, {}, id="out of sync for a moment"),
    Case(of_argo((DRIFTED, 2 * HOUR)), 100, {"ApplicationOutOfSync": (NAME, "1")}, id="out of sync"),
    Case(of_argo((application("OutOfSync", auto="false"), 2 * HOUR)), 100, {}, id="synced by hand"),
    Case(
        of_argo((GOOD, 10), (DRIFTED + synced("Failed", 1), HOUR)),
        15,
        {"ApplicationSyncFailed": (NAME, "1")},
        id="a sync failed",
    ),
    Case(of_argo((GOOD, 10), (DRIFTED + synced("Failed", 1, "true"), HOUR)), 15, {}, id="a trial failed"),
    Case(
        of_argo((GOOD, 10), (DRIFTED + synced("Failed", 1), 5), (GOOD + synced("Failed", 1), HOUR)),
        40,
        {},
        id="and another went well",
    ),
]


def certificate(ready: str = "True", renewal: int = 90 * DAY * 60) -> str:
    of = 'issuer_group="cert-manager.io",issuer_kind="ClusterIssuer",issuer_name="site",name="web",namespace="argocd"'
    text = "".join(
        f'certmanager_certificate_ready_status{{condition="{one}",{of}}} {int(one == ready)}\n'
        for one in ("True", "False", "Unknown")
    )
    return f"{text}certmanager_certificate_renewal_timestamp_seconds{{{of}}} {renewal}\n"


def of_certificates(*answers: tuple[str, int]) -> Series:
    target = {"namespace": "cert-manager", "job": "cert-manager", "pod": "cert-manager-x"}
    return scraped(target, *answers, honored=True)


ITS = {"namespace": "argocd", "name": "web"}
CERTIFICATE_CASES = [
    Case(of_certificates((certificate(), 300)), 290, {}, id="all is well"),
    Case(of_certificates((certificate("False"), 6)), 1, {}, id="it is made"),
    Case(of_certificates((certificate("False", 0), 300)), 290, {"CertificateNotReady": (ITS, "0")}, id="not made"),
    Case(of_certificates((certificate(renewal=HOUR * 60), 300)), TEN_DAY + 5, {}, id="to be renewed"),
    Case(
        of_certificates((certificate(renewal=HOUR * 60), 300)),
        TEN_DAY + 7,
        {"CertificateNotRenewed": (ITS, "87000")},
        id="not renewed for a day",
    ),
]


def condition(kind: str, status: str = "true") -> str:
    return f'kube_node_status_condition{{node="cp-1",condition="{kind}",status="{status}"}} 1\n'


MACHINE = {"node": "cp-1"}
WAITS, ENDS = condition("RebootPending"), condition("CertificatesEndSoon")
DAYS = 24 * 6
"""In steps of ten minutes."""
MACHINE_CASES = [
    Case(state((condition("RebootPending", "false"), 16 * DAYS)), 15 * DAYS, {}, id="nothing is to be done"),
    Case(state((WAITS, 16 * DAYS)), 13 * DAYS, {}, id="a reboot is waited for"),
    Case(
        state((WAITS, 16 * DAYS)),
        15 * DAYS,
        {"MachineWaitsForReboot": (MACHINE, "1")},
        id="a reboot is waited for too long",
    ),
    Case(state((WAITS, 13 * DAYS), ("", 12), (WAITS, 3 * DAYS)), 15 * DAYS, {}, id="there was one meanwhile"),
    Case(
        state((WAITS, 13 * DAYS), ("", 1)) | scraped({**STATE, "pod": "other"}, ("", 13 * DAYS + 1), (WAITS, 3 * DAYS)),
        15 * DAYS,
        {"MachineWaitsForReboot": (MACHINE, "1")},
        id="another pod tells of it meanwhile",
    ),
    Case(state((condition("CertificatesEndSoon", "false"), 4)), 2, {}, id="certificates last"),
    Case(state((ENDS, 20)), 5, {}, id="certificates are renewed in time"),
    Case(state((ENDS, 20)), 8, {"CertificatesEndSoon": (MACHINE, "1")}, id="certificates end"),
]


def of_pod(name: str, *answers: tuple[int, int, int]) -> Series:
    """Return what Prometheus says of a target: whether it is up, how much it has read, for so many minutes."""
    told = [(f"up {up}\nscrape_samples_scraped {read}\n", minutes) for up, read, minutes in answers]
    return scraped(
        {"job": "monitoring/team-services", "namespace": "vision", "pod": name, "container": "triton"}, *told
    )


NODE = 'kube_node_info{node="cp-1"} 1\n'
UNSEEN: Fires = {"ClusterNotSeen": ({}, "1")}
UNSEEN_CASES = [
    Case(state((NODE, HOUR)), 50, {}, id="all is well"),
    Case(state((NODE, 20), ("", 5), (NODE, 35)), 40, {}, id="its pod is replaced"),
    Case(state((NODE, 20), ("", 40)), 35, UNSEEN, id="its pod finds no node"),
    Case({}, 15, UNSEEN, id="there never was one"),
]


REFUSED = {"namespace": "vision", "pod": "bert-x"}
TEAM_CASES = [
    Case(of_pod("bert-x", (1, 4900, HOUR)), 50, {}, id="all is well"),
    Case(of_pod("bert-x", (0, 0, HOUR)), 50, {}, id="a pod does not answer: the chart's rules tell it"),
    Case(of_pod("bert-x", (1, 90, 10), (0, 6000, 5), (1, 90, 45)), 30, {}, id="too much for a moment"),
    Case(
        of_pod("bert-x", (1, 90, 10), (0, 6000, 50)) | of_pod("bert-y", (1, 90, HOUR)),
        30,
        {"TeamMetricsRefused": (REFUSED, "6000")},
        id="too many values",
    ),
    Case(of_pod("bert-x", (0, 1, HOUR)), 30, {"TeamMetricsRefused": (REFUSED, "1")}, id="too many labels in the first"),
    Case(
        {name.replace("team-services", "argo-cd"): told for name, told in of_pod("bert-x", (0, 6000, HOUR)).items()},
        30,
        {},
        id="what is not a team's has no such limit",
    ),
]
CASES = {
    "gpus": (GPU_CASES, 1),
    "infiniband": (INFINIBAND_CASES, 1),
    "ceph": (CEPH_CASES, 1),
    "minio": (MINIO_CASES, 1),
    "queues": (QUEUE_CASES, 1),
    "jobs-given-up": (GIVEN_UP_CASES, 10),
    "applications": (APPLICATION_CASES, 1),
    "certificates": (CERTIFICATE_CASES, 10),
    "machines": (MACHINE_CASES, 10),
    "cluster-unseen": (UNSEEN_CASES, 1),
    "team-metrics": (TEAM_CASES, 1),
}


@pytest.mark.parametrize("group", CASES)
def test_what_fires_and_what_does_not(tmp_path: Path, group: str) -> None:
    cases, step = CASES[group]
    judge(tmp_path, all_rules()[group], cases, step)
