"""Secrets that components make, with which data would be lost, and of which no copy is kept outside the cluster."""

from collections.abc import Iterator, Sequence

from generator.components.component import Secret
from generator.live import kept
from generator.live.running import RefusedError, RunningCluster
from generator.live.status.causes import Cause
from generator.model.cluster import Cluster


def copy_causes(running: RunningCluster, cluster: Cluster, secrets: Sequence[Secret]) -> Iterator[Cause]:
    """Yield those that were never copied, or before what goes along with them changed. Secrets are not read for that:
    a component that made their ConfigMaps made them first.
    """
    for secret in kept.kept_secrets(secrets):
        try:
            found = [running.get(one) for one in kept.along_paths(secret)]
        except RefusedError:
            continue  # who may not read them cannot make the copy either
        along = [one for one in found if one is not None]
        if len(along) == len(found) and (why := _why(kept.noted(running, secret), kept.mark(secret, along))):
            yield Cause(
                component=secret.by or "",
                objects=(f"Secret {secret.full_name}",),
                why=f"{why}: with it and etcd lost, so is what its disks hold",
                command=f"gen bootstrap --cluster {cluster.name} --escrow FILE --apply",
            )


def _why(noted: str, mark: str) -> str:
    if not noted:
        return "no copy of it was ever made outside the cluster"
    return "" if noted.endswith(mark) else "what goes along with it has changed since it was copied"
