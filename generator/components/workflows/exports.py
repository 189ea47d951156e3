"""NFS exports that backups go to: a volume of each for each namespace from which they go there.

A pod may not name an export itself where its namespace is restricted (Pod Security Standards: volume types); a claim it
may.
"""

from collections.abc import Iterable, Iterator

from generator.components.component import Ignore, Manifest
from generator.components.datasets import BOUND
from generator.components.parts import bound_claim, bound_volume
from generator.components.workflows.targets import WAY, elsewhere
from generator.model.backup import AnyBackup, EtcdBackup, ZabbixBackup
from generator.model.cluster import Cluster
from generator.model.storage import Elsewhere

OPTIONS = ("nfsvers=4.1", "hard", "noatime", "nosuid", "nodev", "noexec")
"""`hard`: what is written to a server that is away waits for it, in place of failing half done."""
OF_A_BUCKET = (
    "TARGET_ACCESS_KEY", "TARGET_SECRET_KEY", "TARGET_URL", "MC_CONFIG_DIR", "MC_LIMIT_UPLOAD", "MC_LIMIT_DOWNLOAD",
    "KEY", *WAY.values(),
)  # fmt: skip
"""The variables of steps that only a bucket has."""


def used(cluster: Cluster, items: Iterable[AnyBackup]) -> list[Elsewhere]:
    """Return the exports that these backups go to."""
    places = {one.name: one for item in items if (one := elsewhere(cluster, item)) and one.nfs}
    return list(places.values())


def volumes(cluster: Cluster, items: Iterable[AnyBackup], labels: dict[str, str], namespace: str) -> Iterator[Manifest]:
    """Yield the volume of each export, and its claim."""
    for one in used(cluster, items):
        yield volume(one, labels, namespace)
        yield claim(one, labels, namespace)


def ignored(cluster: Cluster, items: Iterable[AnyBackup]) -> tuple[Ignore, ...]:
    """Return what controllers write into these volumes."""
    return (BOUND,) if used(cluster, items) else ()


def reached(template: Manifest) -> Manifest:
    """Return the spec of a WorkflowTemplate whose pods have the export's claim as a volume."""
    volume = {"name": "target", "persistentVolumeClaim": {"claimName": "{{workflow.parameters.claim}}"}}
    return {**template["spec"], "volumes": [*template["spec"]["volumes"], volume]}


def filed(container: Manifest) -> Manifest:
    """Return the container of a step that brings files to a bucket, or from one, with an export in its place: no
    address, no keys.
    """
    env = [one for one in container["env"] if one["name"] not in OF_A_BUCKET]
    told = {"CLUSTER": "cluster", "KEEP_DAYS": "keep-days"}
    env += [{"name": name, "value": f"{{{{workflow.parameters.{told_by}}}}}"} for name, told_by in told.items()]
    mounts = [*container["volumeMounts"], {"name": "target", "mountPath": "/target"}]
    env += [{"name": "TARGET", "value": "/target"}]
    return {**container, "command": [*container["command"], "folder"], "env": env, "volumeMounts": mounts}


def told(cluster: Cluster, item: EtcdBackup | ZabbixBackup, place: str) -> dict[str, str]:
    """Return what such a step is told."""
    return {
        "name": item.name,
        "cluster": cluster.name,
        "place": place,
        "claim": claim_name(place),
        "target-bucket": item.target.bucket,
        "keep-days": str(item.keep_days),
    }


def claim_name(place: str) -> str:
    """Return the name of an export's claim."""
    return f"backups-{place}"


def volume(place: Elsewhere, labels: dict[str, str], namespace: str) -> Manifest:
    """Return an export as a volume of one claim alone. Its capacity limits nothing: the server does."""
    assert place.nfs
    metadata = {"name": volume_name(place.name, namespace), "labels": labels}
    claimed, nfs = (claim_name(place.name), namespace), {"server": place.nfs.server, "path": place.nfs.path}
    return bound_volume(metadata, str(place.room or "1Mi"), "ReadWriteMany", claimed, OPTIONS, nfs=nfs)


def claim(place: Elsewhere, labels: dict[str, str], namespace: str) -> Manifest:
    """Return the claim of an export."""
    metadata = {"name": claim_name(place.name), "namespace": namespace, "labels": labels}
    return bound_claim(metadata, "ReadWriteMany", volume_name(place.name, namespace))


def volume_name(place: str, namespace: str) -> str:
    """Return the name of an export's volume: those of all namespaces are in one list, and a dot is in no name."""
    return f"backups-{place}.{namespace}"
