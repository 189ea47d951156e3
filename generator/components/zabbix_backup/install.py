"""Dumps of Zabbix's database on their way to a bucket, tried there, and back. They run in a namespace of their own: of
Zabbix's Secrets their pods have the database's alone.
"""

from generator.components.component import Component, Manifest, Namespace, Secret, Turn
from generator.components.issuers import signed
from generator.components.minio.settings import client_image
from generator.components.static import read_objects, read_text
from generator.components.workflows import drill, exports
from generator.components.workflows.reaching import authorities, keys
from generator.components.workflows.scheduled import arguments, cron_workflow, drill_workflow
from generator.components.workflows.steps import way
from generator.components.workflows.targets import WAY, Target, reader, target, writer
from generator.components.zabbix import VERSIONS
from generator.components.zabbix.database import storage_class
from generator.components.zabbix.names import DATABASE
from generator.components.zabbix.names import NAMESPACE as ZABBIX
from generator.components.zabbix_backup import DEFINITION, DRILL, FILES, LABELS, NAMESPACE, PART
from generator.model.backup import ZabbixBackup
from generator.model.cluster import Cluster
from generator.model.monitoring import Zabbix


def install(cluster: Cluster) -> Component:
    """Return the schedule of the dumps, and the way back."""
    zabbix = cluster.monitoring.zabbix
    item = zabbix and zabbix.backup
    assert zabbix
    assert item
    to = target(cluster, item)
    return Component(
        name=DEFINITION.name,
        tier=DEFINITION.tier,
        summary="Dumps of Zabbix's database, brought to a bucket, and the way back",
        version="v1",
        namespaces=(Namespace(NAMESPACE),),
        base=(*read_objects("zabbix_backup/base.yaml"), scripts()),
        objects=(
            *(manifests(cluster, zabbix, item, to) if to else ()),
            *authorities(cluster, (item,), LABELS, NAMESPACE),
            *exports.volumes(cluster, (item,), LABELS, NAMESPACE),
        ),
        ignore=exports.ignored(cluster, (item,)),
        # Not zabbix: what waits for it waits for the agents of nodes that are down.
        needs=("argo-workflows", "issuers", "minio"),
        storage_classes=(storage_class(cluster, zabbix),),
        secrets=secrets(cluster, item),
    )


def scripts() -> Manifest:
    """Return the ConfigMap with the scripts."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{PART}-scripts", "namespace": NAMESPACE, "labels": LABELS},
        "data": {name: read_text(path) for name, path in FILES.items()},
    }


def manifests(cluster: Cluster, zabbix: Zabbix, item: ZabbixBackup, to: Target) -> list[Manifest]:
    """Return the workflows, and the schedules of dumps and drills; none where nobody may write, which a rule tells."""
    bucket = {
        "name": item.name,
        "target-bucket": item.target.bucket,
        "target-secret": to.writes,
        "target-url": to.url,
        "place": to.place,
        **dict.fromkeys(WAY, ""),
        **to.ways,
    }
    target = exports.told(cluster, item, to.place) if to.filed else bucket
    keys = {} if to.filed else {"target-secret": to.reads, "record-secret": to.writes}
    dump = {**target, "history": "true" if item.history else "false"}
    if not to.filed:
        dump |= {"bandwidth": ""} | to.speed
    return [
        workflow_template(cluster, zabbix, "zabbix_backup/dump.yaml", dump),
        workflow_template(cluster, zabbix, "zabbix_backup/restore.yaml", {**target, "at": "", "switch": "no"}),
        tried(cluster, zabbix, {**target, **keys, "at": ""}),
        cron_workflow(item, NAMESPACE, LABELS, {"workflowTemplateRef": {"name": PART}}),
        drill_workflow(item, NAMESPACE, LABELS, {"workflowTemplateRef": {"name": DRILL}}),
    ]


def tried(cluster: Cluster, zabbix: Zabbix, parameters: dict[str, str]) -> Manifest:
    """Return the workflow of the drill. It tells as drills of buckets do, and has a volume more, for its database."""
    made = workflow_template(cluster, zabbix, "zabbix_backup/drill.yaml", parameters)
    claims = [*made["spec"]["volumeClaimTemplates"], volume(cluster, zabbix, "scratch")]
    told = drill.workflow_template()["spec"]["metrics"]
    return {**made, "spec": {**made["spec"], "metrics": told, "volumeClaimTemplates": claims}}


def workflow_template(cluster: Cluster, zabbix: Zabbix, file: str, parameters: dict[str, str]) -> Manifest:
    """Return one of them: what its file says, with what all share, and this cluster's images and volume."""
    (made,), (shared,) = read_objects(file), read_objects("zabbix_backup/step.yaml")
    database = VERSIONS.of(cluster).images["postgresql"]
    images = {"client": client_image(cluster), "database": database, "scratch": database}
    order, *steps = made["spec"]["templates"]
    spec = {
        **shared["spec"],
        **made["spec"],
        **arguments(made, parameters),
        "volumeClaimTemplates": [volume(cluster, zabbix, "work")],
        "templates": [order, *(step(one, shared, images) for one in steps)],
    }
    return filed({**made, "spec": spec}) if "claim" in parameters else {**made, "spec": spec}


def filed(made: Manifest) -> Manifest:
    """Return a template whose client speaks to no bucket, but has an NFS export."""
    order, *steps = made["spec"]["templates"]
    templates = [{**one, "container": _filed(one["container"])} for one in steps]
    return {**made, "spec": {**exports.reached(made), "templates": [order, *templates]}}


def _filed(container: Manifest) -> Manifest:
    if not any(one["name"] == "TARGET_URL" for one in container["env"]):
        return container
    found = exports.filed(container)
    fetches = "/scripts/fetch.sh" in container["command"]
    return {**found, "command": ["bash", "/scripts/fetch-file.sh"]} if fetches else found


def step(one: Manifest, shared: Manifest, images: dict[str, str]) -> Manifest:
    """Return a step with what all share, and with what those share that speak to the same server."""
    own = one["container"]
    alike, more = shared[own["of"]], own.get("env", [])
    names = {each["name"] for each in more}
    container = {
        "image": images[own["of"]],
        "command": own["command"],
        "env": [
            *(each for each in alike["env"] if each["name"] not in names),
            *more,
            *(way() if own["of"] == "client" else ()),
        ],
        "resources": alike["resources"],
        **shared["container"],
        "volumeMounts": [*shared["container"]["volumeMounts"], *own.get("volumeMounts", ())],
    }
    return {**shared["step"], **one, "container": container}


def volume(cluster: Cluster, zabbix: Zabbix, name: str) -> Manifest:
    """Return a claim of a run, as large as the database's: a dump is smaller than what it is of."""
    found = storage_class(cluster, zabbix)
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": str(zabbix.storage)}}}
    return {"metadata": {"name": name}, "spec": spec | ({"storageClassName": found} if found else {})}


def secrets(cluster: Cluster, item: ZabbixBackup) -> tuple[Secret, ...]:
    """Return what the pods read."""
    database = Secret(
        name=DATABASE,
        namespace=NAMESPACE,
        keys=("username", "password"),
        source="generated",
        loss="outage",
        rotate=f"with the one in namespace {ZABBIX}: until then no dump is taken",
        readers=(PART,),
        copy_of=f"{ZABBIX}/{DATABASE}",
        turn=Turn(),
    )
    users = keys(cluster, (item,), NAMESPACE, PART, (writer, reader))
    return (database, *users, signed("zabbix-backup-client", NAMESPACE, PART))
