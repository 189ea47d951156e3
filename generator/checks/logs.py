"""Rules about logs: that they go somewhere, that they fit there, that somebody sees them."""

from collections.abc import Iterator

from generator.checks.places import entries, human, meant, unknown
from generator.checks.tiers import block_classes, buckets, default_classes, object_stores, users
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Path, in_words, put, remove
from generator.model.log_room import EACH, MOST, daily, kept, lokis
from generator.model.monitoring import Logs, http_port
from generator.model.rule import rule, warning
from generator.model.storage import Bucket
from generator.spec.near import suggest

LOGS: Path = ("monitoring", "logs")


def _kept_here(cluster: Cluster) -> Logs | None:
    """Return the settings where logs are kept in the cluster."""
    logs = cluster.monitoring.logs
    return logs if logs and not logs.to else None


def _in_minio(cluster: Cluster) -> tuple[Logs, Path, Bucket] | None:
    """Return the bucket of MinIO's that logs go to, and its place; None where they go elsewhere, or it is not there."""
    logs = _kept_here(cluster)
    if logs is None or logs.store:
        return None
    return next(((logs, at, bucket) for at, bucket in buckets(cluster) if bucket.name == logs.bucket), None)


@rule("GEN-MON-010", "logs go to a store that exists")
def store_known(cluster: Cluster) -> Iterator[Finding]:
    """Logs are kept in a bucket of one of Ceph's object stores, of MinIO where none is named, or sent to a log server
    of the site.

    Wrong:
        logs: {store: dataset}
    Right:
        logs: {store: datasets}
    """
    logs = _kept_here(cluster)
    if logs is None:
        return
    known = [store.name for _, store in object_stores(cluster)]
    if logs.store and logs.store not in known:
        message = f"logs go to the object store {logs.store}, which is not there"
        add = "add it to storage.ceph.objectStores, or send logs `to` a log server of the site"
        yield unknown((*LOGS, "store"), logs.store, known, message, add)
    elif not logs.store and not cluster.storage.objects:
        fix = f"store: {known[0]}" if known else "to: {url: https://<the site's log server>/loki/api/v1/push}"
        edits = put((*LOGS, "store"), known[0]) if known else ()
        message = "logs are kept nowhere: there is no MinIO, and no object store of Ceph's is named"
        yield Finding(at=LOGS, key=True, message=message, fix=fix, edits=edits)


@rule("GEN-MON-011", "Loki may write to its bucket of MinIO")
def bucket_usable(cluster: Cluster) -> Iterator[Finding]:
    """Loki writes logs, reads them and deletes what is too old: the bucket must be there, without a lock, and a user
    must have the right `write` on it.

    Wrong:
        buckets: [{name: logs, lock: {days: 30}}]
    Right:
        buckets: [{name: logs, versioning: false, quota: 2T}]
        users: [{name: loki, buckets: [logs], access: write}]
    """
    logs, found = _kept_here(cluster), _in_minio(cluster)
    if logs and not logs.store and cluster.storage.objects and not found:
        names, place = [bucket.name for _, bucket in buckets(cluster)], (*LOGS, "bucket")
        message = f"logs go to the bucket {logs.bucket} of MinIO, which is not there"
        fix, edits = suggest(logs.bucket, names, "add it to storage.objects.buckets"), meant(place, logs.bucket, names)
        yield Finding(at=place if logs.bucket != "logs" else LOGS, key=True, message=message, fix=fix, edits=edits)
    if found:
        logs, at, bucket = found
        if bucket.lock:
            message = f"bucket {bucket.name} has a lock: Loki deletes nothing in it, and it fills"
            yield Finding(at=(*at, "lock"), also=LOGS, message=message, fix="another bucket for logs, without a lock")
        if not any(bucket.name in user.buckets for _, user in users(cluster) if user.access == "write"):
            message = f"nobody may write logs: no user has the right `write` on bucket {bucket.name}"
            yield Finding(
                at=at, also=LOGS, message=message, fix="add a user with `access: write` for this bucket alone"
            )


