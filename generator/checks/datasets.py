"""Rules about datasets of several teams: where they lie, whose they are, and their room."""

from collections.abc import Iterator
from pathlib import PurePosixPath

from generator.checks.places import entries, given_twice, human, listed_twice, unknown
from generator.checks.tiers import disk_lists, filesystems, idle_disks
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Path
from generator.model.restore_room import pool_holds
from generator.model.rule import rule, warning
from generator.model.storage import Dataset

DATASETS: Path = ("storage", "datasets")


def _datasets(cluster: Cluster) -> list[tuple[Path, Dataset]]:
    return entries(cluster.storage.datasets, *DATASETS)


@rule("GEN-DATA-001", "datasets are given once")
def names_unique(cluster: Cluster) -> Iterator[Finding]:
    """A team has one claim of a dataset's name: of two datasets it would get one.

    Wrong:
        datasets: [{name: scans, ...}, {name: scans, ...}]
    Right:
        datasets: [{name: scans, ...}, {name: scans-2025, ...}]
    """
    items = ((dataset.name, (*at, "name")) for at, dataset in _datasets(cluster))
    return given_twice(items, "two datasets are named {}", "rename or remove one")


@rule("GEN-DATA-002", "a dataset lies in one place that is there")
def placed(cluster: Cluster) -> Iterator[Finding]:
    """It lies in a filesystem of Ceph or is a folder of the NFS server: without one of them nobody gets a volume.

    Wrong:
        - {name: scans, filesystem: shared, share: /exports/scans, size: 2Ti, owner: vision}
    Right:
        - {name: scans, filesystem: shared, size: 2Ti, owner: vision}
    """
    known = [filesystem.name for _, filesystem in filesystems(cluster)]
    for at, dataset in _datasets(cluster):
        if bool(dataset.filesystem) == bool(dataset.share):
            what = "in a filesystem and on NFS" if dataset.share else "neither in a filesystem nor on NFS"
            fix = "keep one of both" if dataset.share else "say in which: `filesystem`, or `share`"
            yield Finding(at=at, message=f"dataset {dataset.name} is {what}", fix=fix)
        elif dataset.filesystem and dataset.filesystem not in known:
            message = f"dataset {dataset.name} is in filesystem {dataset.filesystem}, which is not there"
            otherwise = f"one of {', '.join(known)}" if known else "add storage.ceph.filesystems"
            yield unknown((*at, "filesystem"), dataset.filesystem, known, message, otherwise)
        elif dataset.share and not cluster.storage.nfs:
            message = f"dataset {dataset.name} is on NFS, and there is no storage.nfs"
            yield Finding(at=(*at, "share"), message=message, fix="add storage.nfs with its server")
        elif dataset.share and cluster.storage.nfs and not cluster.storage.nfs.outside:
            message = f"dataset {dataset.name} is a folder of an NFS server outside, and storage.nfs is Ceph's own"
            fix = f"put it on Ceph: `filesystem: {cluster.storage.nfs.filesystem}` in place of `share`"
            yield Finding(at=(*at, "share"), also=("storage", "nfs", "filesystem"), message=message, fix=fix)


@rule("GEN-DATA-003", "datasets are of teams that exist")
def teams_known(cluster: Cluster) -> Iterator[Finding]:
    """The claim is made in the namespace of a team: of one that is not there, nobody reads the dataset.

    Wrong:
        - {name: scans, readers: [visoin], ...}
    Right:
        - {name: scans, readers: [vision], ...}
    """
    known = [team.name for team in cluster.teams]
    for at, dataset in _datasets(cluster):
        named = [((*at, "owner"), dataset.owner)] if dataset.owner else []
        for where, name in (*named, *entries(dataset.readers, *at, "readers")):
            if name not in known:
                message = f"dataset {dataset.name} is of team {name}, which is not there"
                otherwise = f"one of {', '.join(known)}" if known else "there is no team"
                yield unknown(where, name, known, message, otherwise)


@warning("GEN-DATA-004", "somebody fills a dataset")
def filled(cluster: Cluster) -> Iterator[Finding]:
    """A dataset in Ceph begins empty, and only its owner writes it. What is on an NFS server is there already.

    Wrong:
        - {name: scans, filesystem: shared, size: 2Ti, readers: [vision]}
    Right:
        - {name: scans, filesystem: shared, size: 2Ti, owner: imaging, readers: [vision]}
    """
    for at, dataset in _datasets(cluster):
        if dataset.filesystem and not dataset.owner:
            message = f"dataset {dataset.name} has no owner: it stays empty"
            yield Finding(at=at, message=message, fix="name the team that fills it as its `owner`")


@warning("GEN-DATA-005", "a team is given a dataset once")
def teams_once(cluster: Cluster) -> Iterator[Finding]:
    """The owner writes, also where it is named among the readers.

    Wrong:
        - {name: scans, owner: vision, readers: [vision, language], ...}
    Right:
        - {name: scans, owner: vision, readers: [language], ...}
    """
    for at, dataset in _datasets(cluster):
        named = [(dataset.owner, (*at, "owner"))] if dataset.owner else []
        readers = [(name, where) for where, name in entries(dataset.readers, *at, "readers")]
        yield from listed_twice([*named, *readers], f"dataset {dataset.name} names team {{}} twice")


