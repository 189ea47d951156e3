"""Backups of volumes: what VolSync is told, who may reach what, and that nothing depends on a team's goodwill."""

import json
import re
from fnmatch import fnmatchcase
from typing import Any

import pytest
from msgspec import structs
from reference import load
from validation.schemas import refused
from volumebackups import HOME as BACKUP

from generator.components import compose
from generator.components.component import Component, Manifest
from generator.components.parts import UNPRIVILEGED
from generator.components.static import read_text
from generator.components.volsync.drills import workflow_template as drill_template
from generator.components.volsync.sources import source
from generator.components.workflows.drill import GOOD, NEWEST, workflow_template
from generator.model.backup import Drill, VolumeBackup, VolumeSource
from generator.model.cluster import Cluster
from generator.model.storage import Bucket

OTHER = structs.replace(
    BACKUP,
    name="language-models",
    source=VolumeSource(team="language", claim="models", storage_class="shared-bulk"),
    user=None,
    privileged=True,
)


def backed_up(*backups: VolumeBackup) -> Cluster:
    ml50 = load("ml50")
    objects = ml50.storage.objects
    assert objects
    objects = structs.replace(objects, buckets=(*objects.buckets, Bucket(name="volumes")))
    return structs.replace(ml50, storage=structs.replace(ml50.storage, objects=objects), volume_backups=backups)


@pytest.fixture(scope="module")
def made() -> dict[str, Component]:
    return {one.name: one for one in compose(backed_up(BACKUP, OTHER))}


def of_kind(component: Component, kind: str) -> list[Manifest]:
    return [one for one in (*component.base, *component.objects) if one["kind"] == kind]


def restic(made: dict[str, Component], name: str) -> Any:
    (found,) = [one for one in of_kind(made["tenants"], "ReplicationSource") if one["metadata"]["name"] == name]
    return found["spec"]["restic"]


def test_only_where_a_volume_is_backed_up(made: dict[str, Component]) -> None:
    assert "volsync" in made
    assert "volsync" not in {one.name for one in compose(backed_up())}


def test_sources_are_as_the_definition_says(made: dict[str, Component]) -> None:
    sources = of_kind(made["tenants"], "ReplicationSource")
    assert [(one["metadata"]["namespace"], one["spec"]["sourcePVC"]) for one in sources] == [
        ("vision", "home"),
        ("language", "models"),
    ]
    assert not [error for one in sources for error in refused(one, ("volsync/v0.16.0",))]


def test_a_filesystem_is_read_in_its_snapshot_and_a_block_device_in_a_clone(made: dict[str, Component]) -> None:
    block, files = restic(made, "vision-home"), restic(made, "language-models")
    assert "accessModes" not in block
    assert files["accessModes"] == ["ReadOnlyMany"]
    # The cache would take the volume's modes, and be of no use.
    assert block["cacheAccessModes"] == files["cacheAccessModes"] == ["ReadWriteOnce"]
    classes = {one["metadata"]["name"] for one in of_kind(made["ceph-cluster"], "VolumeSnapshotClass")}
    assert {block["volumeSnapshotClassName"], files["volumeSnapshotClassName"]} == classes


def test_movers_are_root_only_where_a_backup_says_so(made: dict[str, Component]) -> None:
    allowed = {one.name for one in made["tenants"].namespaces if "volsync.backube/privileged-movers" in one.annotations}
    assert allowed == {"language"}
    assert restic(made, "vision-home")["moverSecurityContext"]["runAsNonRoot"] is True
    assert "runAsUser" not in restic(made, "language-models")["moverSecurityContext"]


def test_a_mover_passes_the_rules_on_pods_of_teams(made: dict[str, Component]) -> None:
    """Requests of CPU and memory, and a limit of memory that is no more: as quotas count it."""
    given = restic(made, "vision-home")["moverResources"]
    assert given["limits"]["memory"] == given["requests"]["memory"]
    assert given["requests"]["cpu"]


def test_no_key_reaches_the_repository_of_another(made: dict[str, Component]) -> None:
    (settings,) = [one for one in of_kind(made["minio"], "ConfigMap") if one["metadata"]["name"] == "minio-setup"]
    users = settings["data"]["users"].split()
    assert {"volume.vision-home", "volume.language-models"} <= {*users}
    policy = json.loads(settings["data"]["policy-volume.vision-home.json"])
    theirs = "arn:aws:s3:::volumes/language/language-models/data/x"
    own = "arn:aws:s3:::volumes/vision/vision-home/data/x"
    allowed = [one for one in policy["Statement"] if one["Effect"] == "Allow"]
    reached = [resource for one in allowed for resource in one["Resource"]]
    assert any(fnmatchcase(own, one) for one in reached)
    assert not any(fnmatchcase(theirs, one) for one in reached)
    (listing,) = [one for one in allowed if "s3:ListBucket" in one["Action"]]
    assert listing["Condition"] == {"StringLike": {"s3:prefix": ["vision/vision-home/*"]}}


