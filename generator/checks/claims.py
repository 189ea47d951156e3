"""Rules about what teams may claim of Ceph's classes: the sum must be there."""

from collections.abc import Iterator

from generator.checks.places import entries, human, meant
from generator.checks.tiers import storage_classes, volume_classes
from generator.model.capacity import ceph_usable
from generator.model.cluster import Cluster
from generator.model.finding import Finding
from generator.model.rule import rule, warning
from generator.model.teams import Team
from generator.spec.near import misnamed, suggest

# Shares are in millionths.
_WHOLE = 10**6


@rule("GEN-CEPH-036", "teams' quotas are of storage classes that exist")
def classes_known(cluster: Cluster) -> Iterator[Finding]:
    """A bound on a class that nobody makes bounds nothing, and the class that was meant has none.

    Wrong:
        teams: [{name: vision, storageClasses: {rbd-nmve: 20Ti}}]
    Right:
        teams: [{name: vision, storageClasses: {rbd-nvme: 20Ti}}]
    """
    known = [name for name, _ in storage_classes(cluster)]
    for at, team in entries(cluster.teams, "teams"):
        for name, free in misnamed(team.storage_classes, known):
            fix = suggest(name, free, f"one of {', '.join(known)}" if known else "add a storage tier")
            message = f"team {team.name} has a quota of storage class {name}, which no tier makes"
            place = (*at, "storageClasses", name)
            edits = meant(place, name, free, key=True)
            yield Finding(at=place, key=True, message=message, fix=fix, edits=edits)


@warning("GEN-CEPH-037", "teams may claim no more than a class of disks holds")
def claims_fit(cluster: Cluster) -> Iterator[Finding]:
    """`storage` bounds all claims of a team together, whatever their class: all teams may then claim everything of the
    fastest one, and when its disks are full all writes stop, those of other pools on them too. `storageClasses` bounds
    each class for itself. What a class holds is what stays with its largest host or rack lost, below the 85 % at which
    Ceph warns.

    Wrong:
        teams: [{name: vision, storage: 200Ti}, {name: language, storage: 200Ti}]
        # and 190Ti of nvme, hdd beside it
    Right:
        teams:
          - {name: vision, storage: 200Ti, storageClasses: {rbd-nvme: 50Ti}}
          - {name: language, storage: 200Ti, storageClasses: {rbd-nvme: 50Ti}}
    """
    for disk, classes in _classes(cluster).items():
        total = 0
        for at, team in entries(cluster.teams, "teams"):
            before, total = total, total + _share(team, classes)
            if before <= _WHOLE < total:
                names, most = " and ".join(sorted(classes)), human(max(classes.values()))
                message = f"with team {team.name}, teams may claim more than the {most} that {disk} holds ({names})"
                fix = f"storageClasses of teams: bounds on {names} that add up to less"
                yield Finding(
                    at=(*at, "storageClasses" if team.storage_classes else "storage"), message=message, fix=fix
                )


def _classes(cluster: Cluster) -> dict[str, dict[str, int]]:
    """Return for each class of disks the storage classes on it, with the bytes each could hold alone."""
    found: dict[str, dict[str, int]] = {}
    for name, pool in volume_classes(cluster):
        if usable := ceph_usable(cluster, pool).value:
            found.setdefault(pool.device_class, {})[name] = usable
    return found


def _share(team: Team, classes: dict[str, int]) -> int:
    """Return how much of a class of disks a team may fill: its claims on the storage class that takes most first. What
    a team has no bound of, neither for all its claims nor for the class, is not counted.
    """
    left = team.storage.value if team.storage else None
    share = 0
    for name, usable in sorted(classes.items(), key=lambda item: item[1]):
        bounds = [bound for bound in (left, _bound(team, name)) if bound is not None]
        taken = min(bounds, default=0)
        share, left = share + taken * _WHOLE // usable, left if left is None else left - taken
    return share


def _bound(team: Team, name: str) -> int | None:
    quota = team.storage_classes.get(name)
    return quota.value if quota else None
