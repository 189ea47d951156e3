"""Rules about MinIO's drives and images, and about its quotas."""

import re
from collections import Counter
from collections.abc import Iterator

from generator.checks.places import by_place, hardware_path, human
from generator.checks.tiers import OBJECTS, buckets, disks, idle_disks, server_pools
from generator.model.capacity import objects_usable
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Path, remove
from generator.model.rule import rule, warning

POOL: Path = (*OBJECTS, "pool")
# Nobody may pull from these any more (facts: storage 0).
_GONE = r"(docker\.io/|index\.docker\.io/)?minio/|quay\.io/minio/"


@rule("GEN-OBJ-003", "as many drives on each node of MinIO")
def drives_alike(cluster: Cluster) -> Iterator[Finding]:
    """Erasure sets take as many drives of each node: with fewer on one, the others' are not used, and the promise
    for two lost nodes would no longer hold.

    Wrong:
        # nas-1 to nas-3 with 16 drives, nas-4 with 15
    Right:
        # nas-1 to nas-4 with 16 drives
    """
    for place, pool in server_pools(cluster):
        counts = [(machine, machine.drive_count("objects")) for machine in cluster.in_pools(pool)]
        usual = next((each for each, _ in Counter(count for _, count in counts).most_common(1)), 0)
        for machine, count in counts:
            if 0 < count != usual > 0:
                message = f"{machine.name} has {count} drives for MinIO, and other nodes have {usual}"
                at = hardware_path(cluster, machine, "disks")
                yield Finding(at=at, also=place, message=message, fix=f"have {usual}")


@warning("GEN-OBJ-004", "MinIO's drives are of one size")
def sizes_alike(cluster: Cluster) -> Iterator[Finding]:
    """MinIO uses as much of each drive as the smallest one of its server pool has.

    Wrong:
        disks: [{use: objects, size: 24T, ...}, {use: objects, size: 20T, ...}]
    Right:
        disks: [{use: objects, size: 24T, count: 16, ...}]
    """
    found = [placed for placed in disks(cluster) if placed.disk.use == "objects"]
    for _, pool in server_pools(cluster):
        drives = [(at, disk) for at, disk, machines in found if machines[0].pool == pool]
        smallest = min((disk.size for _, disk in drives), default=None)
        for at, disk in drives:
            if smallest and disk.size > smallest:
                message = f"of this drive's {disk.size} MinIO uses {smallest}: its smallest drive has no more"
                yield Finding(at=(*at, "size"), message=message, fix="use drives of one size")


@rule("GEN-OBJ-005", "MinIO's nodes have drives for it")
def drives_present(cluster: Cluster) -> Iterator[Finding]:
    """MinIO is laid out over the drives of all its nodes; with none on one of them there is nothing to lay out.

    Wrong:
        objects: {pool: nas}
        # and no disk with `use: objects` in pool nas
    Right:
        disks: [{use: objects, model: ST24000NM000H-3KS103, count: 16, size: 24T, class: hdd}]
    """
    for place, pool in server_pools(cluster):
        without = [machine for machine in cluster.in_pools(pool) if not machine.disks_for("objects")]
        for at, (first, *_) in by_place(cluster, without, "disks").items():
            where = at if first.hardware.disks else at[:-1]
            message = f"{first.name} has no disks with `use: objects`"
            yield Finding(at=where, also=place, message=message, fix="add them to `disks`")


@rule("GEN-OBJ-006", "copies apart from what they are copies of")
def apart_from_ceph(cluster: Cluster) -> Iterator[Finding]:
    """MinIO holds the backups of what is in Ceph: on the same nodes both are lost together.

    Wrong:
        ceph: {pools: [nas]}
        # and
        objects: {pool: nas}
    Right:
        ceph: {pools: [cpu]}
        # and
        objects: {pool: nas}
    """
    ceph = cluster.storage.ceph
    for at, pool in server_pools(cluster):
        if ceph and pool in ceph.pools:
            also = ("storage", "ceph", "pools", ceph.pools.index(pool))
            message = f"pool {pool} holds both Ceph and MinIO"
            yield Finding(at=at, also=also, message=message, fix="give MinIO four nodes of its own")


def _images(cluster: Cluster) -> Iterator[tuple[str, Path]]:
    objects = cluster.storage.objects
    given = {"image": objects.image, "clientImage": objects.client_image} if objects else {}
    yield from ((image, (*OBJECTS, key)) for key, image in given.items() if image)


