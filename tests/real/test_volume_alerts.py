"""What is alerted of backups of volumes, on Prometheus' own test program; metrics as VolSync tells them."""

from pathlib import Path
from typing import Any

import promtool
import pytest
import volumebackups
from msgspec import structs

from generator.components.kube_prometheus_stack.alerts import volume_backups_missed
from generator.model.cluster import Cluster

pytestmark = pytest.mark.real

NIGHTLY = structs.replace(volumebackups.NIGHTLY, name="home")
SEVERITIES = {
    "VolumeBackupTooOld": "critical",
    "VolumeBackupNeverWorked": "critical",
    "VolumeBackupNotSeen": "critical",
    "VolumeBackupSlow": "warning",
    "VolumeBackupShrank": "warning",
}
HELD = "kubelet_volume_stats_used_bytes"
OUT, MISSED = "volsync_volume_out_of_sync", "volsync_missed_intervals_total"
DAY = 143
"""Steps of ten minutes that follow the first of a day."""


def judge(folder: Path, spec: Any, series: dict[str, str], hours: int, fires: tuple[str, ...]) -> None:
    notes = {one["alert"]: one["annotations"] for one in spec["groups"][0]["rules"]}
    assert {*notes} == {*SEVERITIES}
    asked = [
        {
            "alertname": name,
            "eval_time": f"{hours}h",
            "exp_alerts": [{"exp_labels": labels(name), "exp_annotations": notes[name]} for _ in range(name in fires)],
        }
        for name in SEVERITIES
    ]
    of = {
        HELD: 'namespace="vision",persistentvolumeclaim="home",node="a"',
        **dict.fromkeys((OUT, MISSED), 'obj_namespace="vision",obj_name="home",role="source",method="restic",pod="a"'),
    }
    told = [{"series": f"{name}{{{of[name]}}}", "values": values} for name, values in series.items()]
    test = {"interval": "10m", "input_series": told, "alert_rule_test": asked}
    promtool.judge(folder, spec, test, every="10m")


def labels(alert: str) -> dict[str, str]:
    if alert == "VolumeBackupShrank":
        return {"severity": "warning", "namespace": "vision", "persistentvolumeclaim": "home"}
    found = {"severity": SEVERITIES[alert], "obj_namespace": "vision", "obj_name": "home"}
    return found | ({"role": "source"} if alert == "VolumeBackupNotSeen" else {})


WELL = f"1x2 0x{10 * DAY}"
BROKEN = f"1x2 0x{2 * DAY} 1x{12 * DAY}"
FINE = {OUT: WELL}
TIB = 2**40


@pytest.mark.parametrize(
    ("series", "hours", "fires"),
    [
        pytest.param({OUT: WELL, MISSED: f"0x{10 * DAY}"}, 100, (), id="it works every night"),
        pytest.param({OUT: f"1x{3 * DAY}"}, 23, (), id="the first run goes on"),
        pytest.param({OUT: f"1x{3 * DAY}"}, 25, ("VolumeBackupNeverWorked",), id="it never worked"),
        pytest.param({OUT: BROKEN}, 47, (), id="two starts have not passed yet"),
        pytest.param({OUT: BROKEN}, 49, ("VolumeBackupTooOld",), id="it broke after two nights"),
        pytest.param(
            {OUT: BROKEN}, 80, ("VolumeBackupNeverWorked", "VolumeBackupTooOld"), id="it is broken for longer"
        ),
        pytest.param({OUT: BROKEN}, 160, ("VolumeBackupNeverWorked",), id="it is broken for a week"),
        pytest.param({}, 23, (), id="VolSync was just installed"),
        pytest.param({}, 25, ("VolumeBackupNotSeen",), id="VolSync is away"),
        pytest.param(
            {OUT: f"0x{9 * DAY}", MISSED: f"0x{DAY} 1x{6 * DAY}"}, 30, ("VolumeBackupSlow",), id="a run took too long"
        ),
        pytest.param(FINE | {HELD: f"{TIB}x{10 * DAY}"}, 100, (), id="it holds what it held"),
        pytest.param(FINE | {HELD: f"{TIB}x{2 * DAY} {TIB // 2 + 1}x{8 * DAY}"}, 60, (), id="it lost less than half"),
        pytest.param(
            FINE | {HELD: f"{TIB}x{2 * DAY} 25000x{8 * DAY}"}, 60, ("VolumeBackupShrank",), id="it was emptied"
        ),
        pytest.param(FINE | {HELD: f"{TIB}x{2 * DAY} 25000x{8 * DAY}"}, 230, (), id="it was emptied a week ago"),
        pytest.param(FINE | {HELD: f"{TIB}x{2 * DAY} _x{8 * DAY}"}, 60, (), id="nobody mounts it any more"),
        pytest.param(FINE | {HELD: f"900000000x{2 * DAY} 25000x{8 * DAY}"}, 60, (), id="it never held much"),
    ],
)
def test_a_backup_that_does_not_come_is_told(
    ml50: Cluster, tmp_path: Path, series: dict[str, str], hours: int, fires: tuple[str, ...]
) -> None:
    rule = volume_backups_missed(structs.replace(ml50, volume_backups=(NIGHTLY,)), "monitoring")
    assert rule
    judge(tmp_path, rule["spec"], series, hours, fires)


def test_what_rests_alerts_nobody(ml50: Cluster) -> None:
    resting = structs.replace(NIGHTLY, suspended=True)
    assert volume_backups_missed(structs.replace(ml50, volume_backups=(resting,)), "monitoring") is None
