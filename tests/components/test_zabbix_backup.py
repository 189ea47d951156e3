"""The dumps of Zabbix's database: who runs them, with what, and that whoever counts backups counts them."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec import structs

from generator.components import compose
from generator.components.kube_prometheus_stack.alerts import backups_missed
from generator.components.workflows.backup import workflow_template as of_buckets
from generator.components.workflows.drill import workflow_template as of_bucket_drills
from generator.components.workflows.scheduled import BACKUP, label
from generator.components.zabbix import VERSIONS
from generator.components.zabbix.hosts import services
from generator.components.zabbix_backup import DEFINITION, FILES, NAMESPACE, zabbix_backup
from generator.components.zabbix_backup.install import scripts
from generator.day2.workflows.operations import namespaces
from generator.live.status.last_backups import last_backups
from generator.model.backup import CopyTarget, ZabbixBackup
from generator.model.cluster import Cluster
from generator.model.storage import ObjectUser

NAMES = ("zabbix-backup", "restore-zabbix", "zabbix-drill")
DATABASE = VERSIONS.known[0].images["postgresql"]


def with_backup(cluster: Cluster, **changed: Any) -> Cluster:
    zabbix = cluster.monitoring.zabbix
    assert zabbix
    assert zabbix.backup
    zabbix = structs.replace(zabbix, backup=structs.replace(zabbix.backup, **changed))
    return structs.replace(cluster, monitoring=structs.replace(cluster.monitoring, zabbix=zabbix))


def without(cluster: Cluster) -> Cluster:
    assert cluster.monitoring.zabbix
    zabbix = structs.replace(cluster.monitoring.zabbix, backup=None)
    return structs.replace(cluster, monitoring=structs.replace(cluster.monitoring, zabbix=zabbix))


def with_users(cluster: Cluster, users: tuple[ObjectUser, ...]) -> Cluster:
    assert cluster.storage.objects
    objects = structs.replace(cluster.storage.objects, users=users)
    return structs.replace(cluster, storage=structs.replace(cluster.storage, objects=objects))


def template(cluster: Cluster, name: str) -> dict[str, Any]:
    found = [one for one in zabbix_backup(cluster).objects if one["kind"] == "WorkflowTemplate"]
    return {one["metadata"]["name"]: one for one in found}[name]


def steps(cluster: Cluster) -> list[dict[str, Any]]:
    each = (template(cluster, name)["spec"]["templates"] for name in NAMES)
    return [step for one in each for step in one if "container" in step]


def parameters(made: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["value"] for one in made["spec"]["arguments"]["parameters"]}


def test_without_it_nothing_is_installed(ml50: Cluster) -> None:
    assert not DEFINITION.wanted(without(ml50))
    assert "zabbix" not in without(ml50).watched_backups
    assert "zabbix-backup" not in {one.name for one in compose(without(ml50))}


def test_where_nobody_may_write_nothing_runs(ml50: Cluster) -> None:
    assert not zabbix_backup(with_users(ml50, ())).objects


def test_the_file_says_when_where_and_what(ml50: Cluster) -> None:
    cluster = with_backup(ml50, schedule="5 3 * * *", history=False, suspended=True)
    cron, tried = [one for one in zabbix_backup(cluster).objects if one["kind"] == "CronWorkflow"]
    assert (tried["metadata"]["name"], tried["spec"]["schedules"]) == ("drill-zabbix", ["35 15 * * 0"])
    assert tried["spec"]["suspend"] is True
    assert (cron["spec"]["schedules"], cron["spec"]["suspend"]) == (["5 3 * * *"], True)
    assert cron["spec"]["workflowSpec"] == {"workflowTemplateRef": {"name": "zabbix-backup"}}
    given = parameters(template(cluster, "zabbix-backup"))
    assert given["history"] == "false"
    assert given["target-bucket"] == "zabbix-backup"
    assert given["target-secret"] == "minio-user-zabbix-writer"
    assert parameters(template(ml50, "zabbix-backup"))["history"] == "true"
    assert parameters(template(ml50, "restore-zabbix"))["switch"] == "no"


def test_pods_use_the_servers_own_version_and_a_volume_like_its(ml50: Cluster) -> None:
    images = {step["name"]: step["container"]["image"] for step in steps(ml50)}
    assert {images[name] for name in ("dump", "restore", "switch", "prove")} == {DATABASE}
    assert not [image for image in images.values() if image.endswith(":latest") or ":" not in image]
    assert ml50.monitoring.zabbix
    for name in ("zabbix-backup", "restore-zabbix"):
        (claim,) = template(ml50, name)["spec"]["volumeClaimTemplates"]
        assert claim["spec"]["resources"]["requests"]["storage"] == str(ml50.monitoring.zabbix.storage)
        assert claim["spec"]["storageClassName"] == "rbd-nvme"
        assert template(ml50, name)["spec"]["volumeClaimGC"] == {"strategy": "OnWorkflowCompletion"}


def test_each_step_gets_every_variable_that_its_script_reads(ml50: Cluster) -> None:
    data = scripts()["data"]
    shared = {"dump.sh": "database.sh", "restore.sh": "database.sh", "fetch.sh": "buckets.sh", "upload.sh": "client.sh"}
    shared |= {"drill.sh": "database.sh", "record.sh": "client.sh"}
    # What the scripts set themselves, what only one of several words of a script reads, and what only etcd's asks for.
    own = {"BASH_REMATCH", "BASH_SOURCE", "EPOCHREALTIME", "MC_CONFIG_DIR", "DUMP", "LEFT_OUT", "SNAPSHOT", "SAID"}
    for step in steps(ml50):
        script = step["container"]["command"][1].removeprefix("/scripts/")
        lines = (data[script] + (data[shared[script]] if shared[script] != "buckets.sh" else "")).splitlines()
        text = "\n".join(line for line in lines if not line.lstrip().startswith("#"))
        read = set(re.findall(r"\$\{?([A-Z][A-Z_]+)", text)) - own
        given = {one["name"] for one in step["container"]["env"]}
        assert read - given <= ({"JOBS"} if step["name"] == "switch" else set()), step["name"]


def test_pods_may_report_results_and_have_one_secret_of_zabbixs(ml50: Cluster) -> None:
    made = zabbix_backup(ml50)
    for role in (one for one in made.base if one["kind"] == "Role"):
        assert role["rules"] == [
            {"apiGroups": ["argoproj.io"], "resources": ["workflowtaskresults"], "verbs": ["create", "patch"]}
        ]
    assert {one.name for one in made.secrets} == {
        "zabbix-database",
        "minio-user-zabbix-writer",
        "zabbix-backup-client",
    }
    (copied,) = [one for one in made.secrets if one.name == "zabbix-database"]
    assert copied.copy_of == "zabbix/zabbix-database"
    for step in steps(ml50):
        security = step["container"]["securityContext"]
        assert security["readOnlyRootFilesystem"] is True
        keys = {one["name"] for one in step["container"]["env"] if "valueFrom" in one}
        # None has both.
        assert keys in ({"PGUSER", "PGPASSWORD"}, {"TARGET_ACCESS_KEY", "TARGET_SECRET_KEY"}, set())
        assert (not keys) == (step["name"] == "prove")
        assert len(step["container"]["env"]) == len({one["name"] for one in step["container"]["env"]})


def test_the_database_lets_these_pods_in_and_nobody_else(ml50: Cluster) -> None:
    (policy,) = [one for one in zabbix_backup(ml50).base if one["metadata"]["name"] == "zabbix-database-backup"]
    assert policy["metadata"]["namespace"] == "zabbix"
    ((ingress,),) = [policy["spec"]["ingress"]]
    (source,) = ingress["from"]
    assert source["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": NAMESPACE}
    for name in NAMES:
        labels = template(ml50, name)["spec"]["podMetadata"]["labels"]
        # Who tries a dump is never let near the live database.
        assert (source["podSelector"]["matchLabels"].items() <= labels.items()) == (name != "zabbix-drill")


def test_each_operation_has_an_account_of_its_own(ml50: Cluster) -> None:
    accounts = {one["metadata"]["name"] for one in zabbix_backup(ml50).base if one["kind"] == "ServiceAccount"}
    assert {template(ml50, name)["spec"]["serviceAccountName"] for name in NAMES} == accounts == {*NAMES}


def test_nobody_enters_any_of_its_pods(ml50: Cluster) -> None:
    (policy,) = [
        one
        for one in zabbix_backup(ml50).base
        if one["kind"] == "NetworkPolicy" and one["metadata"]["name"] == NAMESPACE
    ]
    for name in NAMES:
        labels = template(ml50, name)["spec"]["podMetadata"]["labels"]
        assert policy["spec"]["podSelector"]["matchLabels"].items() <= labels.items()
    assert policy["spec"]["ingress"] == []


def test_a_drill_has_room_for_a_dump_and_a_database_and_reads_with_keys_that_only_read(ml50: Cluster) -> None:
    assert ml50.storage.objects
    reader = ObjectUser(name="dumps-reader", buckets=("zabbix-backup",), access="read")
    cluster = with_users(ml50, (*ml50.storage.objects.users, reader))
    made = template(cluster, "zabbix-drill")
    given = parameters(made)
    assert (given["target-secret"], given["record-secret"]) == ("minio-user-dumps-reader", "minio-user-zabbix-writer")
    assert {"minio-user-dumps-reader", "minio-user-zabbix-writer"} < {
        one.name for one in zabbix_backup(cluster).secrets
    }
    claims = {one["metadata"]["name"]: one["spec"] for one in made["spec"]["volumeClaimTemplates"]}
    assert claims["work"] == claims["scratch"]
    prove = {one["name"]: one for one in made["spec"]["templates"]}["prove"]["container"]
    assert {"name": "scratch", "mountPath": "/scratch"} in prove["volumeMounts"]
    assert made["spec"]["synchronization"] == {"mutexes": [{"name": "zabbix-drill"}]}
    assert made["spec"]["metrics"] == of_bucket_drills()["spec"]["metrics"]


def test_a_restore_and_a_dump_do_not_meet(ml50: Cluster) -> None:
    locks = [template(ml50, name)["spec"]["synchronization"] for name in ("zabbix-backup", "restore-zabbix")]
    assert locks[0] == locks[1] == {"mutexes": [{"name": "zabbix-database"}]}


def test_alerts_count_it_as_a_backup(ml50: Cluster) -> None:
    rules = backups_missed(ml50, "monitoring")
    assert rules
    found = {rule["expr"] for group in rules["spec"]["groups"] for rule in group["rules"]}
    assert [one for one in found if 'backup="zabbix"' in one and "absent" in one]
    assert [one for one in services(ml50)["items"] if one["key"] == "backup.last[zabbix]"]
    assert template(ml50, "zabbix-backup")["spec"]["metrics"] == of_buckets()["spec"]["metrics"]


def test_status_tells_of_it_and_its_runs_are_found(ml50: Cluster) -> None:
    assert NAMESPACE in namespaces(ml50)
    now = datetime(2026, 11, 23, 12, tzinfo=UTC)
    began = "2026-11-22T15:30:00Z"
    run = {
        "metadata": {"name": "zabbix-1", "labels": {label(BACKUP): "zabbix"}, "creationTimestamp": began},
        "status": {"phase": "Succeeded"},
    }
    told = {one.name: one for one in last_backups(ml50, [run], (), now)}
    assert told["zabbix"].copy.good == began
    assert not told["zabbix"].copy.causes
    late = {one.name: one for one in last_backups(ml50, [run], (), now.replace(day=25))}
    assert late["zabbix"].causes


@pytest.mark.parametrize("user", ["backup-writer", "restore-reader", "etcd-writer"])
def test_no_other_user_of_the_cluster_reaches_its_bucket(ml50: Cluster, user: str) -> None:
    assert ml50.storage.objects
    (found,) = [one for one in ml50.storage.objects.users if one.name == user]
    assert "zabbix-backup" not in found.buckets
    assert ("etcd-backup" in found.buckets) == (user == "etcd-writer")


def test_two_intervals_are_too_old() -> None:
    assert ZabbixBackup(target=CopyTarget(bucket="dumps"), schedule="0 */12 * * *").too_old == 24 * 3600


def test_every_script_is_in_the_config_map() -> None:
    assert scripts()["data"].keys() == FILES.keys()
