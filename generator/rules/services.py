"""Rules about services that grow, shrink and change: how far their team's quota lets them, and by what."""

from collections.abc import Iterator, Mapping

from generator.build.objects import Built, Object
from generator.build.pods import Pod, containers, pods
from generator.components import CATALOGUE, metrics
from generator.components.definition import Scraped
from generator.components.queues.reach import reach
from generator.model.cluster import Cluster
from generator.model.fields import dig, existing, mapping, sequence
from generator.model.finding import Finding, Path
from generator.model.gpus import VENDOR
from generator.model.rule import warning
from generator.rules.budgets import copies, scaler_of
from generator.rules.nodes import nodes_of
from generator.rules.placement import obstacles
from generator.rules.queues import gpu_pods, teams
from generator.rules.resources import total
from generator.spec.near import suggest

SERVICES = ("Deployment", "StatefulSet")
METRICS = {
    "Pods": "custom.metrics.k8s.io",
    "Object": "custom.metrics.k8s.io",
    "External": "external.metrics.k8s.io",
}
"""The API groups that an autoscaler asks for metrics of a type, but for CPU and memory (autoscaling/v2)."""


@warning("GEN-QUEUE-010", "services grow no further than their team can")
def within_reach(built: Built) -> Iterator[Finding]:
    """Kueue lets in each replica by itself. Those beyond what the team owns and may borrow, on the pools whose nodes
    take them, wait for ever: the service is smaller than it seems to be, and its autoscaler asks for more.

    Wrong:
        # quotas: {l4: {gpus: 4, borrow: 4}}
        spec: {maxReplicas: 12, ...}
    Right:
        # quotas: {l4: {gpus: 4, borrow: 4}}
        spec: {maxReplicas: 8, ...}
    """
    for pod, name, each, there in _services(built):
        wanted = copies(pod.maker, built)
        if wanted > there // each:
            yield _too_many(pod, built, f"{wanted} replicas ask for {wanted * each} {name}", there, there // each)


@warning("GEN-QUEUE-020", "a new version of a service has room to start")
def room_for_a_new_one(built: Built) -> Iterator[Finding]:
    """A new version starts beside the old one where none of that may go, and Kueue lets in each replica by itself:
    where the old ones have all that the team owns and may borrow, the new one waits until somebody makes room.
    Kubernetes rounds the share that may be missing down: by its default, 25 percent, none of three replicas.

    Wrong:
        # quotas: {l4: {gpus: 2}}
        spec: {replicas: 2, ...}
    Right:
        # quotas: {l4: {gpus: 2}}
        spec: {replicas: 2, strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}, ...}
    """
    for pod, name, each, there in _services(built):
        most = there // each
        if most and copies(pod.maker, built) >= most and not _may_go(pod.maker, most):
            message = (
                f"while there are {most} replicas, a new version waits for ever: they have all {name} that team "
                f"{pod.namespace} can have where they may run, and none of them may go first"
            )
            at = existing(pod.maker.manifest, ("spec", "strategy", "rollingUpdate", "maxUnavailable"))
            yield pod.maker.finding(message, *at, fix="strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}")


def _may_go(maker: Object, replicas: int) -> bool:
    """Tell whether one of so many replicas goes before a new one has started."""
    strategy = mapping(maker.spec.get("strategy"))
    unavailable = mapping(strategy.get("rollingUpdate")).get("maxUnavailable", "25%")
    if maker.kind != "Deployment" or strategy.get("type") == "Recreate":
        return True
    if isinstance(unavailable, str) and unavailable.removesuffix("%").isdecimal() and len(unavailable) < 8:
        return replicas * int(unavailable.removesuffix("%")) >= 100
    return bool(unavailable != 0)


def _services(built: Built) -> Iterator[tuple[Pod, str, int, int]]:
    """Yield what each service of a team asks for: its pod, the resource, how many of it a replica has, and how many the
    team can use where it may run.
    """
    for pod in gpu_pods(built):
        if pod.maker.kind not in SERVICES:
            continue
        asked = {name: milli // 1000 for name, milli in total(pod).items() if name.startswith(VENDOR)}
        open_to = [node for node in nodes_of(built) if not obstacles(pod, node)]
        for name, each in asked.items():
            # Where no node that has it takes the pod, that is what is wrong, and what GEN-POD-010 to 023 say.
            pools = sorted({node.pool for node in open_to if node.has(name) != 0})
            there = _reach(built.cluster, pod.namespace, pools, name) if pools and each else None
            if there is not None:
                yield pod, name, each, there


def _reach(cluster: Cluster | None, space: str, pools: list[str], resource: str) -> int | None:
    """Return how many of a resource the team of a namespace can use on these pools, None where it is no team's."""
    for team in cluster.teams if cluster else ():
        if cluster and team.name == space:
            return sum(reach(cluster, team, pool).devices.get(resource, 0) for pool in pools)
    return None


def _too_many(pod: Pod, built: Built, told: str, there: int, most: int) -> Finding:
    scaler = scaler_of(pod.maker, built)
    key = "maxReplicas" if scaler else "replicas"
    one: Object = scaler or pod.maker
    at: Path = ("spec", key) if key in one.spec else ("spec",)
    message = f"{told}, and team {pod.namespace} can have {there or 'none'} where they may run"
    fix = f"{key}: {most}, or a larger quota" if most else "give the team a quota there, or let it borrow"
    return one.finding(message, *at, fix=fix)


@warning("GEN-HPA-010", "somebody serves the metrics that an autoscaler asks for")
def served_metrics(built: Built) -> Iterator[Finding]:
    """Kubernetes itself counts CPU and memory. Any other metric comes through an API that an adapter registers, and by
    the name that the adapter gives it: where there is none the autoscaler tells `FailedGetPodsMetric`, and never
    scales. With Prometheus and teams a cluster has prometheus-adapter, whose metrics docs/components.md names.

    Wrong:
        metrics: [{type: Pods, pods: {metric: {name: nv_inference_queue_duration_us}, ...}}]
    Right:
        metrics: [{type: Pods, pods: {metric: {name: triton_queue_seconds}, ...}}]
    """
    cluster = built.cluster
    if cluster is None or _hidden(built, cluster):
        return
    known = metrics(cluster)
    there = {str(dig(one.manifest, "spec", "group")) for one in built.of("APIService")}
    for one in built.of("HorizontalPodAutoscaler"):
        for index, metric in enumerate(sequence(one.spec.get("metrics"))):
            kind = str(dig(metric, "type"))
            group = METRICS.get(kind)
            if group in known:
                yield from _named(one, index, kind, known[group])
            elif group and group not in there:
                message = f"it asks {group} for a metric, which nothing here serves: it never scales"
                yield one.finding(message, "spec", "metrics", index, "type", fix=_brought(cluster, group))


@warning("GEN-HPA-011", "pods tell the metric that they are scaled by")
def told(built: Built) -> Iterator[Finding]:
    """Prometheus reads metrics of a team's pods only where these ask for it, by a label and a port with a name. Of
    others the adapter knows none, and the autoscaler tells `FailedGetPodsMetric` and never scales.

    Wrong:
        template:
          metadata: {labels: {app: triton}}
          ...
          ports: [{containerPort: 8002}]
    Right:
        template:
          metadata: {labels: {app: triton, gen.internal/metrics: scraped}}
          ...
          ports: [{name: metrics, containerPort: 8002}]
    """
    known = metrics(built.cluster).get(METRICS["Pods"]) if built.cluster else None
    spaces = teams(built) if known else set()
    for pod in pods(built) if known else ():
        scaler = scaler_of(pod.maker, built) if pod.namespace in spaces else None
        asked = sequence(scaler.spec.get("metrics")) if scaler else []
        for name in dict.fromkeys(str(dig(metric, "pods", "metric", "name")) for metric in asked):
            if known and (by := known.get(name)):
                yield from _untold(pod, name, by)


def _untold(pod: Pod, name: str, by: Scraped) -> Iterator[Finding]:
    """Tell what a pod lacks by which its metrics were read."""
    never = f"so nobody knows its {name}, and its autoscaler never scales"
    for label, value in by.labels.items():
        if pod.labels.get(label) != value:
            yield pod.finding(
                f"it has no label {label}: {value}, {never}", "metadata", "labels", fix=f"add {label}: {value}"
            )
    if not any(dig(port, "name") == by.port for _, one in containers(pod) for port in sequence(one.get("ports"))):
        message = f"none of its ports is called {by.port}, {never}"
        yield pod.finding(message, "spec", "containers", 0, fix=f"write `name: {by.port}` at the port of its metrics")


def _named(one: Object, index: int, kind: str, served: Mapping[str, object] | None) -> Iterator[Finding]:
    """Tell of a metric whose name is none of those that are served, where these can be told."""
    at: Path = ("spec", "metrics", index, kind.lower(), "metric", "name")
    name = str(dig(one.manifest, *at))
    if served is not None and name not in served:
        hint = suggest(name, served, f"there are {', '.join(served)}")
        message = f"nothing here serves a metric {name}: it never scales by it"
        yield one.finding(message, *existing(one.manifest, at), fix=hint)


def _brought(cluster: Cluster, group: str) -> str:
    """Say what would bring a group of metrics: a component of gen's that this cluster does not have, else an extra."""
    for one in CATALOGUE.values():
        if not one.wanted(cluster) and group in one.metrics(cluster):
            return f"component {one.name} serves some ({one.absence}), or bring what does as one of `extras`"
    return "bring what serves it as one of `extras`, as KEDA does"


def _hidden(built: Built, cluster: Cluster) -> bool:
    """Tell whether something that could serve metrics is in nobody's sight."""
    return any(name in cluster.extras or name in built.remote for name in built.unseen)
