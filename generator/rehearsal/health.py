"""What of some objects is not ready yet, as far as real controllers and KWOK make it so."""

from generator.build.objects import Object
from generator.components.component import Manifest
from generator.model.fields import condition, dig, holds


def unready(one: Object, live: Manifest) -> str:
    """Say why an object is not ready, nothing where it is or where nobody here would make it so."""
    status = live.get("status") or {}
    if one.kind in _WORKLOADS and one.group == "apps":
        return _workload(live, status, _WORKLOADS[one.kind])
    if one.kind == "CustomResourceDefinition":
        return "" if holds(live, "Established") else "not established"
    if one.kind in {"ClusterQueue", "LocalQueue"} and one.group == "kueue.x-k8s.io":
        return "" if holds(live, "Active") else _why(live, "Active")
    if one.kind == "Job":
        return "" if holds(live, "Complete") else _why(live, "Failed") or "not complete"
    return ""


_WORKLOADS = {
    "Deployment": ("replicas", "updatedReplicas", "availableReplicas"),
    "StatefulSet": ("replicas", "updatedReplicas", "readyReplicas"),
    "DaemonSet": ("desiredNumberScheduled", "updatedNumberScheduled", "numberAvailable"),
}
"""Keys of the status: how many pods are wanted (for the first two in `spec`), are of the newest template, and are well;
an update of StatefulSets that waits for a deletion by hand is none to wait for."""


def _workload(live: Manifest, status: Manifest, keys: tuple[str, str, str]) -> str:
    if int(status.get("observedGeneration") or 0) < int(live["metadata"].get("generation") or 0):
        return "not seen by its controller yet"
    wanted = dig(live, "spec", "replicas") if keys[0] == "replicas" else status.get(keys[0])
    count = int(1 if wanted is None else wanted)
    by_hand = dig(live, "spec", "updateStrategy", "type") == "OnDelete"
    updated = count if by_hand else int(status.get(keys[1]) or 0)
    ready = int(status.get(keys[2]) or 0)
    if min(updated, ready) >= count:
        return ""
    why = _why(live, "ReplicaFailure") if holds(live, "ReplicaFailure") else ""
    return f"{min(updated, ready)} of {count} pods ready {why}".strip()


def _why(live: Manifest, kind: str) -> str:
    found = condition(live, kind)
    return str(found.get("message") or found.get("reason") or "") if found else "nobody has looked at it yet"
