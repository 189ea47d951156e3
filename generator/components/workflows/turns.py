"""Turns: how many backups of buckets run into one target at once. A semaphore of Argo Workflows counts them."""

from generator.components.component import Manifest
from generator.components.rook_ceph import NAMESPACE as ROOK
from generator.model.cluster import Cluster

AT_ONCE = "backup-targets"
"""The ConfigMap that says it of each target."""


def turn(place: str | None) -> str:
    """Return the key of a service elsewhere, or of the cluster's own MinIO."""
    return f"elsewhere-{place}" if place else "minio"


def turns_in(cluster: Cluster) -> str:
    """Return the namespace of `AT_ONCE`: one for both kinds of backups, so that both together are counted."""
    from generator.components.minio_backup.names import NAMESPACE  # noqa: PLC0415 - its package imports this one

    return NAMESPACE if cluster.minio_backups else ROOK


def at_once(cluster: Cluster, labels: dict[str, str], namespace: str) -> list[Manifest]:
    """Return the ConfigMap that bounds how many backups run into each target; none where it is in another namespace."""
    if namespace != turns_in(cluster):
        return []
    objects, going = cluster.storage.objects, {one.target.at for one in cluster.backups}
    bounds = {turn(None): objects.copying} if objects and None in going else {}
    bounds |= {turn(one.name): one.copying for one in cluster.storage.elsewhere if one.name in going}
    metadata = {"name": AT_ONCE, "namespace": namespace, "labels": labels}
    data = {name: str(one.at_once) for name, one in bounds.items()}
    return [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}]
