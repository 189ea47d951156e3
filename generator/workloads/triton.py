"""Triton for a team: replicas that start through the queue, and an autoscaler that looks at how long requests wait."""

from collections.abc import Iterator

from generator.components import CATALOGUE, metrics
from generator.components.component import Manifest
from generator.components.job_pods import SECURITY, on_pool, placement, variables
from generator.components.kube_prometheus_stack import SCRAPED
from generator.components.prometheus_adapter import GPU_USE, GROUP, QUEUE_SECONDS, PodMetric
from generator.errors import UsageError
from generator.model.quantity import Quantity
from generator.workloads.models import Models, models
from generator.workloads.place import Place
from generator.workloads.pods import limits
from generator.workloads.served import DRAIN, Served, served, side_by_side, starting
from generator.workloads.wanted import Serving, Wanted

PORTS = {"http": 8000, "grpc": 8001, SCRAPED.port: 8002}
"""Triton's own."""
EXIT = 45
"""Seconds for the requests that a pod has when nobody sends it more: with `DRAIN` less than its time to end, a minute.
"""
SCALES: dict[str, tuple[PodMetric, str]] = {"queue": (QUEUE_SECONDS, "50m"), "gpu": (GPU_USE, "700m")}
"""By what replicas follow the load, the first where nobody says it: a metric, and the mean of all replicas above which
there is another one. 50 ms that a request waits; 70 percent of the time that a GPU computes.
"""
_MODEL = "[A-Za-z0-9_][A-Za-z0-9_.-]*"
"""A model's name as it stands in a path. Neither `..` nor `%2F` is one, by which a path could lead elsewhere."""
PATHS: tuple[Manifest, ...] = (
    {"type": "Exact", "value": "/v2/health/live"},
    {"type": "Exact", "value": "/v2/health/ready"},
    {
        "type": "RegularExpression",
        "value": f"/v2/models/{_MODEL}(/versions/[0-9]+)?/(infer|generate|generate_stream|ready)",
    },
)
"""What is reached from outside: whether it answers, and inference. At the same port, and for anybody, Triton has its
log, traces, shared memory, its repository, and what `/v2/models/stats` tells of all models (`http_server.cc`).
"""


def triton(place: Place, wanted: Wanted) -> list[Manifest]:
    """Return a service and what it needs, in the order in which they are made. Raises UsageError where nothing would
    ever scale it.
    """
    serving = _serving(place, wanted)
    one = Served(
        place=place,
        name=wanted.name,
        app="triton",
        ports=PORTS,
        least=serving.least,
        most=serving.most,
        host=serving.host,
        paths=PATHS,
    )
    followed, most = SCALES[_scale(serving)]
    metric = {"metric": {"name": followed.name}, "target": {"type": "AverageValue", "averageValue": most}}
    scraped = SCRAPED.labels if place.cluster.monitoring.prometheus else {}
    return served(one, pod(place, wanted, serving), {"type": "Pods", "pods": metric}, scraped)


def notes(place: Place, wanted: Wanted) -> Iterator[str]:
    """Yield what whoever starts it should know."""
    yield from models(place, _asked(wanted)).notes
    yield from side_by_side(place)
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


def _scale(serving: Serving) -> str:
    return serving.scale_on or next(iter(SCALES))


def _serving(place: Place, wanted: Wanted) -> Serving:
    serving = _asked(wanted)
    if place.pods > 1:
        raise UsageError(f"a replica is one pod, and a node of pool {place.pool} has fewer than {wanted.gpus} GPUs")
    if serving.scaled:
        _followed(place, serving)
    elif serving.scale_on:
        raise UsageError(
            f"--scale-on {serving.scale_on}: {serving.most} replicas follow nothing; give a range, as 1..4"
        )
    return serving


def _followed(place: Place, serving: Serving) -> None:
    """Refuse a range by what nothing tells on the cluster, or tells of one pod alone."""
    there, (metric, _) = metrics(place.cluster), SCALES[_scale(serving)]
    names = there.get(GROUP)
    if GROUP not in there or (names is not None and metric.name not in names):
        reasons = [f"component {one.name}: {one.absence}" for one in CATALOGUE.values() if one.metrics(place.cluster)]
        raise UsageError(
            f"nothing on {place.cluster.name} serves {metric.name}, by which the number of replicas follows the "
            f"load ({'; '.join(reasons)}); take a fixed number, as in --replicas {serving.most}"
        )
    if metric == GPU_USE and any(gpu and gpu.time_slices for gpu in (one.hardware.gpu for one in place.machines)):
        raise UsageError(
            f"--scale-on gpu: pods take turns on the GPUs of pool {place.pool}, and nothing tells for which of them a "
            "GPU computes; take --scale-on queue"
        )


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
        "args": [
            "tritonserver",
            f"--model-repository={found.repository}",
            # Ready is who has loaded all models, and made the requests of their `model_warmup`.
            "--strict-readiness=true",
            f"--exit-timeout-secs={EXIT}",
        ],
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
    """Tell by Triton's own answers whether its models are loaded, and whether it lives."""
    ready, live = ({"httpGet": {"path": f"/v2/health/{what}", "port": "http"}} for what in ("ready", "live"))
    return {
        "startupProbe": starting(place, ready),
        "readinessProbe": {**ready, "periodSeconds": 5, "timeoutSeconds": 3, "failureThreshold": 3},
        "livenessProbe": {**live, "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 3},
    }
