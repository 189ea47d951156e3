"""Rules about what Ceph's pools are named and hold, and about the storage classes of all tiers."""

from collections.abc import Iterator

from generator.checks.places import entries, given_twice
from generator.checks.tiers import (
    CEPH,
    block_pools,
    brings_classes,
    ceph_pools,
    default_classes,
    filesystems,
    object_stores,
    shared_classes,
    storage_classes,
    team_buckets,
)
from generator.model.capacity import ceph_usable
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Path, in_words, put, remove
from generator.model.rule import rule, warning
from generator.spec.near import suggest


def _ceph_names(cluster: Cluster) -> Iterator[tuple[str, Path]]:
    """Yield the names of Ceph's own pools: Rook puts a filesystem's name before its pools'."""
    yield "builtin-mgr", CEPH
    for at, pool in block_pools(cluster):
        yield pool.name, (*at, "name")
        if pool.erasure:
            yield f"{pool.name}-metadata", (*at, "name")
    for at, filesystem in filesystems(cluster):
        yield f"{filesystem.name}-metadata", (*at, "name")
        for place, pool in entries(filesystem.data, *at, "data"):
            yield f"{filesystem.name}-{pool.name}", (*place, "name")


@rule("GEN-CEPH-029", "quotas that the disks can hold")
def quota_fits(cluster: Cluster) -> Iterator[Finding]:
    """What a pool can hold is what stays when its largest host is lost and made good on the others, below the 85 % at
    which Ceph warns. Beyond, the disks are full before the quota is, and then all writes stop.

    Wrong:
        - {name: rbd, deviceClass: nvme, quota: 500T}
        # and 100T of nvme in all
    Right:
        - {name: rbd, deviceClass: nvme, quota: 20T}
    """
    for name, at, pool, _ in ceph_pools(cluster):
        if pool.quota and 0 < (usable := ceph_usable(cluster, pool)).value < pool.quota.value:
            message = f"{name} may grow to {pool.quota.human()}, and its disks hold {usable.human()}"
            edits = put((*at, "quota"), f"{usable.value // 2**30}Gi")
            yield Finding(at=(*at, "quota"), message=message, fix=f"{in_words(edits)} at most", edits=edits)


@rule("GEN-CEPH-030", "names in Ceph are given once")
def names_unique(cluster: Cluster) -> Iterator[Finding]:
    """Two pools of one name are one pool, with the settings of whichever was written last. A filesystem's pools are
    named after it (`shared-metadata`, `shared-fast`).

    Wrong:
        blockPools: [{name: rbd, deviceClass: nvme}, {name: rbd, deviceClass: hdd}]
    Right:
        blockPools: [{name: rbd-nvme, deviceClass: nvme}, {name: rbd-hdd, deviceClass: hdd}]
    """
    yield from given_twice(_ceph_names(cluster), "two pools in Ceph would be named {}", "rename one")
    stores = ((store.name, (*at, "name")) for at, store in object_stores(cluster))
    yield from given_twice(stores, "two object stores are named {}", "rename one")


@rule("GEN-CEPH-031", "buckets in Ceph are given once")
def buckets_unique(cluster: Cluster) -> Iterator[Finding]:
    """Of two claims of a bucket, Rook gives it to the one that it sees last, and the other's keys open it no more: so
    with those of the platform, and with those of teams.

    Wrong:
        - {name: a, buckets: [datasets], ...}
        - {name: b, buckets: [datasets], ...}
    Right:
        - {name: a, buckets: [datasets], ...}
        - {name: b, buckets: [archive], ...}
    """
    stores = object_stores(cluster)
    items = [(bucket, at) for place, store in stores for at, bucket in entries(store.buckets, *place, "buckets")]
    items += [(bucket.name, (*at, "name")) for at, bucket in team_buckets(cluster)]
    return given_twice(items, "the bucket {} is claimed twice", "rename or remove one")


