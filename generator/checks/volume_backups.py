"""Rules about backups of volumes: which claim, where to, as whom."""

from collections.abc import Iterator

from generator.checks.places import entries, given_twice, human, unknown
from generator.checks.tiers import buckets, missing_bucket, snapshot_classes, users
from generator.components.volsync.names import CA, repository
from generator.model.backup import VolumeBackup
from generator.model.cluster import Cluster
from generator.model.cron import parse
from generator.model.finding import Finding, Path, in_words, remove
from generator.model.retention import old_days
from generator.model.rule import rule, warning

LONGEST = 52 - len("drill-")
"""Of a name, for Argo's limit for that of a schedule (`schedules.py`)."""


def _backups(cluster: Cluster) -> list[tuple[Path, VolumeBackup]]:
    return entries(cluster.volume_backups, "volumeBackups")


@rule("GEN-BKP-031", "backups of volumes of teams that exist")
def team_known(cluster: Cluster) -> Iterator[Finding]:
    """A backup of a volume runs in the namespace of the team whose claim it is.

    Wrong:
        from: {team: visoin, claim: home, storageClass: rbd-nvme}
    Right:
        from: {team: vision, claim: home, storageClass: rbd-nvme}
    """
    known = [team.name for team in cluster.teams]
    for at, backup in _backups(cluster):
        if (name := backup.source.team) not in known:
            message = f"backup {backup.name} is of team {name}, which is not there"
            yield unknown((*at, "from", "team"), name, known, message, "name a team of `teams`")


@rule("GEN-BKP-032", "backups of volumes that have snapshots")
def class_known(cluster: Cluster) -> Iterator[Finding]:
    """A volume is backed up from a snapshot, so that jobs go on meanwhile: volumes of Ceph have them, those of scratch
    disks and NFS do not.

    Wrong:
        from: {team: vision, claim: home, storageClass: scratch-nvme}
    Right:
        from: {team: vision, claim: home, storageClass: rbd-nvme}
    """
    known = snapshot_classes(cluster)
    for at, backup in _backups(cluster):
        if (name := backup.source.storage_class) not in known:
            message = f"backup {backup.name}: no volume of storage class {name} has snapshots"
            otherwise = f"one of {', '.join(known)}" if known else "add pools to storage.ceph"
            yield unknown((*at, "from", "storageClass"), name, known, message, otherwise)


@rule("GEN-BKP-033", "backups of volumes go to a bucket that exists and is theirs")
def bucket_known(cluster: Cluster) -> Iterator[Finding]:
    """Volumes are backed up to a bucket of MinIO, or with `at` of a service elsewhere, each below a name of its own. A
    backup of a bucket compares all of its target with its source, and takes backups of volumes there for what should
    not be.

    Wrong:
        to: {bucket: datasets-backup}
    Right:
        to: {bucket: volumes}
    """
    taken = {one.target for one in cluster.all_backups}
    for at, backup in _backups(cluster):
        where = (*at, "to", "bucket")
        missing = list(missing_bucket(cluster, where, backup.target, f"backup {backup.name} goes"))
        yield from missing
        if backup.target in taken and not missing:
            message = (
                f"backup {backup.name} goes to bucket {backup.target.bucket}, which another backup needs for itself"
            )
            yield Finding(at=where, message=message, fix="a bucket for backups of volumes alone")


