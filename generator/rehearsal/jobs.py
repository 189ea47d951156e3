"""Jobs of the teams' shapes, sent as their members would, so that the queues are full when the change comes."""

from collections.abc import Iterator
from time import monotonic, sleep
from typing import Any

from msgspec import Struct

from generator.components.common import OIDC_PREFIX
from generator.components.component import Manifest
from generator.live.api import Answer, Request
from generator.live.discovery import path_of_version
from generator.live.running import RunningCluster
from generator.model.fields import dig, holds, sequence
from generator.model.quantity import Quantity
from generator.rehearsal.standin import StandIn

KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
QUEUE, PRIORITY = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"
GANG = "scheduling.volcano.sh/group-min-member"
NOT_DEVICES = {"cpu", "memory", "pods", "ephemeral-storage"}
WAITING = 3
"""Jobs of one pod that a team sends beyond its own: they borrow, or wait."""
PATIENCE = 25.0
"""Seconds for the jobs of all teams to start."""


class Share(Struct, frozen=True, kw_only=True):
    """What a team may have of one flavor: `device` is what is counted there (GPUs, else CPUs), `each` how many of it a
    pod asks for, `own` how many the team owns; `limits` are those of a pod.
    """

    team: str
    queue: str
    flavor: str
    device: str
    each: int
    own: int
    limits: dict[str, str]
    tolerations: tuple[dict[str, str], ...]

    @property
    def pods(self) -> int:
        """How many pods fill what the team owns."""
        return self.own // self.each


def shares(cluster: RunningCluster) -> Iterator[Share]:
    """Yield what each team owns of each flavor, as Kueue has it; of flavors with devices where there are such."""
    queues = {one["metadata"]["name"]: one for one in cluster.items(f"{KUEUE}/clusterqueues")}
    flavors = {one["metadata"]["name"]: one for one in cluster.items(f"{KUEUE}/resourceflavors")}
    machines = [*cluster.items("/api/v1/nodes")]
    for local in cluster.items(f"{KUEUE}/localqueues"):
        found = queues.get(str(dig(local, "spec", "clusterQueue")), {})
        mine = [*_shares(local, found, flavors, machines)]
        yield from [one for one in mine if one.device != "cpu"] or mine


def _shares(
    local: Manifest, queue: Manifest, flavors: dict[str, Manifest], machines: list[Manifest]
) -> Iterator[Share]:
    for flavor in (each for group in sequence(dig(queue, "spec", "resourceGroups")) for each in group["flavors"]):
        quotas = {one["name"]: _number(one["nominalQuota"]) for one in flavor["resources"]}
        meant = flavors.get(flavor["name"], {})
        labels = (dig(meant, "spec", "nodeLabels") or {}).items()
        nodes = [one for one in machines if labels <= one["metadata"]["labels"].items()]
        devices = [name for name in quotas if name not in NOT_DEVICES and quotas[name] > 0]
        for device in devices or [name for name in ("cpu",) if quotas.get(name)]:
            has = max((_number(dig(one, "status", "allocatable", device) or 0) for one in nodes), default=0)
            each = min(int(has), int(quotas[device])) if device != "cpu" else 1
            if each:
                yield Share(
                    team=local["metadata"]["namespace"],
                    queue=local["metadata"]["name"],
                    flavor=flavor["name"],
                    device=device,
                    each=each,
                    own=int(quotas[device]),
                    limits=_limits(quotas, device, each, int(quotas[device]) // each),
                    tolerations=_tolerations(flavors.values()),
                )


def _limits(quotas: dict[str, float], device: str, each: int, pods: int) -> dict[str, str]:
    """Return the limits of a pod: CPUs and memory are a half of the part that goes with its devices, as other jobs want
    some as well.
    """
    limits = {} if device == "cpu" else {device: str(each)}
    cpus = quotas.get("cpu", 0) / pods / 2
    memory = quotas.get("memory", 0) / pods / 2
    cpu = "1" if device == "cpu" else f"{max(1, min(8, int(cpus)))}"
    return limits | {"cpu": cpu, "memory": f"{max(1, min(32, int(memory / 2**30)))}Gi"}


def _tolerations(flavors: Any) -> tuple[dict[str, str], ...]:
    """Tolerate the taints of all flavors: what is lent elsewhere is taken, too."""
    keys = dict.fromkeys(taint["key"] for one in flavors for taint in sequence(dig(one, "spec", "nodeTaints")))
    return tuple({"key": key, "operator": "Exists", "effect": "NoSchedule"} for key in keys)


def _number(said: object) -> float:
    return Quantity.parse(str(said)).milli / 1000


def job(share: Share, name: str, pods: int, priority: str = "") -> Manifest:
    """Return a training job as the documentation tells teams to write it."""
    container = {"name": "main", "image": "registry.example.org/train:1", "resources": {"limits": share.limits}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": share.team,
            "labels": {QUEUE: share.queue} | ({PRIORITY: priority} if priority else {}),
            "annotations": {GANG: str(pods)},
        },
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "backoffLimit": 0,
            "template": {
                "spec": {
                    "schedulerName": "volcano",
                    "restartPolicy": "Never",
                    "tolerations": list(share.tolerations),
                    "containers": [container],
                }
            },
        },
    }


