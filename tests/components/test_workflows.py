"""The schedules: each backup copies the bucket it names, with the keys meant for it."""

import json
from typing import Any

import pytest
from msgspec import structs

from generator.components.ceph_cluster import ceph_cluster
from generator.components.component import Component
from generator.components.minio import minio
from generator.components.minio.layout import SERVICE
from generator.components.rook_ceph import NAMESPACE
from generator.components.workflows import DEFINITION as WORKFLOWS
from generator.components.workflows import workflows
from generator.components.workflows.backup import workflow_template
from generator.components.workflows.drill import workflow_template as drill_template
from generator.components.workflows.targets import AUTHORITIES
from generator.model.backup import Drill
from generator.model.cluster import Cluster
from generator.model.cron import parse
from generator.model.quantity import Quantity
from generator.model.storage import Encryption

WRITER = "minio-user-backup-writer"


def installed(cluster: Cluster) -> Component:
    return workflows(cluster)


def of_kind(cluster: Cluster, kind: str) -> list[dict[str, Any]]:
    return [one for one in installed(cluster).objects if one["kind"] == kind]


def schedules(cluster: Cluster) -> list[dict[str, Any]]:
    return [one for one in of_kind(cluster, "CronWorkflow") if one["metadata"]["name"].startswith("backup-")]


def drills(cluster: Cluster) -> list[dict[str, Any]]:
    return [one for one in of_kind(cluster, "CronWorkflow") if one["metadata"]["name"].startswith("drill-")]


def restores(cluster: Cluster) -> list[dict[str, Any]]:
    return of_kind(cluster, "WorkflowTemplate")


def arguments(schedule: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["value"] for one in schedule["spec"]["workflowSpec"]["arguments"]["parameters"]}


def with_ceph(cluster: Cluster, **changes: Any) -> Cluster:
    assert cluster.storage.ceph
    ceph = structs.replace(cluster.storage.ceph, **changes)
    return structs.replace(cluster, storage=structs.replace(cluster.storage, ceph=ceph))


def with_users(cluster: Cluster, **changes: Any) -> Cluster:
    assert cluster.storage.objects
    users = tuple(structs.replace(user, **changes) for user in cluster.storage.objects.users)
    objects = structs.replace(cluster.storage.objects, users=users)
    return structs.replace(cluster, storage=structs.replace(cluster.storage, objects=objects))


def test_a_cluster_without_backups_has_no_schedules(a30: Cluster) -> None:
    assert not WORKFLOWS.wanted(a30)


def test_each_backup_has_a_schedule_of_its_own(ml50: Cluster) -> None:
    made = {item["metadata"]["name"]: item["spec"] for item in schedules(ml50)}
    assert made.keys() == {f"backup-{item.name}" for item in ml50.ceph_backups}
    for item in ml50.ceph_backups:
        spec = made[f"backup-{item.name}"]
        assert (spec["schedules"], spec["timezone"], spec["suspend"]) == ([item.schedule], "Etc/UTC", False)
        assert spec["concurrencyPolicy"] == "Forbid"
        assert spec["startingDeadlineSeconds"] > 0


def test_a_suspended_backup_is_suspended(ml50: Cluster) -> None:
    backups = tuple(structs.replace(item, suspended=True) for item in ml50.ceph_backups)
    assert all(item["spec"]["suspend"] for item in schedules(structs.replace(ml50, backups=backups)))


def test_a_schedule_gives_just_what_the_template_lacks(ml50: Cluster) -> None:
    template = workflow_template()
    without = {one["name"] for one in template["spec"]["arguments"]["parameters"] if "value" not in one}
    for schedule in schedules(ml50):
        assert arguments(schedule).keys() == without | {"retention-secret", "lock-days"}
        assert schedule["spec"]["workflowSpec"]["workflowTemplateRef"]["name"] == template["metadata"]["name"]
        # Argo refuses more in its strict mode.
        assert schedule["spec"]["workflowSpec"].keys() == {"workflowTemplateRef", "arguments"}


