"""How many backups run into one target at once, and how fast: what the file says, and what the controller reads."""

from collections.abc import Iterator

from msgspec import structs

from generator.components import compose
from generator.components.argo_workflows import NAMESPACE as ARGO
from generator.components.argo_workflows import argo_workflows
from generator.components.component import Manifest
from generator.components.etcd_backup import etcd_backup
from generator.components.minio_backup import NAMESPACE as OF_MINIO
from generator.components.minio_backup import minio_backup
from generator.components.rook_ceph import NAMESPACE
from generator.components.workflows import workflows
from generator.components.workflows.turns import AT_ONCE
from generator.components.zabbix_backup import zabbix_backup
from generator.model.backup import CopyTarget
from generator.model.cluster import Cluster, ComponentSettings
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


def unmanaged(cluster: Cluster, *names: str) -> Cluster:
    """Return the cluster whose components of these names others install."""
    components = {**cluster.components, **dict.fromkeys(names, ComponentSettings(managed=False))}
    return structs.replace(cluster, components=components)


def counted(cluster: Cluster) -> dict[str, set[str]]:
    """Return which targets each ConfigMap counts, and hold that each run finds its own there."""
    objects = [each for one in compose(cluster) for each in one.objects]
    found = {place: {*data} for place, data in at_once(*objects)}
    runs = [arguments for arguments in told(tuple(objects)).values() if "turn" in arguments]
    assert runs
    assert all(one["turn"] in found[one["turns-in"]] for one in runs)
    return found


def test_one_place_counts_both_kinds_of_backups(ml50: Cluster) -> None:
    assert counted(ml50) == {ARGO: {"minio", "elsewhere-offsite"}}
    assert at_once(*argo_workflows(ml50).objects) == [(ARGO, {"minio": "2", "elsewhere-offsite": "1"})]


def test_it_stays_where_it_is_when_backups_come_and_go(ml50: Cluster) -> None:
    """What waits by a ConfigMap that is gone waits for ever."""
    both = {ARGO: {"minio", "elsewhere-offsite"}}
    assert counted(without_minio_backups(ml50)) == both
    assert counted(structs.replace(ml50, backups=ml50.minio_backups)) == both
    assert at_once(*argo_workflows(structs.replace(ml50, backups=())).objects) == []


def test_it_is_there_whatever_others_install(ml50: Cluster) -> None:
    for names in (("minio-backup",), ("workflows",), ("minio",)):
        assert counted(unmanaged(ml50, *names)).keys() == {ARGO}, names
    assert counted(unmanaged(ml50, "argo-workflows")).keys() == {OF_MINIO}
    assert counted(unmanaged(ml50, "argo-workflows", "minio-backup")).keys() == {NAMESPACE}
    assert counted(unmanaged(ml50, "argo-workflows", "workflows")).keys() == {OF_MINIO}


def test_a_service_that_backups_of_both_kinds_go_to_is_there_once(ml50: Cluster) -> None:
    first, *others = ml50.backups
    away = structs.replace(first, target=CopyTarget(bucket="copies", at="offsite"))
    made = structs.replace(ml50, backups=(away, *others))
    assert told(workflows(made).objects)["backup-datasets"]["turn"] == "elsewhere-offsite"
    assert counted(made) == {ARGO: {"minio", "elsewhere-offsite"}}


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


def test_snapshots_and_dumps_are_brought_and_read_back_at_that_pace_and_fetched_at_any(ml50: Cluster) -> None:
    both, found = {"MC_LIMIT_UPLOAD", "MC_LIMIT_DOWNLOAD"}, {}
    made = [one for each in etcd_backup(ml50).operations for one in each.templates]
    for template in (*made, *zabbix_backup(ml50).objects):
        for one in template["spec"].get("templates", ()) if template["kind"] == "WorkflowTemplate" else ():
            names = {each["name"] for each in one.get("container", {}).get("env", ())}
            found[template["metadata"]["name"], one["name"]] = names & both
    assert {step for step, names in found.items() if names} == {("etcd-backup", "upload"), ("zabbix-backup", "upload")}
    assert all(names in (both, set()) for names in found.values())
