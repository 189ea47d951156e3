"""Where Loki keeps logs: a bucket in Ceph with a user of its own, or one of MinIO's with a user of the file's."""

from collections.abc import Iterator

from msgspec import Struct

from generator.components.ceph_cluster.log_bucket import KEYS, keys_of_logs, log_store_of
from generator.components.ceph_cluster.pools import rgw_url
from generator.components.component import Manifest, Secret
from generator.components.log_store.names import NAMESPACE
from generator.components.minio.layout import NAMESPACE as MINIO
from generator.components.minio.layout import PORT as MINIO_PORT
from generator.components.minio.layout import URL as MINIO_URL
from generator.components.minio.user_keys import copied_keys, user_secret
from generator.components.parts import in_namespace, tcp
from generator.components.rook_ceph import GATEWAY_PORTS, GATEWAYS
from generator.components.rook_ceph import NAMESPACE as ROOK
from generator.model.cluster import Cluster
from generator.model.monitoring import Logs
from generator.model.storage import ObjectUser


class Place(Struct, frozen=True, kw_only=True):
    """A bucket's store: its address, the Secret with the keys, what makes it, and the rule that lets Loki there."""

    url: str
    secret: str
    maker: str
    opening: Manifest


def minio_user(cluster: Cluster, logs: Logs) -> ObjectUser | None:
    """Return the user of MinIO's with whom Loki writes, reads and deletes: the first who may in its bucket."""
    users = cluster.storage.objects.users if cluster.storage.objects else ()
    return next((one for one in users if one.access == "write" and logs.bucket in one.buckets), None)


def place_of(cluster: Cluster, logs: Logs) -> Place | None:
    """Return where logs are kept; None where the file names nothing that is there, which a rule reports."""
    ceph, store, user = cluster.storage.ceph, log_store_of(cluster), minio_user(cluster, logs)
    if ceph and store:
        gateways = {**in_namespace(ROOK), "podSelector": {"matchLabels": GATEWAYS}}
        opening = {"to": [gateways], "ports": [tcp(port) for port in GATEWAY_PORTS]}
        return Place(url=rgw_url(ceph, store), secret=KEYS, maker="ceph-cluster", opening=opening)
    if user and not logs.store:
        opening = {"to": [in_namespace(MINIO)], "ports": [tcp(MINIO_PORT)]}
        return Place(url=MINIO_URL, secret=user_secret(user.name), maker="minio", opening=opening)
    return None


def keys(cluster: Cluster, logs: Logs) -> Iterator[Secret]:
    """Yield the declarations of the bucket's keys."""
    if log_store_of(cluster):
        yield keys_of_logs(NAMESPACE, "loki", rotate="replace both copies, then restart Loki")
    elif user := minio_user(cluster, logs):
        yield copied_keys(user, NAMESPACE, "loki", "StatefulSet/loki")
