"""Rules about MinIO's nodes, drives and image."""

import re
from collections import Counter
from collections.abc import Iterator

from generator.checks.places import by_place, hardware_path, human, meant
from generator.checks.tiers import OBJECTS, buckets, disks, idle_disks
from generator.model.capacity import objects_usable
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Path, remove
from generator.model.nodes import Machine
from generator.model.rule import rule, warning
from generator.spec.near import suggest

POOL: Path = (*OBJECTS, "pool")
# Nobody may pull from these any more (facts: storage 0).
_GONE = re.compile(r"(docker\.io/|index\.docker\.io/)?minio/|quay\.io/minio/")


def _machines(cluster: Cluster) -> tuple[Machine, ...]:
    return cluster.in_pools(cluster.storage.objects.pool) if cluster.storage.objects else ()


def _drives(machine: Machine) -> int:
    return sum(disk.count for disk in machine.disks_for("objects"))


@rule("GEN-OBJ-001", "MinIO's pool of nodes exists")
def pool_known(cluster: Cluster) -> Iterator[Finding]:
    """MinIO takes the disks with `use: objects` of this pool's nodes.

    Wrong:
        objects: {pool: nass}
    Right:
        objects: {pool: nas}
    """
    objects = cluster.storage.objects
    if objects and objects.pool not in cluster.pools:
        fix = suggest(objects.pool, cluster.pools, f"one of {', '.join(cluster.pools)}")
        edits = meant(POOL, objects.pool, cluster.pools)
        message, cause = f"there is no pool {objects.pool}", f"pool {objects.pool} is not described"
        yield Finding(at=POOL, also=("pools",), message=message, fix=fix, edits=edits, cause=cause)


@rule("GEN-OBJ-002", "MinIO has four nodes")
def four_nodes(cluster: Cluster) -> Iterator[Finding]:
    """With four nodes and half of each erasure set as parity, two lost nodes lose no data and reads go on; writes
    stop until three are there. Three nodes keep data through one loss only. Nodes cannot be added one by one later:
    MinIO grows by whole groups.

    Wrong:
        # three nodes in the pool of storage.objects
    Right:
        # four nodes in the pool of storage.objects
    """
    objects, count = cluster.storage.objects, len(_machines(cluster))
    if objects and objects.pool in cluster.pools and count != 4:
        message = f"MinIO runs on 4 nodes, and pool {objects.pool} has {count}"
        fix = f"{'add' if count < 4 else 'take away'} {abs(4 - count)}, so that two lost nodes lose no data"
        yield Finding(at=POOL, also=("pools", objects.pool), message=message, fix=fix)


@rule("GEN-OBJ-003", "as many drives on each node of MinIO")
def drives_alike(cluster: Cluster) -> Iterator[Finding]:
    """Erasure sets take as many drives of each node: with fewer on one, the others' are not used, and the promise
    for two lost nodes would no longer hold.

    Wrong:
        # nas-1 to nas-3 with 16 drives, nas-4 with 15
    Right:
        # nas-1 to nas-4 with 16 drives
    """
    machines = _machines(cluster)
    usual = next((count for count, _ in Counter(_drives(machine) for machine in machines).most_common(1)), 0)
    for machine in machines:
        if 0 < (count := _drives(machine)) != usual > 0:
            message = f"{machine.name} has {count} drives for MinIO, and other nodes have {usual}"
            at = hardware_path(cluster, machine, "disks")
            yield Finding(at=at, also=POOL, message=message, fix=f"have {usual}")


