"""Backups to an NFS export: what pods are told and mount, and that nothing of a bucket is left in them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from exported import exported
from msgspec import structs
from reference import ROOT

from generator.components import compose
from generator.components.component import Component, Manifest
from generator.components.etcd_backup import etcd_backup
from generator.components.kubeadm.etcd_snapshots import restore_files
from generator.components.minio_backup import minio_backup
from generator.components.static import read_text
from generator.components.workflows import workflows
from generator.components.workflows.to_files import FILES, rounds, scripts
from generator.components.zabbix_backup import zabbix_backup
from generator.model.cluster import Cluster

CLAIM, CLAIMS = "backups-nas", "PersistentVolumeClaim"


@pytest.fixture
def moved(ml50: Cluster) -> Cluster:
    return exported(ml50)


def components(cluster: Cluster) -> list[Component]:
    return [workflows(cluster), minio_backup(cluster), etcd_backup(cluster), zabbix_backup(cluster)]


def templates(component: Component) -> list[Manifest]:
    return [one for one in component.objects if one["kind"] == "WorkflowTemplate"]


def told(manifest: Manifest) -> dict[str, str]:
    spec = manifest["spec"].get("workflowSpec", manifest["spec"])
    return {one["name"]: one.get("value", "") for one in spec["arguments"]["parameters"]}


def mounting(component: Component) -> dict[tuple[str, str], Manifest]:
    """Return the containers that mount the export, by template and step."""
    steps = ((one["metadata"]["name"], step) for one in templates(component) for step in one["spec"]["templates"])
    return {
        (name, step["name"]): step["container"]
        for name, step in steps
        if "container" in step and any(one["name"] == "target" for one in step["container"]["volumeMounts"])
    }


def test_each_namespace_has_a_volume_for_its_claim_alone(moved: Cluster) -> None:
    for component in components(moved):
        volume, claim = (
            [one for one in component.objects if one["kind"] == kind] for kind in ("PersistentVolume", CLAIMS)
        )
        (made,), (asked,) = volume, claim
        name, namespace = asked["metadata"]["name"], asked["metadata"]["namespace"]
        assert name == CLAIM
        assert made["spec"]["nfs"] == {"server": "nas.example.org", "path": "/backups/ml50"}
        assert (made["spec"]["claimRef"]["name"], made["spec"]["claimRef"]["namespace"]) == (name, namespace)
        assert asked["spec"]["volumeName"] == made["metadata"]["name"]
        assert made["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
        assert {"nfsvers=4.1", "hard"} <= {*made["spec"]["mountOptions"]}
        assert component.ignore


def test_no_key_of_a_target_is_asked_for_or_read(moved: Cluster) -> None:
    for component in components(moved):
        assert not [one for one in component.secrets if one.name.startswith("backup-target-")]
        for container in mounting(component).values():
            assert not [one for one in container["env"] if one["name"].startswith(("TARGET_ACCESS", "TARGET_SECRET"))]


def test_every_parameter_that_a_template_names_is_one_of_its_own(moved: Cluster) -> None:
    for component in components(moved):
        for template in templates(component):
            text = json.dumps(template)
            named = {one.split("}}")[0] for one in text.split("{{workflow.parameters.")[1:]}
            assert named <= told(template).keys(), template["metadata"]["name"]


def test_a_schedule_gives_what_its_template_asks_for(moved: Cluster) -> None:
    for component in components(moved):
        known = {one["metadata"]["name"]: one for one in templates(component)}
        for runs in (one for one in component.objects if one["kind"] == "CronWorkflow"):
            template = known[runs["spec"]["workflowSpec"]["workflowTemplateRef"]["name"]]
            asked = {one["name"] for one in template["spec"]["arguments"]["parameters"] if "value" not in one}
            given = told(runs).keys() if "arguments" in runs["spec"]["workflowSpec"] else set()
            assert asked <= given <= told(template).keys(), runs["metadata"]["name"]


def test_the_scripts_of_steps_get_every_variable_that_they_read(moved: Cluster) -> None:
    """Those that the shell sets, and others, are written small or set by the script."""
    scripts_of = {
        "upload.sh": ("workflows/upload.sh", "workflows/folder.sh"),
        "fetch-file.sh": ("zabbix_backup/fetch-file.sh",),
        "record.sh": ("zabbix_backup/record.sh", "workflows/folder.sh"),
    }
    steps = [one for component in components(moved)[2:] for one in mounting(component).values()]
    assert len(steps) == 5
    for step in steps:
        text = "".join(map(read_text, scripts_of[Path(step["command"][1]).name]))
        read = {*re.findall(r"\$\{?([A-Z][A-Z_]+)(?![-A-Z_])", text)} - {"BASH_SOURCE", "BASH_REMATCH"}
        read -= {*re.findall(r"\b([A-Z]+)=", text)}
        bucket = {"TARGET_URL", "TARGET_ACCESS_KEY", "TARGET_SECRET_KEY"}
        assert read - bucket <= {one["name"] for one in step["env"]} | {"MC_CONFIG_DIR"}, step["command"]


def test_who_restores_cannot_write_to_the_export(moved: Cluster) -> None:
    found = mounting(workflows(moved))
    read_only = {
        key
        for key, one in found.items()
        if any(m.get("readOnly") for m in one["volumeMounts"] if m["name"] == "target")
    }
    assert {key for key in found if key[0].startswith("restore-")} == read_only != set()


def test_the_steps_that_others_tell_know_what_the_first_chose(moved: Cluster) -> None:
    (template,) = [one for one in templates(workflows(moved)) if one["metadata"]["name"] == "restore-datasets"]
    _, first, *others = template["spec"]["templates"]
    assert "inputs" not in first
    assert first["outputs"]["parameters"][0]["name"] == "when"
    for one in others:
        assert {"name": "WHEN", "value": "{{inputs.parameters.when}}"} in one["container"]["env"]


def test_nothing_goes_while_somebody_reads(moved: Cluster) -> None:
    lock = {"name": "files-{{workflow.parameters.name}}"}
    made = {one["metadata"]["name"]: one["spec"] for one in templates(workflows(moved))}
    for name in ("restore-datasets", "drill-of-files"):
        assert lock in made[name]["synchronization"]["mutexes"]
    (keep,) = [one for one in made["backup-to-files"]["templates"] if one["name"] == "keep"]
    assert keep["synchronization"]["mutexes"] == [lock]


def test_each_file_is_read_once_in_four_weeks(moved: Cluster) -> None:
    nightly, *_ = moved.backups
    assert rounds(nightly) == 28
    assert rounds(structs.replace(nightly, schedule="0 3 * * 0")) == 4
    assert rounds(structs.replace(nightly, schedule="0 * * * *")) == 256
    assert rounds(structs.replace(nightly, schedule="0 3 1 1 *")) == 1


def test_a_cluster_without_minio_has_its_backups(moved: Cluster) -> None:
    storage = structs.replace(moved.storage, objects=None)
    ceph_alone = tuple(one for one in moved.backups if one.source.store)
    made = {
        one.name: one for one in compose(structs.replace(moved, storage=storage, backups=ceph_alone, volume_backups=()))
    }
    assert made.keys() >= {"workflows", "etcd-backup", "zabbix-backup"}
    assert not any("minio" in one.needs for one in made.values())


def test_the_way_back_of_etcd_mounts_the_export(moved: Cluster) -> None:
    (page,) = [str(text) for place, text in restore_files(moved).items() if str(place).endswith("README.md")]
    assert "mount -t nfs -o nfsvers=4.1,ro nas.example.org:/backups/ml50 /mnt" in page
    assert "mc " not in page


def test_one_control_plane_node_is_tried_again_on_itself(moved: Cluster) -> None:
    others = moved.control_plane[1:]
    alone = structs.replace(moved, machines=tuple(one for one in moved.machines if one not in others))
    for cluster, known in ((moved, True), (alone, False)):
        (template,) = templates(etcd_backup(cluster))
        (upload,) = [one for one in template["spec"]["templates"] if one["name"] == "upload"]
        assert ("affinity" in upload["retryStrategy"]) is known


def test_scripts_pass_the_linter(tmp_path: Path) -> None:
    data = scripts("rook-ceph")["data"]
    assert sorted(data) == sorted(FILES)
    for name, text in data.items():
        (tmp_path / name).write_text(text)
    told_ = ["--config", str(ROOT / "pyproject.toml"), "--no-cache"]
    for words in (["check", "--ignore", "INP001,T201", *told_], ["format", "--check", *told_]):
        command = [sys.executable, "-m", "ruff", *words, "."]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