@warning("GEN-MON-012", "logs have no place among the backups")
def beside_backups(cluster: Cluster) -> Iterator[Finding]:
    """MinIO holds what brings back the rest. Where Ceph has an object store, logs belong there: they are many, written
    all day, and nobody's last copy.

    Wrong:
        logs: {bucket: logs}
        # and
        objectStores: [{name: datasets}]
    Right:
        logs: {store: datasets}
    """
    logs, stores = _kept_here(cluster), object_stores(cluster)
    if logs and not logs.store and stores and cluster.storage.objects:
        at, store = stores[0]
        message = "logs are kept in MinIO among the backups, and Ceph has an object store"
        yield Finding(at=LOGS, key=True, also=at, message=message, edits=put((*LOGS, "store"), store.name))


@rule("GEN-MON-013", "room for the logs in their bucket")
def room(cluster: Cluster) -> Iterator[Finding]:
    """All that nodes write for as long as it is kept, compressed to a fifth, up to three times because each of three
    Lokis writes its own copy. A bucket that is full takes nothing: logs are lost from the next day on. A bucket of
    MinIO's that keeps versions holds what Loki deleted for as long again as `expireVersions` says.

    Wrong:
        logs: {store: datasets, size: 100Gi, keepDays: 90}
    Right:
        logs: {store: datasets, size: 2Ti, keepDays: 90}
    """
    logs, found = _kept_here(cluster), _in_minio(cluster)
    if logs is None or not (logs.store or found):
        return
    versions = found[2].expire_versions if found and found[2].versioning else 0
    needed = kept(cluster, logs) * (logs.keep_days + versions) // logs.keep_days
    at, quota = ((*found[1], "quota"), found[2].quota) if found else ((*LOGS, "size"), logs.size)
    if quota and needed > quota.value:
        each = f"{len(cluster.machines)} nodes with {logs.daily_per_node.human()} a day each"
        message = f"logs of {logs.keep_days} days need {human(needed)} ({each}), and their bucket takes {quota.human()}"
        edits = put(at, f"{-(-needed * 5 // 4 // 10**9)}G")
        fix = f"{in_words(edits)}, fewer keepDays, or the dailyPerNode that was measured"
        key = at == (*LOGS, "size")
        yield Finding(at=LOGS if key else at, key=key, message=message, fix=fix, edits=edits)


@warning("GEN-MON-014", "logs leave room for the rest of their store")
def room_in_store(cluster: Cluster) -> Iterator[Finding]:
    """What the bucket of the logs may hold is taken from its object store's pool: at the pool's quota datasets are not
    written either.

    Wrong:
        data: {name: data, deviceClass: hdd, quota: 10Ti}
        # and
        logs: {store: datasets, size: 20Ti}
    Right:
        logs: {store: datasets, size: 2Ti}
    """
    logs = _kept_here(cluster)
    for at, store in object_stores(cluster) if logs else ():
        quota = store.data.quota
        if logs and store.name == logs.store and quota and logs.size.value > quota.value // 2:
            message = f"logs may take {logs.size.human()}, more than half of object store {store.name}: its pool takes "
            fix = "less `size`, or more `quota` for the pool"
            where = (*at, "data", "quota")
            yield Finding(at=LOGS, key=True, also=where, message=message + quota.human(), fix=fix)


@rule("GEN-MON-015", "a bucket for logs alone")
def bucket_alone(cluster: Cluster) -> Iterator[Finding]:
    """The bucket of the logs is made with its own user, whose room is that of the logs. One that is claimed for
    datasets as well would have two owners.

    Wrong:
        objectStores: [{name: datasets, buckets: [logs]}]
        # and
        logs: {store: datasets}
    Right:
        objectStores: [{name: datasets, buckets: []}]
    """
    logs = _kept_here(cluster)
    for at, store in object_stores(cluster) if logs and logs.store else ():
        for place, name in entries(store.buckets, *at, "buckets"):
            if logs and store.name == logs.store and name == logs.bucket:
                message, edits = f"bucket {name} is that of the logs already", remove(place)
                yield Finding(at=place, also=LOGS, message=message, edits=edits)


