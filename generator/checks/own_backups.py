"""Rules about backups of etcd and of Zabbix's database: where they go, who can read them."""

from collections.abc import Iterator

from msgspec import Struct

from generator.checks.places import entries
from generator.checks.tiers import OBJECTS, buckets, kept_for, missing_bucket, users
from generator.model.backup import EtcdBackup, ZabbixBackup
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Path, in_words, put
from generator.model.retention import old_days
from generator.model.rule import rule, warning
from generator.model.storage import Bucket

_ETCD: Path = ("kubernetes", "etcd", "backup")
_ZABBIX: Path = ("monitoring", "zabbix", "backup")


class Own(Struct, frozen=True):
    """A backup with a bucket of its own: what messages call its copies, where it stands, and how many bytes a copy has
    at most.
    """

    copies: str
    at: Path
    backup: EtcdBackup | ZabbixBackup
    most: int

    @property
    def bucket_at(self) -> Path:
        """Where it names its bucket."""
        return (*self.at, "to", "bucket")


def own(cluster: Cluster) -> Iterator[Own]:
    """Yield the backups of etcd and of Zabbix's database."""
    etcd, zabbix = cluster.kubernetes.etcd, cluster.monitoring.zabbix
    if etcd.backup:
        yield Own("snapshots of etcd", _ETCD, etcd.backup, etcd.quota.value)
    if zabbix and zabbix.backup:
        yield Own("dumps of Zabbix's database", _ZABBIX, zabbix.backup, zabbix.storage.value)


def _targets(cluster: Cluster) -> Iterator[tuple[Own, Path, Bucket]]:
    """Yield those that go to a bucket that exists, with its place."""
    known = {bucket.name: (at, bucket) for at, bucket in buckets(cluster)}
    for one in own(cluster):
        if one.backup.target.in_minio in known:
            yield (one, *known[one.backup.target.in_minio])


@rule("GEN-BKP-021", "snapshots and dumps go to a bucket that exists")
def bucket_known(cluster: Cluster) -> Iterator[Finding]:
    """Without `at`, snapshots of etcd and dumps of Zabbix's database go to a bucket of MinIO, whose lock, quota and old
    versions are set before the first one.

    Wrong:
        backup: {to: {bucket: etcd}}
    Right:
        backup: {to: {bucket: etcd-backup}}
    """
    for one in own(cluster):
        yield from missing_bucket(cluster, one.bucket_at, one.backup.target, f"{one.copies} go")


@rule("GEN-BKP-022", "somebody may write the snapshots and dumps")
def writer_exists(cluster: Cluster) -> Iterator[Finding]:
    """Snapshots of etcd and dumps of Zabbix's database are written by a user of MinIO who may write and not delete:
    without one none is brought there.

    Wrong:
        users: []
        # and
        backup: {to: {bucket: etcd-backup}}
    Right:
        users: [{name: etcd-writer, buckets: [etcd-backup], access: backup}]
    """
    for one, _, bucket in _targets(cluster):
        if not any(bucket.name in user.buckets for _, user in users(cluster) if user.access == "backup"):
            message = f"{one.copies}: no user has the right `backup` on bucket {bucket.name}"
            writer = {"name": f"{one.backup.name}-writer", "buckets": [bucket.name], "access": "backup"}
            names = [user.name for _, user in users(cluster)]
            able = names and writer["name"] not in names
            edits = put((*OBJECTS, "users", len(names)), writer) if able else ()
            fix = "add a user with `access: backup` for this bucket alone"
            yield Finding(at=one.bucket_at, message=message, fix=fix, edits=edits)


@rule("GEN-BKP-023", "snapshots of etcd that somebody can decrypt")
def etcd_recipients(cluster: Cluster) -> Iterator[Finding]:
    """A snapshot holds every Secret, in plain or with the key beside it: it leaves its node encrypted, to keys of age
    whose private halves are outside the cluster.

    Wrong:
        etcd: {backup: {to: {bucket: etcd-backup}}}
    Right:
        site: {escrow: {recipients: [age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p]}}
        # and
        etcd: {backup: {to: {bucket: etcd-backup}}}
    """
    if cluster.kubernetes.etcd.backup and not cluster.site.escrow.recipients:
        message = "snapshots of etcd are encrypted, and `site.escrow` names nobody who could decrypt them"
        fix = "name keys of age in `site.escrow.recipients`, as `age-keygen` prints them"
        yield Finding(at=_ETCD, message=message, fix=fix)


