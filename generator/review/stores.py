"""The storage tiers of a cluster: what they hold, and what is promised of it."""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from generator.checks.tiers import ceph_pools
from generator.model.capacity import ceph_raw, ceph_usable, objects_usable
from generator.model.cluster import Cluster
from generator.model.plural import plural
from generator.model.storage import CephPool


class Room(Struct, frozen=True, kw_only=True):
    """What a Ceph pool or a bucket can hold if it has its disks to itself, and its quota, in bytes; 0 where there is no
    quota. `kept` says how: `3 replicas`. `taken` is what the quota takes of the room that there is for all.
    """

    name: str
    kept: str
    usable: int
    quota: int
    taken: int


class Store(Struct, frozen=True, kw_only=True):
    """A storage tier, of Ceph one class of disks: its raw bytes, and `fillable` ones: of Ceph raw ones with the largest
    host or rack lost, of the others what users can store. `about` says what the difference is for.
    """

    name: str
    about: str
    raw: int
    fillable: int
    rooms: tuple[Room, ...] = ()


def stores(cluster: Cluster) -> list[Store]:
    """Return the storage tiers of a cluster."""
    return [*_ceph(cluster), *_objects(cluster), *_scratch(cluster)]


def store_data(one: Store) -> dict[str, Any]:
    """Return a tier as plain data."""
    rooms = [
        {"name": room.name, "kept": room.kept, "usable": room.usable, "quota": room.quota or None} for room in one.rooms
    ]
    return {"name": one.name, "about": one.about, "raw": one.raw, "fillable": one.fillable, "rooms": rooms}


def _ceph(cluster: Cluster) -> Iterable[Store]:
    """Yield each class of disks. Quotas of erasure-coded pools take less of it than those of replicated ones."""
    classes: dict[str, list[tuple[str, CephPool]]] = {}
    for placed in ceph_pools(cluster):
        classes.setdefault(placed.pool.device_class, []).append((placed.name, placed.pool))
    for name, pools in classes.items():
        yield Store(
            name=f"Ceph {name}",
            about="the largest host or rack may be lost, and no disk passes nearfull",
            raw=sum(ceph_raw(machine, name) for machine in cluster.ceph_hosts),
            fillable=min(int(ceph_usable(cluster, pool).value * _copies(pool)) for _, pool in pools),
            rooms=tuple(_room(cluster, title, pool) for title, pool in pools),
        )


def _room(cluster: Cluster, title: str, pool: CephPool) -> Room:
    kept = f"{pool.erasure.data}+{pool.erasure.coding}" if pool.erasure else plural(pool.replicas, "replica")
    quota = pool.quota.value if pool.quota else 0
    usable = ceph_usable(cluster, pool).value
    kept = f"{kept}, one for each {pool.failure_domain}"
    return Room(name=title, kept=kept, usable=usable, quota=quota, taken=int(quota * _copies(pool)))


def _copies(pool: CephPool) -> float:
    """Return how many raw bytes one byte takes."""
    return pool.parts / (pool.erasure.data if pool.erasure else 1)


def _objects(cluster: Cluster) -> Iterable[Store]:
    objects = cluster.storage.objects
    if objects:
        usable = objects_usable(cluster).value
        quotas = [(bucket.name, bucket.quota.value if bucket.quota else 0) for bucket in objects.buckets]
        yield Store(
            name="MinIO",
            about="half of each erasure set is parity",
            raw=_raw(cluster, "objects", objects.pools),
            fillable=usable,
            rooms=tuple(
                Room(name=f"bucket {name}", kept="parity", usable=usable, quota=quota, taken=quota)
                for name, quota in quotas
            ),
        )


def _scratch(cluster: Cluster) -> Iterable[Store]:
    if cluster.storage.scratch:
        raw = _raw(cluster, "scratch", cluster.pools)
        yield Store(name="Scratch", about="on the nodes themselves, kept nowhere else", raw=raw, fillable=raw)


def _raw(cluster: Cluster, use: str, pools: Iterable[str]) -> int:
    disks = (disk for machine in cluster.in_pools(*pools) for disk in machine.disks_for(use))
    return sum(disk.size.value * disk.count for disk in disks)
