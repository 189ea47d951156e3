"""Turns: how many backups of buckets run into one target at once. A semaphore of Argo Workflows counts them."""

from generator.components.argo_workflows import NAMESPACE as ARGO
from generator.components.component import Manifest
from generator.components.rook_ceph import NAMESPACE as ROOK
from generator.model.cluster import Cluster

AT_ONCE = "backup-targets"
"""The ConfigMap that says it of each target."""


def turn(place: str | None) -> str:
    """Return the key of a service elsewhere, or of the cluster's own MinIO."""
    return f"elsewhere-{place}" if place else "minio"


def turns_in(cluster: Cluster) -> str:
    """Return the namespace of `AT_ONCE`: one for both kinds of backups, so that both together are counted. It is the
    controller's, which stays when backups come or go: what waits by a ConfigMap that is gone waits for ever. Where
    somebody else installs the controller, it is that of a component that is ours.
    """
    from generator.components.minio_backup import NAMESPACE  # noqa: PLC0415 - its package imports this one

    if cluster.settings("argo-workflows").managed:
        return ARGO
    return NAMESPACE if cluster.minio_backups and cluster.settings("minio-backup").managed else ROOK


def at_once(cluster: Cluster, labels: dict[str, str], namespace: str) -> list[Manifest]:
    """Return the ConfigMap that bounds how many backups run into each target; none where it is in another namespace. It
    also names those that none goes to: of a backup that moves a run may still wait there.
    """
    if namespace != turns_in(cluster) or not cluster.backups:
        return []
    objects = cluster.storage.objects
    bounds = {turn(None): objects.copying} if objects else {}
    bounds |= {turn(one.name): one.copying for one in cluster.storage.elsewhere}
    metadata = {"name": AT_ONCE, "namespace": namespace, "labels": labels}
    data = {name: str(one.at_once) for name, one in bounds.items()}
    return [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}]
