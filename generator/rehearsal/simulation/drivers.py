"""NVIDIA's drivers on a twin, as the GPU Operator runs them: DaemonSets whose pods are of a former revision until their
nodes are upgraded.
"""

import contextlib
from collections.abc import Collection, Iterator
from typing import Any

from generator.components.component import Manifest
from generator.components.gpu_operator import MANAGER_ACTS
from generator.components.gpu_operator import NAMESPACE as OPERATOR
from generator.errors import UsageError
from generator.model.cluster import Cluster
from generator.model.fields import dig, mapping
from generator.rehearsal.simulation.assuming import IMAGE
from generator.rehearsal.simulation.reading import PODS, REVISIONS, SETS, State
from generator.rehearsal.simulation.units import controller
from generator.rehearsal.twin.plane import Plane

COMPONENT = "app.kubernetes.io/component"
DRIVER = "nvidia-driver"
REVISION = "controller-revision-hash"
OWN_PODS = f"/api/v1/namespaces/{OPERATOR}/pods"


def of_driver(one: Manifest) -> bool:
    """Tell whether a DaemonSet, or a pod, is one of a driver."""
    return mapping(one["metadata"].get("labels")).get(COMPONENT) == DRIVER


def assume(plane: Plane, cluster: Cluster) -> Iterator[str]:
    """Have a former driver on all nodes with GPUs. Yield what was assumed. Raises UsageError."""
    names = [one.name for one in cluster.gpu_nodes]
    variables = [{"name": name, "value": "false"} for name in MANAGER_ACTS]
    manager = {"name": "k8s-driver-manager", "image": IMAGE, "env": variables}
    _bring(plane, _set("nvidia-driver-daemonset", {COMPONENT: DRIVER}, names, initContainers=[manager]), ())
    _bring(plane, _set("nvidia-operator-validator", {"app": "nvidia-operator-validator"}, names), ())
    yield f"the GPU Operator runs a driver on {len(names)} nodes, each of which waits for a newer one"


def bring(plane: Plane, state: State) -> Iterator[str]:
    """Bring the DaemonSets of the GPU Operator, each driver pod of the revision that it has. Yield what was assumed.
    Raises UsageError.
    """
    fresh = newest(state)
    drivers = _uids(state)
    on = {pod["spec"]["nodeName"] for pod in state[PODS] if controller(pod).get("uid") in drivers}
    if drivers and on <= fresh:
        fresh = set()
        yield "no node has a former driver: a newer one is assumed, as the next version of gpu-operator would bring it"
    for one in state[SETS]:
        _bring(plane, one, fresh)


def newest(state: State) -> set[str]:
    """Return the nodes whose driver pod is of the newest revision of its DaemonSet."""
    found: dict[str, Any] = {}
    for one in sorted(state[REVISIONS], key=lambda each: int(each["revision"])):
        found[controller(one).get("uid", "")] = mapping(one["metadata"].get("labels")).get(REVISION)
    drivers = _uids(state)
    mine = [one for one in state[PODS] if controller(one).get("uid") in drivers]
    return {
        one["spec"]["nodeName"]
        for one in mine
        if found.get(controller(one)["uid"]) == mapping(one["metadata"].get("labels")).get(REVISION)
    }


def _uids(state: State) -> set[str]:
    """Return the DaemonSets of drivers, by their uids."""
    return {one["metadata"]["uid"] for one in state[SETS] if of_driver(one)}


def _bring(plane: Plane, one: Manifest, fresh: Collection[str]) -> None:
    """Bring a DaemonSet; one of drivers with a former revision on all nodes but those that have the newest one."""
    twin, path = plane.cluster, f"{SETS}/{one['metadata']['name']}"
    twin.create(SETS, _plain(one))
    _wait(plane, path)
    if of_driver(one):
        change = {"metadata": {"annotations": {"twin.test/revision": "newest"}}}
        twin.merge(path, {"spec": {"template": change}})
        plane.wait(f"{path} is changed", lambda: _seen(plane.get(path)))
        for pod in twin.items(OWN_PODS):
            if of_driver(pod) and dig(pod, "spec", "nodeName") in fresh:
                twin.delete(f"{OWN_PODS}/{pod['metadata']['name']}")
        _wait(plane, path)


def _wait(plane: Plane, path: str) -> None:
    """Wait until all pods are there, and a moment longer until they are Ready: on a node that is down none gets so."""
    plane.wait(f"{path} has its pods", lambda: _has(plane.get(path), "currentNumberScheduled"))
    with contextlib.suppress(UsageError):
        plane.wait(f"{path} is Ready", lambda: _has(plane.get(path), "numberReady"), 10.0)


def _plain(one: Manifest) -> Manifest:
    metadata = {key: one["metadata"][key] for key in ("name", "namespace", "labels") if key in one["metadata"]}
    spec = {key: one["spec"][key] for key in ("selector", "template", "updateStrategy") if key in one["spec"]}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata, "spec": spec}


def _seen(one: Manifest) -> bool:
    return bool(dig(one, "status", "observedGeneration") == dig(one, "metadata", "generation"))


def _has(one: Manifest, count: str) -> bool:
    wanted = dig(one, "status", "desiredNumberScheduled")
    return _seen(one) and wanted is not None and (dig(one, "status", count) or 0) >= wanted


def _set(name: str, labels: dict[str, str], nodes: list[str], **more: Any) -> Manifest:
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": nodes}]}
    pod = {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}},
        "containers": [{"name": "main", "image": IMAGE}],
        "tolerations": [{"operator": "Exists"}],
        **more,
    }
    spec = {
        "selector": {"matchLabels": labels},
        "updateStrategy": {"type": "OnDelete"},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    return {"metadata": {"name": name, "namespace": OPERATOR, "labels": labels}, "spec": spec}