def test_it_copies_from_the_store_to_the_bucket_that_the_file_names(ml50: Cluster) -> None:
    for item, schedule in zip(ml50.ceph_backups, schedules(ml50), strict=True):
        given = arguments(schedule)
        assert given["source-url"] == f"https://rook-ceph-rgw-{item.source.store}.rook-ceph.svc:8443"
        assert (given["source-bucket"], given["target-bucket"]) == (item.source.bucket, item.target.bucket)
    plain = with_ceph(ml50, encryption=Encryption())
    assert arguments(installed(plain).objects[0])["source-url"] == "http://rook-ceph-rgw-datasets.rook-ceph.svc:80"


def test_the_target_is_minios_service() -> None:
    template = workflow_template()
    defaults = {one["name"]: one.get("value") for one in template["spec"]["arguments"]["parameters"]}
    assert defaults["target-url"] == f"https://{SERVICE}:9000"


def test_every_secret_that_pods_read_is_declared_where_they_run(ml50: Cluster) -> None:
    components = [installed(ml50), ceph_cluster(ml50)]
    declared = {(s.namespace, s.name): s for component in components for s in component.secrets}
    template = workflow_template()
    for schedule in schedules(ml50):
        given = arguments(schedule)
        for container in (one["container"] for one in template["spec"]["templates"] if "container" in one):
            for variable in container["env"]:
                if reference := variable.get("valueFrom", {}).get("secretKeyRef"):
                    name = given[reference["name"].removeprefix("{{workflow.parameters.").removesuffix("}}")]
                    assert reference["key"] in declared[NAMESPACE, name].keys
    assert "ca.crt" in declared[NAMESPACE, "backup-client"].keys


def test_the_writer_is_a_user_of_minio_that_cannot_delete(ml50: Cluster) -> None:
    servers = minio(ml50)
    theirs = {secret.name: secret.keys for secret in servers.secrets}
    for schedule in schedules(ml50):
        name = arguments(schedule)["target-secret"]
        (ours,) = [secret for secret in installed(ml50).secrets if secret.name == name]
        assert theirs[name] == ours.keys
        assert "minio" in ours.rotate
    assert {arguments(schedule)["target-secret"] for schedule in schedules(ml50)} == {"minio-user-backup-writer"}


def test_a_user_of_its_own_hides_and_locks_for_the_days_of_the_bucket(ml50: Cluster) -> None:
    given = [arguments(schedule) for schedule in schedules(ml50)]
    assert {one["retention-secret"] for one in given} == {"minio-user-backup-keeper"}
    assert [one["lock-days"] for one in given] == ["30", "7"]
    (ours,) = [one for one in installed(ml50).secrets if one.name == "minio-user-backup-keeper"]
    assert ours.copy_of == "minio/minio-user-backup-keeper"
    nobody = with_users(ml50, access="backup")
    assert all("retention-secret" not in arguments(one) for one in schedules(nobody))


def test_a_secret_is_declared_once(ml50: Cluster) -> None:
    components = [installed(ml50), ceph_cluster(ml50), minio(ml50)]
    names = [(s.namespace, s.name) for component in components for s in component.secrets]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("missing", ["writer", "store", "ceph", "objects"])
def test_a_backup_without_both_ends_has_no_schedule(ml50: Cluster, missing: str) -> None:
    cluster = {
        "writer": with_users(ml50, access="write"),
        "store": with_ceph(ml50, object_stores=()),
        "ceph": structs.replace(ml50, storage=structs.replace(ml50.storage, ceph=None)),
        "objects": structs.replace(ml50, storage=structs.replace(ml50.storage, objects=None)),
    }[missing]
    assert installed(cluster).objects == ()


def of_the_client(step: dict[str, Any]) -> bool:
    return "container" in step and step["name"] != "compare"


def test_a_client_of_the_clusters_own_is_used_in_every_step(ml50: Cluster) -> None:
    assert installed(ml50).patches == ()
    assert ml50.storage.objects
    objects = structs.replace(ml50.storage.objects, client_image="registry/mc:1@sha256:0")
    patches = installed(structs.replace(ml50, storage=structs.replace(ml50.storage, objects=objects))).patches
    for patch, template in zip(patches, (workflow_template(), drill_template()), strict=True):
        assert patch.target["name"] == template["metadata"]["name"]
        steps = [i for i, one in enumerate(template["spec"]["templates"]) if of_the_client(one)]
        assert [op["path"] for op in patch.operations] == [f"/spec/templates/{i}/container/image" for i in steps]
        assert {op["value"] for op in patch.operations} == {"registry/mc:1@sha256:0"}


