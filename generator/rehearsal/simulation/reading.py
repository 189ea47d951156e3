"""What runs in a cluster, read once: nothing is written there, and no Secret is read."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import DecodeError, Struct, json

from generator.components.component import Manifest
from generator.components.etcd_backup import NAMESPACE as BACKUPS
from generator.components.gpu_operator import NAMESPACE as GPU_OPERATOR
from generator.components.rook_ceph import NAMESPACE as ROOK
from generator.errors import UsageError
from generator.live.running import RunningCluster
from generator.live.times import stamp
from generator.model.fields import dig, mapping, sequence
from generator.rehearsal.jobs import KUEUE
from generator.rehearsal.simulation.shape import shape
from generator.rehearsal.standin import CLAIMS, VOLUMES
from generator.repository.given_files import read_given
from generator.repository.whole import write_whole

LARGEST = 1 << 30
"""Bytes of a saved state at the most."""
NODES, PODS, NAMESPACES = "/api/v1/nodes", "/api/v1/pods", "/api/v1/namespaces"
CEPH = f"/apis/ceph.rook.io/v1/namespaces/{ROOK}/cephclusters"
RUNS = f"/apis/argoproj.io/v1alpha1/namespaces/{BACKUPS}/workflows"
PRIORITIES = "/apis/scheduling.k8s.io/v1/priorityclasses"
SETS = f"/apis/apps/v1/namespaces/{GPU_OPERATOR}/daemonsets"
REVISIONS = f"/apis/apps/v1/namespaces/{GPU_OPERATOR}/controllerrevisions"
DRIVERS = "/apis/storage.k8s.io/v1/csinodes"
BUDGETS = "/apis/policy/v1/poddisruptionbudgets"
MAKERS = {
    "Deployment": "/apis/apps/v1/deployments",
    "ReplicaSet": "/apis/apps/v1/replicasets",
    "StatefulSet": "/apis/apps/v1/statefulsets",
    "Job": "/apis/batch/v1/jobs",
}
"""Kinds that make pods and that a twin has controllers for."""
LOADS = f"{KUEUE}/workloads"
READ = {
    NODES: "Node",
    PODS: "Pod",
    NAMESPACES: "Namespace",
    CEPH: "CephCluster",
    RUNS: "Workflow",
    PRIORITIES: "PriorityClass",
    DRIVERS: "CSINode",
    SETS: "DaemonSet",
    REVISIONS: "ControllerRevision",
    BUDGETS: "PodDisruptionBudget",
    CLAIMS: "PersistentVolumeClaim",
    VOLUMES: "PersistentVolume",
    LOADS: "Workload",
    **{path: kind for kind, path in MAKERS.items()},
}
"""All that is read: kinds by the path of their collection."""


LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""An annotation with all that was said of an object, what its pods are told included."""


class State(Struct, frozen=True):
    """What runs: the cluster's name, the address of its API server, when it was read, and objects by the path of their
    collection, reduced to what decides where pods run.
    """

    cluster: str
    host: str
    at: str
    found: dict[str, list[dict[str, Any]]]

    def __getitem__(self, path: str) -> list[Manifest]:
        """Return the objects of a collection, none where nothing of their kind is served."""
        return self.found.get(path, [])


def read(running: RunningCluster, cluster: str) -> State:
    """Read what runs in a cluster of this name. Raises UsageError."""
    at = stamp(datetime.now(UTC))
    found = {path: [reduced(named(path, one)) for one in running.items(path)] for path in READ}
    return State(cluster, running.host, at, found)


def named(path: str, one: Manifest) -> Manifest:
    """Return an object with its version and kind, which a list does not repeat."""
    version = "/".join(path.split("/")[2:4]) if path.startswith("/apis/") else "v1"
    return {**one, "apiVersion": version, "kind": READ[path]}


def reduced(one: Manifest) -> Manifest:
    """Return of an object what a twin needs of it: nothing that its pods are told."""
    metadata = {key: value for key, value in one["metadata"].items() if key != "managedFields"}
    if notes := mapping(metadata.get("annotations")):
        metadata["annotations"] = {key: value for key, value in notes.items() if key != LAST_APPLIED}
    kept, spec = {**one, "metadata": metadata}, mapping(one.get("spec"))
    match one.get("kind"):
        case "Pod":
            kept["spec"] = {**shape(spec), "nodeName": spec.get("nodeName", "")}
            kept["status"] = {key: dig(one, "status", key) for key in ("phase", "conditions")}
        case "ControllerRevision":
            kept.pop("data", None)
        case "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet" | "Job":
            kept["spec"] = {**spec, "template": _shaped(spec["template"])}
        case "Workload":
            sets = [{**each, "template": _shaped(each["template"])} for each in sequence(spec.get("podSets"))]
            kept["spec"] = {**spec, "podSets": sets}
        case "Workflow":
            kept |= {"spec": {}, "status": _ended(one)}
    return kept


def _shaped(template: Manifest) -> Manifest:
    return {**template, "spec": shape(mapping(template.get("spec")))}


def _ended(run: Manifest) -> Manifest:
    """Return how a run ended, and what its steps told."""
    nodes = mapping(dig(run, "status", "nodes"))
    told = {name: {"outputs": {"parameters": dig(one, "outputs", "parameters")}} for name, one in nodes.items()}
    return {"phase": dig(run, "status", "phase"), "nodes": told}


def load(file: Path, cluster: str) -> State:
    """Return what was read before in the cluster of this name. Raises UsageError."""
    try:
        found = json.decode(read_given(file, LARGEST), type=State)
    except (OSError, DecodeError) as error:
        raise UsageError(f"{file}: it is no state that `--save` wrote ({error}); save one anew") from None
    if found.cluster != cluster:
        raise UsageError(
            f"{file}: it is what runs in {found.cluster}, not in {cluster}: ask for that one, or save anew"
        )
    return found


def save(state: State, file: Path) -> None:
    """Write what was read to a file of one's own. Raises UsageError."""
    try:
        write_whole(file, json.encode(state))
    except OSError as error:
        raise UsageError(f"{file}: it cannot be written: {error.strerror}") from None
