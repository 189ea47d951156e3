"""Rules about what teams may claim of Ceph's classes: the sum must be there."""

from collections.abc import Iterator

from generator.checks.places import entries, human, meant
from generator.checks.tiers import storage_classes, volume_classes
from generator.model.capacity import ceph_usable
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Path
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
    Ceph warns. A team without a bound may fill all of a class alone.

    Wrong:
        teams: [{name: vision, storage: 200Ti}, {name: language, storage: 200Ti}]
        # and 190Ti of nvme, hdd beside it
    Right:
        teams:
          - {name: vision, storage: 200Ti, storageClasses: {rbd-nvme: 50Ti}}
          - {name: language, storage: 200Ti, storageClasses: {rbd-nvme: 50Ti}}
    """
    for disk, classes in _classes(cluster).items():
        unbound = [(at, team) for at, team in entries(cluster.teams, "teams") if not _bounded(team, classes)]
        yield from _without_bound(unbound, disk, classes) if unbound else _too_much(cluster, disk, classes)


def _without_bound(unbound: list[tuple[Path, Team]], disk: str, classes: dict[str, int]) -> Iterator[Finding]:
    (at, team), *others = unbound
    teams = f"team {team.name} and {len(others)} more" if others else f"team {team.name}"
    names = " and ".join(sorted(classes))
    message = f"{teams} may fill all of {disk} ({names}): there is no bound on what it claims"
    yield Finding(at=at, message=message, fix=f"storage, or storageClasses with {names}, for each team")


def _too_much(cluster: Cluster, disk: str, classes: dict[str, int]) -> Iterator[Finding]:
    total = 0
    for at, team in entries(cluster.teams, "teams"):
        before, total = total, total + _share(team, classes)
        if before <= _WHOLE < total:
            names, most = " and ".join(sorted(classes)), human(max(classes.values()))
            message = f"with team {team.name}, teams may claim more than the {most} that {disk} holds ({names})"
            fix = f"storageClasses of teams: bounds on {names} that add up to less"
            where = "storageClasses" if team.storage_classes else "storage"
            yield Finding(at=(*at, where), message=message, fix=fix)


def _classes(cluster: Cluster) -> dict[str, dict[str, int]]:
    """Return for each class of disks the storage classes on it, with the bytes each could hold alone."""
    found: dict[str, dict[str, int]] = {}
    for name, pool in volume_classes(cluster):
        if usable := ceph_usable(cluster, pool).value:
            found.setdefault(pool.device_class, {})[name] = usable
    return found


def _share(team: Team, classes: dict[str, int]) -> int:
    """Return how much of a class of disks a team may fill: its claims on the storage class that takes most first.
    Only for teams that are bounded.
    """
    left = team.storage.value if team.storage else None
    share = 0
    for name, usable in sorted(classes.items(), key=lambda item: item[1]):
        bounds = [bound for bound in (left, _bound(team, name)) if bound is not None]
        taken = min(bounds)
        share, left = share + taken * _WHOLE // usable, left if left is None else left - taken
    return share


def _bounded(team: Team, classes: dict[str, int]) -> bool:
    """Tell whether a team has a bound, for all its claims or for each storage class on these disks."""
    return team.storage is not None or all(_bound(team, name) is not None for name in classes)


def _bound(team: Team, name: str) -> int | None:
    quota = team.storage_classes.get(name)
    return quota.value if quota else None
