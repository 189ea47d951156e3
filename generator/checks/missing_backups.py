"""Rules about what nothing backs up."""

from collections.abc import Iterator

from msgspec import Struct

from generator.checks.places import entries
from generator.checks.tiers import CEPH, ELSEWHERE, OBJECTS, buckets, object_stores, team_buckets, users
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Path
from generator.model.rule import warning

_ANY = "{bucket: ..., at: ...}"


class _Holder(Struct, frozen=True):
    """What could hold snapshots and dumps: its name, where the file has it, and what a backup says to go there."""

    name: str
    at: Path
    target: str


def _holder(cluster: Cluster) -> _Holder | None:
    if cluster.storage.objects:
        return _Holder("MinIO", OBJECTS, "{bucket: ...}")
    for at, one in entries(cluster.storage.elsewhere, *ELSEWHERE):
        return _Holder(one.name, at, f"{{bucket: ..., at: {one.name}}}")
    return None


def _would_miss(cluster: Cluster) -> Path | None:
    """Return what holds data that people would miss: tiers of a cluster that wakes somebody when it stops, and
    encrypted disks, of which nobody reads anything by hand. What is tried out alerts nobody.
    """
    storage, monitoring = cluster.storage, cluster.monitoring
    told = any(one.alerts for one in (monitoring.zabbix, monitoring.prometheus) if one)
    if storage.ceph and (told or storage.ceph.encryption.rest):
        return CEPH
    return OBJECTS if storage.objects and told else None


@warning("GEN-BKP-020", "snapshots of etcd")
def etcd_backed_up(cluster: Cluster) -> Iterator[Finding]:
    """Etcd holds every object of the cluster. Who loses the majority of its members without a snapshot begins anew, and
    finds no volume again by its claim; Ceph's identity is a Secret there as well. Said where a bucket could hold
    snapshots and `site.escrow` names who may decrypt them; and of clusters with Ceph or MinIO that tell somebody of
    alerts, or encrypt Ceph's disks.

    Wrong:
        site: {escrow: {recipients: [age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p]}}
        # and
        etcd: {quota: 8Gi}
    Right:
        etcd: {quota: 8Gi, backup: {to: {bucket: etcd-backup}}}
    """
    if cluster.kubernetes.etcd.backup:
        return
    holder, named = _holder(cluster), bool(cluster.site.escrow.recipients)
    backup = f"`etcd: {{backup: {{to: {holder.target if holder else _ANY}}}}}` to `kubernetes`"
    if holder and named:
        message = f"nothing takes snapshots of etcd, and {holder.name} could hold them"
        fix = f"add {backup}, with a bucket of its own"
        yield Finding(at=("kubernetes",), also=holder.at, message=message, fix=fix)
    elif kept := _would_miss(cluster):
        message = "nothing takes snapshots of etcd: who loses it finds no volume again by its claim"
        before = [("`escrow` to `site`", named), ("a service to `storage.elsewhere`", holder)]
        fix = f"add {', '.join(words for words, there in before if not there)} and {backup}"
        yield Finding(at=("kubernetes",), also=kept, message=message, fix=fix)


@warning("GEN-BKP-047", "buckets that something backs up")
def buckets_backed_up(cluster: Cluster) -> Iterator[Finding]:
    """Copies within one storage protect from disks that fail, not from who deletes, from an error of the storage, or
    from a site that is lost. Said of clusters that tell somebody of alerts or encrypt Ceph's disks, for each bucket
    that is in no backup and takes none; what can be had again elsewhere gets a waiver that says so. Which volumes teams
    have is not in the file: `volumeBackups` are theirs to ask for.

    Wrong:
        objectStores: [{name: store, buckets: [models], ...}]
    Right:
        objectStores: [{name: store, buckets: [models], ...}]
        # and
        backups: [{name: models, from: {store: store, bucket: models}, to: {bucket: models, at: offsite}, ...}]
    """
    saved = {(one.source.store, one.source.bucket) for one in cluster.backups}
    if not _would_miss(cluster):
        return
    for at, store, name in _buckets(cluster):
        if (store, name) not in saved:
            message = f"nothing backs up bucket {name}" + (f" of store {store}" if store else " of MinIO")
            fix = "an entry of `backups`, to a service elsewhere or to MinIO; or a waiver that says why it may be lost"
            yield Finding(at=at, message=message, fix=fix if store else fix.replace(" or to MinIO", ""))


def _buckets(cluster: Cluster) -> Iterator[tuple[Path, str | None, str]]:
    """Yield the buckets that people fill, with store and name: MinIO's have no store."""
    for at, store in object_stores(cluster):
        yield from ((place, store.name, name) for place, name in entries(store.buckets, *at, "buckets"))
    yield from (((*at, "name"), one.store, one.name) for at, one in team_buckets(cluster))
    logs = cluster.monitoring.logs
    filled = {one.target.in_minio for one in (*cluster.all_backups, *cluster.volume_backups)}
    filled.update(name for _, user in users(cluster) if user.access == "backup" for name in user.buckets)
    for at, bucket in buckets(cluster):
        if bucket.name not in filled and not (logs and bucket.name == logs.bucket):
            yield (*at, "name"), None, bucket.name


@warning("GEN-BKP-030", "dumps of Zabbix's database")
def zabbix_backed_up(cluster: Cluster) -> Iterator[Finding]:
    """Zabbix's database holds what was measured, who was told, and what people set by hand: gen brings back hosts and
    templates alone. Said where a bucket could hold dumps.

    Wrong:
        zabbix: {storage: 100Gi}
    Right:
        zabbix: {storage: 100Gi, backup: {to: {bucket: zabbix-backup}}}
    """
    zabbix = cluster.monitoring.zabbix
    if zabbix and not zabbix.backup and (holder := _holder(cluster)):
        message = f"nothing dumps Zabbix's database, and {holder.name} could hold dumps"
        fix = f"add `backup: {{to: {holder.target}}}`, with a bucket of its own"
        yield Finding(at=("monitoring", "zabbix"), also=holder.at, message=message, fix=fix)
