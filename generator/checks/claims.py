"""Rules about what teams may claim of Ceph, volumes and buckets: the sum must be there."""

from collections.abc import Iterator

from generator.checks.places import entries, human, unknown
from generator.checks.tiers import brings_classes, object_stores, storage_classes, team_buckets, volume_classes
from generator.components.queues.volumes import Claimable, claimable
from generator.model.capacity import ceph_usable
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Path
from generator.model.restore_room import store_holds
from generator.model.rule import rule, warning
from generator.model.teams import Team
from generator.spec.near import misnamed, slip

# Shares are in millionths.
_WHOLE = 10**6


@rule("GEN-CEPH-036", "teams' quotas are of storage classes that exist")
def classes_known(cluster: Cluster) -> Iterator[Finding]:
    """A bound on a class that nobody makes bounds nothing, and the class that was meant has none. One of `extras` whose
    `kinds` have `storage.k8s.io/StorageClass` may make classes of any name: then only a slip of a known one is told,
    as here, and not another name.

    Wrong:
        teams: [{name: vision, storageClasses: {rbd-nmve: 20Ti}}]
    Right:
        teams: [{name: vision, storageClasses: {rbd-nvme: 20Ti}}]
    """
    known, brought = [name for name, _ in storage_classes(cluster)], brings_classes(cluster)
    for at, team in entries(cluster.teams, "teams"):
        for name, free in misnamed(team.storage_classes, known):
            if brought and not slip(name, free):
                continue
            otherwise = f"one of {', '.join(known)}" if known else "add a storage tier"
            message = f"team {team.name} has a quota of storage class {name}, which no tier makes"
            yield unknown((*at, "storageClasses", name), name, free, message, otherwise, key=True)


@warning("GEN-CEPH-037", "teams may claim no more than a class of disks holds")
def claims_fit(cluster: Cluster) -> Iterator[Finding]:
    """`storage` bounds claims of a team whatever their class: all teams may then claim everything of the fastest one,
    and when its disks are full all writes stop, those of other pools on them too. `storageClasses` bounds each class
    for itself. Where a cluster has scratch, classes together may come to more than `storage`, by what a team may have
    of scratch. What a class holds is what stays with its largest host or rack lost, below the 85 % at which
    Ceph warns. A team without a bound may fill all of a class alone.

    Wrong:
        teams: [{name: vision, storage: 200Ti}, {name: language, storage: 200Ti}]
        # and 190Ti of nvme, hdd beside it
    Right:
        teams:
          - {name: vision, storage: 200Ti, storageClasses: {rbd-nvme: 50Ti}}
          - {name: language, storage: 200Ti, storageClasses: {rbd-nvme: 50Ti}}
    """
    bounds = [(at, team, claimable(cluster, team)) for at, team in entries(cluster.teams, "teams")]
    for disk, classes in _classes(cluster).items():
        unbound = [(at, team) for at, team, own in bounds if not _bounded(own, classes)]
        yield from _without_bound(unbound, disk, classes) if unbound else _too_much(bounds, disk, classes)


def _without_bound(unbound: list[tuple[Path, Team]], disk: str, classes: dict[str, int]) -> Iterator[Finding]:
    (at, team), *others = unbound
    teams = f"team {team.name} and {len(others)} more" if others else f"team {team.name}"
    names = " and ".join(sorted(classes))
    message = f"{teams} may fill all of {disk} ({names}): there is no bound on what it claims"
    yield Finding(at=at, message=message, fix=f"storage, or storageClasses with {names}, for each team")


def _too_much(bounds: list[tuple[Path, Team, Claimable]], disk: str, classes: dict[str, int]) -> Iterator[Finding]:
    total = 0
    for at, team, own in bounds:
        before, total = total, total + _share(own, classes)
        if before <= _WHOLE < total:
            names, most = " and ".join(sorted(classes)), human(max(classes.values()))
            message = f"with team {team.name}, teams may claim more than the {most} that {disk} holds ({names})"
            fix = f"storageClasses of teams: bounds on {names} that add up to less"
            where = "storageClasses" if team.storage_classes else "storage"
            yield Finding(at=(*at, where), message=message, fix=fix)


@rule("GEN-CEPH-038", "teams' buckets are in stores that exist")
def stores_known(cluster: Cluster) -> Iterator[Finding]:
    """A bucket of a team is claimed in one of Ceph's object stores: without it nobody makes bucket or keys.

    Wrong:
        teams: [{name: vision, buckets: [{name: vision-data, store: dataset, size: 10Ti}]}]
    Right:
        teams: [{name: vision, buckets: [{name: vision-data, store: datasets, size: 10Ti}]}]
    """
    known = [store.name for _, store in object_stores(cluster)]
    for at, bucket in team_buckets(cluster):
        if bucket.store not in known:
            message = f"bucket {bucket.name} is in object store {bucket.store}, which is not there"
            otherwise = f"one of {', '.join(known)}" if known else "add storage.ceph.objectStores"
            yield unknown((*at, "store"), bucket.store, known, message, otherwise)


@warning("GEN-CEPH-039", "teams' buckets have room in their store together")
def buckets_fit(cluster: Cluster) -> Iterator[Finding]:
    """A bucket takes no more than its `size`. Where all of a store are more than its pool holds, a team that keeps to
    its own finds the store full: then writes stop for everybody.

    Wrong:
        # the pool of the store holds 100T
        teams:
          - {name: vision, buckets: [{name: vision-data, store: datasets, size: 80T}]}
          - {name: language, buckets: [{name: corpus, store: datasets, size: 80T}]}
    Right:
        teams:
          - {name: vision, buckets: [{name: vision-data, store: datasets, size: 50T}]}
          - {name: language, buckets: [{name: corpus, store: datasets, size: 50T}]}
    """
    for place, store in object_stores(cluster):
        promised, holds = 0, store_holds(cluster, store)
        for at, bucket in team_buckets(cluster):
            before = promised
            promised += bucket.size.value if bucket.store == store.name else 0
            if holds and before <= holds < promised:
                message = f"with {bucket.name}, buckets of teams may take more than store {store.name} holds"
                fix = f"sizes of at most {human(holds)} together"
                yield Finding(at=(*at, "size"), also=(*place, "data"), message=f"{message}, {human(holds)}", fix=fix)


def _classes(cluster: Cluster) -> dict[str, dict[str, int]]:
    """Return for each class of disks the storage classes on it, with the bytes each could hold alone."""
    found: dict[str, dict[str, int]] = {}
    for name, pool in volume_classes(cluster):
        if usable := ceph_usable(cluster, pool).value:
            found.setdefault(pool.device_class, {})[name] = usable
    return found


def _share(bounds: Claimable, classes: dict[str, int]) -> int:
    """Return how much of a class of disks a team may fill: its claims on the storage class that takes most first.
    Only for teams that are bounded.
    """
    left = bounds.total.value if bounds.total else None
    share = 0
    for name, usable in sorted(classes.items(), key=lambda item: item[1]):
        own = bounds.classes.get(name)
        taken = min(bound for bound in (left, own.value if own else None) if bound is not None)
        share, left = share + taken * _WHOLE // usable, left if left is None else left - taken
    return share


def _bounded(bounds: Claimable, classes: dict[str, int]) -> bool:
    """Tell whether a team has a bound, for all its claims or for each storage class on these disks."""
    return bounds.total is not None or all(name in bounds.classes for name in classes)
