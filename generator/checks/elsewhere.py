"""Rules about services outside the cluster that backups go to."""

from collections.abc import Iterator

from generator.checks.backup_room import YEAR
from generator.checks.own_backups import own
from generator.checks.places import entries, given_twice, human, unknown
from generator.checks.tiers import ELSEWHERE, OBJECTS
from generator.model.backup import AnyBackup, Backup, VolumeBackup
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Path
from generator.model.retention import kept_room
from generator.model.rule import rule, warning
from generator.model.storage import Elsewhere


def places(cluster: Cluster) -> list[tuple[Path, Elsewhere]]:
    """Return the services outside the cluster, each with its place."""
    return entries(cluster.storage.elsewhere, *ELSEWHERE)


def _all(cluster: Cluster) -> Iterator[tuple[Path, AnyBackup | VolumeBackup]]:
    """Yield all backups that may go there, each with its place."""
    yield from entries(cluster.backups, "backups")
    yield from _volumes(cluster)
    yield from ((one.at, one.backup) for one in own(cluster))


def going(cluster: Cluster, place: str | None) -> list[tuple[Path, Backup]]:
    """Return the backups of buckets that go to a service, or to MinIO, each with its place."""
    return [(at, one) for at, one in entries(cluster.backups, "backups") if one.target.at == place]


def _coming(cluster: Cluster, place: Elsewhere) -> list[tuple[Path, Backup | VolumeBackup]]:
    """Return the backups of buckets and volumes that go to a service, each with its place."""
    return [*going(cluster, place.name), *(each for each in _volumes(cluster) if each[1].target.at == place.name)]


def _volumes(cluster: Cluster) -> list[tuple[Path, VolumeBackup]]:
    return entries(cluster.volume_backups, "volumeBackups")


@rule("GEN-BKP-050", "services elsewhere are given once")
def places_unique(cluster: Cluster) -> Iterator[Finding]:
    """A backup names its service; of two with one name, nobody knows which. Of one service under two names two backups
    could go to the same bucket, and write over each other.

    Wrong:
        elsewhere: [{name: offsite, url: https://s3.a.example.org}, {name: offsite, url: https://s3.b.example.org}]
    Right:
        elsewhere: [{name: offsite-a, url: https://s3.a.example.org}, {name: offsite-b, url: https://s3.b.example.org}]
    """
    names = ((one.name, (*at, "name")) for at, one in places(cluster))
    yield from given_twice(names, "two services elsewhere are named {}", "rename or remove one")
    known = [(at, one) for at, one in places(cluster) if one.address]
    where = ((one.address.removesuffix(":443"), (*at, "nfs" if one.nfs else "url")) for at, one in known)
    yield from given_twice(where, "two services elsewhere are {}", "one entry for both, which backups name")


@rule("GEN-BKP-051", "backups go to services that exist")
def place_known(cluster: Cluster) -> Iterator[Finding]:
    """With `at` a backup goes to a service outside the cluster, which `storage.elsewhere` describes: its address, and
    whom it is trusted by.

    Wrong:
        to: {bucket: datasets-backup, at: offsit}
    Right:
        to: {bucket: datasets-backup, at: offsite}
    """
    known = [one.name for _, one in places(cluster)]
    for at, one in _all(cluster):
        name = one.target.at
        if name is not None and name not in known:
            message = f"backup {one.name} goes to {name}, which is not in storage.elsewhere"
            otherwise = "add it to storage.elsewhere, with its address"
            yield unknown((*at, "to", "at"), name, known, message, otherwise)


@rule("GEN-BKP-052", "elsewhere is not here")
def place_outside(cluster: Cluster) -> Iterator[Finding]:
    """The cluster's own MinIO is lost with the cluster, under whatever name: a backup goes there by its bucket alone,
    and then its lock and its room are looked at.

    Wrong:
        objects: {host: s3.lab.example.org, ...}
        elsewhere: [{name: offsite, url: https://s3.lab.example.org}]
    Right:
        objects: {host: s3.lab.example.org, ...}
        elsewhere: [{name: offsite, url: https://s3.other.example.org}]
    """
    objects = cluster.storage.objects
    for at, one in places(cluster):
        host = (one.url or "").removeprefix("https://").partition(":")[0]
        inside = host.endswith((".svc", f".svc.{cluster.kubernetes.dns_domain}"))
        if inside or (objects and objects.host == host):
            message = f"{one.name} is {host}, which is in this cluster"
            yield Finding(at=(*at, "url"), also=OBJECTS if objects else None, message=message, fix="leave out `at`")