def test_pods_may_report_results_and_nothing_else(ml50: Cluster) -> None:
    account, role, binding, policy, *_, certificate = installed(ml50).base
    assert role["rules"] == [
        {"apiGroups": ["argoproj.io"], "resources": ["workflowtaskresults"], "verbs": ["create", "patch"]},
    ]
    template = workflow_template()
    assert template["spec"]["serviceAccountName"] == account["metadata"]["name"]
    assert binding["subjects"][0]["name"] == account["metadata"]["name"]
    selected = policy["spec"]["podSelector"]["matchLabels"].items()
    assert selected <= template["spec"]["podMetadata"]["labels"].items()
    assert policy["spec"]["ingress"] == []
    (ca,) = [volume for volume in template["spec"]["volumes"] if volume["name"] == "ca"]
    own, others = ca["projected"]["sources"]
    assert own["secret"]["name"] == certificate["spec"]["secretName"]
    assert others["configMap"] == {"name": AUTHORITIES, "optional": True}


def test_each_backup_is_tried_once_a_week_and_not_when_it_runs(ml50: Cluster) -> None:
    for item, schedule in zip(ml50.ceph_backups, drills(ml50), strict=True):
        spec = schedule["spec"]
        assert schedule["metadata"]["name"] == f"drill-{item.name}"
        (when,) = map(parse, spec["schedules"])
        assert when.longest_gap == 7 * 86400
        assert not when.meets(parse(item.schedule))
        assert (spec["timezone"], spec["suspend"], spec["concurrencyPolicy"]) == ("Etc/UTC", False, "Forbid")
        labels = spec["workflowMetadata"]["labels"]
        assert labels["gen.internal/drill"] == item.name
        assert "gen.internal/backup" not in labels


@pytest.mark.parametrize("schedule", ["*/15 * * * *", "0,30 12 * * *", "30 0-23 * * *", "59 23 1 * *"])
def test_whenever_a_backup_runs_its_drill_does_not_begin_then(ml50: Cluster, schedule: str) -> None:
    item = structs.replace(ml50.backups[0], schedule=schedule)
    assert not parse(item.drill_schedule).meets(parse(schedule))


def test_a_drill_is_as_the_file_says_and_rests_with_its_backup(ml50: Cluster) -> None:
    first, second = ml50.ceph_backups
    own = Drill(schedule="0 6 1 * *", objects=100, bytes=Quantity.parse("1Gi"), suspended=True)
    backups = (structs.replace(first, drill=own), structs.replace(second, suspended=True))
    made = drills(structs.replace(ml50, backups=backups))
    assert [one["spec"]["suspend"] for one in made] == [True, True]
    assert made[0]["spec"]["schedules"] == ["0 6 1 * *"]
    assert arguments(made[0])["sample"] == "100"
    assert arguments(made[0])["sample-bytes"] == str(2**30)


def test_a_drill_gives_just_what_the_template_lacks_and_only_reads_what_it_tries(ml50: Cluster) -> None:
    template = drill_template()
    without = {one["name"] for one in template["spec"]["arguments"]["parameters"] if "value" not in one}
    for item, schedule in zip(ml50.ceph_backups, drills(ml50), strict=True):
        given = arguments(schedule)
        assert given.keys() == without
        assert given["backup-bucket"] == item.target.bucket
        assert (given["backup-secret"], given["record-secret"]) == ("minio-user-restore-reader", WRITER)
        assert schedule["spec"]["workflowSpec"].keys() == {"workflowTemplateRef", "arguments"}
    steps = {one["name"]: one["container"]["env"] for one in template["spec"]["templates"] if "container" in one}
    for step, secret in (("prove", "backup-secret"), ("record", "record-secret")):
        read = {one["valueFrom"]["secretKeyRef"]["name"] for one in steps[step] if "valueFrom" in one}
        assert read == {f"{{{{workflow.parameters.{secret}}}}}"}