@rule("GEN-BKP-034", "backups of volumes have names of their own")
def names_unique(cluster: Cluster) -> Iterator[Finding]:
    """A backup's name is that of its user in MinIO and of its repository: two of one name would share the password.
    `gen restore` takes it beside the names of backed-up buckets and of their backups, which it would hide. The Secret
    of one that is named `client` would be that of the certificate which all of a team have. The schedule of its drill
    is named `drill-` and its name, and may have 52 characters.

    Wrong:
        - {name: home, from: {team: vision, ...}, ...}
        - {name: home, from: {team: language, ...}, ...}
    Right:
        - {name: vision-home, from: {team: vision, ...}, ...}
        - {name: language-home, from: {team: language, ...}, ...}
    """
    items = [(backup.name, (*at, "name")) for at, backup in _backups(cluster)]
    yield from given_twice(items, "two backups of volumes are named {}", "rename one")
    backups = entries(cluster.backups, "backups")
    others = {one.source.bucket: (*at, "from", "bucket") for at, one in backups}
    others |= {one.name: (*at, "name") for at, one in backups}
    for at, one in _backups(cluster):
        name, where = one.name, (*at, "name")
        if name in others:
            message = f"`gen restore {name}` would mean the volume, and a bucket as well"
            yield Finding(at=where, also=others[name], message=message, fix=f"rename the backup, as {name}-volume")
        if len(name) > LONGEST:
            message = f"the name has {len(name)} characters, and a backup of a volume may have {LONGEST}"
            yield Finding(at=where, message=message, fix="a shorter one")
        if repository(one) == CA:
            message = f"backup {name} has its Secret under the name of the certificate for MinIO, {CA}"
            yield Finding(at=where, message=message, fix=f"rename the backup, as {name}-volume")


@rule("GEN-BKP-035", "backups of volumes say as whom they read")
def reader_said(cluster: Cluster) -> Iterator[Finding]:
    """What is backed up is read as a user of the container, as the jobs are that write it, or as root, which the team's
    namespace must allow: either is said, never guessed. A file that the user cannot read fails the backup.

    Wrong:
        - {name: home, privileged: true, ...}          # and the team has `security: restricted`
    Right:
        - {name: home, user: 1000, ...}
    """
    security = {team.name: team.security for team in cluster.teams}
    for at, backup in _backups(cluster):
        if backup.privileged and backup.user is not None:
            message = f"backup {backup.name} reads as root and as user {backup.user}"
            fix, edits = "keep one of both", remove((*at, "privileged"))
            yield Finding(at=(*at, "privileged"), also=(*at, "user"), message=message, fix=fix, edits=edits)
        elif not backup.privileged and backup.user is None:
            message = f"backup {backup.name} does not say as whom it reads"
            fix = "say `user`, the uid that the team's jobs write as, or `privileged: true`"
            yield Finding(at=at, message=message, fix=fix)
        elif backup.privileged and security.get(backup.source.team) == "restricted":
            message = f"backup {backup.name} reads as root, which Pod Security refuses in a restricted namespace"
            fix = "say `user`, the uid that the team's jobs write as"
            yield Finding(at=(*at, "privileged"), message=message, fix=fix)


@warning("GEN-BKP-036", "backups of volumes that no key destroys")
def versions_kept(cluster: Cluster) -> Iterator[Finding]:
    """The key that writes a backup may delete, for restic takes out what is not kept any more: and it lies in the
    team's namespace. A bucket with versions keeps what was deleted for `expireVersions` days, where it was made with
    object lock: the log of the Job `minio-setup` names those that were not, of which a key can destroy all versions.
    With a lock not even who holds MinIO's root key shortens the days.

    Wrong:
        - {name: volumes, versioning: false}
    Right:
        - {name: volumes, expireVersions: 14}
    """
    known = {bucket.name: (bucket, at) for at, bucket in buckets(cluster)}
    for at, backup in _backups(cluster):
        bucket, also = known.get(backup.target.in_minio or "", (None, ()))
        if bucket and not old_days(bucket):
            message = f"backup {backup.name}: bucket {bucket.name} keeps no old versions, and a key there may delete"
            edits = remove((*also, "versioning"))
            where = (*at, "to", "bucket")
            yield Finding(at=where, also=also, message=message, fix=f"{in_words(edits)} in the bucket", edits=edits)