class Load(Struct, frozen=True):
    """What fills the queues: of which shares, and why some jobs were not taken."""

    shares: tuple[Share, ...]
    refused: tuple[str, ...]


def fill(cluster: RunningCluster, standin: StandIn) -> Load:
    """Send each team's jobs: a gang that takes all that it owns of a flavor, then some that borrow or wait; and give
    the queues time to start what they can.
    """
    found = [one for one in shares(cluster) if one.pods]
    own = [(one, job(one, f"own-{one.flavor}", one.pods)) for one in found]
    more = [(one, job(one, f"more-{one.flavor}-{n}", 1)) for one in found for n in range(1, WAITING + 1)]
    refused = [*send(cluster, own)]
    wait(cluster, standin, len(own) - len(refused))
    refused += send(cluster, more)
    settle(cluster, standin)
    return Load(tuple(found), tuple(refused))


def send(cluster: RunningCluster, jobs: list[tuple[Share, Manifest]]) -> Iterator[str]:
    """Send jobs as members of their teams; yield what the API server says against those that it does not take."""
    for share, manifest in jobs:
        answer = submit(cluster, share.team, manifest)
        if not answer.good:
            yield f"{share.team}/{manifest['metadata']['name']}: {answer.message}"


def submit(cluster: RunningCluster, team: str, manifest: Manifest, query: str = "") -> Answer:
    """Create a Job or a Pod as a member of a team."""
    member = (f"{OIDC_PREFIX}{team}-member", (f"{OIDC_PREFIX}{team}", "system:authenticated"))
    version, kind = manifest["apiVersion"], manifest["kind"]
    path = f"{path_of_version(version)}/namespaces/{team}/{kind.lower()}s{query}"
    return cluster.api.ask(Request(path=path, method="POST", body=manifest, by=member))


def wait(cluster: RunningCluster, standin: StandIn, jobs: int) -> None:
    """Wait until so many jobs were let in, or patience ends."""
    end = monotonic() + PATIENCE
    while monotonic() < end and sum(map(admitted, cluster.items(f"{KUEUE}/workloads"))) < jobs:
        standin.round()
        sleep(0.3)


def settle(cluster: RunningCluster, standin: StandIn, quiet: float = 3.0, patience: float = PATIENCE) -> None:
    """Wait until nothing changes for some seconds at what queues and pods are, or patience ends."""
    end, since, before = monotonic() + patience, monotonic(), _state(cluster)
    while monotonic() < min(end, since + quiet):
        standin.round()
        sleep(0.3)
        now = _state(cluster)
        if now != before:
            since, before = monotonic(), now


def _state(cluster: RunningCluster) -> list[object]:
    loads = [(one["metadata"]["uid"], admitted(one)) for one in cluster.items(f"{KUEUE}/workloads")]
    pods = cluster.items("/api/v1/pods")
    return [*loads, *((one["metadata"]["uid"], dig(one, "status", "phase")) for one in pods)]


def admitted(workload: Manifest) -> bool:
    """Tell whether Kueue has let a workload in."""
    return holds(workload, "Admitted")