@rule("GEN-MON-016", "Loki has volumes")
def volume(cluster: Cluster) -> Iterator[Finding]:
    """What is not in the bucket yet lies on Loki's own volumes. A claim without a class waits for the default one;
    without that Loki never starts.

    Wrong:
        logs: {bucket: logs}
        # and no default storage class
    Right:
        logs: {bucket: logs, storageClass: rbd-nvme}
    """
    logs = _kept_here(cluster)
    if logs and not logs.storage_class and not default_classes(cluster):
        known = block_classes(cluster)
        edits = put((*LOGS, "storageClass"), known[0]) if known else ()
        fix = in_words(edits) if edits else "storageClass, of a pool of Ceph's, storage.scratch or your own"
        message = "Loki's volumes have no storage class, and the cluster has no default one"
        yield Finding(at=LOGS, key=True, message=message, fix=fix, edits=edits)


@warning("GEN-MON-017", "somebody sees the logs")
def seen(cluster: Cluster) -> Iterator[Finding]:
    """Logs that are kept in the cluster are read in Grafana, which comes with Prometheus. Without it nobody is let in.

    Wrong:
        monitoring: {zabbix: {}, logs: {store: datasets}}
    Right:
        monitoring: {zabbix: {}, prometheus: {}, logs: {store: datasets}}
    """
    if _kept_here(cluster) and not cluster.monitoring.prometheus:
        message = "logs are kept, and there is no Grafana to read them with"
        fix = "add `prometheus: {}` to monitoring, or send logs `to` a log server of the site"
        yield Finding(at=LOGS, key=True, message=message, fix=fix)


@rule("GEN-MON-018", "the site's log server has an address of HTTP")
def server_address(cluster: Cluster) -> Iterator[Finding]:
    """Logs are sent by HTTP, to a port that is one: only that port is opened for it.

    Wrong:
        logs: {to: {url: "ssh://logs.example.org"}}
    Right:
        logs: {to: {url: "https://logs.example.org/loki/api/v1/push"}}
    """
    logs = cluster.monitoring.logs
    if logs and logs.to and not http_port(logs.to.url):
        message = f"{logs.to.url} takes no logs: it is no address of HTTP"
        yield Finding(at=(*LOGS, "to", "url"), message=message, fix="https://<its host>/loki/api/v1/push")


@warning("GEN-MON-019", "no more logs than Loki takes in this form")
def too_many(cluster: Cluster) -> Iterator[Finding]:
    """One program for everything is Loki's form for some hundred gigabytes a day. What is more wants each of its parts
    by itself, which is a log service with people of its own.

    Wrong:
        logs: {store: datasets, dailyPerNode: 100Gi}
    Right:
        logs: {to: {url: "https://logs.example.org/loki/api/v1/push"}}
    """
    logs = _kept_here(cluster)
    if logs and lokis(cluster, logs) > MOST:
        most = MOST * EACH // 3
        message = f"nodes write {human(daily(cluster, logs))} of logs a day: Loki in this form takes {human(most)}"
        yield Finding(at=LOGS, key=True, message=message, fix="send logs `to` a log server of the site, or write fewer")


@rule("GEN-MON-020", "logs go to one place")
def one_place(cluster: Cluster) -> Iterator[Finding]:
    """Where logs are sent to the site's server, nothing keeps them here: a store that is named would stay empty.

    Wrong:
        logs: {store: datasets, to: {url: "https://logs.example.org/loki/api/v1/push"}}
    Right:
        logs: {store: datasets}
    """
    logs = cluster.monitoring.logs
    if logs and logs.to and logs.store:
        message = f"logs are sent to {logs.to.url}, and object store {logs.store} is named for them"
        at = (*LOGS, "store")
        yield Finding(at=at, also=(*LOGS, "to"), message=message, edits=remove(at))
