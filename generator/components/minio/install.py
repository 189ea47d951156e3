"""Tier 3: MinIO on the drives of the NAS nodes, as a plain StatefulSet."""

from generator.components.common import prometheus_crds
from generator.components.component import Component, Ignore, Namespace, Secret, Turn
from generator.components.issuers import signed
from generator.components.minio import DEFINITION, VERSIONS, backed_up, metrics, trial, volume_keys
from generator.components.minio.access import access
from generator.components.minio.layout import NAMESPACE, SETS_UP, SETUP, layout_of
from generator.components.minio.server import stateful_set
from generator.components.minio.settings import settings, setup_job, setup_script
from generator.components.minio.user_keys import user_keys
from generator.components.minio.volumes import storage_class, volumes
from generator.components.static import read_objects
from generator.model.cluster import Cluster
from generator.model.storage import Objects


def install(cluster: Cluster) -> Component:
    """Install MinIO, or a build of it that speaks the same. With four nodes it reads with two of them lost, and
    writes with one lost; no setting gives writes with two of four lost (facts: storage 6).
    """
    objects = cluster.storage.objects
    layout = layout_of(cluster)
    assert objects
    assert layout
    return Component(
        name="minio",
        tier=DEFINITION.tier,
        summary="MinIO: object storage that keeps all data with half of its drives lost",
        version=VERSIONS.of(cluster).version,
        namespaces=(Namespace(NAMESPACE),),
        base=(*read_objects("minio/base.yaml"), storage_class(), setup_script()),
        objects=(
            *(volume for pool in layout for volume in volumes(objects, pool)),
            *(stateful_set(cluster, objects, pool, layout) for pool in layout),
            *access(cluster, objects),
            settings(cluster, objects),
            setup_job(cluster, objects),
        ),
        needs=("issuers", *prometheus_crds(cluster)),
        secrets=secrets(cluster, objects),
        # Binding writes the claim's id into the volume. One that is bound is left alone, whatever the file says later.
        ignore=(Ignore(group="", kind="PersistentVolume", pointers=("/spec/claimRef",)),),
    )


def secrets(cluster: Cluster, objects: Objects) -> tuple[Secret, ...]:
    """Return the Secrets MinIO reads. Keys are letters and digits only: the client's environment takes no escapes."""
    renewed = "cert-manager renews it; MinIO reads it again by itself"
    return (
        root(cluster),
        signed("minio-tls", NAMESPACE, "minio", "minio-setup", loss="outage", rotate=renewed),
        *map(user_keys, (*objects.users, *backed_up.users(cluster))),
        *map(volume_keys.keys, cluster.volumes_in_minio),
        *((metrics.keys(cluster),) if metrics.watched(cluster) else ()),
        *((trial.keys(),) if trial.wanted(cluster) else ()),
        *((encryption_key(),) if objects.encryption else ()),
    )


def root(cluster: Cluster) -> Secret:
    """Declare the key of MinIO's own user. Servers read it when they start, and sign with it what they ask each other
    (cmd/jwt.go): a mixed set of them does not work. Users, policies and their keys do not hang on it: they are plain
    text, or the KMS encrypts them (cmd/iam-object-store.go), and each access key signs for itself (cmd/iam-store.go,
    extractJWTClaims). Sessions of STS end, which nobody here has, and access keys that somebody made for root itself:
    their parent is a user that there is no more.
    """
    return Secret(
        name="minio-root",
        namespace=NAMESPACE,
        keys=("rootUser", "rootPassword"),
        source="generated",
        loss="outage",
        rotate="replace it (letters and digits only), then delete MinIO's pods together and sync `minio`; access keys "
        "that somebody made for root itself are denied everything from then on",
        readers=("minio", SETUP),
        turn=Turn(
            together=tuple(f"StatefulSet/{pool.name}" for pool in layout_of(cluster) or ()),
            proof=(SETS_UP,),
            still="everything that reads or writes MinIO, until all of its servers are ready again,",
        ),
    )


def encryption_key() -> Secret:
    """Declare the key that encrypts every object and MinIO's users: 32 bytes. With it lost, all is lost."""
    return Secret(
        name="minio-kms",
        namespace=NAMESPACE,
        keys=("key",),
        source="generated",
        loss="data",
        rotate="never while objects encrypted with it exist; 32 random bytes in base64, a copy outside the cluster",
        readers=("minio",),
        form="base64",
    )
