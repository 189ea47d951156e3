"""Datasets of several teams: a volume for each of them, for the owner to write and for others to read.

What keeps readers from writing is how the volume is mounted, at the node: its access mode, by which ceph-csi mounts
read-only (`nodeserver.go`, `setMountOptions`), and its mount options, which the NFS driver takes. `readOnly` of the
volume's source is no such thing: kubelet passes on what the pod says (1.35, `csi_util.go`, `getReadOnlyFromSpec`).
"""

from collections.abc import Iterator

from generator.components.common import OWN_LABELS
from generator.components.component import Ignore, Manifest
from generator.model.cluster import Cluster
from generator.model.storage import Dataset

LABEL = f"{OWN_LABELS}/dataset"
BOUND = Ignore(group="", kind="PersistentVolume", pointers=("/spec/claimRef/resourceVersion", "/spec/claimRef/uid"))
"""The controller of claims writes into a volume which one it is bound to."""
WRITE, READ = "ReadWriteMany", "ReadOnlyMany"


def in_ceph(cluster: Cluster) -> Iterator[Dataset]:
    """Yield the datasets in filesystems of Ceph that are there; a rule reports the others."""
    known = {filesystem.name for filesystem in cluster.storage.ceph.filesystems} if cluster.storage.ceph else set()
    return (one for one in cluster.storage.datasets if one.filesystem in known and not one.share)


def on_nfs(cluster: Cluster) -> Iterator[Dataset]:
    """Yield the datasets on the NFS server outside; a rule reports those without one."""
    nfs = cluster.storage.nfs
    return (one for one in cluster.storage.datasets if one.share and nfs and nfs.outside)


def modes(cluster: Cluster, dataset: Dataset) -> dict[str, str]:
    """Return how each team has a dataset. Who owns it writes, though it be named among the readers as well."""
    found = dict.fromkeys(dataset.readers, READ) | ({dataset.owner: WRITE} if dataset.owner else {})
    return {team.name: found[team.name] for team in cluster.teams if team.name in found}


def volumes(cluster: Cluster, dataset: Dataset, source: Manifest, *options: str) -> Iterator[Manifest]:
    """Yield each team's way to a dataset, mounted with these options. Only the claim that it names gets a volume, and
    the files outlive both.
    """
    for team, mode in modes(cluster, dataset).items():
        name = volume_name(dataset, team)
        mounted = [*options, *(["ro"] if mode == READ else [])]
        yield {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name, "labels": {LABEL: dataset.name}},
            "spec": {
                "capacity": {"storage": str(dataset.size)},
                "accessModes": [mode],
                **({"mountOptions": mounted} if mounted else {}),
                "persistentVolumeReclaimPolicy": "Retain",
                "storageClassName": "",
                "claimRef": {
                    "apiVersion": "v1",
                    "kind": "PersistentVolumeClaim",
                    "name": claim_name(dataset),
                    "namespace": team,
                },
                # A node tells volumes apart by the handle: one for both ways would be mounted once, for writing.
                "csi": {**source, "volumeHandle": name},
            },
        }


def volume_name(dataset: Dataset, team: str) -> str:
    """Return the name of a team's volume: those of all teams are in one list, and a dot is in no name of either."""
    return f"dataset-{dataset.name}.{team}"


def claim_name(dataset: Dataset) -> str:
    """Return the name of each team's claim."""
    return f"dataset-{dataset.name}"