@warning("GEN-OBJ-004", "MinIO's drives are of one size")
def sizes_alike(cluster: Cluster) -> Iterator[Finding]:
    """MinIO uses as much of each drive as its smallest one has.

    Wrong:
        disks: [{use: objects, size: 24T, ...}, {use: objects, size: 20T, ...}]
    Right:
        disks: [{use: objects, size: 24T, count: 16, ...}]
    """
    pool = cluster.storage.objects.pool if cluster.storage.objects else ""
    drives = [(at, disk) for at, disk, machines in disks(cluster) if disk.use == "objects" and machines[0].pool == pool]
    smallest = min((disk.size for _, disk in drives), default=None)
    for at, disk in drives:
        if smallest and disk.size > smallest:
            message = f"of this drive's {disk.size} MinIO uses {smallest}: its smallest drive has no more"
            yield Finding(at=(*at, "size"), message=message, fix="use drives of one size")


@rule("GEN-OBJ-005", "MinIO's nodes have drives for it")
def drives_present(cluster: Cluster) -> Iterator[Finding]:
    """MinIO is laid out over the drives of its four nodes; with none on one of them there is nothing to lay out.

    Wrong:
        objects: {pool: nas}
        # and no disk with `use: objects` in pool nas
    Right:
        disks: [{use: objects, model: ST24000NM000H-3KS103, count: 16, size: 24T, class: hdd}]
    """
    without = [machine for machine in _machines(cluster) if not _drives(machine)]
    for at, (first, *_) in by_place(cluster, without, "disks").items():
        where = at if first.hardware.disks else at[:-1]
        message = f"{first.name} has no disks with `use: objects`"
        yield Finding(at=where, also=POOL, message=message, fix="add them to `disks`")


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
    ceph, objects = cluster.storage.ceph, cluster.storage.objects
    if ceph and objects and objects.pool in ceph.pools:
        also = ("storage", "ceph", "pools", ceph.pools.index(objects.pool))
        message = f"pool {objects.pool} holds both Ceph and MinIO"
        yield Finding(at=POOL, also=also, message=message, fix="give MinIO four nodes of its own")


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
        if not re.search(r"@sha256:[0-9a-f]{64}$", image) and not _GONE.match(image):
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
        if _GONE.match(image):
            message = f"{image} is not to be had: MinIO's own registries are closed"
            fix = f"remove `{at[-1]}`, or name your mirror of a maintained build"
            yield Finding(at=at, message=message, fix=fix, edits=remove(at))


@warning("GEN-OBJ-009", "disks for MinIO are used")
def disks_used(cluster: Cluster) -> Iterator[Finding]:
    """Only the pool that `storage.objects` names gives its disks; others stay empty.

    Wrong:
        disks: [{use: objects, ...}]   # in pool cpu
        # and
        objects: {pool: nas}
    Right:
        disks: [{use: objects, ...}]   # in pool nas
    """
    objects = cluster.storage.objects
    why = f"storage.objects is on pool {objects.pool}" if objects else "there is no storage.objects"
    fix = "remove them, or use them otherwise" if objects else "add storage.objects"
    # A pool that is not there has a finding of its own.
    known = not objects or objects.pool in cluster.pools
    for at, _ in idle_disks(cluster, "objects", (objects.pool,) if objects else ()) if known else ():
        message, also = f"nobody uses disks for objects: {why}", POOL if objects else None
        yield Finding(at=at, also=also, message=message, fix=fix)


@warning("GEN-OBJ-010", "MinIO's nodes in several racks")
def racks(cluster: Cluster) -> Iterator[Finding]:
    """Two nodes may be lost, not three: a rack with three of four takes the data with it.

    Wrong:
        # nas-1 to nas-3 in rack r11, nas-4 in rack r12
    Right:
        # nas-1 and nas-2 in rack r11, nas-3 and nas-4 in rack r12
    """
    machines = [machine for machine in _machines(cluster) if machine.rack]
    others = {machine.rack for machine in cluster.machines if machine.rack}
    for rack, count in Counter(machine.rack for machine in machines).items():
        if count > 2 and len(others) > 1:
            last = [machine for machine in machines if machine.rack == rack][-1]
            message = f"{count} of MinIO's {len(_machines(cluster))} nodes are in rack {rack}"
            yield Finding(at=("nodes", last.index, "rack"), message=message, fix="two at most in one rack")


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
