"""Pods that are as before the last change of their workload, because only a person replaces them.

Argo CD tells nothing of them: with the update strategy OnDelete a StatefulSet or DaemonSet is Synced and Healthy at
once (argo-cd v3.5, gitops-engine `health_statefulset.go`, `health_daemonset.go`).
"""

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlencode

from msgspec import Struct

from generator.components.component import Manifest
from generator.components.definition import Definition
from generator.live.applications import Application
from generator.live.lists import Listed, lists
from generator.live.running import RunningCluster
from generator.live.status.causes import SHOWN, Cause
from generator.live.status.pod_causes import owner
from generator.model.fields import dig, mapping, sequence
from generator.model.finding import full_name
from generator.model.plural import plural

WORKLOADS = ("/apis/apps/v1/statefulsets", "/apis/apps/v1/daemonsets")
REVISION = "controller-revision-hash"
"""The label by which the controllers tell of which revision a pod is."""
IN_TURN = {
    "StatefulSet": "delete one, and the next when the one before is ready again",
    "DaemonSet": "delete one when its node has no work that needs it, and the next when the one before is ready again",
}
TOGETHER = "they must go all at once, since one that restarts alone may wait for the others"


class Waiting(Struct, frozen=True, kw_only=True):
    """A workload of an Application of which pods are older than its template, how many, and of how many."""

    component: str
    workload: Manifest
    old: int
    all: int


def waiting(found: Sequence[Application], workloads: Sequence[Manifest]) -> Iterator[Waiting]:
    """Yield the workloads that Applications hold, or that operators make of what these hold."""
    held = {(each.kind, each.namespace, each.name): one.name for one in found for each in one.resources}
    for one in workloads:
        component = _component(one, held)
        old, every = _counts(one)
        if component and old > 0 and dig(one, "spec", "updateStrategy", "type") == "OnDelete":
            yield Waiting(component=component, workload=one, old=old, all=every)


def _component(one: Manifest, held: Mapping[tuple[str, str, str], str]) -> str:
    space, name = (str(dig(one, "metadata", key)) for key in ("namespace", "name"))
    makers = sequence(dig(one, "metadata", "ownerReferences"))
    owners = ((dig(each, "kind"), place, dig(each, "name")) for each in makers for place in (space, ""))
    asked = [(one["kind"], space, name), *owners]
    return next((held[each] for each in asked if each in held), "")


def _counts(one: Manifest) -> tuple[int, int]:
    """Return how many pods are not of the newest template, and how many there are; none while the controller has not
    seen the newest one.
    """
    status = mapping(dig(one, "status"))
    if status.get("observedGeneration") != dig(one, "metadata", "generation"):
        return 0, 0
    of_set = one["kind"] == "StatefulSet"
    keys = ("replicas", "updatedReplicas") if of_set else ("currentNumberScheduled", "updatedNumberScheduled")
    every, updated = (_number(status.get(key)) for key in keys)
    return every - updated, every


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def old_pods(
    running: RunningCluster, found: Sequence[Waiting], known: Mapping[str, Definition]
) -> tuple[list[Cause], list[Listed]]:
    """Return what to do about old pods, and what was read of them."""
    listed = lists(running, [_pods(one.workload) for one in found])
    causes = [_cause(one, pods, known.get(one.component)) for one, pods in zip(found, listed, strict=True)]
    return causes, listed


def _pods(workload: Manifest) -> str:
    labels = mapping(dig(workload, "spec", "selector", "matchLabels"))
    selector = urlencode({"labelSelector": ",".join(f"{key}={value}" for key, value in sorted(labels.items()))})
    return f"/api/v1/namespaces/{workload['metadata']['namespace']}/pods?{selector}"


def _cause(one: Waiting, pods: Listed, definition: Definition | None) -> Cause:
    kind, space, name = one.workload["kind"], one.workload["metadata"]["namespace"], one.workload["metadata"]["name"]
    together = definition.replaced_together if definition else ""
    names = _old(one, [pod for pod in pods.items if owner(pod) == (kind, name)])
    named = f" ({', '.join(names[:SHOWN])}{', ...' if names[SHOWN:] else ''})" if names else ""
    command = f"kubectl --namespace {space} {f'delete pod {names[0]}' if names else 'get pods'}"
    return Cause(
        component=one.component,
        objects=(full_name(kind, space, name),),
        why=f"{one.old} of its {plural(one.all, 'pod')} run as before its last change{named}, and only a person "
        f"replaces them (OnDelete): {TOGETHER if together else IN_TURN[kind]}",
        command=together or command,
    )


def _old(one: Waiting, pods: Sequence[Manifest]) -> list[str]:
    """Return the old pods by name. Which revision is the newest a DaemonSet does not say: that of the pod that was made
    last, unless all are old.
    """
    newest = dig(one.workload, "status", "updateRevision")
    if newest is None and one.old < one.all:
        last = max(pods, key=lambda pod: str(dig(pod, "metadata", "creationTimestamp")), default=None)
        newest = dig(last, "metadata", "labels", REVISION)
    return sorted(str(pod["metadata"]["name"]) for pod in pods if dig(pod, "metadata", "labels", REVISION) != newest)
