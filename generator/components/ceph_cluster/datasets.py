"""Datasets in Ceph: a folder of a filesystem for each, with a bound that Ceph keeps to, and the volumes of teams."""

from collections.abc import Iterator

from generator.components.ceph_cluster.daemons import rook_object
from generator.components.ceph_csi_drivers import CEPHFS_DRIVER
from generator.components.component import Manifest
from generator.components.datasets import in_ceph, volumes
from generator.components.rook_ceph import NAMESPACE
from generator.model.cluster import Cluster
from generator.model.storage import Dataset


def datasets(cluster: Cluster) -> Iterator[Manifest]:
    """Yield a group for each dataset, and the volumes on it. The files lie in the group's own folder: it has a path
    that is known beforehand, and no subvolume that somebody would have to make first.
    """
    for dataset in in_ceph(cluster):
        name = f"dataset-{dataset.name}"
        spec = {"name": name, "filesystemName": dataset.filesystem, "quota": str(dataset.size)}
        yield rook_object("CephFilesystemSubVolumeGroup", name, spec)
        yield from volumes(cluster, dataset, source(dataset, f"/volumes/{name}"))


def source(dataset: Dataset, folder: str) -> Manifest:
    """Return how a volume finds the files (ceph-csi, static volumes: `NewVolumeOptionsFromStaticVolume`)."""
    return {
        "driver": CEPHFS_DRIVER,
        "volumeAttributes": {
            "clusterID": NAMESPACE,
            "fsName": dataset.filesystem,
            "rootPath": folder,
            "staticVolume": "true",
        },
        "nodeStageSecretRef": {"name": "rook-csi-cephfs-node", "namespace": NAMESPACE},
    }