@warning("GEN-CEPH-032", "two gateways")
def gateways_several(cluster: Cluster) -> Iterator[Finding]:
    """With one gateway S3 is gone while its node restarts, and a backup that runs then fails.

    Wrong:
        - {name: datasets, gateways: 1, ...}
    Right:
        - {name: datasets, gateways: 2, ...}
    """
    for at, store in object_stores(cluster):
        if store.gateways < 2:
            message = f"object store {store.name} has one gateway"
            where = (*at, "gateways")
            yield Finding(at=where, message=message, edits=put(where, 2))


@warning("GEN-CEPH-034", "quotas that the disks can hold together")
def quotas_fit_together(cluster: Cluster) -> Iterator[Finding]:
    """Pools of one class share its disks: when those are full, writes stop in all of them, whatever their quotas.

    Wrong:
        - {name: a, deviceClass: nvme, quota: 60T}
        - {name: b, deviceClass: nvme, quota: 60T}
        # and room for 100T
    Right:
        - {name: a, deviceClass: nvme, quota: 60T}
        - {name: b, deviceClass: nvme, quota: 40T}
    """
    taken: dict[str, int] = {}
    for name, at, pool, _ in ceph_pools(cluster):
        quota = pool.quota.value if pool.quota else 0
        if quota and quota <= (usable := ceph_usable(cluster, pool).value):
            before = taken.get(pool.device_class, 0)
            # In millionths of the class.
            after = taken[pool.device_class] = before + quota * 10**6 // usable
            if before <= 10**6 < after:
                message = f"with {name}, quotas promise {after // 10**4} % of what {pool.device_class} can hold"
                yield Finding(at=(*at, "quota"), message=message, fix="lower quotas of pools on it")


@rule("GEN-CEPH-040", "one default storage class")
def one_default(cluster: Cluster) -> Iterator[Finding]:
    """Of several defaults Kubernetes takes the one that was made last, which after a restore is another one.

    Wrong:
        - {name: a, deviceClass: nvme, default: true}
        - {name: b, deviceClass: hdd, default: true}
    Right:
        - {name: a, deviceClass: nvme, default: true}
        - {name: b, deviceClass: hdd}
    """
    found = default_classes(cluster)
    for placed in found[1:]:
        message = f"{placed.name} and {found[0].name} both have the default storage class"
        also = (*found[0].at, "default")
        where, fix = (*placed.at, "default"), "remove `default` from one"
        yield Finding(at=where, also=also, message=message, fix=fix, edits=remove(where))


@rule("GEN-CEPH-041", "storage classes are named once")
def classes_unique(cluster: Cluster) -> Iterator[Finding]:
    """All tiers' classes are in one list: of two with one name, the one that is applied last wins, and volumes land
    where nobody expects them.

    Wrong:
        scratch: {storageClass: fast}
        # and
        blockPools: [{name: fast, deviceClass: nvme}]
    Right:
        scratch: {storageClass: scratch-nvme}
    """
    return given_twice(storage_classes(cluster), "two storage classes are named {}", "set storageClass to another")


@rule("GEN-SITE-044", "the parts of a fleet share a volume")
def parts_shared(cluster: Cluster) -> Iterator[Finding]:
    """Pods on several nodes write what their clusters come to into one volume. A class of block devices, or of a node's
    own disks, lets one node mount it: the other pods wait until the run's time is over. A class of your own (`extras`)
    is not judged.

    Wrong:
        gitops:
          fleet: {image: registry.example.org/gen, storageClass: rbd-nvme}
    Right:
        gitops:
          fleet: {image: registry.example.org/gen, storageClass: shared-fast}
    """
    settings = cluster.gitops.fleet
    shared, known = shared_classes(cluster), [name for name, _ in storage_classes(cluster)]
    if (
        not settings
        or settings.storage_class in shared
        or (brings_classes(cluster) and settings.storage_class not in known)
    ):
        return
    at, name = ("gitops", "fleet", "storageClass"), settings.storage_class
    what = "is mounted by one node at a time" if name in known else "is no storage class of this cluster"
    otherwise = f"one of {', '.join(shared)}" if shared else "add storage.nfs, or a filesystem of Ceph's"
    edits = put(at, shared[0]) if len(shared) == 1 else ()
    yield Finding(at=at, message=f"{name} {what}", fix=suggest(name, shared, otherwise), edits=edits)
