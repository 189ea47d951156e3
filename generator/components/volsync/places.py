"""Where backups of volumes go: to MinIO, or to an S3 service elsewhere; whose keys they have, and whom they trust."""

from msgspec import Struct

from generator.components.common import proxy_variables
from generator.components.component import Manifest, Patch, Secret
from generator.components.minio.layout import NAMESPACE as MINIO
from generator.components.minio.layout import URL
from generator.components.minio.volume_keys import KEYS, PASSWORD, secret_name
from generator.components.volsync.names import AUTHORITIES, CA, NAMESPACE, repository
from generator.components.workflows.targets import authority, elsewhere, given_secret
from generator.model.backup import VolumeBackup
from generator.model.cluster import Cluster

REGION = "AWS_DEFAULT_REGION"
"""What restic takes for the region of a service."""
REPOSITORY = "RESTIC_REPOSITORY"


class Authority(Struct, frozen=True, kw_only=True):
    """Where a team's namespace says who signed a service's certificate: in a Secret, or in a `public` ConfigMap."""

    name: str
    key: str
    public: bool


def trusted(cluster: Cluster, backup: VolumeBackup) -> Authority | None:
    """Return whom a mover trusts, and nobody else; None for those that any system trusts."""
    place = elsewhere(cluster, backup)
    if place is None:
        return Authority(name=CA, key="ca.crt", public=False)
    if place.ca or cluster.site.ca:
        return Authority(name=AUTHORITIES, key=authority(place), public=True)
    return None


def known(cluster: Cluster, backup: VolumeBackup) -> dict[str, str]:
    """Return what of a repository's Secret is none: where it is."""
    place = elsewhere(cluster, backup)
    where = f"s3:{place.url if place else URL}/{backup.target.bucket}/{backup.prefix}"
    return {REPOSITORY: where} | ({REGION: place.region} if place and place.region else {})


def origin(backup: VolumeBackup) -> str:
    """Return the Secret that decides keys and password, as `namespace/name`: no team reads it."""
    return f"{NAMESPACE}/{given_secret(backup)}" if backup.target.at else f"{MINIO}/{secret_name(backup)}"


def given(backup: VolumeBackup) -> Secret:
    """Declare the keys that a service elsewhere gives for a backup, and the password of its repository."""
    return Secret(
        name=given_secret(backup),
        namespace=NAMESPACE,
        keys=(*KEYS, PASSWORD),
        source="generated",
        asked=KEYS,
        loss="data",
        rotate=f"keys: have {backup.target.at} make new ones, replace them here and in the copies, run the backup "
        f"once, then have the former ones taken back. Never {PASSWORD}: without it no backup of the volume can be "
        "read; for a new one see operations.md",
        readers=("movers and drills of volume backups, by copies",),
    )


def copied(cluster: Cluster, backup: VolumeBackup, namespace: str, reader: str) -> Secret:
    """Declare the keys and the password of a repository where they are read, and where it is."""
    where = known(cluster, backup)
    return Secret(
        name=repository(backup),
        namespace=namespace,
        keys=(*KEYS, PASSWORD, *where),
        source="generated",
        asked=KEYS if backup.target.at else (),
        loss="outage",
        rotate=f"with {origin(backup)}",
        readers=(reader,),
        copy_of=origin(backup),
        known=where,
    )


def proxied(cluster: Cluster) -> tuple[Patch, ...]:
    """Return the patch that tells VolSync of the site's proxy, where backups go elsewhere: it tells its movers
    (v0.16.0: `AppendEnvVarsForClusterWideProxy`), and its chart has no value for it.
    """
    proxy = proxy_variables(cluster)
    if not proxy or not any(elsewhere(cluster, one) for one in cluster.volume_backups):
        return ()
    # The chart leaves the namespace out, which Kustomize puts in only later.
    target = {"group": "apps", "version": "v1", "kind": "Deployment", "name": "volsync"}
    place = "/spec/template/spec/containers/0/env/-"
    said: list[Manifest] = [
        {"op": "add", "path": place, "value": {"name": name, "value": value}} for name, value in proxy.items()
    ]
    return (Patch(target=target, operations=tuple(said)),)
