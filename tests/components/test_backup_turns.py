"""How many backups run into one target at once, and how fast: what the file says, and what the controller reads."""

from collections.abc import Iterator

from msgspec import structs

from generator.components.component import Manifest
from generator.components.etcd_backup import etcd_backup
from generator.components.minio_backup import minio_backup
from generator.components.minio_backup.names import NAMESPACE as OF_MINIO
from generator.components.rook_ceph import NAMESPACE
from generator.components.workflows import workflows
from generator.components.workflows.turns import AT_ONCE
from generator.components.zabbix_backup import zabbix_backup
from generator.model.backup import CopyTarget
from generator.model.cluster import Cluster
from generator.model.quantity import Quantity
from generator.model.storage import Copying


def at_once(*made: Manifest) -> list[tuple[str, dict[str, str]]]:
    found = [one for one in made if one["metadata"]["name"] == AT_ONCE]
    return [(one["metadata"]["namespace"], one["data"]) for one in found]


def told(made: tuple[Manifest, ...]) -> dict[str, dict[str, str]]:
    """Return what each object tells its pods, by its name."""
    specs = {one["metadata"]["name"]: one["spec"].get("workflowSpec", one["spec"]) for one in made if "spec" in one}
    return {
        name: {each["name"]: each.get("value", "") for each in spec["arguments"]["parameters"]}
        for name, spec in specs.items()
        if "arguments" in spec
    }


def copied(cluster: Cluster, copying: Copying) -> Cluster:
    """Return the cluster whose MinIO takes backups so."""
    assert cluster.storage.objects
    objects = structs.replace(cluster.storage.objects, copying=copying)
    return structs.replace(cluster, storage=structs.replace(cluster.storage, objects=objects))


def without_minio_backups(cluster: Cluster) -> Cluster:
    return structs.replace(cluster, backups=cluster.ceph_backups)


def test_one_place_counts_both_kinds_of_backups(ml50: Cluster) -> None:
    both = (*workflows(ml50).objects, *minio_backup(ml50).objects)
    assert at_once(*both) == [(OF_MINIO, {"minio": "2", "elsewhere-offsite": "1"})]
    runs = [arguments for arguments in told(both).values() if "turn" in arguments]
    assert {(one["name"], one["turn"], one["turns-in"]) for one in runs} == {
        ("datasets", "minio", OF_MINIO),
        ("checkpoints", "minio", OF_MINIO),
        ("models", "elsewhere-offsite", OF_MINIO),
    }


def test_without_backups_of_minio_it_is_where_those_of_ceph_are(ml50: Cluster) -> None:
    made = workflows(copied(without_minio_backups(ml50), Copying(at_once=3))).objects
    assert at_once(*made) == [(NAMESPACE, {"minio": "3"})]
    assert {one["turns-in"] for one in told(made).values() if "turn" in one} == {NAMESPACE}


def test_a_service_that_backups_of_both_kinds_go_to_is_there_once(ml50: Cluster) -> None:
    first, *others = ml50.backups
    away = structs.replace(first, target=CopyTarget(bucket="copies", at="offsite"))
    made = structs.replace(ml50, backups=(away, *others))
    assert told(workflows(made).objects)["backup-datasets"]["turn"] == "elsewhere-offsite"
    assert at_once(*workflows(made).objects, *minio_backup(made).objects) == [
        (OF_MINIO, {"minio": "2", "elsewhere-offsite": "1"})
    ]


def test_each_has_its_share_of_the_bandwidth_also_those_that_wait_for_nobody(ml50: Cluster) -> None:
    made = copied(ml50, Copying(at_once=2, bandwidth=Quantity.parse("100M")))
    objects = (*workflows(made).objects, *etcd_backup(made).objects, *zabbix_backup(made).objects)
    given = told(objects)
    for name in ("backup-datasets", "backup-checkpoints", "backup-etcd", "zabbix-backup"):
        assert given[name]["bandwidth"] == "50000000", name
    assert "turn" not in given["backup-etcd"]
    assert not any("bandwidth" in given[name] for name in ("restore-datasets", "drill-datasets"))
    assert "bandwidth" not in told(workflows(ml50).objects)["backup-datasets"]
    assert told(minio_backup(ml50).objects)["backup-models"]["bandwidth"] == "300000000"


def limited(template: Manifest) -> Iterator[str]:
    for one in template["spec"]["templates"]:
        names = {each["name"] for each in one.get("container", {}).get("env", ())}
        if names & {"MC_LIMIT_UPLOAD", "BANDWIDTH"}:
            yield one["name"]


def test_the_steps_that_bring_and_compare_know_it(ml50: Cluster) -> None:
    for component in (workflows(ml50), minio_backup(ml50)):
        (template,) = (
            one for each in component.operations for one in each.templates if one["metadata"]["name"] == "backup"
        )
        assert set(limited(template)) >= {"mirror", "verify", "compare"}
        (turn,) = template["spec"]["synchronization"]["semaphores"]
        assert turn["configMapKeyRef"] == {"name": AT_ONCE, "key": "{{workflow.parameters.turn}}"}
