"""Datasets of several teams: a volume for each of them, for the owner to write and for others to read.

What keeps readers from writing is how the volume is mounted, at the node: its access mode, by which ceph-csi mounts
read-only (`nodeserver.go`, `setMountOptions`), and its mount options, which the NFS driver takes. `readOnly` of the
volume's source is no such thing: kubelet passes on what the pod says (1.35, `csi_util.go`, `getReadOnlyFromSpec`).
"""

from collections.abc import Iterator

from generator.components.common import OWN_LABELS
from generator.components.component import Ignore, Manifest
from generator.components.parts import bound_claim, bound_volume
from generator.model.cluster import Cluster
from generator.model.storage import Dataset

LABEL = f"{OWN_LABELS}/dataset"
DATASET = "dataset-"
"""How the claim of each dataset begins."""
BOUND = Ignore(group="", kind="PersistentVolume", pointers=("/spec/claimRef/resourceVersion", "/spec/claimRef/uid"))
"""The controller of claims writes into a volume which one it is bound to."""
WRITE, READ = "ReadWriteMany", "ReadOnlyMany"
CACHE_FOLDER = "/mnt/gen-cache"
"""Where a node's disk for copies of datasets is mounted. Its last part is the disk's label: twelve letters at most."""
FILLER = "dataset-cache"
"""The namespace of what fills them, which reads each dataset as a team does."""


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


def cached(cluster: Cluster) -> tuple[Dataset, ...]:
    """Return the datasets of which nodes keep copies: none where no node has a disk for them."""
    return tuple(one for one in (*in_ceph(cluster), *on_nfs(cluster)) if one.cached and cluster.cache_hosts)


def volumes(cluster: Cluster, dataset: Dataset, source: Manifest, *options: str) -> Iterator[Manifest]:
    """Yield each team's way to a dataset, mounted with these options. Only the claim that it names gets a volume, and
    the files outlive both.
    """
    filling = {FILLER: READ} if dataset in cached(cluster) else {}
    for team, mode in (modes(cluster, dataset) | filling).items():
        name = volume_name(dataset, team)
        mounted = [*options, *(["ro"] if mode == READ else [])]
        # A node tells volumes apart by the handle: one for both ways would be mounted once, for writing.
        csi = {"csi": {**source, "volumeHandle": name}}
        yield volume(dataset, name, mode, (claim_name(dataset), team), mounted, **csi)


def volume(
    dataset: Dataset, name: str, mode: str, claimed: tuple[str, str], options: list[str], **source: Manifest
) -> Manifest:
    """Return a volume of a dataset's files for one claim alone, given by its name and namespace. The files outlive
    both.
    """
    metadata = {"name": name, "labels": {LABEL: dataset.name}}
    return bound_volume(metadata, str(dataset.size), mode, claimed, options, **source)


def claim(dataset: Dataset, namespace: str, mode: str, name: str, volume: str) -> Manifest:
    """Return a claim of a dataset's files. It asks for little, because it is no room of the team's: with the dataset's
    size, one that is read by ten teams would count ten times, and a team whose quota is used up would not get it at
    all.
    """
    return bound_claim({"name": name, "namespace": namespace, "labels": {LABEL: dataset.name}}, mode, volume)


def volume_name(dataset: Dataset, team: str) -> str:
    """Return the name of a team's volume: those of all teams are in one list, and a dot is in no name of either."""
    return f"dataset-{dataset.name}.{team}"


def claim_name(dataset: Dataset) -> str:
    """Return the name of each team's claim."""
    return f"{DATASET}{dataset.name}"


def cache_name(dataset: Dataset, team: str = "") -> str:
    """Return the name of each team's claim of the copies; with a team, of the volume that it is for."""
    return f"cache-{dataset.name}" + (f".{team}" if team else "")
