"""The backup of etcd: what nodes take, what the pod may see, and that whoever counts backups counts it."""

import json
import re
import subprocess
from datetime import UTC, datetime
from shutil import which
from typing import Any, Literal, get_args

import pytest
import yaml
from msgspec import structs
from reference import load

from generator.components.etcd_backup import DEFINITION, NAMESPACE, etcd_backup
from generator.components.etcd_backup.install import scripts, workflow_template
from generator.components.kube_prometheus_stack.alerts import backups_missed
from generator.components.kubeadm.etcd_snapshots import restore_files, snapshot_files
from generator.components.workflows import drill
from generator.components.workflows.backup import workflow_template as of_buckets
from generator.components.workflows.scheduled import BACKUP, label
from generator.components.workflows.targets import WAY
from generator.components.zabbix.hosts import services
from generator.layout.bootstrap import bootstrap
from generator.live.status.last_backups import last_backups
from generator.model.backup import DRILL_DAYS, EtcdBackup
from generator.model.cluster import Cluster
from generator.model.cron import parse

TEMPLATE = workflow_template()
SPEC: dict[str, Any] = TEMPLATE["spec"]
ORDER, STEP, LOOK = SPEC["templates"]
Hours = Literal[1, 2, 3, 4, 6, 8, 12, 24]
TIMER = "node/pools/system/etc/systemd/system/etcd-snapshot.timer"


def every(cluster: Cluster, hours: Hours) -> Cluster:
    assert cluster.kubernetes.etcd.backup
    backup = structs.replace(cluster.kubernetes.etcd.backup, every_hours=hours)
    return with_backup(cluster, backup)


def with_backup(cluster: Cluster, backup: EtcdBackup | None) -> Cluster:
    etcd = structs.replace(cluster.kubernetes.etcd, backup=backup)
    return structs.replace(cluster, kubernetes=structs.replace(cluster.kubernetes, etcd=etcd))


def alone(cluster: Cluster) -> Cluster:
    """Return the cluster with one control-plane node."""
    others = cluster.control_plane[1:]
    return structs.replace(cluster, machines=tuple(one for one in cluster.machines if one not in others))


def test_without_it_nodes_get_nothing_and_nothing_is_installed(ml50: Cluster) -> None:
    plain = with_backup(ml50, None)
    assert not DEFINITION.wanted(plain)
    assert not snapshot_files(plain)
    assert not restore_files(plain)
    assert not [path for path in bootstrap(plain) if "etcd-snapshot" in path or "/etcd/" in path]