@rule("GEN-BKP-024", "snapshots and dumps are kept as long as asked")
def kept_long_enough(cluster: Cluster) -> Iterator[Finding]:
    """Each snapshot of etcd and each dump of Zabbix's database is a new version of one object, and the bucket removes
    old versions by its own rule.

    Wrong:
        - {name: etcd-backup, expireVersions: 7}
        # and
        backup: {to: {bucket: etcd-backup}, keepDays: 14}
    Right:
        - {name: etcd-backup, expireVersions: 14}
    """
    for one, also, bucket in _targets(cluster):
        if (days := old_days(bucket)) < one.backup.keep_days:
            keeps = f"keeps old versions {days} days" if days else "keeps no old versions"
            message = f"{one.copies} are kept {one.backup.keep_days} days, and bucket {bucket.name} {keeps}"
            edits = kept_for(also, bucket, one.backup.keep_days, locked=not days)
            fix = f"{in_words(edits)} in the bucket"
            yield Finding(at=(*one.at, "keepDays"), also=also, message=message, fix=fix, edits=edits)


@rule("GEN-BKP-025", "a name and a bucket of their own")
def apart(cluster: Cluster) -> Iterator[Finding]:
    """The backups of etcd and of Zabbix's database go by the names `etcd` and `zabbix`, in alerts and in `gen status`;
    and what is compared with a source holds nothing else.

    Wrong:
        backups: [{name: etcd, ...}]
        # and
        etcd: {backup: {to: {bucket: etcd-backup}}}
    Right:
        backups: [{name: etcd-of-the-lab, ...}]
    """
    found = list(own(cluster))
    for one in found:
        yield from _taken(cluster, one)
    if found[1:] and found[0].backup.target == found[1].backup.target:
        message = f"{found[0].copies} go to this bucket, too: who may read one may read both"
        yield Finding(at=found[1].bucket_at, also=found[0].bucket_at, message=message, fix="a bucket for each")


def _taken(cluster: Cluster, one: Own) -> Iterator[Finding]:
    """Yield backups of buckets that go by its name, or to its bucket."""
    for at, other in entries(cluster.backups, "backups"):
        if other.name == one.backup.name:
            message = f"the backup of {one.copies.partition(' of ')[2]} itself has this name"
            yield Finding(at=(*at, "name"), also=one.at, message=message, fix="another name")
        if other.target == one.backup.target:
            message = f"{one.copies} go to this bucket, too: backup {other.name} compares all of it with its source"
            yield Finding(at=(*at, "to", "bucket"), also=one.bucket_at, message=message, fix="a bucket for each")


@warning("GEN-BKP-029", "snapshots and dumps in nobody else's hands")
def held_apart(cluster: Cluster) -> Iterator[Finding]:
    """A snapshot of etcd holds every Secret, encrypted to keys that may leak one day; a dump of Zabbix's database holds
    its tokens in plain. Who writes them needs no other bucket, and who reads other buckets needs none of them: a user
    for them alone, whose keys are of no use elsewhere. Keys of a team's user are in its namespace.

    Wrong:
        users: [{name: backup-writer, buckets: [datasets-backup, etcd-backup], access: backup}]
    Right:
        users:
          - {name: backup-writer, buckets: [datasets-backup], access: backup}
          - {name: etcd-writer, buckets: [etcd-backup], access: backup}
    """
    for one, _, bucket in _targets(cluster):
        for at, user in users(cluster):
            for place, name in entries(user.buckets, *at, "buckets"):
                if name == bucket.name and (user.team or {*user.buckets} != {name}):
                    others = f"team {user.team}" if user.team else "other buckets"
                    message = f"the user {user.name} of {others} may reach {one.copies} in bucket {name}"
                    fix = f"take it out here; a user for {name} alone, with `access: backup`, writes them"
                    yield Finding(at=place, also=one.bucket_at, message=message, fix=fix)
