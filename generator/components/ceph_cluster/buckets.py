"""Buckets in Ceph's object stores, who may read them, and the stores' certificates."""

import json
from collections.abc import Iterator

from generator.components.ceph_cluster.daemons import rook_object
from generator.components.ceph_cluster.names import bucket_class
from generator.components.ceph_cluster.pools import rgw_secret, rgw_service
from generator.components.component import Ignore, Manifest, Secret, protect
from generator.components.issuers import DECADE, for_server
from generator.components.rook_ceph import BUCKETS, NAMESPACE
from generator.model.cluster import Cluster
from generator.model.restore_room import restore_room
from generator.model.storage import Ceph, CephObjectStore
from generator.model.teams import Team, TeamBucket

KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
"""What the Secret of a claim holds (lib-bucket-provisioner, `AccessKeys.ToMap`)."""
BOUND = Ignore(group=BUCKETS, kind="ObjectBucketClaim", pointers=("/spec/objectBucketName",))
"""The provisioner writes the bucket that it found or made into the claim."""


def bucket_claims(cluster: Cluster, ceph: Ceph) -> Iterator[Manifest]:
    """Yield a claim for each bucket of the platform's, named like it."""
    for store in ceph.object_stores:
        for bucket in store.buckets:
            yield claim(cluster, store, bucket, {"name": bucket, "namespace": NAMESPACE}, {})


def team_claims(cluster: Cluster, team: Team) -> Iterator[Manifest]:
    """Yield a claim for each bucket of a team, in its namespace, where the keys of a claim appear. The quota is that of
    the claim's own user, who has this bucket alone.
    """
    stores = {store.name: store for store in cluster.storage.ceph.object_stores} if cluster.storage.ceph else {}
    for bucket in team.buckets:
        limits = {"maxSize": str(bucket.size)} | ({"maxObjects": str(bucket.objects)} if bucket.objects else {})
        metadata = {"name": team_secret(bucket.name), "namespace": team.name}
        if bucket.store in stores:
            yield claim(cluster, stores[bucket.store], bucket.name, metadata, limits)


def team_secret(bucket: str) -> str:
    """Return the name of the Secret with a team's keys for a bucket of Ceph. Its claim has that name, and the ConfigMap
    that says where the bucket is: Rook would write over a Secret of the team's that is named as the bucket.
    """
    return f"ceph-bucket-{bucket}"


def team_of(cluster: Cluster, bucket: str) -> Team | None:
    """Return the team whose a bucket of Ceph is, None where it is the platform's."""
    return next((team for team in cluster.teams if bucket in {one.name for one in team.buckets}), None)


def owner_secret(cluster: Cluster, bucket: str) -> str:
    """Return the name of the Secret with the keys of a bucket's owner. It is in the namespace of its claim."""
    return team_secret(bucket) if team_of(cluster, bucket) else bucket


def team_keys(team: Team, bucket: TeamBucket) -> Secret:
    """Declare the keys that Rook makes for a team's bucket."""
    return Secret(
        name=team_secret(bucket.name),
        namespace=team.name,
        keys=KEYS,
        source="in-cluster",
        loss="outage",
        rotate="`radosgw-admin key create`, then `key rm` of the former one, for the user that `radosgw-admin bucket "
        "stats` names as its owner; then restart Rook's operator, which writes the Secret anew: "
        '"Keys of buckets of teams" in docs/operations.md',
        readers=("pods of the team",),
        by="ceph-cluster",
    )


def claim(
    cluster: Cluster, store: CephObjectStore, bucket: str, metadata: Manifest, limits: dict[str, str]
) -> Manifest:
    """Return the claim of a bucket. Rook answers with a Secret and a ConfigMap of the claim's name: the owner's keys,
    and where the bucket is.
    """
    backed_up = {(backup.source.store, backup.source.bucket) for backup in cluster.backups}
    policy = {"bucketPolicy": _policy(store, bucket)} if (store.name, bucket) in backed_up else {}
    spec: Manifest = {"bucketName": bucket, "storageClassName": bucket_class(store)}
    if more := limits | policy:
        spec["additionalConfig"] = more
    return protect(
        {
            "apiVersion": f"{BUCKETS}/v1alpha1",
            "kind": "ObjectBucketClaim",
            "metadata": metadata,
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
        names = [service, f"{service}.{cluster.kubernetes.dns_domain}"]
        # The gateways read it once, at their start (rook 14069): it must outlive them.
        yield for_server({"name": rgw_secret(store), "namespace": NAMESPACE}, rgw_secret(store), names, **DECADE)
