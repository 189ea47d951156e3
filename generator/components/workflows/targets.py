"""Where backups go: a bucket of the cluster's MinIO, or of an S3 service elsewhere; what pods are told of it."""

from typing import TypeAlias

from msgspec import Struct

from generator.components.common import proxy_variables
from generator.components.minio.layout import URL
from generator.components.minio.user_keys import user_secret
from generator.model.backup import AnyBackup, VolumeBackup
from generator.model.cluster import Cluster
from generator.model.storage import Elsewhere, ObjectUser

REGION = "region"
PROXY = {"https-proxy": "HTTPS_PROXY", "no-proxy": "NO_PROXY"}
WAY = {REGION: "MC_REGION"} | PROXY
"""The parameters of workflows that say how pods come to a service elsewhere, and the variables that programs know them
by.
"""
AUTHORITIES = "elsewhere-ca"
"""The ConfigMap with the certificates that services elsewhere are trusted by; pods start without it, too."""

AnyItem: TypeAlias = AnyBackup | VolumeBackup


class Target(Struct, frozen=True, kw_only=True):
    """Where a backup goes: its address, and the Secrets with keys that may write there and read there. `place` is what
    a service elsewhere is called, and `ways` how pods come to it, by parameter; `share` is how many bytes a second
    one backup may bring. An NFS export (`filed`) has no address and no keys.
    """

    url: str
    writes: str
    reads: str
    place: str = ""
    ways: dict[str, str] = {}
    share: int | None = None
    filed: bool = False

    @property
    def speed(self) -> dict[str, str]:
        """What tells pods how fast they may be, where something bounds them."""
        return {"bandwidth": str(self.share)} if self.share else {}

    def told(self, url: str, **more: str) -> dict[str, str]:
        """Return what a schedule tells its pods where they go elsewhere, the address by the parameter `url`; nothing
        for MinIO, which templates know.
        """
        return {url: self.url, **self.ways, **more} if self.place else {}


def target(cluster: Cluster, item: AnyBackup) -> Target | None:
    """Return where a backup goes; None where nobody may write there, or it is not there, which rules report."""
    place = elsewhere(cluster, item)
    if place and place.nfs:
        return Target(url="", writes="", reads="", place=place.name, filed=True)
    if place:
        secret = given_secret(item)
        to, share = ways(cluster, place), place.copying.share
        return Target(url=place.url or "", writes=secret, reads=secret, place=place.name, ways=to, share=share)
    user, objects = writer(cluster, item), cluster.storage.objects
    if not user or not objects:
        return None
    reads = reader(cluster, item) or user
    share = objects.copying.share
    return Target(url=URL, writes=user_secret(user.name), reads=user_secret(reads.name), share=share)


def reached(cluster: Cluster, item: AnyItem) -> bool:
    """Tell whether there is a service that a backup goes to."""
    return bool(elsewhere(cluster, item) or (item.target.at is None and cluster.storage.objects))


def elsewhere(cluster: Cluster, item: AnyItem) -> Elsewhere | None:
    """Return the service outside the cluster that a backup goes to; None where it goes to MinIO."""
    return next((one for one in cluster.storage.elsewhere if one.name == item.target.at), None)


def writer(cluster: Cluster, item: AnyBackup) -> ObjectUser | None:
    """Return the MinIO user that writes this backup: the first who may write and not delete in its bucket; None
    where the file has none, which a rule reports.
    """
    return _user(cluster, item, "backup")


def reader(cluster: Cluster, item: AnyBackup) -> ObjectUser | None:
    """Return the MinIO user that a backup is brought back with: the first who may only read its bucket; else the
    writer, who may read it as well.
    """
    return _user(cluster, item, "read") or writer(cluster, item)


def _user(cluster: Cluster, item: AnyBackup, access: str) -> ObjectUser | None:
    users = cluster.storage.objects.users if cluster.storage.objects else ()
    return next((user for user in users if user.access == access and item.target.in_minio in user.buckets), None)


def ways(cluster: Cluster, place: Elsewhere) -> dict[str, str]:
    """Return how pods come to a service elsewhere, by parameter."""
    proxy = proxy_variables(cluster)
    through = {parameter: proxy[name] for parameter, name in PROXY.items() if proxy}
    return through | ({REGION: place.region} if place.region else {})


def given_secret(item: AnyItem) -> str:
    """Return the name of the Secret with the keys of a backup's bucket elsewhere."""
    return f"backup-target-{item.name}"


def authority(place: Elsewhere) -> str:
    """Return the key of that ConfigMap with who signed the certificate of a service."""
    return f"{place.name}.crt"
