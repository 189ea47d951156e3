"""What our rules alert of, on Prometheus' own test program."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from reference import without_backups

from generator.components.kube_prometheus_stack import kube_prometheus_stack
from generator.components.workflows.backup import NEWEST
from generator.model.cluster import Cluster
from generator.model.monitoring import Prometheus

pytestmark = pytest.mark.real

ALERTS = ("BackupTooOld", "BackupNeverSeen")
# What a nightly backup's metric says every 10 minutes, from a run at 0 on: a value and how often it comes again.
DAY = 143
EVERY_NIGHT = f"0x{DAY} 86400x{DAY} 172800x{DAY} 259200x{DAY}"
ONCE = f"0x{9 * DAY}"
FORGOTTEN = f"0x{DAY}"


def groups(cluster: Cluster) -> Any:
    monitoring = structs.replace(cluster.monitoring, prometheus=Prometheus(), zabbix=None)
    objects = kube_prometheus_stack(structs.replace(cluster, monitoring=monitoring)).objects
    (rule,) = [one for one in objects if one["metadata"]["name"] == "backups"]
    return rule["spec"]


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
    program = shutil.which("promtool")
    if program is None:
        if os.environ.get("CI"):
            pytest.fail("no promtool")
        pytest.skip("no promtool")
    nightly = structs.replace(ml50.backups[0], name="nightly", schedule="0 0 * * *", suspended=False)
    rules = groups(structs.replace(without_backups(ml50), backups=(nightly,)))
    alert = {
        "exp_labels": {"severity": "critical", "backup": "nightly"},
        "exp_annotations": rules["groups"][0]["rules"][0]["annotations"],
    }
    asked = [{"alertname": name, "eval_time": f"{hours}h", "exp_alerts": [alert] * (name in fires)} for name in ALERTS]
    series = [{"series": f'{NEWEST}{{backup="nightly",pod="a"}}', "values": told}] if told else []
    test = {"interval": "10m", "input_series": series, "alert_rule_test": asked}
    files = {"rules.json": rules, "tests.json": {"rule_files": ["rules.json"], "tests": [test]}}
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content))
    command = [program, "test", "rules", "tests.json"]
    ran = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stdout + ran.stderr