@warning("GEN-DATA-006", "datasets have room in their filesystem together")
def room(cluster: Cluster) -> Iterator[Finding]:
    """A dataset takes no more than its `size`, of the filesystem's first data pool. Where all of them are more than
    that holds, one that keeps to its own finds it full, and so does every other volume there.

    Wrong:
        # the first pool of the filesystem holds 15Ti
        - {name: scans, filesystem: shared, size: 10Ti, owner: vision}
        - {name: voices, filesystem: shared, size: 10Ti, owner: speech}
    Right:
        - {name: scans, filesystem: shared, size: 5Ti, owner: vision}
        - {name: voices, filesystem: shared, size: 5Ti, owner: speech}
    """
    for place, filesystem in filesystems(cluster):
        holds = pool_holds(cluster, filesystem.data[0]) if filesystem.data else 0
        promised = 0
        for at, dataset in _datasets(cluster):
            before = promised
            promised += dataset.size.value if dataset.filesystem == filesystem.name else 0
            if holds and before <= holds < promised:
                message = f"with {dataset.name}, datasets may take more than filesystem {filesystem.name} holds"
                where, also = (*at, "size"), (*place, "data", 0)
                told = f"{message}, {human(holds)}"
                yield Finding(at=where, also=also, message=told, fix="smaller ones, or more room")


@rule("GEN-DATA-007", "copies of datasets have one disk on each node that keeps them")
def cache_disks(cluster: Cluster) -> Iterator[Finding]:
    """Nodes with a disk for it keep a copy of each dataset that is `cached`. Without one on any node nobody gets claim
    `cache-NAME`; all copies of a node lie on one disk.

    Wrong:
        - {name: scans, cached: true, ...}
        # and no disk with `use: cache`
    Right:
        disks: [{use: cache, model: SAMSUNG_MZQL23T8HCLS-00A07, size: 3840G}]
    """
    for at, found, machines in disk_lists(cluster):
        count = machines[0].drive_count("cache")
        if count > 1:
            where = (*at, next(index for index, disk in enumerate(found) if disk.use == "cache"))
            message = f"{machines[0].name} has {count} disks for copies of datasets, and uses one"
            yield Finding(at=where, message=message, fix="keep one, and give the others another `use`")
    if cluster.cache_hosts:
        return
    for at, dataset in _datasets(cluster):
        if dataset.cached:
            message = f"dataset {dataset.name} is cached, and no node has a disk with `use: cache`"
            yield Finding(at=(*at, "cached"), message=message, fix="add one to a pool, or leave `cached` out")


@rule("GEN-DATA-008", "copies of datasets fit on the nodes' disks")
def cache_room(cluster: Cluster) -> Iterator[Finding]:
    """A new copy stands beside the former one until it is whole, and jobs read on in that: each dataset takes twice its
    size, where all of it changed. A tenth of a disk is the filesystem's.

    Wrong:
        disks: [{use: cache, model: SAMSUNG_MZQL23T8HCLS-00A07, size: 3840G}]
        # and
        - {name: scans, size: 2Ti, cached: true, ...}
    Right:
        disks: [{use: cache, model: SAMSUNG_MZQL27T6HBLA-00A07, size: 7680G}]
    """
    copied = [(at, one) for at, one in _datasets(cluster) if one.cached]
    needed = 2 * sum(one.size.value for _, one in copied)
    for place, found, machines in disk_lists(cluster):
        index, disk = next(((index, disk) for index, disk in enumerate(found) if disk.use == "cache"), (0, None))
        holds = disk.size.value * 9 // 10 if disk else 0
        if disk and needed > holds:
            at, last = copied[-1]
            message = (
                f"two copies of what is cached take {human(needed)}, and the disk of {machines[0].name} holds "
                f"{human(holds)}"
            )
            fix = f"a larger disk, or no `cached` for {last.name}"
            yield Finding(at=(*at, "cached"), also=(*place, index), message=message, fix=fix)


@warning("GEN-DATA-009", "disks for copies of datasets are used")
def cache_used(cluster: Cluster) -> Iterator[Finding]:
    """Where no dataset is `cached`, the disk is mounted and stays empty.

    Wrong:
        disks: [{use: cache, ...}]
        # and no dataset with `cached: true`
    Right:
        - {name: scans, cached: true, ...}
    """
    used = any(dataset.cached for _, dataset in _datasets(cluster))
    for at, _ in idle_disks(cluster, "cache", cluster.pools if used else ()):
        message = "nobody uses disks for copies of datasets: none is `cached`"
        yield Finding(at=at, message=message, fix="say `cached: true` of a dataset, or give the disk another `use`")


@rule("GEN-DATA-010", "no dataset holds the volumes of all")
def apart(cluster: Cluster) -> Iterator[Finding]:
    """Each volume of class `nfs` is a folder in the `share` of `storage.nfs`. A dataset that is this folder, or
    one that it lies in, shows its readers the volumes of every team, and its owner may write them.

    Wrong:
        nfs: {server: nfs.example.org, share: /exports/volumes}
        datasets: [{name: scans, share: /exports, ...}]
    Right:
        nfs: {server: nfs.example.org, share: /exports/volumes}
        datasets: [{name: scans, share: /exports/scans, ...}]
    """
    nfs = cluster.storage.nfs
    for at, dataset in _datasets(cluster) if nfs and nfs.share else ():
        if nfs and nfs.share and dataset.share and PurePosixPath(nfs.share).is_relative_to(dataset.share):
            message = f"dataset {dataset.name} holds {nfs.share}, the folder of the volumes of all teams"
            fix = "a folder of its own beside it"
            yield Finding(at=(*at, "share"), also=("storage", "nfs", "share"), message=message, fix=fix)