def test_the_pod_sees_encrypted_snapshots_and_nothing_else_of_the_node() -> None:
    (volume,) = [one for one in SPEC["volumes"] if "hostPath" in one]
    assert volume["hostPath"] == {"path": "/var/lib/etcd-snapshots/out", "type": "DirectoryOrCreate"}
    for step in (STEP, LOOK):
        mounts = {one["name"]: one for one in step["container"]["volumeMounts"]}
        assert mounts["snapshots"]["readOnly"] is True
        assert step["container"]["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert "ca" not in {one["name"] for one in LOOK["container"]["volumeMounts"]}
    assert not [one for one in ("hostNetwork", "hostPID", "hostIPC") if SPEC.get(one)]
    assert SPEC["securityContext"]["runAsNonRoot"] is True
    assert "pki" not in yaml.safe_dump(TEMPLATE)


def test_the_script_on_the_nodes_lets_this_pod_in(ml50: Cluster) -> None:
    script = snapshot_files(ml50)["node/pools/system/usr/local/sbin/etcd-snapshot.sh"]  # type: ignore[index]
    assert f"\ngroup={SPEC['securityContext']['runAsGroup']}\n" in script
    assert "/var/lib/etcd-snapshots" in script


def test_each_script_gets_every_variable_it_reads() -> None:
    data = scripts()["data"]
    for step, name in ((STEP, "upload.sh"), (LOOK, "look.sh")):
        text = data["client.sh"] + data[name] + (data["ready.sh"] if "ready.sh" in data[name] else "")
        # Only who calls `configure` of client.sh needs a folder for what it writes.
        own = {"BASH_REMATCH", "BASH_SOURCE"} | (set() if "\nconfigure " in data[name] else {"MC_CONFIG_DIR"})
        read = set(re.findall(r"\$\{?([A-Z][A-Z_]+)", text)) - own
        given = {one["name"] for one in step["container"]["env"]} - {"HOME", *WAY.values()}
        assert read <= given
        # In sums names stand alone; FROM of the upload is made of NODE.
        assert not [one for one in given if not re.search(rf"\b{one}\b", f"{text} {yaml.safe_dump(step)}")]


def test_each_control_plane_node_is_looked_at_whatever_becomes_of_the_others(ml50: Cluster) -> None:
    (made,) = etcd_backup(ml50).objects
    given = {one["name"]: one["value"] for one in made["spec"]["workflowSpec"]["arguments"]["parameters"]}
    assert json.loads(given["nodes"]) == [machine.name for machine in ml50.control_plane]
    ((upload, look),) = ORDER["steps"]
    assert (upload["template"], look["template"]) == ("upload", "look")
    assert look["withParam"] == "{{workflow.parameters.nodes}}"
    assert look["continueOn"] == {"failed": True, "error": True}
    assert LOOK["timeout"]
    (term,) = LOOK["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term == {
        "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["{{inputs.parameters.node}}"]}]
    }
    # Prometheus takes a metric of one name with one help and the same labels alone.
    others = [*SPEC["metrics"]["prometheus"], *drill.workflow_template()["spec"]["metrics"]["prometheus"]]
    known = [(one["name"], one["help"], [each["key"] for each in one["labels"]]) for one in others]
    for told in LOOK["metrics"]["prometheus"]:
        assert (told["name"], told["help"], [each["key"] for each in told["labels"]]) in known


def test_a_node_without_a_new_snapshot_is_alerted_of_by_name(ml50: Cluster) -> None:
    told = ml50.watched_backups
    nodes = {f"etcd/{machine.name}" for machine in ml50.control_plane}
    assert nodes
    assert nodes < told.keys()
    rules = backups_missed(ml50, "monitoring")
    assert rules
    found = [rule["expr"] for group in rules["spec"]["groups"] for rule in group["rules"]]
    items = [one["key"] for one in services(ml50)["items"]]
    for name in nodes:
        assert [one for one in found if f'backup="{name}"' in one and "absent" in one]
        assert [one for one in found if f'backup="{name}"' in one and f"> {12 * 3600}" in one]
        assert f"backup.last[{name}]" in items
    assert ml50.kubernetes.etcd.backup
    resting = with_backup(ml50, structs.replace(ml50.kubernetes.etcd.backup, suspended=True))
    assert not [name for name in resting.watched_backups if name.startswith("etcd")]
    assert not [name for name in resting.watched_drills if name.startswith("etcd")]


def test_a_node_that_tries_no_snapshot_is_alerted_of_by_name(ml50: Cluster) -> None:
    rules = backups_missed(ml50, "monitoring")
    assert rules
    found = {(rule["alert"], rule["expr"]) for group in rules["spec"]["groups"] for rule in group["rules"]}
    items = [one["key"] for one in services(ml50)["items"]]
    for machine in ml50.control_plane:
        of = f'{{backup="etcd/{machine.name}"}}'
        assert ("DrillFailed", f"max by (backup) ({drill.GOOD}{of}) == 0") in found
        assert ("DrillNeverSeen", f"absent({drill.NEWEST}{of})") in found
        assert [one for name, one in found if name == "DrillTooOld" and of in one and f"> {14 * 86400}" in one]
        assert {f"drill.last[etcd/{machine.name}]", f"drill.good[etcd/{machine.name}]"} <= {*items}


def test_nodes_try_a_snapshot_as_often_as_alerts_believe(ml50: Cluster) -> None:
    files = {str(path): text for path, text in snapshot_files(ml50).items()}
    script = files["node/pools/system/usr/local/sbin/etcd-drill.sh"]
    assert f"\nevery=${{DRILL_DAYS:-{DRILL_DAYS}}}\n" in script


def test_its_account_may_report_results_and_nothing_else(ml50: Cluster) -> None:
    (role,) = [one for one in etcd_backup(ml50).base if one["kind"] == "Role"]
    assert role["rules"] == [
        {"apiGroups": ["argoproj.io"], "resources": ["workflowtaskresults"], "verbs": ["create", "patch"]}
    ]
    assert {one["metadata"]["namespace"] for one in (*etcd_backup(ml50).base, TEMPLATE, scripts())} == {NAMESPACE}


def test_it_runs_on_tainted_control_plane_nodes_after_they_took_theirs(ml50: Cluster) -> None:
    (made,) = etcd_backup(ml50).objects
    spec = made["spec"]
    assert spec["schedules"] == ["40 */6 * * *"]
    taints = {taint.key for machine in ml50.control_plane for taint in machine.taints}
    assert taints
    assert {one["key"] for one in spec["workflowSpec"]["tolerations"]} == taints
    assert SPEC["nodeSelector"] == {"node-role.kubernetes.io/control-plane": ""}


def test_trouble_on_one_node_is_tried_on_another_where_there_is_one(ml50: Cluster) -> None:
    assert STEP["retryStrategy"]["affinity"] == {"nodeAntiAffinity": {}}
    assert not etcd_backup(ml50).patches
    (patch,) = etcd_backup(alone(ml50)).patches
    assert patch.operations == ({"op": "remove", "path": "/spec/templates/1/retryStrategy/affinity"},)
    assert [step["name"] for step in SPEC["templates"]] == ["backup", "upload", "look"]


def test_nodes_keep_theirs_as_long_as_the_bucket(ml50: Cluster) -> None:
    assert ml50.kubernetes.etcd.backup
    cluster = with_backup(ml50, structs.replace(ml50.kubernetes.etcd.backup, keep_days=5))
    service = bootstrap(cluster)[f"clusters/ml50/bootstrap/{TIMER.replace('.timer', '.service')}"].decode()
    assert "\nEnvironment=KEEP_DAYS=5\n" in service


@pytest.mark.parametrize("hours", get_args(Hours))
def test_the_timer_and_the_schedule_are_of_the_same_hours(ml50: Cluster, hours: Hours) -> None:
    cluster = every(ml50, hours)
    assert cluster.kubernetes.etcd.backup
    assert parse(cluster.kubernetes.etcd.backup.schedule).longest_gap == hours * 3600
    timer = bootstrap(cluster)[f"clusters/ml50/bootstrap/{TIMER}"].decode()
    (calendar,) = re.findall("^OnCalendar=(.*)$", timer, re.MULTILINE)
    if not which("systemd-analyze"):
        pytest.skip("systemd-analyze is not here")
    command = ["systemd-analyze", "calendar", "--base-time=2026-11-23 00:00:00 UTC", "--iterations=3", calendar]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={"TZ": "UTC"})
    times = re.findall(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) UTC$", done.stdout, re.MULTILINE)
    first, second, third = (datetime.fromisoformat(f"{time}+00:00") for time in dict.fromkeys(times))
    assert (second - first).total_seconds() == (third - second).total_seconds() == hours * 3600


