"""Triton for a team: replicas that start through the queue, and an autoscaler that looks at how long requests wait."""

from collections.abc import Iterator

from generator.components import CATALOGUE, metrics
from generator.components.cilium import ROUTING
from generator.components.component import Manifest
from generator.components.exposure.layout import GATEWAY, NAMESPACE
from generator.components.job_pods import SECURITY, on_pool, placement, variables
from generator.components.kube_prometheus_stack.watched import SCRAPED
from generator.components.prometheus_adapter import GROUP, QUEUE_SECONDS
from generator.components.queues.reach import reach
from generator.errors import UsageError
from generator.model.quantity import Quantity
from generator.workloads.models import Models, models
from generator.workloads.place import Place
from generator.workloads.pods import labels, limits
from generator.workloads.wanted import Serving, Wanted

PORTS = {"http": 8000, "grpc": 8001, "metrics": 8002}
"""Triton's own."""
DRAIN, EXIT = 10, 45
"""Seconds: until nobody sends requests to a pod that ends any more, and for those it has then. Less than its time to
end, a minute."""
WAIT = "50m"
"""Of a second: how long a request may wait in the mean before there is another replica."""


def triton(place: Place, wanted: Wanted) -> list[Manifest]:
    """Return a service and what it needs, in the order in which they are made. Raises UsageError where nothing would
    ever scale it.
    """
    serving = _serving(place, wanted)
    made = [service(place, wanted), budget(place, wanted), deployment(place, wanted, serving)]
    if serving.scaled:
        made.append(autoscaler(place, wanted, serving))
    if serving.host:
        made.append(route(place, wanted, serving.host))
    return made


def notes(place: Place, wanted: Wanted) -> Iterator[str]:
    """Yield what whoever starts it should know."""
    yield from models(place, _asked(wanted)).notes
    if place.copies > 1:
        yield "replicas may share a node, which Kueue chooses: all of one node's are away together when it fails"
    yield (
        "a replica answers once all its models are loaded: what is slow the first time is slow for users unless the "
        "model's config.pbtxt has a model_warmup"
    )


def _asked(wanted: Wanted) -> Serving:
    if wanted.serving is None:
        raise UsageError(
            "triton serves models: --models says where they lie, and --replicas how many pods serve them, as in 1..4"
        )
    return wanted.serving


def _serving(place: Place, wanted: Wanted) -> Serving:
    serving = _asked(wanted)
    if place.pods > 1:
        raise UsageError(f"a replica is one pod, and a node of pool {place.pool} has fewer than {wanted.gpus} GPUs")
    served = metrics(place.cluster)
    names = served.get(GROUP)
    if serving.scaled and (GROUP not in served or (names is not None and QUEUE_SECONDS.name not in names)):
        reasons = [f"component {one.name}: {one.absence}" for one in CATALOGUE.values() if one.metrics(place.cluster)]
        raise UsageError(
            f"nothing on {place.cluster.name} serves {QUEUE_SECONDS.name}, by which the number of replicas follows the "
            f"load ({'; '.join(reasons)}); take a fixed number, as in --replicas {serving.most}"
        )
    return serving


def names(wanted: Wanted) -> dict[str, str]:
    """Return the labels by which everything of the service finds its pods."""
    return {"app.kubernetes.io/name": "triton", "app.kubernetes.io/instance": wanted.name}


def metadata(place: Place, wanted: Wanted, **more: object) -> Manifest:
    """Return the metadata of each of its objects, which all have its name."""
    return {"name": wanted.name, "namespace": place.team.name, **more}


def service(place: Place, wanted: Wanted) -> Manifest:
    """Return what leads to the replicas that are ready. A client of gRPC keeps to one of them for as long as its
    connection lasts.
    """
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(place, wanted, labels=names(wanted)),
        "spec": {
            "selector": names(wanted),
            "ports": [{"name": name, "port": port, "targetPort": name} for name, port in PORTS.items()],
        },
    }


def route(place: Place, wanted: Wanted, host: str) -> Manifest:
    """Return what leads a host of the team to it, by HTTP. Raises UsageError for a host that is not the team's."""
    if host not in place.team.hosts:
        there = f"it has {', '.join(place.team.hosts)}" if place.team.hosts else "it has none"
        raise UsageError(f"--host {host} is not a host of team {place.team.name} in the cluster file: {there}")
    return {
        "apiVersion": f"{ROUTING}/v1",
        "kind": "HTTPRoute",
        "metadata": metadata(place, wanted, labels=names(wanted)),
        "spec": {
            "parentRefs": [{"name": GATEWAY, "namespace": NAMESPACE}],
            "hostnames": [host],
            "rules": [{"backendRefs": [{"name": wanted.name, "port": PORTS["http"]}]}],
        },
    }