def test_each_backup_has_a_way_back(ml50: Cluster) -> None:
    for item, template in zip(ml50.ceph_backups, restores(ml50), strict=True):
        given = {one["name"]: one.get("value") for one in template["spec"]["arguments"]["parameters"]}
        assert template["metadata"]["name"] == f"restore-{item.name}"
        assert (given["backup-bucket"], given["live-bucket"]) == (item.target.bucket, item.source.bucket)
        assert given["live-url"] == f"https://rook-ceph-rgw-{item.source.store}.rook-ceph.svc:8443"
        assert (given["into"], given["at"], given["switch"], given["free"]) == (None, "", "none", "")
        assert given["backup-secret"] == "minio-user-restore-reader"


def test_who_may_write_a_backup_brings_it_back_where_nobody_may_only_read_it(ml50: Cluster) -> None:
    (template, *_) = restores(with_users(ml50, access="backup"))
    given = {one["name"]: one.get("value") for one in template["spec"]["arguments"]["parameters"]}
    assert given["backup-secret"] == "minio-user-backup-writer"


def test_every_secret_of_a_restore_is_declared_or_its_claims(ml50: Cluster) -> None:
    components = [installed(ml50), ceph_cluster(ml50)]
    declared = {(s.namespace, s.name): s.keys for component in components for s in component.secrets}
    claims = {one["metadata"]["name"] for one in ceph_cluster(ml50).objects if one["kind"] == "ObjectBucketClaim"}
    for template in restores(ml50):
        given = {one["name"]: one.get("value") for one in template["spec"]["arguments"]["parameters"]}
        for step in (one for one in template["spec"]["templates"] if "container" in one):
            for variable in step["container"]["env"]:
                if reference := variable.get("valueFrom", {}).get("secretKeyRef"):
                    name = given[reference["name"].removeprefix("{{workflow.parameters.").removesuffix("}}")]
                    if reference["key"].startswith("AWS_"):
                        # The owner's: its name for the first step, its secret for the one that writes alone.
                        assert step["name"] in ("precheck", "switch")
                        assert step["name"] == "switch" or reference["key"] == "AWS_ACCESS_KEY_ID"
                        assert name in claims
                    else:
                        assert reference["key"] in declared[NAMESPACE, name]


@pytest.mark.parametrize("name", ["restore", "drill"])
def test_each_operation_has_an_identity_of_its_own_with_the_least_rights(ml50: Cluster, name: str) -> None:
    account, role, binding, policy = [one for one in installed(ml50).base if one["metadata"]["name"] == name]
    assert role["rules"] == [
        {"apiGroups": ["argoproj.io"], "resources": ["workflowtaskresults"], "verbs": ["create", "patch"]},
    ]
    for template in restores(ml50) if name == "restore" else (drill_template(),):
        assert template["spec"]["serviceAccountName"] == account["metadata"]["name"]
        selected = policy["spec"]["podSelector"]["matchLabels"].items()
        assert selected <= template["spec"]["podMetadata"]["labels"].items()
    assert binding["subjects"][0]["name"] == account["metadata"]["name"]


def test_a_restore_is_of_the_clusters_own_client(ml50: Cluster) -> None:
    assert ml50.storage.objects
    objects = structs.replace(ml50.storage.objects, client_image="registry/mc:1@sha256:0")
    cluster = structs.replace(ml50, storage=structs.replace(ml50.storage, objects=objects))
    for template in restores(cluster):
        steps = [one["container"] for one in template["spec"]["templates"] if "container" in one]
        assert {one["image"] for one in steps} == {"registry/mc:1@sha256:0"}


def test_objects_are_in_its_namespace_and_hold_no_key(ml50: Cluster) -> None:
    component = installed(ml50)
    everything = [*component.base, *component.objects, *(one for op in component.operations for one in op.templates)]
    assert all(item["metadata"]["namespace"] == NAMESPACE for item in everything)
    assert "Secret" not in {item["kind"] for item in everything}
    assert "PRIVATE KEY" not in json.dumps(everything)