def test_the_password_outlives_what_a_team_deletes(made: dict[str, Component]) -> None:
    declared = {(one.namespace, one.name): one for each in made.values() for one in each.secrets}
    ours, theirs = declared["minio", "minio-volume-vision-home"], declared["vision", "volume-backup-vision-home"]
    assert ours.loss == "data"
    assert theirs.copy_of == "minio/minio-volume-vision-home"
    assert {*ours.keys} < {*theirs.keys}
    assert theirs.known == {"RESTIC_REPOSITORY": "s3:https://minio.minio.svc:9000/volumes/vision/vision-home"}


def test_the_setup_of_minio_finds_the_keys_where_it_looks(made: dict[str, Component]) -> None:
    (job,) = of_kind(made["minio"], "Job")
    (volume,) = [one for one in job["spec"]["template"]["spec"]["volumes"] if one["name"] == "secrets"]
    paths = {item["path"] for one in volume["projected"]["sources"] for item in one["secret"]["items"]}
    assert {f"volume.{BACKUP.name}/accessKey", f"volume.{BACKUP.name}/secretKey"} <= paths


def test_a_team_gets_what_it_needs_first(made: dict[str, Component]) -> None:
    assert {"volsync", "minio", "issuers"} <= {*made["tenants"].needs}
    without = {one.name: one for one in compose(backed_up())}["tenants"]
    assert "volsync" not in without.needs


def test_a_class_without_snapshots_makes_no_source() -> None:
    scratch = structs.replace(BACKUP, source=structs.replace(BACKUP.source, storage_class="scratch-nvme"))
    assert source(backed_up(scratch), scratch) is None


def test_a_new_word_unlocks(made: dict[str, Component]) -> None:
    assert "unlock" not in restic(made, "vision-home")
    found = source(backed_up(), structs.replace(BACKUP, unlock="2026-11-23"))
    assert found
    assert found["spec"]["restic"]["unlock"] == "2026-11-23"


def test_each_backup_is_tried_where_no_team_is(made: dict[str, Component]) -> None:
    drills = of_kind(made["volsync"], "CronWorkflow")
    assert [one["metadata"]["name"] for one in drills] == ["drill-vision-home", "drill-language-models"]
    declared = {(one.namespace, one.name): one for one in made["volsync"].secrets}
    for drill in drills:
        spec = drill["spec"]
        assert drill["metadata"]["namespace"] == "volsync-system"
        assert spec["schedules"] == ["30 9 * * 0"]
        given = {one["name"]: one["value"] for one in spec["workflowSpec"]["arguments"]["parameters"]}
        assert spec["workflowMetadata"]["labels"]["gen.internal/drill"] == given["name"]
        assert int(given["too-old"]) == 2 * 86400
        secret = declared["volsync-system", given["secret"]]
        assert secret.copy_of == f"minio/minio-volume-{given['name']}"
        assert secret.known["RESTIC_REPOSITORY"].endswith(f"/{given['name']}")


def test_a_drill_rests_alone_or_with_its_backup() -> None:
    def rests(**more: Any) -> bool:
        volsync = {one.name: one for one in compose(backed_up(structs.replace(BACKUP, **more)))}["volsync"]
        (drill,) = of_kind(volsync, "CronWorkflow")
        return bool(drill["spec"]["suspend"])

    assert not rests()
    assert rests(suspended=True)
    assert rests(drill=Drill(suspended=True))


def test_a_drill_has_no_right_but_to_report_its_results(made: dict[str, Component]) -> None:
    (role,) = [one for one in of_kind(made["volsync"], "Role") if one["metadata"]["name"] == "volume-drill"]
    assert role["rules"] == [
        {"apiGroups": ["argoproj.io"], "resources": ["workflowtaskresults"], "verbs": ["create", "patch"]}
    ]
    (operation,) = made["volsync"].operations
    template, _ = operation.templates
    (step,) = template["spec"]["templates"]
    assert step["container"]["securityContext"] == UNPRIVILEGED
    assert template["spec"]["securityContext"]["runAsNonRoot"] is True


def test_drills_tell_what_the_alerts_ask_for() -> None:
    (prove,) = drill_template("image")["spec"]["templates"]
    metrics = drill_template("image")["spec"]["metrics"]["prometheus"]
    assert {f"argo_workflows_{one['name']}" for one in metrics} == {GOOD, NEWEST}
    of_buckets = workflow_template()["spec"]["templates"][2]["metrics"]["prometheus"][0]
    # Argo Workflows refuses two metrics of one name with different words of help.
    assert of_buckets["help"] == prove["metrics"]["prometheus"][0]["help"]


def test_what_tries_a_backup_gives_what_the_step_asks_for() -> None:
    (prove,) = drill_template("image")["spec"]["templates"]
    asked = {*re.findall(r'env\["(\w+)"\]', read_text("volsync/drill.py.txt"))}
    assert {"SAMPLE_BYTES", "TOO_OLD"} < asked <= {one["name"] for one in prove["container"]["env"]}