def budget(place: Place, wanted: Wanted) -> Manifest:
    """Let a drain take one replica at a time, and those that do not run at any time."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(place, wanted),
        "spec": {
            "maxUnavailable": 1,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": {"matchLabels": names(wanted)},
        },
    }


def deployment(place: Place, wanted: Wanted, serving: Serving) -> Manifest:
    """Return the Deployment. An autoscaler's number of replicas is not said: whoever applies the manifest again would
    set it back.
    """
    scraped = SCRAPED if place.cluster.monitoring.prometheus else {}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(place, wanted, labels=labels(place) | names(wanted)),
        "spec": {
            **({} if serving.scaled else {"replicas": serving.most}),
            "selector": {"matchLabels": names(wanted)},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": rolling(place)},
            "progressDeadlineSeconds": place.cluster.scheduling.start_minutes * 60,
            "template": {"metadata": {"labels": names(wanted) | scraped}, "spec": pod(place, wanted, serving)},
        },
    }


def rolling(place: Place) -> Manifest:
    """Put a new replica beside the old ones where the team may have one more than the most; else it would wait for a
    quota that the old ones hold, for ever, and one of those goes first.
    """
    room, pods = reach(place.cluster, place.team, place.pool), place.copies + 1
    asked = ((place.each, room.devices[place.device]), (place.milli_cpu, room.milli_cpu), (place.memory, room.memory))
    beside = all(pods * each <= there for each, there in asked)
    return {"maxSurge": 1, "maxUnavailable": 0} if beside else {"maxSurge": 0, "maxUnavailable": 1}


def pod(place: Place, wanted: Wanted, serving: Serving) -> Manifest:
    """Return the spec of a replica. It asks for no node other than its neighbours': Kueue chooses it when it lets a
    replica in (`spec.topologyName` of its flavors), the fullest that has room, and reads no spread.
    """
    found = models(place, serving)
    shm = {"medium": "Memory", "sizeLimit": str(Quantity.of(place.shared_memory, binary=True))}
    return {
        **placement(place.priority),
        **on_pool(place.cluster, place.pool),
        "containers": [container(place, wanted, found)],
        # Models in Python hand tensors over there; the default is 64 MiB.
        "volumes": [{"name": "shm", "emptyDir": shm}, *found.volumes],
    }


def container(place: Place, wanted: Wanted, found: Models) -> Manifest:
    """Return the server. Its own copy of a bucket lies in the container, and goes with it: in a volume it would be in
    the way of a container that starts again (Triton wants an empty folder).
    """
    # The user has no entry in most images.
    home = {"HOME": "/tmp", "USER": "triton"}  # noqa: S108 - the pod's own
    return {
        "name": "triton",
        "image": wanted.image,
        # The image's own entry point makes newer CUDA fit older drivers first.
        "args": ["tritonserver", f"--model-repository={found.repository}", f"--exit-timeout-secs={EXIT}"],
        "env": [*variables(home), *found.env],
        "ports": [{"name": name, "containerPort": port} for name, port in PORTS.items()],
        "resources": {"limits": limits(place)},
        "securityContext": SECURITY,
        **probes(place),
        "lifecycle": {"preStop": {"sleep": {"seconds": DRAIN}}},
        "volumeMounts": [
            {"name": "shm", "mountPath": "/dev/shm"},  # noqa: S108 - the pod's own
            *found.mounts,
        ],
    }


def probes(place: Place) -> Manifest:
    """Give models as long to load and warm up as Kueue gives a job to start; it would stop it then."""
    period = 10
    tries = place.cluster.scheduling.start_minutes * 60 // period
    ready, live = ({"httpGet": {"path": f"/v2/health/{what}", "port": "http"}} for what in ("ready", "live"))
    return {
        "startupProbe": {**ready, "periodSeconds": period, "failureThreshold": tries},
        "readinessProbe": {**ready, "periodSeconds": 5, "timeoutSeconds": 3, "failureThreshold": 3},
        "livenessProbe": {**live, "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 3},
    }


def autoscaler(place: Place, wanted: Wanted, serving: Serving) -> Manifest:
    """Follow the time that requests wait. It doubles quickly and shrinks slowly: a replica that went takes minutes to
    come back. Replicas that load count as idle, so that they are not asked for twice.
    """
    metric = {"metric": {"name": QUEUE_SECONDS.name}, "target": {"type": "AverageValue", "averageValue": WAIT}}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": metadata(place, wanted),
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": wanted.name},
            "minReplicas": serving.least,
            "maxReplicas": serving.most,
            "metrics": [{"type": "Pods", "pods": metric}],
            "behavior": {
                "scaleUp": {
                    "stabilizationWindowSeconds": 30,
                    "policies": [{"type": "Percent", "value": 100, "periodSeconds": 60}],
                },
                "scaleDown": {
                    "stabilizationWindowSeconds": 600,
                    "policies": [{"type": "Pods", "value": 1, "periodSeconds": 120}],
                },
            },
        },
    }
