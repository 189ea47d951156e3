"""Cluster API as far as the autoscaler can tell: its kinds, and machines that become nodes once they are asked for.

Its controllers and providers are elsewhere: what is played here is a MachineDeployment with one MachineSet, whose
Machines are nodes of KWOK's at once, and are gone with their node once they are marked.
"""

from typing import TYPE_CHECKING, Any

from generator.components.cluster_autoscaler.groups import CAPACITY

if TYPE_CHECKING:
    from twin.plane import Plane

Object = dict[str, Any]
GROUP = "cluster.x-k8s.io"
API = f"{GROUP}/v1beta2"
SPACE, CLUSTER = "sites", "lab"
OF_GROUP = f"{GROUP}/deployment-name"


def definition(kind: str, *, scaled: bool = False) -> Object:
    """Return the definition of one of Cluster API's kinds, with anything in it."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": anything, "status": anything}}
    scale = {"scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}}
    version = {"name": "v1beta2", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    plural = f"{kind.lower()}s"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()},
            "scope": "Namespaced",
            "versions": [version | {"subresources": {"status": {}} | (scale if scaled else {})}],
        },
    }


DEFINITIONS = (
    definition("MachineDeployment", scaled=True),
    definition("MachineSet", scaled=True),
    definition("Machine"),
)


def group(name: str, annotations: dict[str, str], cluster: str = CLUSTER) -> tuple[Object, Object]:
    """Return a MachineDeployment and its MachineSet, without machines."""
    labels = {f"{GROUP}/cluster-name": cluster}
    meta = {"namespace": SPACE, "labels": labels}
    selector = {"matchLabels": {OF_GROUP: name}}
    spec = {"clusterName": cluster, "replicas": 0, "selector": selector, "template": {"spec": {"clusterName": cluster}}}
    return (
        {"apiVersion": API, "kind": "MachineDeployment", "spec": spec}
        | {"metadata": {**meta, "name": name, "annotations": annotations}},
        {"apiVersion": API, "kind": "MachineSet", "spec": spec, "metadata": {**meta, "name": name}},
    )


class Provider:
    """Plays controllers and provider for one MachineDeployment, a round at a time."""

    def __init__(self, api: "Plane", name: str) -> None:
        self.api, self.name, self.made = api, name, 0
        self.place = f"/apis/{API}/namespaces/{SPACE}"

    def deployment(self, name: str = "") -> Object:
        """Return the MachineDeployment, or another one."""
        return dict(self.api.get(f"{self.place}/machinedeployments/{name or self.name}"))

    @property
    def replicas(self) -> int:
        """How many machines are asked for."""
        return int(self.deployment()["spec"]["replicas"])

    @property
    def nodes(self) -> list[str]:
        """The nodes that machines became."""
        return sorted(one["metadata"]["name"] for one in self.api.items(f"{self.place}/machines"))

    def round(self) -> bool:
        """Make what is missing, and let go what is marked; return True."""
        self._own()
        machines = self.api.items(f"{self.place}/machines")
        marked = [one for one in machines if f"{GROUP}/delete-machine" in one["metadata"].get("annotations", {})]
        over = len(machines) - self.replicas
        for one in sorted(machines, key=lambda one: one not in marked)[: max(over, 0)]:
            self._remove(one["metadata"]["name"])
        for _ in range(-over):
            self._add()
        return True

    def _own(self) -> None:
        """Let the MachineDeployment own its MachineSet: by that the autoscaler tells whose a machine is."""
        owner = self.deployment()
        one = {key: owner[key] for key in ("apiVersion", "kind")} | {"name": self.name, "uid": owner["metadata"]["uid"]}
        change = {"metadata": {"ownerReferences": [one | {"controller": True}]}}
        path = f"{self.place}/machinesets/{self.name}"
        assert self.api.request("PATCH", path, change, patch="merge-patch+json")[0] == 200

    def _add(self) -> None:
        self.made += 1
        name = f"{self.name}-{self.made}"
        owner = self.api.get(f"{self.place}/machinesets/{self.name}")["metadata"]
        reference = {"apiVersion": API, "kind": "MachineSet", "name": owner["name"], "uid": owner["uid"]}
        labels = {OF_GROUP: self.name, f"{GROUP}/cluster-name": CLUSTER}
        meta = {
            "name": name,
            "namespace": SPACE,
            "labels": labels,
            "ownerReferences": [reference | {"controller": True}],
        }
        spec = {"clusterName": CLUSTER, "providerID": f"played:///{name}"}
        status = {"phase": "Running", "nodeRef": {"name": name}}
        self.api.apply(node(name, self.deployment()["metadata"]["annotations"]))
        self.api.apply({"apiVersion": API, "kind": "Machine", "metadata": meta, "spec": spec})
        path = f"{self.place}/machines/{name}/status"
        assert self.api.request("PATCH", path, {"status": status}, patch="merge-patch+json")[0] == 200

    def _remove(self, name: str) -> None:
        for path in (f"{self.place}/machines/{name}", f"/api/v1/nodes/{name}"):
            assert self.api.request("DELETE", path)[0] == 200


def node(name: str, told: dict[str, str]) -> Object:
    """Return the node that a machine becomes: with what the annotations say that it will have."""
    found = {key.removeprefix(CAPACITY): value for key, value in told.items() if key.startswith(CAPACITY)}
    labels = dict(one.split("=", 1) for one in found["labels"].split(","))
    labels |= {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    capacity = {"cpu": found["cpu"], "memory": found["memory"], "pods": found["maxPods"]}
    capacity |= {found["gpu-type"]: found["gpu-count"]} if "gpu-type" in found else {}
    taints = [_taint(one) for one in found.get("taints", "").split(",") if one]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": {f"{GROUP}/machine": f"{SPACE}/{name}"}},
        "spec": {"providerID": f"played:///{name}", "taints": taints},
        "status": {"capacity": capacity, "allocatable": capacity},
    }


def _taint(text: str) -> Object:
    key, effect = text.rsplit(":", 1)
    name, _, value = key.partition("=")
    return {"key": name, "value": value, "effect": effect} if value else {"key": name, "effect": effect}
