"""Tier 3: MinIO on the drives of the NAS nodes, as a plain StatefulSet."""

from generator.components.component import Component, Ignore, Manifest, Namespace, Secret, Tier
from generator.components.minio.access import access
from generator.components.minio.layout import NAMESPACE, Layout, layout_of
from generator.components.minio.server import budget, service_account, stateful_set
from generator.components.minio.settings import settings, setup_script, user_secret
from generator.components.minio.setup import setup_job
from generator.components.minio.volumes import storage_class, volumes
from generator.model.cluster import Cluster
from generator.model.storage import Objects
from generator.model.versions import version_of

__all__ = ["NAMESPACE", "minio"]


def minio(cluster: Cluster) -> Component | None:
    """Install MinIO, or a build of it that speaks the same. With four nodes it reads with two of them lost, and
    writes with one lost; no setting gives writes with two lost (facts: storage 6).
    """
    objects = cluster.storage.objects
    layout = layout_of(cluster)
    if objects is None or layout is None:
        return None
    monitored = cluster.monitoring.prometheus is not None
    return Component(
        name="minio",
        tier=Tier.STORAGE,
        summary="MinIO: object storage that keeps all data with half of its drives lost",
        version=version_of("minio", cluster).version,
        namespaces=(Namespace(NAMESPACE, security="restricted"),),
        base=(service_account(), budget(), storage_class(), setup_script()),
        objects=manifests(cluster, objects, layout),
        needs=("issuers", *(("prometheus-crds",) if monitored else ())),
        secrets=secrets(objects),
        # Binding writes the claim into the volume.
        ignore=(Ignore(group="", kind="PersistentVolume", pointers=("/spec/claimRef",)),),
    )


def manifests(cluster: Cluster, objects: Objects, layout: Layout) -> tuple[Manifest, ...]:
    """Return what depends on this cluster."""
    return (
        *volumes(objects, layout),
        stateful_set(cluster, objects, layout),
        *access(cluster, objects),
        settings(objects),
        setup_job(cluster, objects),
    )


def secrets(objects: Objects) -> tuple[Secret, ...]:
    """Return the Secrets MinIO reads. Keys are letters and digits only: the client's environment takes no escapes."""
    root = Secret(
        name="minio-root",
        namespace=NAMESPACE,
        keys=("rootUser", "rootPassword"),
        source="generated",
        loss="outage",
        rotate="replace it (letters and digits only), then delete MinIO's pods together and sync `minio`",
        readers=("minio", "minio-setup"),
    )
    tls = Secret(
        name="minio-tls",
        namespace=NAMESPACE,
        keys=("ca.crt", "tls.crt", "tls.key"),
        source="in-cluster",
        loss="outage",
        rotate="cert-manager renews it; MinIO reads it again by itself",
        readers=("minio", "minio-setup"),
        by="cert-manager",
    )
    users = tuple(_user(user.name) for user in objects.users)
    return (root, tls, *users, *((encryption_key(),) if objects.encryption else ()))


def _user(name: str) -> Secret:
    return Secret(
        name=user_secret(name),
        namespace=NAMESPACE,
        keys=("accessKey", "secretKey"),
        source="generated",
        loss="outage",
        rotate="replace it (letters and digits only), then sync `minio`: a new access key disables the former one",
        readers=("minio-setup",),
    )


def encryption_key() -> Secret:
    """Return the key that encrypts every object and MinIO's users: with it lost, all is lost."""
    return Secret(
        name="minio-kms",
        namespace=NAMESPACE,
        keys=("key",),
        source="generated",
        loss="data",
        rotate="never while objects encrypted with it exist; 32 random bytes in base64, a copy outside the cluster",
        readers=("minio",),
    )
