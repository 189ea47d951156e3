"""The stores that speak S3, tried with a bucket and keys of their own: what this needs, what they should reach."""

from collections.abc import Iterator

from msgspec import Struct

from generator.components.acceptance.names import GET, JOBS, OBJECTS, PUT, TEST, labels
from generator.components.ceph_cluster.buckets import KEYS as CLAIMED
from generator.components.ceph_cluster.buckets import claim
from generator.components.ceph_cluster.pools import rgw_url
from generator.components.component import Manifest, Secret
from generator.components.issuers import signed, trusting
from generator.components.minio import DEFINITION as MINIO
from generator.components.minio import trial
from generator.components.minio.layout import URL
from generator.components.tenants.network import object_storage
from generator.model.cluster import Cluster
from generator.model.once import once

CA = "acceptance-ca"
"""A certificate that opens nothing: its Secret brings the CA into the namespace of the jobs."""
READER = "pods of the test `objects`"

# MB/s that a drive writes in sequence, whatever its make.
DRIVE = {"hdd": 100, "ssd": 400, "nvme": 1000}
OF_DRIVES = 0.1
"""Of what all drives of a store write together, less what copies and parity take: what comes to less is broken. How
fast a store could be, its own past tells."""
LINK = 120
"""MB/s of one client, at most asked for: somewhat more than a link has that has fallen to 1 Gbit/s."""


class Store(Struct, frozen=True, kw_only=True):
    """A store: where its bucket is, the Secret of its keys with their names, which component makes it, and the MB/s of
    its drives.
    """

    name: str
    place: str
    secret: str
    keys: tuple[str, str]
    maker: str
    drives: float


@once
def stores(cluster: Cluster) -> tuple[Store, ...]:
    """Return the stores of a cluster."""
    return tuple(_stores(cluster))


def _stores(cluster: Cluster) -> Iterator[Store]:
    if cluster.storage.objects and MINIO.wanted(cluster):
        yield Store(
            name="minio",
            place=f"{URL}/{trial.NAME}",
            secret=trial.SECRET,
            keys=trial.KEYS,
            maker="minio",
            # Half of every erasure set is parity.
            drives=_drives(cluster, cluster.storage.objects.pools, "objects", None) / 2,
        )
    ceph = cluster.storage.ceph
    for store in ceph.object_stores if ceph else ():
        assert ceph
        drives = _drives(cluster, ceph.pools, "ceph", store.data.device_class)
        yield Store(
            name=f"ceph-{store.name}",
            place=f"{rgw_url(ceph, store)}/{trial.NAME}",
            secret=_claim_name(store.name),
            keys=CLAIMED,
            maker="ceph-cluster",
            drives=store.data.held_by(drives),
        )


def _drives(cluster: Cluster, pools: tuple[str, ...], use: str, kind: str | None) -> int:
    found = [disk for machine in cluster.in_pools(*pools) for disk in machine.disks_for(use)]
    return sum(DRIVE[disk.class_] * disk.count for disk in found if kind in (None, disk.class_))


def least(cluster: Cluster, clients: int) -> dict[str, dict[str, float]]:
    """Return by store the MB/s that each of so many clients must reach, of those that are there at once."""
    reached = {one.name: min(LINK, round(OF_DRIVES * one.drives / max(1, clients), 1)) for one in stores(cluster)}
    return {name: {PUT: value, GET: value} for name, value in reached.items()}


def _claim_name(store: str) -> str:
    return f"acceptance-{store}"


def secrets(cluster: Cluster) -> Iterator[Secret]:
    """Yield what the pods read: of MinIO a copy of its user's keys, of Ceph those that Rook makes for a claim."""
    found = stores(cluster)
    if found:
        yield signed(CA, JOBS, READER)
    for one in found:
        if one.maker == "minio":
            yield trial.copied_keys(JOBS, READER)
        else:
            yield Secret(
                name=one.secret,
                namespace=JOBS,
                keys=one.keys,
                source="in-cluster",
                loss="harmless",
                rotate="`radosgw-admin key create`, then `key rm` of the former one, for the user that `radosgw-admin "
                "bucket stats` names as its owner; then restart Rook's operator, which writes the Secret anew: "
                '"Keys of buckets of teams" in docs/operations.md',
                readers=(READER,),
                by=one.maker,
            )


def belongings(cluster: Cluster) -> Iterator[Manifest]:
    """Yield what the test needs: the CA, the buckets of Ceph, and the way to the stores for its pods alone."""
    if not stores(cluster):
        return
    yield trusting(CA, JOBS, labels())
    ceph = cluster.storage.ceph
    for store in ceph.object_stores if ceph else ():
        metadata = {"name": _claim_name(store.name), "namespace": JOBS, "labels": labels()}
        yield claim(cluster, store, trial.NAME, metadata, {"maxSize": str(trial.bucket().quota)})
    yield {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "acceptance-stores", "namespace": JOBS, "labels": labels()},
        "spec": {
            "podSelector": {"matchLabels": {TEST: OBJECTS}},
            "policyTypes": ["Egress"],
            "egress": object_storage(cluster),
        },
    }


def volume(cluster: Cluster) -> Manifest:
    """Return the volume of all keys, in a folder for each store, and of the CA."""
    folders = [{"secret": {"name": one.secret, "items": _files(one.keys, one.name)}} for one in stores(cluster)]
    ca = {"secret": {"name": CA, "items": [{"key": "ca.crt", "path": "ca.crt"}]}}
    return {"name": "keys", "projected": {"sources": [ca, *folders]}}


def _files(keys: tuple[str, str], folder: str) -> list[Manifest]:
    return [{"key": key, "path": f"{folder}/{file}"} for key, file in zip(keys, ("access", "secret"), strict=True)]