@rule("GEN-OBJ-007", "MinIO's images by digest")
def images_by_digest(cluster: Cluster) -> Iterator[Finding]:
    """All nodes must run the very same program: one that differs waits for ever. A tag may be moved, a digest not.

    Wrong:
        image: registry.example.org/pgsty/silo:RELEASE.2026-09-16T00-00-00Z
    Right:
        image: registry.example.org/pgsty/silo:RELEASE.2026-09-16T00-00-00Z@sha256:<64 digits>
    """
    for image, at in _images(cluster):
        if not re.search(r"@sha256:[0-9a-f]{64}$", image) and not re.match(_GONE, image):
            fix = "append @sha256: and the digest, as `gen images` or the registry shows it"
            yield Finding(at=at, message=f"the image {image} has no digest", fix=fix)


@rule("GEN-OBJ-008", "MinIO's images from where there are any")
def images_available(cluster: Cluster) -> Iterator[Finding]:
    """MinIO's own registries serve nobody any more, and the last images there have holes that forks have closed.

    Wrong:
        image: quay.io/minio/minio:latest
    Right:
        image: registry.example.org/pgsty/silo:RELEASE.2026-09-16T00-00-00Z@sha256:<64 digits>
    """
    for image, at in _images(cluster):
        if re.match(_GONE, image):
            message = f"{image} is not to be had: MinIO's own registries are closed"
            fix = f"remove `{at[-1]}`, or name your mirror of a maintained build"
            yield Finding(at=at, message=message, fix=fix, edits=remove(at))


@warning("GEN-OBJ-009", "disks for MinIO are used")
def disks_used(cluster: Cluster) -> Iterator[Finding]:
    """Only the pools that `storage.objects` names give their disks; others stay empty.

    Wrong:
        disks: [{use: objects, ...}]   # in pool cpu
        # and
        objects: {pool: nas}
    Right:
        disks: [{use: objects, ...}]   # in pool nas
    """
    objects = cluster.storage.objects
    pools = objects.pools if objects else ()
    why = f"storage.objects is on pool {' and '.join(pools)}" if objects else "there is no storage.objects"
    fix = "remove them, use them otherwise, or name the pool in `expansions`" if objects else "add storage.objects"
    # A pool that is not there has a finding of its own.
    known = all(pool in cluster.pools for pool in pools)
    for at, _ in idle_disks(cluster, "objects", pools) if known else ():
        message, also = f"nobody uses disks for objects: {why}", POOL if objects else None
        yield Finding(at=at, also=also, message=message, fix=fix)


@warning("GEN-OBJ-010", "MinIO's nodes in several racks")
def racks(cluster: Cluster) -> Iterator[Finding]:
    """Half of a server pool's nodes may be lost, and no more: with four of them, a rack with three takes the data with
    it.

    Wrong:
        # nas-1 to nas-3 in rack r11, nas-4 in rack r12
    Right:
        # nas-1 and nas-2 in rack r11, nas-3 and nas-4 in rack r12
    """
    others = {machine.rack for machine in cluster.machines if machine.rack}
    for _, pool in server_pools(cluster):
        machines = cluster.in_pools(pool)
        most = max(2, len(machines) // 2)
        for rack, count in Counter(machine.rack for machine in machines if machine.rack).items():
            if count > most and len(others) > 1:
                last = [machine for machine in machines if machine.rack == rack][-1]
                message = f"{count} of the {len(machines)} nodes of MinIO's pool {pool} are in rack {rack}"
                yield Finding(at=("nodes", last.index, "rack"), message=message, fix=f"{most} at most in one rack")


@rule("GEN-OBJ-011", "quotas that the drives can hold")
def quotas_fit(cluster: Cluster) -> Iterator[Finding]:
    """Half of the drives is parity. When quotas promise more than the other half, drives are full before any quota
    is reached, and all buckets stop taking writes.

    Wrong:
        buckets: [{name: a, quota: 500T}, {name: b, quota: 500T}]
        # and 768T in all
    Right:
        buckets: [{name: a, quota: 500T}, {name: b, quota: 200T}]
    """
    usable, total = objects_usable(cluster).value, 0
    quotas = {(*at, "quota"): bucket.quota.value for at, bucket in buckets(cluster) if bucket.quota}
    for at, quota in quotas.items():
        before, total = total, total + quota
        if usable and before <= usable < total:
            promised = sum(quotas.values())
            message = f"quotas add up to {human(promised)}, and MinIO holds {human(usable)}"
            yield Finding(at=at, also=POOL, message=message, fix=f"take {human(promised - usable)} off")
