"""Buckets in Ceph's object stores, who may read them, and the stores' certificates."""

import json
from collections.abc import Iterator

from generator.components.ceph_cluster.classes import bucket_class
from generator.components.ceph_cluster.daemons import rook_object
from generator.components.ceph_cluster.pools import rgw_secret, rgw_service
from generator.components.component import Manifest, protect
from generator.components.issuers import ISSUER
from generator.components.rook_ceph import NAMESPACE
from generator.model.cluster import Cluster
from generator.model.restore_room import restore_room
from generator.model.storage import Ceph, CephObjectStore


def bucket_claims(cluster: Cluster, ceph: Ceph) -> Iterator[Manifest]:
    """Yield a claim for each bucket, named like it. Rook answers with a Secret and a ConfigMap of that name: the
    owner's keys, and where the bucket is.
    """
    backed_up = {(backup.source.store, backup.source.bucket) for backup in cluster.backups}
    for store in ceph.object_stores:
        for bucket in store.buckets:
            spec: Manifest = {"bucketName": bucket, "storageClassName": bucket_class(store)}
            if (store.name, bucket) in backed_up:
                spec["additionalConfig"] = {"bucketPolicy": _policy(store, bucket)}
            yield protect(
                {
                    "apiVersion": "objectbucket.io/v1alpha1",
                    "kind": "ObjectBucketClaim",
                    "metadata": {"name": bucket, "namespace": NAMESPACE},
                    "spec": spec,
                }
            )


def backup_reader(store: CephObjectStore) -> str:
    """Return the name of the user that backups read a store with."""
    return f"{store.name}-backup-reader"


def restorer(store: CephObjectStore) -> str:
    """Return the name of the user that makes the buckets into which backups are brought back, and owns them."""
    return f"{store.name}-restore"


def store_secret(store: CephObjectStore, user: str) -> str:
    """Return the name of the Secret that Rook makes for a user of a store: AccessKey, SecretKey and Endpoint."""
    return f"rook-ceph-object-user-{store.name}-{user}"


def backup_users(cluster: Cluster, ceph: Ceph) -> Iterator[Manifest]:
    """Yield the users of each store that is backed up. The reader's mask alone lets it see nothing: buckets belong
    to the users of their claims, so each claim's policy names it as well (facts: storage 2.3). Who restores sees the
    buckets alone that it made, deletes nothing there, and cannot fill Ceph.
    """
    stores = {backup.source.store for backup in cluster.backups}
    for store in ceph.object_stores:
        if store.name in stores:
            spec = {"store": store.name, "displayName": "Backups, read only", "opMask": ["read"]}
            yield rook_object("CephObjectStoreUser", backup_reader(store), spec)
            quotas = {"maxSize": str(restore_room(cluster, store))}
            spec = {"store": store.name, "displayName": "Restored buckets", "opMask": ["read", "write"]}
            yield rook_object("CephObjectStoreUser", restorer(store), spec | {"quotas": quotas})


def _policy(store: CephObjectStore, bucket: str) -> str:
    arn = f"arn:aws:s3:::{bucket}"
    statement = {
        "Sid": "backup-reader",
        "Effect": "Allow",
        "Principal": {"AWS": [f"arn:aws:iam:::user/{backup_reader(store)}"]},
        "Action": ["s3:GetBucketLocation", "s3:GetObject", "s3:GetObjectTagging", "s3:ListBucket"],
        "Resource": [arn, f"{arn}/*"],
    }
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def certificates(cluster: Cluster, ceph: Ceph) -> Iterator[Manifest]:
    """Yield a certificate for each store whose traffic is encrypted."""
    if not ceph.encryption.transit:
        return
    for store in ceph.object_stores:
        service = f"{rgw_service(store)}.{NAMESPACE}.svc"
        yield {
            "apiVersion": "cert-manager.io/v1",
            "kind": "Certificate",
            "metadata": {"name": rgw_secret(store), "namespace": NAMESPACE},
            "spec": {
                "secretName": rgw_secret(store),
                # The gateways read it once, at their start (rook 14069): it must outlive them.
                "duration": "87600h0m0s",
                "renewBefore": "8760h0m0s",
                "dnsNames": [service, f"{service}.{cluster.kubernetes.dns_domain}"],
                "privateKey": {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always"},
                "usages": ["digital signature", "key encipherment", "server auth"],
                "issuerRef": {"group": "cert-manager.io", "kind": "ClusterIssuer", "name": ISSUER},
            },
        }
