"""The pods that read a Secret, and those of them that may have read it before a time."""

from collections.abc import Iterator

from generator.components.component import Manifest, Secret
from generator.live.running import RunningCluster
from generator.live.times import moment
from generator.model.fields import dig, mapping, walk

OVER = {"Succeeded", "Failed"}
_NAMED_BY = {"secret": ("secretName", "name"), "secretKeyRef": ("name",), "secretRef": ("name",)}


def readers(running: RunningCluster, secret: Secret) -> list[Manifest]:
    """Return the pods of its namespace that mount a Secret or have it in their environment, and are not over."""
    pods = running.items(f"/api/v1/namespaces/{secret.namespace}/pods")
    return [pod for pod in pods if dig(pod, "status", "phase") not in OVER and secret.name in _names(pod)]


def older(pods: list[Manifest], since: str) -> list[str]:
    """Return the names of the pods that may have read what a Secret held before a time; both are of one clock."""
    limit = moment(since)
    found = ((moment(str(dig(pod, "metadata", "creationTimestamp") or "")), pod) for pod in pods)
    return sorted(str(dig(pod, "metadata", "name")) for made, pod in found if not (made and limit) or made <= limit)


def _names(pod: Manifest) -> set[str]:
    return {name for key, part in _parts(pod) for by in _NAMED_BY[key] if isinstance(name := part.get(by), str)}


def _parts(pod: Manifest) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield every part of a pod that names a Secret."""
    for at, part in walk(dig(pod, "spec")):
        if at and at[-1] in _NAMED_BY:
            yield str(at[-1]), mapping(part)
