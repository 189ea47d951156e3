"""The section `backups` of the cluster file, and what else is backed up where it is declared."""

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from msgspec import Meta, field

from generator.model.base import ONE_LINE, Line, Name, Section
from generator.model.cron import parse
from generator.model.quantity import Quantity
from generator.model.storage import BucketName

ETCD = "etcd"
"""The name of the backup of etcd, beside those of buckets."""
ZABBIX = "zabbix"
"""The name of the backup of Zabbix's database."""
RESTORED = "-restored-"
"""What the name of a bucket that was brought back has after that of its live one."""
PRUNE_DAYS = 7
"""After how many days a backup of a volume frees the room of what is not kept any more, at the earliest."""
DRILL_DAYS = 7
"""How many days after a good drill a control-plane node tries a snapshot of etcd again, as `etcd-drill.sh` has it."""
Cron = Annotated[str, Meta(pattern=ONE_LINE, description="five fields of cron, in UTC, quoted")]


class BackupSource(Section, frozen=True, kw_only=True):
    """A bucket of a Ceph object store, or without `store` one of MinIO, whose backup goes to a service outside."""

    store: Name | None = None
    bucket: BucketName

    @property
    def in_minio(self) -> str | None:
        """The bucket, where it is one of MinIO."""
        return self.bucket if self.store is None else None


class CopyTarget(Section, frozen=True, kw_only=True):
    """A bucket of MinIO (`storage.objects.buckets`), or with `at` one of a service outside (`storage.elsewhere`)."""

    bucket: BucketName
    at: Name | None = None

    @property
    def in_minio(self) -> str | None:
        """The bucket, where it is one of MinIO."""
        return self.bucket if self.at is None else None


class WholeDrill(Section, frozen=True, kw_only=True):
    """A backup tried on a schedule (UTC): all of the newest is brought back, apart from what runs, and counted."""

    schedule: Cron | None = None
    suspended: bool = False

    def starts(self, schedule: Cron) -> Cron:
        """When a backup is tried that is made on `schedule`: if the file does not say, on Sundays, half a day after its
        first start of a day, and never in a minute in which it starts.
        """
        if self.schedule is not None:
            return self.schedule
        runs = parse(schedule)
        minutes = ((min(runs.minutes) + 30 + later) % 60 for later in range(60))
        minute = next((one for one in minutes if one not in runs.minutes), 0)
        return f"{minute} {(min(runs.hours) + 12) % 24} * * 0"

    def too_old(self, schedule: Cron) -> int:
        """From what age on the newest good one is too old, in seconds: two of the longest intervals."""
        return 2 * parse(self.starts(schedule)).longest_gap


class Drill(WholeDrill, frozen=True, kw_only=True):
    """A backup tried on a schedule (UTC): at most `objects` of it, of a volume files, together at most `bytes` large,
    are brought back and compared with what was backed up. They are the newest one and others drawn by lot.
    """

    objects: Annotated[int, Meta(ge=1, le=10000)] = 32
    bytes: Quantity = field(default_factory=lambda: Quantity.of(10 * 2**30, binary=True))


class Scheduled(Section, frozen=True, kw_only=True):
    """What is made on a schedule (UTC) and tried by drills. Its fields are those of who says what it is made of."""

    if TYPE_CHECKING:
        schedule: Cron
        drill: WholeDrill

    @property
    def gap(self) -> int:
        """The longest interval of the schedule, in seconds."""
        return parse(self.schedule).longest_gap

    @property
    def too_old(self) -> int:
        """From what age on the newest good one is too old, in seconds: two of the schedule's longest intervals."""
        return 2 * self.gap

    @property
    def drill_schedule(self) -> Cron:
        """When the newest one is tried."""
        return self.drill.starts(self.schedule)

    @property
    def drill_too_old(self) -> int:
        """From what age on the newest good drill is too old, in seconds: two of its schedule's longest intervals."""
        return self.drill.too_old(self.schedule)


class Compare(Section, frozen=True, kw_only=True):
    """Have another program than the one that copied compare source and target after each run: names and sizes of all
    objects, and the content of `percent` of a hundred, drawn by lot, which it reads whole on both sides.
    """

    by: Literal["rclone"]
    percent: Annotated[int, Meta(ge=1, le=100)] = 100


