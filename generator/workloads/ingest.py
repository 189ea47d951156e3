"""A job on nodes without GPUs that brings data to where a team's other jobs read it."""

from msgspec import Struct

from generator.components.ceph_cluster.names import block_class
from generator.components.common import POOL
from generator.components.component import Manifest
from generator.components.datasets import claim_name
from generator.components.job_pods import SECURITY, placement, variables
from generator.components.minio.settings import client_image
from generator.components.parts import from_secret
from generator.components.queues.volumes import claimable
from generator.components.static import read_text
from generator.errors import UsageError
from generator.model.cluster import Cluster
from generator.model.quantity import Quantity
from generator.workloads.ended import again, kept_seconds
from generator.workloads.models import found
from generator.workloads.place import OnCpus, Place, cpu_place
from generator.workloads.pods import PROGRAM, PROGRAMS, labels
from generator.workloads.wanted import in_claim, named, object_name

DATA, SOURCE, SCRATCH, CA = "/data", "/source", "/scratch", "/ca"
MC = "/tmp/mc"  # noqa: S108 - the pod's own
TRIES = 6


class Ingest(Struct, frozen=True, kw_only=True):
    """What is brought where: from `s3://BUCKET/PATH` or `pvc://CLAIM/PATH` into `pvc://CLAIM/PATH`. `credentials` is
    the Secret with the bucket's keys, None for the team's; `ca` the ConfigMap with the certificate that signed the
    store's, as `ca.crt`; `scratch` the size of a volume that ends with its pod. `image` None: MinIO's client.
    """

    name: str
    team: str
    source: str
    target: str
    cpus: int = 4
    memory: Quantity = Quantity.parse("8Gi")
    pool: str | None = None
    priority: str | None = None
    credentials: str | None = None
    ca: str | None = None
    scratch: Quantity | None = None
    image: str | None = None


def ingest(cluster: Cluster, wanted: Ingest) -> list[Manifest]:
    """Write the job and its program. Raises UsageError where it could never run, or would find nothing."""
    named(wanted.name)
    _written(cluster, wanted)
    asked = OnCpus(team=wanted.team, cpus=wanted.cpus, memory=wanted.memory, pool=wanted.pool, priority=wanted.priority)
    place = cpu_place(cluster, asked)
    return [_program(place, wanted), _job(cluster, place, wanted)]


NOTE = "what is deleted at the source stays in the volume, and what has the same size is not copied again"
"""What whoever starts it should know."""


def _written(cluster: Cluster, wanted: Ingest) -> None:
    """Refuse a dataset that the team only reads: each file would fail."""
    claim, _ = in_claim("--into", wanted.target)
    given = next((one for one in cluster.storage.datasets if claim_name(one) == claim), None)
    if given and given.owner != wanted.team:
        raise UsageError(
            f"dataset {given.name} is written by {given.owner or 'nobody'}, and team {wanted.team} reads it: bring it "
            "into a claim of the team's own, or have the file name another owner"
        )


def _program(place: Place, wanted: Ingest) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": wanted.name, "namespace": place.team.name},
        "data": {
            "client.sh": read_text("workflows/client.sh"),
            "ingest.sh": (PROGRAMS / "ingest.sh").read_text(encoding="utf-8"),
        },
    }