def test_recipients_are_those_of_the_cluster_file(ml50: Cluster) -> None:
    text = bootstrap(ml50)["clusters/ml50/bootstrap/node/pools/system/etc/etcd-snapshot/recipients"].decode()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert lines == [*ml50.site.escrow.recipients]


@pytest.mark.parametrize("name", ["ml50", "gpu-serving"])
def test_whoever_brings_a_snapshot_brings_the_keys_of_its_time(name: str) -> None:
    page = str({str(path): text for path, text in restore_files(load(name)).items()}["etcd/README.md"])
    ways = [
        block for block in re.findall(r"^```sh\n(.*?)^```", page, re.DOTALL | re.MULTILINE) if " etcd.db.age\n" in block
    ]
    brought = [block for block in ways if "--decrypt" not in block]
    assert len(brought) == 2, "from a node, and from where the snapshots go"
    assert [block for block in brought if not re.search(r"keys\.age'? keys\.age\b", block)] == []


def test_the_page_is_of_this_cluster(ml50: Cluster) -> None:
    page = {str(path): text for path, text in restore_files(ml50).items()}["etcd/README.md"]
    for machine in ml50.control_plane:
        assert f"scp -r etcd etcd.db root@{machine.address}:/root/" in page
    assert "2 of 3" in page
    assert "tar --extract --to-stdout --file keys.tar enc/encryption.yaml\n" in page
    kubernetes = structs.replace(ml50.kubernetes, encryption="none")
    plain = restore_files(structs.replace(ml50, kubernetes=kubernetes))
    assert not [text for text in plain.values() if "encryption.yaml" in text]


def test_alerts_count_it_as_a_backup(ml50: Cluster) -> None:
    rules = backups_missed(ml50, "monitoring")
    assert rules
    found = {rule["expr"] for group in rules["spec"]["groups"] for rule in group["rules"]}
    assert [one for one in found if 'backup="etcd"' in one and "absent" in one]
    items = services(ml50)["items"]
    assert [one for one in items if "etcd" in one["name"]]
    assert SPEC["metrics"] == of_buckets()["spec"]["metrics"]


def test_status_tells_of_it(ml50: Cluster) -> None:
    now = datetime(2026, 11, 23, 12, tzinfo=UTC)
    run = {
        "metadata": {"name": "etcd-1", "labels": {label(BACKUP): "etcd"}, "creationTimestamp": "2026-11-23T06:40:00Z"},
        "status": {"phase": "Succeeded"},
    }
    told = {one.name: one for one in last_backups(ml50, [run], (), now)}
    assert told["etcd"].copy.good == "2026-11-23T06:40:00Z"
    assert not told["etcd"].copy.causes
    late = {one.name: one for one in last_backups(ml50, [run], (), now.replace(day=24))}
    assert "29 hours ago" in late["etcd"].causes[0].why
