"""The workloads that read a Secret only when they start: restarted, and looked at until they are well again."""

from generator.components.component import Manifest
from generator.day2.rotation.readers import older
from generator.live.running import RunningCluster
from generator.model.fields import dig, sequence

RESTARTED = "kubectl.kubernetes.io/restartedAt"
"""The annotation of a pod template by which `kubectl rollout restart` has all pods made anew, few at a time. Git does
not have it: Argo CD finds no difference, and takes nothing back.
"""
TICK = 1.1
"""Seconds before pods are made anew: the clock of a cluster counts whole ones, and a pod of the same second as the new
value may have the former one.
"""


def restart(running: RunningCluster, namespace: str, workload: str, since: str) -> bool:
    """Have the pods of a workload ("Deployment/name") made anew that began before a time, as often as it is asked no
    more than once; False where there is no such workload.
    """
    place = _place(namespace, workload)
    if running.get(place) is None:
        return False
    running.merge(place, {"spec": {"template": {"metadata": {"annotations": {RESTARTED: since}}}}})
    return True


def end_together(running: RunningCluster, namespace: str, workload: str, since: str) -> bool:
    """End all pods of a StatefulSet that began before a time; False where there is no such workload."""
    place = f"/api/v1/namespaces/{namespace}/pods"
    theirs = [pod for pod in running.items(place) if _owned(pod, workload)]
    for name in older(theirs, since):
        running.delete(f"{place}/{name}")
    return running.get(_place(namespace, workload)) is not None


def untaken(running: RunningCluster, namespace: str, workload: str, container: str) -> str:
    """Say why a workload would not take a new value when it starts: gen of another time made it."""
    found = running.get(_place(namespace, workload))
    first = sequence(dig(found or {}, "spec", "template", "spec", "initContainers"))
    if found is None or any(dig(one, "name") == container for one in first):
        return ""
    missing = f"{workload} in {namespace} has no init container {container}, which has the new value taken"
    return f"{missing}: `gen render`, commit, and sync it first"


def unready(running: RunningCluster, namespace: str, workload: str) -> str:
    """Say how many pods of a Deployment or StatefulSet are well while not all of them are."""
    found = running.get(_place(namespace, workload))
    if found is None or workload.startswith("DaemonSet/"):
        return ""
    wanted = dig(found, "spec", "replicas")
    count = 1 if wanted is None else wanted
    counts = [dig(found, "status", key) or 0 for key in _counts(found)]
    if _seen(found) and all(one == count for one in counts):
        return ""
    return f"{workload} in {namespace}: {min(counts)} of {count} pods are new and ready"


def _seen(found: Manifest) -> bool:
    seen, newest = dig(found, "status", "observedGeneration") or 0, dig(found, "metadata", "generation") or 0
    return bool(seen >= newest)


def _counts(found: Manifest) -> tuple[str, ...]:
    """Return the keys of the status that count what must be all pods: those that only people replace are of no newer
    template.
    """
    by_hand = dig(found, "spec", "updateStrategy", "type") == "OnDelete"
    return ("replicas", "readyReplicas") if by_hand else ("replicas", "readyReplicas", "updatedReplicas")


def _place(namespace: str, workload: str) -> str:
    kind, _, name = workload.partition("/")
    return f"/apis/apps/v1/namespaces/{namespace}/{kind.lower()}s/{name}"


def _owned(pod: Manifest, workload: str) -> bool:
    owners = sequence(dig(pod, "metadata", "ownerReferences"))
    return any(f"{dig(one, 'kind')}/{dig(one, 'name')}" == workload for one in owners)
