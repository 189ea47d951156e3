"""Backups of MinIO's own buckets: in a namespace of their own, elsewhere, as users of whom none may delete."""

import json
from typing import Any

import pytest
from msgspec import structs
from validation.schemas import problems

from generator.components import compose
from generator.components.minio import minio
from generator.components.minio.backed_up import OWNER, READER, RESTORER, users
from generator.components.minio.settings import DELETE, policy
from generator.components.minio_backup import DEFINITION, NAMESPACE, minio_backup
from generator.components.minio_backup.install import ours, templates
from generator.components.workflows import DEFINITION as OF_CEPH
from generator.components.workflows.backup import workflow_template
from generator.model.backup import CopyTarget
from generator.model.cluster import Cluster


def named(cluster: Cluster, name: str) -> dict[str, Any]:
    (found,) = [one for one in minio_backup(cluster).objects if one["metadata"]["name"] == name]
    return found


def told(manifest: dict[str, Any]) -> dict[str, str]:
    spec = manifest["spec"].get("workflowSpec", manifest["spec"])
    return {one["name"]: one.get("value", "") for one in spec["arguments"]["parameters"]}


def without_ceph(cluster: Cluster) -> Cluster:
    storage = structs.replace(cluster.storage, ceph=None)
    return structs.replace(cluster, storage=storage, backups=cluster.minio_backups)


def encrypting(cluster: Cluster) -> Cluster:
    assert cluster.storage.objects
    objects = structs.replace(cluster.storage.objects, encryption=True)
    return structs.replace(cluster, storage=structs.replace(cluster.storage, objects=objects))


def test_a_cluster_without_ceph_has_it_and_nothing_of_rooks(ml50: Cluster) -> None:
    cluster = without_ceph(ml50)
    made = {one.name: one for one in compose(cluster)}
    assert NAMESPACE in made
    assert not OF_CEPH.wanted(cluster)
    ours = made[NAMESPACE]
    everything = [*ours.base, *ours.objects, *(one for op in ours.operations for one in op.templates)]
    assert {one["metadata"]["namespace"] for one in everything} == {NAMESPACE}
    assert "rook-ceph" not in json.dumps([one for one in everything if one["kind"] != "ConfigMap"])
    assert [(one["metadata"]["name"], problems(one)) for one in everything if problems(one)] == []


@pytest.mark.parametrize("name", ["workflows", "rook-ceph"])
def test_a_bucket_is_not_called_otherwise_though_its_name_is_one_of_ours(ml50: Cluster, name: str) -> None:
    (item,) = ml50.minio_backups
    target, source = (structs.replace(one, bucket=name) for one in (item.target, item.source))
    called = structs.replace(item, name=name, source=source, target=target)
    cluster = structs.replace(ml50, backups=(called,))
    for kind in ("backup", "drill"):
        made = named(cluster, f"{kind}-{name}")
        assert made["spec"]["workflowMetadata"]["labels"][f"gen.internal/{kind}"] == name
        assert told(made)["name"] == name
    assert told(named(cluster, f"backup-{name}"))["source-bucket"] == name
    assert told(named(cluster, f"restore-{name}"))["live-bucket"] == name


def test_a_cluster_whose_backups_are_of_ceph_has_none_of_it(ml50: Cluster) -> None:
    cluster = structs.replace(ml50, backups=ml50.ceph_backups)
    assert not DEFINITION.wanted(cluster)
    assert not users(cluster)


def test_backup_drill_and_restore_have_both_ends(ml50: Cluster) -> None:
    given = told(named(ml50, "backup-models"))
    assert (given["source-url"], given["source-bucket"]) == ("https://minio.minio.svc:9000", "models")
    assert (given["target-url"], given["target-bucket"]) == ("https://s3.offsite.example.org", "ml50-models")
    assert (given["place"], "etags" in given) == ("offsite", False)
    assert told(named(ml50, "drill-models"))["backup-url"] == "https://s3.offsite.example.org"
    back = told(named(ml50, "restore-models"))
    assert (back["live-url"], back["live-bucket"]) == ("https://minio.minio.svc:9000", "models")
    assert back["restored-names"] == "*-restored-*"
    assert int(back["room"]) >= 20 * 10**12


