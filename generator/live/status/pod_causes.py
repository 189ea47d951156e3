"""Why pods do not run, as kubelet and the scheduler write it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from generator.components.component import Manifest, Secret
from generator.live.messages import shortened
from generator.live.status.causes import Cause
from generator.model.fields import condition, dig, sequence

PULLS = {"ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull"}
MISSING = re.compile(
    r'(?P<kind>secret|configmap) "(?P<name>[^"]+)" not found|'
    r"couldn't find key (?P<key>\S+) in Secret (?P<space>[^/]+)/(?P<other>\S+)"
)


class Space(Struct, frozen=True, kw_only=True):
    """What was read of a namespace. `secrets` are those that the cluster's components declare."""

    name: str
    pods: Sequence[Manifest] = ()
    events: Sequence[Manifest] = ()
    secrets: Sequence[Secret] = ()

    def warnings(self, kind: str, name: str) -> list[str]:
        """Return what was last complained of about an object, the newest first."""
        found = [
            one
            for one in self.events
            if (dig(one, "involvedObject", "kind"), dig(one, "involvedObject", "name")) == (kind, name)
        ]
        newest = sorted(
            found, key=lambda one: str(one.get("lastTimestamp") or one.get("eventTime") or ""), reverse=True
        )
        return [str(one.get("message") or "") for one in newest]


def owner(pod: Manifest) -> tuple[str, str]:
    """Return the kind and name of the workload that made a pod; its own where none did."""
    made = next(iter(sequence(dig(pod, "metadata", "ownerReferences"))), None)
    if made is None:
        return "Pod", str(pod["metadata"]["name"])
    kind, name = str(dig(made, "kind")), str(dig(made, "name"))
    hashed = dig(pod, "metadata", "labels", "pod-template-hash")
    if kind == "ReplicaSet" and hashed:
        return "Deployment", name.removesuffix(f"-{hashed}")
    return kind, name


def pod_causes(space: Space, component: str, pods: Sequence[Manifest], cluster: str) -> Iterator[Cause]:
    """Yield why each of these pods does not run, once."""
    for pod in pods:
        if found := _why(space, pod, cluster):
            kind, name = owner(pod)
            yield Cause(component=component, objects=(f"{kind} {space.name}/{name}",), why=found[0], command=found[1])


def _why(space: Space, pod: Manifest, cluster: str) -> tuple[str, str] | None:
    phase = dig(pod, "status", "phase")
    look = f"kubectl --namespace {space.name} describe pod {pod['metadata']['name']}"
    if phase == "Failed" and dig(pod, "status", "reason"):
        return f"its pod was ended ({dig(pod, 'status', 'reason')}): {dig(pod, 'status', 'message') or ''}", look
    if phase == "Succeeded":
        return None
    if phase == "Failed":
        return _failed(space, pod)
    if said := _unscheduled(pod):
        return f"no node takes its pod: {said}", look
    for container in _containers(pod):
        if found := _container(space, pod, container, cluster):
            return found
    return _unready(space, pod, look)


def _failed(space: Space, pod: Manifest) -> tuple[str, str] | None:
    for container in _containers(pod):
        ended = dig(container, "state", "terminated")
        if ended and dig(ended, "exitCode") != 0:
            name = container.get("name")
            logs = f"kubectl --namespace {space.name} logs {pod['metadata']['name']} --container {name} --tail 30"
            return f"its container {name} failed{_ending(ended)}", logs
    return None


def _unscheduled(pod: Manifest) -> str:
    one = condition(pod, "PodScheduled")
    return shortened(str(one.get("message") or one.get("reason"))) if one.get("status") == "False" else ""


def _containers(pod: Manifest) -> Iterator[Mapping[str, Any]]:
    for key in ("initContainerStatuses", "containerStatuses"):
        yield from sequence(dig(pod, "status", key))


def _container(space: Space, pod: Manifest, container: Mapping[str, Any], cluster: str) -> tuple[str, str] | None:
    reason, message = (str(dig(container, "state", "waiting", key) or "") for key in ("reason", "message"))
    name, label = container.get("name"), f"kubectl --namespace {space.name}"
    pod_name = pod["metadata"]["name"]
    if reason in PULLS:
        return f"its image cannot be pulled: {shortened(message or str(container.get('image')))}", (
            f"{label} describe pod {pod_name}"
        )
    if reason in {"CrashLoopBackOff", "RunContainerError"}:
        return f"its container {name} ends again and again{_last(container)}", (
            f"{label} logs {pod_name} --container {name} --previous --tail 30"
        )
    if reason == "CreateContainerConfigError":
        return missing(message, space, cluster) or (
            f"its container cannot be made: {message}",
            f"{label} describe pod {pod_name}",
        )
    if reason in {"ContainerCreating", "PodInitializing"} or "waiting" in (container.get("state") or {}):
        return _waits(space, pod_name, cluster)
    return None


def _last(container: Mapping[str, Any]) -> str:
    ended = dig(container, "lastState", "terminated")
    return _ending(ended) if ended else ""


def _ending(ended: Mapping[str, Any]) -> str:
    words = "it used more memory than its limit" if dig(ended, "reason") == "OOMKilled" else dig(ended, "message")
    said = f": {shortened(str(words))}" if words else ""
    return f" (exit code {dig(ended, 'exitCode')}{said})"


def _waits(space: Space, pod: str, cluster: str) -> tuple[str, str] | None:
    said = space.warnings("Pod", pod)
    if not said:
        return None
    return missing(said[0], space, cluster) or (
        f"its pod waits: {shortened(said[0])}",
        f"kubectl --namespace {space.name} describe pod {pod}",
    )


def _unready(space: Space, pod: Manifest, look: str) -> tuple[str, str] | None:
    one = condition(pod, "Ready")
    if one.get("status") != "False":
        return None
    said = [*space.warnings("Pod", pod["metadata"]["name"]), str(one.get("message") or one.get("reason"))]
    return f"its pod runs and is not ready: {shortened(said[0])}", look


def missing(text: str, space: Space, cluster: str) -> tuple[str, str] | None:
    """Return what is missing by the words of kubelet: a Secret that a component declares, or another object."""
    found = MISSING.search(text)
    if not found:
        return None
    name = found["name"] or found["other"]
    if found["kind"] == "configmap":
        return f"ConfigMap {space.name}/{name} is not there", f"kubectl --namespace {space.name} get configmaps"
    what = f"the Secret {space.name}/{name}" + (f" has no key {found['key']}" if found["key"] else " is not there")
    declared = next((one for one in space.secrets if (one.namespace, one.name) == (space.name, name)), None)
    return _secret(what, declared, cluster, f"kubectl --namespace {space.name} get secrets")


def _secret(what: str, declared: Secret | None, cluster: str, look: str) -> tuple[str, str]:
    if declared is None:
        return f"{what}, and no component declares it", look
    if declared.source == "in-cluster":
        return f"{what}: {declared.by} makes it, and has not", f"gen status --cluster {cluster}"
    if declared.source == "external":
        return f"{what}: it comes from outside, and has not", look
    how = "makes it" if declared.source == "generated" else "asks for its values"
    return f"{what}; bootstrap {how}", f"gen bootstrap --cluster {cluster} --apply"
