"""What an operation works on beside nodes and pods, where what was brought or assumed does not have it."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from generator.components.component import Manifest
from generator.components.gpu_care.names import DRAIN, SICK
from generator.components.node_operations.names import DRIVER_UPGRADE, EXPANSION, MACHINE, MAINTENANCE, NAMESPACE
from generator.live.running import RunningCluster
from generator.live.times import stamp
from generator.model.cluster import Cluster
from generator.model.fields import dig
from generator.rehearsal.simulation import drivers
from generator.rehearsal.simulation.asked import written
from generator.rehearsal.simulation.course import OWN_POD
from generator.rehearsal.simulation.reading import NODES, PODS, State
from generator.rehearsal.twin.plane import Plane

TRIES = (DRIVER_UPGRADE, EXPANSION)
"""Operations that try devices, by pods of the image that their own one has."""


def assume(plane: Plane, cluster: Cluster, operation: str) -> Iterator[str]:
    """Have the nodes need an operation, where no cluster is asked and jobs run. Yield what was assumed. Raises
    UsageError.
    """
    match operation:
        case name if name == MAINTENANCE and cluster.kubernetes.upgrades == "timer":
            yield from _wait_for_all(plane.cluster, cluster)
        case name if name == DRIVER_UPGRADE:
            yield from drivers.assume(plane, cluster)
        case name if name == DRAIN:
            yield from _sick(plane.cluster, cluster)


def bring(plane: Plane, state: State, operation: str) -> Iterator[str]:
    """Bring what an operation works on. Yield what was assumed. Raises UsageError."""
    if operation == DRIVER_UPGRADE:
        yield from drivers.bring(plane, state)


def own_pod(twin: RunningCluster, template: Manifest) -> None:
    """Have the pod of the operation's step, of which the image is asked; no node ever gets it."""
    spec = template["spec"]
    container = next(one["container"] for one in spec["templates"] if "container" in one)
    kept = {key: container[key] for key in ("image", "securityContext") if key in container}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": OWN_POD, "namespace": NAMESPACE},
        "spec": {
            "schedulerName": "nobody",
            "securityContext": spec["securityContext"],
            "containers": [{"name": "main", **kept}],
        },
    }
    twin.create(f"/api/v1/namespaces/{NAMESPACE}/pods", pod)


def _wait_for_all(twin: RunningCluster, cluster: Cluster) -> Iterator[str]:
    now = datetime.now(UTC)
    since, end = (stamp(now + timedelta(days=days)) for days in (-1, 30))
    told = written({"reboot": since, "files": "new", "applied": "old", "certificates": end})
    for machine in cluster.machines:
        twin.merge(f"{NODES}/{machine.name}", {"metadata": {"annotations": {MACHINE: told}}})
    yield "each machine waits for a reboot, has newer files than are in place, and certificates that end in a month"


def _sick(twin: RunningCluster, cluster: Cluster) -> Iterator[str]:
    """Have one node with a sick GPU, where possible one with jobs."""
    names = [one.name for one in cluster.gpu_nodes]
    busy = [name for pod in twin.items(PODS) if _holds_gpus(pod) and (name := dig(pod, "spec", "nodeName")) in names]
    name = min(busy or names)
    why = json.dumps({"at": stamp(datetime.now(UTC)), "what": ["assumed"]})
    taints = [*(dig(twin.get(f"{NODES}/{name}") or {}, "spec", "taints") or ()), {"key": SICK, "effect": "NoSchedule"}]
    twin.merge(f"{NODES}/{name}", {"metadata": {"annotations": {SICK: why}}, "spec": {"taints": taints}})
    yield f"a GPU of {name} is sick"


def _holds_gpus(pod: Manifest) -> bool:
    limits = [dig(one, "resources", "limits") or {} for one in pod["spec"]["containers"]]
    return any(name.startswith("nvidia.com/") for one in limits for name in one)