def _job(cluster: Cluster, place: Place, wanted: Ingest) -> Manifest:
    """Return the Job. What Kueue or a drain stops is no failure; each start goes on where the last one ended."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": wanted.name, "namespace": place.team.name, "labels": labels(place)},
        "spec": {
            "backoffLimit": again(TRIES, wanted.scratch.value, _scratch_bound(place)) if wanted.scratch else TRIES,
            "ttlSecondsAfterFinished": kept_seconds(place, scratch=wanted.scratch is not None),
            "podReplacementPolicy": "Failed",
            "podFailurePolicy": {
                "rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]
            },
            "template": {"spec": {"restartPolicy": "Never", **_pod(cluster, place, wanted)}},
        },
    }


def _pod(cluster: Cluster, place: Place, wanted: Ingest) -> Manifest:
    env, volumes, mounts = _source(place, wanted)
    target, path = in_claim("--into", wanted.target)
    volumes += [_claimed("data", target), {"name": "program", "configMap": {"name": wanted.name}}]
    mounts += [{"name": "data", "mountPath": DATA}, {"name": "program", "mountPath": PROGRAM}]
    if wanted.ca:
        volumes.append({"name": "ca", "configMap": {"name": object_name("--ca", wanted.ca)}})
        # Not where mc reads it: the folders above a mount are root's, and mc writes there.
        mounts.append({"name": "ca", "mountPath": CA, "readOnly": True})
        env += variables({"CA": f"{CA}/ca.crt"})
    if wanted.scratch:
        volumes.append({"name": "scratch", **_scratch(place, wanted.scratch)})
        mounts.append({"name": "scratch", "mountPath": SCRATCH})
    env += variables({"INTO": f"{DATA}/{path}".rstrip("/"), "MC_CONFIG_DIR": MC, "HOME": "/tmp"})  # noqa: S108 - as above
    main = {
        "name": "main",
        "image": wanted.image or client_image(cluster),
        "command": ["bash", f"{PROGRAM}/ingest.sh"],
        "env": env,
        "resources": {"limits": {"cpu": str(wanted.cpus), "memory": str(wanted.memory)}},
        "securityContext": SECURITY,
        "volumeMounts": mounts,
    }
    # Without tolerations: Kueue adds what the flavor of the pool tolerates.
    return {**placement(place.priority), "nodeSelector": {POOL: place.pool}, "containers": [main], "volumes": volumes}


def _source(place: Place, wanted: Ingest) -> tuple[list[Manifest], list[Manifest], list[Manifest]]:
    """Return variables, volumes and mounts of what is read."""
    if wanted.source.startswith("pvc://"):
        claim, path = in_claim("--from", wanted.source)
        mount = {"name": "source", "mountPath": SOURCE, "readOnly": True}
        return variables({"FROM": f"{SOURCE}/{path}/"}), [_claimed("source", claim, read_only=True)], [mount]
    scheme, _, rest = wanted.source.partition("://")
    bucket, _, path = rest.partition("/")
    if scheme != "s3" or not bucket:
        raise UsageError(f"--from {wanted.source}: say s3://BUCKET/PATH or pvc://CLAIM/PATH")
    url, opener = found(place, bucket, wanted.credentials)
    names = ("ACCESS_KEY", "SECRET_KEY")
    keys = [from_secret(name, opener.secret, key) for name, key in zip(names, opener.keys.values(), strict=True)]
    where = "/".join(each for each in ("source", bucket, path.strip("/")) if each)
    return [*variables({"URL": url, "FROM": f"{where}/"}), *keys], [], []


def _claimed(name: str, claim: str, *, read_only: bool = False) -> Manifest:
    return {"name": name, "persistentVolumeClaim": {"claimName": claim, **({"readOnly": True} if read_only else {})}}


def _scratch(place: Place, size: Quantity) -> Manifest:
    """Return a volume that comes and goes with its pod: on Ceph, whose volumes have the size that is asked for. One of
    a node's own disks is a whole disk.
    """
    bound = _scratch_bound(place)
    if bound is not None and size > bound:
        raise UsageError(f"team {place.team.name} may claim {bound}: --scratch {size} is more than that")
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": _scratch_class(place.cluster),
        "resources": {"requests": {"storage": str(size)}},
    }
    return {"ephemeral": {"volumeClaimTemplate": {"spec": spec}}}


def _scratch_class(cluster: Cluster) -> str:
    pools = cluster.storage.ceph.block_pools if cluster.storage.ceph else ()
    if not pools:
        raise UsageError(f"{cluster.name} has no block pool of Ceph for --scratch: leave it out")
    return block_class(next((one for one in pools if one.default), pools[0]))


def _scratch_bound(place: Place) -> Quantity | None:
    return claimable(place.cluster, place.team).of(_scratch_class(place.cluster))
