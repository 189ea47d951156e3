"""Rules about autoscalers: what they scale, and by what."""

from collections.abc import Iterator

from generator.build.kinds import Kinds, group_of, served_by
from generator.build.objects import Built, Object
from generator.build.pods import Pod, pods
from generator.model.fields import dig, existing, sequence
from generator.model.finding import Finding, Path
from generator.model.rule import rule, warning
from generator.rules.queues import asks_for_gpus

SCALED = {"Deployment": "apps", "ReplicaSet": "apps", "StatefulSet": "apps", "ReplicationController": ""}
"""Kubernetes' own kinds with a `scale`, and their API groups."""

TARGET: Path = ("spec", "scaleTargetRef")
OF_PODS = {"Resource": "resource", "ContainerResource": "containerResource"}
"""Types of metrics that count CPU or memory, and the keys that name which."""


@rule("GEN-HPA-001", "autoscalers scale what can be scaled")
def scalable(built: Built) -> Iterator[Finding]:
    """An autoscaler reads and writes `scale` of what it names. A Job, a DaemonSet and a Pod have none, and a Deployment
    is found only in its own API group: the autoscaler is taken, and never does anything. Custom kinds are judged by
    their CRDs.

    Wrong:
        kind: HorizontalPodAutoscaler
        spec: {scaleTargetRef: {apiVersion: batch/v1, kind: Job, name: train}}
    Right:
        kind: HorizontalPodAutoscaler
        spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: serve}}
    """
    known = Kinds.of(built)
    for one in built.of("HorizontalPodAutoscaler"):
        version, kind = (str(dig(one.manifest, *TARGET, key) or "") for key in ("apiVersion", "kind"))
        group = group_of(version)
        if SCALED.get(kind) == group or not kind or one.left_open(f"{version}{kind}"):
            continue
        if kind in SCALED and known.ours(group):
            message = f"there is no {kind} in apiVersion {version}" if version else f"{kind} without its apiVersion"
            fix = f"apiVersion: {f'{SCALED[kind]}/' if SCALED[kind] else ''}v1"
            yield one.finding(f"{message}: the autoscaler finds nothing to scale", *where(one, "apiVersion"), fix=fix)
        elif known.ours(group) or not may_scale(known, group, kind):
            message = f"a {kind} cannot be scaled: it has no `scale`, and the autoscaler does nothing"
            fix = "leave the autoscaler out: a Job has as many pods as its `parallelism` says" if kind == "Job" else ""
            yield one.finding(message, *where(one, "kind"), fix=fix or "name a Deployment or a StatefulSet")


def where(one: Object, key: str) -> Path:
    """Return the way to a key of the target, or to the target where it is not said."""
    return (*TARGET, key) if dig(one.manifest, *TARGET, key) else TARGET


def may_scale(known: Kinds, group: str, kind: str) -> bool:
    """Tell whether a custom kind has a `scale`, or nobody here knows."""
    crd = known.custom.get((group, kind))
    return crd is None or any(dig(each, "subresources", "scale") for each in served_by(crd).values())


@warning("GEN-HPA-002", "services on GPUs are not scaled by CPU")
def by_use(built: Built) -> Iterator[Finding]:
    """A model server waits for its GPU and uses little CPU, however many requests wait: by CPU or memory alone it is
    scaled too late, or never, and each step takes whole GPUs. Without any metric Kubernetes scales by CPU.

    Wrong:
        metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]
    Right:
        metrics: [{type: Pods, pods: {metric: {name: queue_seconds}, target: {type: AverageValue, averageValue: 50m}}}]
    """
    scaled = {key(pod.maker): pod for pod in pods(built) if asks_for_gpus(pod) and pod.maker.kind in SCALED}
    for one in built.of("HorizontalPodAutoscaler"):
        kind, name = (str(dig(one.manifest, *TARGET, each)) for each in ("kind", "name"))
        pod = scaled.get((kind, one.namespace, name))
        metrics = sequence(one.spec.get("metrics"))
        if pod and all(counts_cpu(each) for each in metrics):
            yield one.finding(told(pod), *place(one, metrics), fix="scale by requests that wait, or by the GPUs' use")


def key(one: Object) -> tuple[str, str, str]:
    """Return what an autoscaler names an object by, with its namespace."""
    return one.kind, one.namespace, one.name


def counts_cpu(metric: object) -> bool:
    """Tell whether a metric counts CPU or memory."""
    return dig(metric, OF_PODS.get(str(dig(metric, "type")), ""), "name") in ("cpu", "memory")


def told(pod: Pod) -> str:
    """Say what is wrong with scaling these pods."""
    return f"scales {pod.maker.full_name}, whose pods wait for GPUs, by CPU or memory alone"


def place(one: Object, metrics: list[object]) -> Path:
    """Return where an autoscaler says what it scales by, or would."""
    if metrics:
        return existing(one.manifest, ("spec", "metrics", 0, OF_PODS[str(dig(metrics[0], "type"))], "name"))
    old = "targetCPUUtilizationPercentage"
    return ("spec", old) if old in one.spec else ("spec",)