@warning("GEN-BKP-053", "somebody knows the room elsewhere")
def room_said(cluster: Cluster) -> Iterator[Finding]:
    """Nobody here sees how full a service outside the cluster is. Where the file says how much it takes of this
    cluster, that is held against what backups need; where not, the first that tells is a backup that fails.

    Wrong:
        elsewhere: [{name: offsite, url: https://s3.example.org}]
    Right:
        elsewhere: [{name: offsite, url: https://s3.example.org, room: 400T}]
    """
    for at, one in places(cluster):
        if one.room is None and (found := _coming(cluster, one)):
            message = f"how much {one.name} takes is unknown, and backups need {human(_needed(found))} there"
            fix = "ask who runs it, and say it in `room`"
            yield Finding(at=(*at, "name"), also=found[0][0], message=message, fix=fix)


def _needed(found: list[tuple[Path, Backup | VolumeBackup]]) -> int:
    return sum(kept_room(one, one.keep_days) if isinstance(one, Backup) else one.room() for _, one in found)


@rule("GEN-BKP-054", "room elsewhere for all copies")
def room_enough(cluster: Cluster) -> Iterator[Finding]:
    """A copy of all that is backed up there, and each day's changes for as long as they are kept, of volumes for a week
    more. Where the service is full no backup works any more.

    Wrong:
        elsewhere: [{name: offsite, url: https://s3.example.org, room: 100T}]
        # and, to it
        size: 90T
        dailyChange: 1T
        keepDays: 30
    Right:
        elsewhere: [{name: offsite, url: https://s3.example.org, room: 120T}]
    """
    for at, one in places(cluster):
        found = _coming(cluster, one)
        if one.room is not None and (needed := _needed(found)) > one.room.value:
            message = f"backups need {human(needed)} there, and {one.name} takes {one.room.human()}"
            fix = "more room, or fewer days"
            yield Finding(at=(*at, "room"), also=found[-1][0], message=message, fix=fix)


@warning("GEN-BKP-055", "copies elsewhere of what was deleted have room for a year")
def new_keys_fit(cluster: Cluster) -> Iterator[Finding]:
    """A backup never deletes, so that what is written under new keys makes its copy grow by as much each day, until
    the service takes no more. By NFS it does: there what is gone ends with its days.

    Wrong:
        elsewhere: [{name: offsite, url: https://s3.example.org, room: 200T}]
        # and, to it
        size: 100T
        dailyChange: 1T
    Right:
        elsewhere: [{name: offsite, url: https://s3.example.org, room: 500T}]
    """
    for at, one in places(cluster):
        found = [] if one.nfs else _coming(cluster, one)
        growing = [(path, each) for path, each in found if isinstance(each, Backup) and each.changes == "new-keys"]
        change = sum(each.daily_change.value for _, each in growing)
        volumes = sum(each.room() for _, each in found if isinstance(each, VolumeBackup))
        copies = sum(each.size.value for _, each in found if isinstance(each, Backup))
        left = one.room.value - copies - volumes if one.room else 0
        if change and 0 <= (days := left // change) < YEAR and one.room:
            message = f"{human(change)} of new keys a day fill {one.name} ({one.room.human()}) in {days} days"
            fix = "where jobs write over their own keys say `changes: rewritten`; else more room"
            yield Finding(at=(*at, "room"), also=growing[0][0], message=f"{message}: no copy is ever deleted", fix=fix)


@warning("GEN-BKP-056", "backups of volumes know who signed elsewhere")
def authority_said(cluster: Cluster) -> Iterator[Finding]:
    """Restic trusts who is named to it, and then nobody else; other backups trust `site.ca`, and what any system trusts
    as well. A service that a public authority signed is refused where a site has one of its own, until `ca` says who.

    Wrong:
        site: {ca: ...}
        # and, for a backup of a volume
        elsewhere: [{name: offsite, url: https://s3.example.org}]
    Right:
        elsewhere: [{name: offsite, url: https://s3.example.org, ca: ...}]
    """
    for at, one in places(cluster):
        found = [path for path, backup in _volumes(cluster) if backup.target.at == one.name]
        if found and one.url and one.ca is None and cluster.site.ca:
            message = f"backups of volumes trust only what site.ca signed, and nothing says that it signed {one.name}"
            fix = "say `ca`: the same certificate where that is so, else that of who signed it"
            yield Finding(at=(*at, "name"), also=found[0], message=message, fix=fix)