class Backup(Scheduled, frozen=True, kw_only=True):
    """Copy a bucket on a schedule (UTC), and check the copy. `size` is how much the source may hold and
    `daily_change` how much of it changes a day: both decide how much room the target needs for `keep_days`. What is
    deleted in the source stays in the target: where changes are `new-keys` it grows until it is full, where they are
    `rewritten` old versions go. A user of its bucket with `access: retention` hides what is gone, and the bucket then
    removes it as it does old versions; it extends locks, too.
    """

    name: Name
    source: BackupSource = field(name="from")
    target: CopyTarget = field(name="to")
    schedule: Cron
    keep_days: Annotated[int, Meta(ge=1, le=3650)] = 30
    size: Quantity
    daily_change: Quantity
    changes: Literal["new-keys", "rewritten"] = "new-keys"
    compare: Compare | None = None
    drill: Drill = field(default_factory=Drill)
    suspended: bool = False


class EtcdBackup(Section, frozen=True, kw_only=True):
    """Snapshots of etcd: each control-plane node takes one every so many hours (UTC), proves it and encrypts it to
    `site.escrow.recipients`; the newest goes to a bucket. A snapshot holds every Secret of the cluster.
    """

    target: CopyTarget = field(name="to")
    every_hours: Literal[1, 2, 3, 4, 6, 8, 12, 24] = 6
    keep_days: Annotated[int, Meta(ge=1, le=3650)] = 14
    suspended: bool = False

    @property
    def name(self) -> str:
        """What it is called among backups."""
        return ETCD

    @property
    def schedule(self) -> Cron:
        """When the newest snapshot is uploaded: half an hour after the nodes take theirs."""
        hours = "*" if self.every_hours == 1 else "0" if self.every_hours == 24 else f"*/{self.every_hours}"
        return f"40 {hours} * * *"

    @property
    def too_old(self) -> int:
        """From what age on the newest good copy is too old, in seconds: two intervals."""
        return 2 * 3600 * self.every_hours

    @property
    def drill_too_old(self) -> int:
        """From what age on the newest good drill of a node is too old, in seconds."""
        return 2 * 86400 * DRILL_DAYS


class ZabbixBackup(Scheduled, frozen=True, kw_only=True):
    """Dumps of Zabbix's database to a bucket, on a schedule (UTC), each read back and counted. A dump holds
    the tokens that Zabbix has, in plain. Without `history` hosts, alerts and settings are dumped, and no values. The
    newest is tried by `drill`.
    """

    target: CopyTarget = field(name="to")
    schedule: Cron = "30 16 * * *"
    keep_days: Annotated[int, Meta(ge=1, le=3650)] = 14
    history: bool = True
    drill: WholeDrill = field(default_factory=WholeDrill)
    suspended: bool = False

    @property
    def name(self) -> str:
        """What it is called among backups."""
        return ZABBIX


class VolumeSource(Section, frozen=True, kw_only=True):
    """A volume: the claim `claim` in the namespace of a `team`, and the storage class that the claim names."""

    team: Name
    claim: Name
    storage_class: Name


class VolumeBackup(Scheduled, frozen=True, kw_only=True):
    """Back up the files of a volume of a team on a schedule (UTC), from a snapshot, encrypted and only what changed.
    `size` is how much the volume may hold and `daily_change` how much of it changes a day. What is backed up is read
    as `user` (its uid and gid), or as root where `privileged` says so: only then owners are kept that differ. A new
    text in `unlock` removes once what a run left locked that was killed. `drill` tries the backup.
    """

    name: Name
    source: VolumeSource = field(name="from")
    target: CopyTarget = field(name="to")
    schedule: Cron
    keep_days: Annotated[int, Meta(ge=1, le=3650)] = 30
    size: Quantity
    daily_change: Quantity
    user: Annotated[int, Meta(ge=1, le=2**31 - 2)] | None = None
    privileged: bool = False
    unlock: Line | None = None
    drill: Drill = field(default_factory=Drill)
    suspended: bool = False

    @property
    def prefix(self) -> str:
        """Where its repository is in the bucket: nothing else may be there."""
        return f"{self.source.team}/{self.name}"

    @property
    def kept_changes(self) -> int:
        """For how many days changes take room in the repository: those that are kept, and until room is freed."""
        return self.keep_days + PRUNE_DAYS

    def room(self, longer: int = 0) -> int:
        """How many bytes it needs at most where it goes to, which keeps what was deleted for so many days longer."""
        return self.size.value + (self.kept_changes + longer) * self.daily_change.value


Tried: TypeAlias = Backup | VolumeBackup | ZabbixBackup
"""Whatever is tried by drills."""
AnyBackup: TypeAlias = Backup | EtcdBackup | ZabbixBackup
"""Whatever is brought to a bucket on a schedule."""