@rule("GEN-BKP-037", "backups of volumes have schedules and sizes")
def schedule_valid(cluster: Cluster) -> Iterator[Finding]:
    """Five fields of cron, in UTC: minute, hour, day of the month, month, day of the week. `size` is what the volume
    may hold: the room for its backups is counted with it.

    Wrong:
        schedule: "0 25 * * *"
    Right:
        schedule: "0 2 * * *"
    """
    for at, backup in _backups(cluster):
        try:
            wrong = "there is no such day: it never comes" if parse(backup.schedule).never else ""
        except ValueError as error:
            wrong = str(error)
        if wrong:
            yield Finding(at=(*at, "schedule"), message=wrong, fix='as in "0 17 * * *": each day at 17:00 UTC')
        if not backup.size.value:
            message = f"backup {backup.name} is of nothing: its size is 0"
            yield Finding(at=(*at, "size"), message=message, fix="what the volume may hold, as in 2Ti")


@warning("GEN-BKP-038", "room for the snapshot in the team's storage")
def copy_fits(cluster: Cluster) -> Iterator[Finding]:
    """While a volume is backed up, a second claim of its size stands for its snapshot in the team's namespace, and
    counts in the team's `storage` like any other: where there is no room for it, the backup waits and nothing says so.

    Wrong:
        - {name: vision, storage: 3Ti}
        # and
        size: 2Ti
    Right:
        - {name: vision, storage: 5Ti}
    """
    teams = {team.name: (at, team) for at, team in entries(cluster.teams, "teams")}
    for at, backup in _backups(cluster):
        if backup.source.team in teams:
            also, team = teams[backup.source.team]
            bounds = (team.storage, team.storage_classes.get(backup.source.storage_class))
            least, needed = min((one.value for one in bounds if one), default=None), 2 * backup.size.value
            if least is not None and least < needed:
                what = f"volume and snapshot of backup {backup.name}"
                message = f"{what} take {human(needed)} of the team's {human(least)}"
                yield Finding(at=(*at, "size"), also=also, message=message, fix="more storage for the team")


@warning("GEN-BKP-039", "somebody is told of backups of volumes that fail")
def somebody_told(cluster: Cluster) -> Iterator[Finding]:
    """What VolSync says of its backups is read by Prometheus, or by Zabbix where it is: without both only `gen status`
    tells that one is too old.

    Wrong:
        monitoring: {}
        # and
        volumeBackups: [...]
    Right:
        monitoring: {prometheus: {}}
    """
    monitoring = cluster.monitoring
    if cluster.volume_backups and not (monitoring.zabbix or monitoring.prometheus):
        message = "nobody is told when a volume is not backed up: there is no monitoring.prometheus"
        fix = "look at `gen status` each day, or alert with monitoring.prometheus"
        yield Finding(at=("volumeBackups",), message=message, fix=fix)


MAY = {"read": "read", "write": "read and delete", "backup": "read and write over", "retention": "read and hide"}
"""What each right lets a user of MinIO do to a repository."""


@rule("GEN-BKP-040", "backups of volumes that no other user of MinIO reaches")
def repositories_alone(cluster: Cluster) -> Iterator[Finding]:
    """Each backup of a volume has a user of its own, who reaches its repository and nothing beside it. A right on the
    bucket is one on all repositories in it: who may write deletes them, and who may read needs but the password, which
    is in the team's namespace.

    Wrong:
        users: [{name: serving, buckets: [models, volumes], access: write}]
        # and
        volumeBackups: [{name: home, to: {bucket: volumes}, ...}]
    Right:
        users: [{name: serving, buckets: [models], access: write}]
    """
    taken = {one.target.in_minio for one in cluster.all_backups}  # GEN-BKP-033
    places = {backup.target.in_minio: (*at, "to", "bucket") for at, backup in reversed(_backups(cluster))}
    held = {name: at for name, at in places.items() if name and name not in taken}
    for at, user in users(cluster):
        for where, name in entries(user.buckets, *at, "buckets"):
            if name in held:
                message = f"user {user.name} may {MAY[user.access]} all backups of volumes in bucket {name}"
                fix = "take the bucket from the user, or give backups of volumes a bucket for themselves"
                edits = remove(where) if user.buckets[1:] else ()
                yield Finding(at=where, also=held[name], message=message, fix=fix, edits=edits)
