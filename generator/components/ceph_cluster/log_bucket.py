"""The bucket of the cluster's logs, where Ceph keeps them, and the user whose it is."""

from collections.abc import Iterator

from generator.components.ceph_cluster.daemons import rook_object
from generator.components.ceph_cluster.names import READER, bucket_class
from generator.components.component import Manifest, Secret, protect
from generator.components.rook_ceph import NAMESPACE
from generator.model.cluster import Cluster
from generator.model.storage import CephObjectStore

KEYS = "log-store-keys"
"""The Secret with the keys of the bucket; and the user whose they are, by the same name."""


def log_store_of(cluster: Cluster) -> CephObjectStore | None:
    """Return the object store that logs are kept in; None where they go elsewhere, or it is not there."""
    logs, ceph = cluster.monitoring.logs, cluster.storage.ceph
    if logs is None or logs.to or ceph is None:
        return None
    return next((store for store in ceph.object_stores if store.name == logs.store), None)


def log_bucket(cluster: Cluster) -> Iterator[Manifest]:
    """Yield the user and the bucket. Rook would put the keys of a claim beside it, where no other namespace reads them:
    so the user comes first, with keys that are given to it, and owns the bucket (Rook 1.20.6: bucket/rgw-handlers.go,
    getUserCreds). The Secret that Rook makes for such a user holds none. The user's quota is the bucket's room.
    """
    logs, store = cluster.monitoring.logs, log_store_of(cluster)
    if logs is None or store is None:
        return
    keys = {f"{name}Ref": {"name": KEYS, "key": name} for name in ("accessKey", "secretKey")}
    quotas = {"maxBuckets": 1, "maxSize": str(logs.size)}
    spec = {"store": store.name, "displayName": "Logs", "keys": [keys], "quotas": quotas}
    yield rook_object("CephObjectStoreUser", KEYS, spec)
    claim = {
        "bucketName": logs.bucket,
        "storageClassName": bucket_class(store),
        "additionalConfig": {"bucketOwner": KEYS},
    }
    yield protect(
        {
            "apiVersion": "objectbucket.io/v1alpha1",
            "kind": "ObjectBucketClaim",
            "metadata": {"name": f"{READER}-{logs.bucket}", "namespace": NAMESPACE},
            "spec": claim,
        }
    )


def copied_keys_of_logs(cluster: Cluster) -> Iterator[Secret]:
    """Yield the declaration of the keys where Rook reads them."""
    if log_store_of(cluster):
        of = f"{READER}/{KEYS}"
        yield keys_of_logs(NAMESPACE, "rook-ceph-operator", rotate=f"with {of}", copy_of=of)


def keys_of_logs(namespace: str, reader: str, *, rotate: str, copy_of: str | None = None) -> Secret:
    """Declare the keys of the bucket in one of the two namespaces that read them."""
    return Secret(
        name=KEYS,
        namespace=namespace,
        keys=("accessKey", "secretKey"),
        source="generated",
        loss="outage",
        rotate=rotate,
        readers=(reader,),
        copy_of=copy_of,
    )
