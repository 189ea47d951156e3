"""Snapshots of etcd on their way to a bucket. The control-plane nodes take them, prove them and encrypt them by
themselves (`kubeadm/etcd_snapshots.py`): no pod has a key of etcd, and none sees a snapshot in plain.
"""

import json

from generator.components.component import Component, Manifest, Namespace, Operation, Patch, Secret
from generator.components.etcd_backup import DEFINITION, LABELS, NAMESPACE, items
from generator.components.issuers import signed
from generator.components.minio.settings import CLIENT_IMAGE, client_image
from generator.components.parts import tolerations
from generator.components.static import read_objects, read_text
from generator.components.workflows import exports
from generator.components.workflows.reaching import authorities, keys
from generator.components.workflows.scheduled import cron_workflow, given
from generator.components.workflows.steps import image_operations, patch_of, reaching_minio, way
from generator.components.workflows.targets import target
from generator.model.cluster import Cluster

FILED = "etcd-backup-to-files"
"""The WorkflowTemplate of a cluster whose snapshots go to an NFS export."""


def install(cluster: Cluster) -> Component:
    """Return the schedule that brings the newest snapshot to MinIO. Its namespace is privileged for one volume: the
    folder of encrypted snapshots on the node, read-only.
    """
    return Component(
        name=DEFINITION.name,
        tier=DEFINITION.tier,
        summary="Encrypted snapshots of etcd, brought to a bucket",
        version="v1",
        namespaces=(Namespace(NAMESPACE, security="privileged"),),
        base=read_objects("etcd_backup/base.yaml"),
        objects=(
            *schedule(cluster),
            *authorities(cluster, items(cluster), LABELS, NAMESPACE),
            *exports.volumes(cluster, items(cluster), LABELS, NAMESPACE),
        ),
        ignore=exports.ignored(cluster, items(cluster)),
        patches=own_template(cluster),
        operations=(Operation(name="etcd-backup", templates=(workflow_template(), scripts())),),
        needs=("argo-workflows", "issuers", "minio"),
        secrets=secrets(cluster),
    )


def workflow_template() -> Manifest:
    """Return the WorkflowTemplate, with the catalogue's image and MinIO's address."""
    (made,) = read_objects("etcd_backup/template.yaml")
    order, *steps = made["spec"]["templates"]
    upload, *others = ({**step, "container": {"image": CLIENT_IMAGE, **step["container"]}} for step in steps)
    upload["container"]["env"] = [*upload["container"]["env"], *way()]
    return reaching_minio({**made, "spec": {**made["spec"], "templates": [order, upload, *others]}}, "target-url")


def scripts() -> Manifest:
    """Return the ConfigMap with the scripts."""
    files = {
        "upload.sh": "workflows/upload.sh",
        "folder.sh": "workflows/folder.sh",
        "look.sh": "etcd_backup/look.sh",
        "client.sh": "workflows/client.sh",
        "ready.sh": "workflows/ready.sh",
    }
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "etcd-backup-scripts", "namespace": NAMESPACE, "labels": LABELS},
        "data": {name: read_text(path) for name, path in files.items()},
    }


def schedule(cluster: Cluster) -> list[Manifest]:
    """Return the CronWorkflow; none where nobody may write to the bucket, which a rule reports."""
    item = cluster.kubernetes.etcd.backup
    to = target(cluster, item) if item else None
    if not item or not to:
        return []
    bucket = {
        "name": item.name,
        "target-bucket": item.target.bucket,
        "target-secret": to.writes,
        **to.told("target-url", place=to.place),
        **to.speed,
    }
    arguments = {
        **(exports.told(cluster, item, to.place) if to.filed else bucket),
        "max-age": str(item.too_old),
        "nodes": json.dumps([machine.name for machine in cluster.control_plane]),
    }
    spec = {"workflowTemplateRef": {"name": FILED if to.filed else "etcd-backup"}, **given(arguments)}
    runs = cron_workflow(item, NAMESPACE, LABELS, spec | {"tolerations": tolerations(cluster.control_plane)})
    return [runs, filed_template(cluster, arguments)] if to.filed else [runs]


def filed_template(cluster: Cluster, arguments: dict[str, str]) -> Manifest:
    """Return the WorkflowTemplate that brings the newest snapshot to an NFS export, with this cluster's image."""
    made, image = workflow_template(), client_image(cluster)
    order, *steps = made["spec"]["templates"]
    upload, *others = ({**step, "container": {**step["container"], "image": image}} for step in steps)
    retried = dict(upload["retryStrategy"])
    if len(cluster.control_plane) == 1:
        del retried["affinity"]
    upload |= {"container": exports.filed(upload["container"]), "retryStrategy": retried}
    asked = {"arguments": {"parameters": [{"name": name} for name in arguments]}}
    spec = {**exports.reached(made), **asked, "templates": [order, upload, *others]}
    return {**made, "metadata": {**made["metadata"], "name": FILED}, "spec": spec}


def own_template(cluster: Cluster) -> tuple[Patch, ...]:
    """Return the patch of the shared template: another image of the client, no other node to try on."""
    template, image = workflow_template(), client_image(cluster)
    operations = [] if image == CLIENT_IMAGE else image_operations(template, image)
    if len(cluster.control_plane) == 1:
        (upload,) = (number for number, step in enumerate(template["spec"]["templates"]) if step["name"] == "upload")
        operations.append({"op": "remove", "path": f"/spec/templates/{upload}/retryStrategy/affinity"})
    return (patch_of(template, operations),) if operations else ()


def secrets(cluster: Cluster) -> tuple[Secret, ...]:
    """Return what the pod reads."""
    return (
        *keys(cluster, items(cluster), NAMESPACE, DEFINITION.name),
        signed("etcd-backup-client", NAMESPACE, DEFINITION.name),
    )
