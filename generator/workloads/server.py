"""A service of a team on nodes without GPUs: whatever the image serves at a port, as many times as its CPUs ask for."""

from collections.abc import Iterator

from msgspec import Struct

from generator.components.common import POOL
from generator.components.component import Manifest
from generator.components.job_pods import SECURITY, SHM_MOUNT, placement, shared_memory, variables
from generator.components.queues import nominal
from generator.errors import UsageError
from generator.model.cluster import Cluster
from generator.model.quantity import Quantity
from generator.workloads.models import FOLDER, Models, models
from generator.workloads.place import OnCpus, Place, cpu_place
from generator.workloads.served import DRAIN, Served, served, side_by_side, starting
from generator.workloads.wanted import Serving, named

BUSY = 70
"""Percent of what they request that replicas use in the mean, before there is another one."""
TAKEN = range(1, 1024)
"""Ports that only root may listen at."""


class Server(Struct, frozen=True, kw_only=True):
    """What serves: an image that answers at `port`, and at the path `ready` once it is ready; None where nothing but
    the port says so. `models` is a claim that it reads, as `pvc://CLAIM/PATH`; the rest as of `Wanted` and `Serving`.
    """

    name: str
    team: str
    image: str
    port: int
    least: int
    most: int
    cpus: int = 4
    memory: Quantity = Quantity.parse("8Gi")
    ready: str | None = None
    models: str | None = None
    host: str | None = None
    pool: str | None = None
    priority: str | None = None


def server(cluster: Cluster, wanted: Server) -> tuple[list[Manifest], list[str]]:
    """Write the service, and what its user should know. Raises UsageError where it could never run."""
    _checked(wanted)
    place = cpu_place(
        cluster,
        OnCpus(
            team=wanted.team,
            cpus=wanted.cpus,
            memory=wanted.memory,
            pool=wanted.pool,
            priority=wanted.priority,
            copies=wanted.most,
        ),
    )
    found = _models(place, wanted)
    one = Served(
        place=place,
        name=wanted.name,
        app="server",
        ports={"http": wanted.port},
        least=wanted.least,
        most=wanted.most,
        host=wanted.host,
    )
    busy = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": BUSY}}
    made = served(one, _pod(place, wanted, found), {"type": "Resource", "resource": busy})
    return made, [*_notes(place, wanted), *found.notes]


def _checked(wanted: Server) -> None:
    named(wanted.name)
    if wanted.port in TAKEN:
        raise UsageError(f"--port {wanted.port}: its pods run as no root, who alone may listen below 1024; take 8080")
    if wanted.ready is not None and not wanted.ready.startswith("/"):
        raise UsageError(f"--ready {wanted.ready}: a path of the service begins with /, as in /healthz")


def _models(place: Place, wanted: Server) -> Models:
    """Find the claim that is read. Servers read buckets each in its own way."""
    if wanted.models is None:
        return Models(repository="")
    if not wanted.models.startswith("pvc://"):
        raise UsageError(
            f"--models {wanted.models}: say pvc://CLAIM/PATH, which is mounted at {FOLDER}; a bucket is brought into a "
            "claim by gen workload ingest"
        )
    return models(place, Serving(models=wanted.models, least=wanted.least, most=wanted.most))


def _notes(place: Place, wanted: Server) -> Iterator[str]:
    owned = nominal(place.cluster, place.team, place.pool).milli_cpu // 1000
    borrowed = wanted.most * wanted.cpus - owned
    if borrowed > 0:
        yield (
            f"{borrowed} CPUs at the most are borrowed: replicas go when their owner wants them, and wait until there "
            "is room again"
        )
    if wanted.least == 1:
        yield "with a single replica the service is away while a node is drained: --replicas 2..N keeps it up"
    if wanted.ready is None:
        yield "a replica gets requests as soon as its port is open: --ready names the path that tells that it is ready"
    yield from side_by_side(place)


def _pod(place: Place, wanted: Server, found: Models) -> Manifest:
    """Return the spec of a replica. Without tolerations: Kueue adds what the flavor of the pool tolerates."""
    return {
        **placement(place.priority),
        "nodeSelector": {POOL: place.pool},
        "containers": [_container(place, wanted, found)],
        "volumes": [shared_memory(place.shared_memory), *found.volumes],
    }


def _container(place: Place, wanted: Server, found: Models) -> Manifest:
    """Return the server. Libraries that compute take as many threads as the node has cores, and are throttled, unless
    they are told how many are theirs.
    """
    # The user has no entry in most images.
    env = {"OMP_NUM_THREADS": str(wanted.cpus), "HOME": "/tmp", "USER": "server"}  # noqa: S108 - the pod's own
    models = {"MODELS": found.repository} if found.repository else {}
    return {
        "name": "server",
        "image": wanted.image,
        "env": variables(env | models),
        "ports": [{"name": "http", "containerPort": wanted.port}],
        "resources": {"limits": {"cpu": str(wanted.cpus), "memory": str(wanted.memory)}},
        "securityContext": SECURITY,
        **_probes(place, wanted),
        "lifecycle": {"preStop": {"sleep": {"seconds": DRAIN}}},
        "volumeMounts": [SHM_MOUNT, *found.mounts],
    }


def _probes(place: Place, wanted: Server) -> Manifest:
    """Send requests to what says that it is ready. Alive is what accepts connections: one that is slow under load would
    be started again with all that it has to do.
    """
    open_port = {"tcpSocket": {"port": "http"}}
    ready = {"httpGet": {"path": wanted.ready, "port": "http"}} if wanted.ready else open_port
    return {
        "startupProbe": starting(place, ready),
        "readinessProbe": {**ready, "periodSeconds": 5, "timeoutSeconds": 3, "failureThreshold": 3},
        "livenessProbe": {**open_port, "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 6},
    }