def test_another_program_compares_as_much_as_the_file_says(ml50: Cluster) -> None:
    assert told(named(ml50, "backup-models"))["compare-percent"] == "10"
    (item,) = ml50.minio_backups
    without = structs.replace(ml50, backups=(structs.replace(item, compare=None),))
    assert "compare-percent" not in told(named(without, "backup-models"))


def test_where_minio_encrypts_its_etags_prove_nothing(ml50: Cluster) -> None:
    assert told(named(encrypting(ml50), "backup-models"))["etags"] == "other"


def test_it_is_never_copied_within_the_same_minio(ml50: Cluster) -> None:
    (item,) = ml50.minio_backups
    here = structs.replace(item, target=CopyTarget(bucket="datasets-backup"))
    assert not minio_backup(structs.replace(ml50, backups=(here,))).objects


def test_every_secret_that_pods_read_is_declared_where_they_run(ml50: Cluster) -> None:
    declared = {one.name: one for one in minio_backup(ml50).secrets}
    assert {one.namespace for one in declared.values()} == {NAMESPACE}
    runs = {"backup-models": templates()[0], "drill-models": templates()[1], "restore-models": None}
    read = set()
    for name, template in runs.items():
        schedule = named(ml50, name)
        given = (told(template) if template else {}) | told(schedule)
        for step in (template or schedule)["spec"]["templates"]:
            for variable in step.get("container", {}).get("env", ()):
                if reference := variable.get("valueFrom", {}).get("secretKeyRef"):
                    secret = given[reference["name"].removeprefix("{{workflow.parameters.").removesuffix("}}")]
                    read.add(secret)
                    assert secret == "none" or reference["key"] in declared[secret].keys
    assert read == {*(declared.keys() - {"backup-client"}), "none"}


def test_what_its_users_have_is_made_by_minio_and_none_deletes(ml50: Cluster) -> None:
    theirs = {(one.namespace, one.name) for one in minio(ml50).secrets}
    for one in minio_backup(ml50).secrets:
        assert one.copy_of is None or tuple(one.copy_of.split("/")) in theirs
    documents = {one.name: policy(one) for one in users(ml50)}
    assert documents.keys() == {READER, RESTORER, OWNER}
    for name, document in documents.items():
        allowed = [one for one in document["Statement"] if one["Effect"] == "Allow"]
        actions = {action for one in allowed for action in one["Action"]}
        assert not actions & {*DELETE, "s3:DeleteObjectVersion", "s3:DeleteBucket"}
        assert ("s3:PutObject" in actions, "s3:CreateBucket" in actions) == (name != READER, name == RESTORER)


@pytest.mark.parametrize("name", ["backup", "restore", "drill"])
def test_each_operation_has_an_identity_that_may_report_and_nothing_else(ml50: Cluster, name: str) -> None:
    account, role, binding, shut = [one for one in minio_backup(ml50).base if one["metadata"]["name"] == name]
    assert role["rules"] == [
        {"apiGroups": ["argoproj.io"], "resources": ["workflowtaskresults"], "verbs": ["create", "patch"]},
    ]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}]
    assert account["metadata"]["namespace"] == shut["metadata"]["namespace"] == NAMESPACE
    assert shut["spec"]["ingress"] == []


def test_what_is_shared_with_ceph_stays_as_it_was() -> None:
    shared = workflow_template()
    assert ours(shared) != shared
    assert shared["metadata"]["namespace"] == "rook-ceph"


def of_the_client(step: dict[str, Any]) -> bool:
    return "container" in step and step["name"] != "compare"


def test_a_client_of_the_clusters_own_is_used_in_every_step(ml50: Cluster) -> None:
    assert ml50.storage.objects
    objects = structs.replace(ml50.storage.objects, client_image="registry/mc:1@sha256:0")
    cluster = structs.replace(ml50, storage=structs.replace(ml50.storage, objects=objects))
    patches = minio_backup(cluster).patches
    assert [one.target["name"] for one in patches] == ["backup", "drill"]
    for patch, template in zip(patches, templates(), strict=False):
        steps = [i for i, one in enumerate(template["spec"]["templates"]) if of_the_client(one)]
        assert [op["path"] for op in patch.operations] == [f"/spec/templates/{i}/container/image" for i in steps]
