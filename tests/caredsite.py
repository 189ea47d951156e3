"""Nodes with GPUs in memory, for the scripts of `gpu-care`: what the API server answers of them."""

import json
import sys
from collections.abc import Iterator
from copy import deepcopy
from importlib import import_module
from typing import Any

import pytest
from exporteroutputs import Device, output

Object = dict[str, Any]
SICK, SUSPECT, CARE = (f"gen.internal/gpu-{name}" for name in ("sick", "suspect", "care"))


class Site:
    """Ten nodes of a pool with eight GPUs each, with pods of the exporter and of the device plugin, and what the API
    server answers of them.
    """

    def __init__(self) -> None:
        self.names = [f"gpu-{number:02}" for number in range(10)]
        self.nodes = {name: _node(name) for name in self.names}
        self.pods = [pod for number, name in enumerate(self.names) for pod in _pods(name, f"127.0.0.{10 + number}")]
        self.answers: dict[str, str] = {}
        self.events: list[str] = []
        self.version = 0
        self.raced = False

    def tells(self, name: str, *devices: Device) -> None:
        """Let an exporter tell of these GPUs."""
        self.answers[f"127.0.0.{10 + self.names.index(name)}"] = output(devices or [Device(0)], name)

    def lose(self, pod: str) -> None:
        """Let a pod go."""
        self.pods = [one for one in self.pods if one["metadata"]["name"] != pod]

    def items(self, path: str, **query: str) -> list[Object]:
        if path == "/api/v1/nodes":
            return deepcopy([*self.nodes.values()])
        if path.endswith("/configmaps"):
            facts = json.dumps({"resources": {"nvidia.com/gpu": 8}})
            return [{"data": {"_pool": "{}", **dict.fromkeys(self.names, facts)}}]
        assert path == "/api/v1/namespaces/gpu-operator/pods", path
        return [one for one in self.pods if f"app={one['metadata']['labels']['app']}" == query["labelSelector"]]

    def get(self, path: str) -> Any:
        kind, _, name = path.removeprefix("/api/v1/").rpartition("/")
        return deepcopy(self.nodes.get(name)) if kind == "nodes" else None

    def ask(self, method: str, path: str, body: Object, *_: str) -> Any:
        assert (method, path) == ("POST", "/api/v1/namespaces/node-operations/events")
        assert body["metadata"]["namespace"] == body["involvedObject"]["namespace"], "the API server would refuse it"
        self.events.append(f"{body['involvedObject']['name']} {body['reason']}: {body['message']}")

    def patch(self, path: str, change: Object) -> Any:
        """Change a node, or refuse as who was slower; the first time another one is quicker where `raced` says so."""
        node = self.nodes[path.rpartition("/")[2]]
        if self.raced or change["metadata"].pop("resourceVersion") != node["metadata"]["resourceVersion"]:
            self.raced = False
            self.version += 1
            node["metadata"]["resourceVersion"] = str(self.version)
            raise sys.modules["api"].Conflict("another one was quicker")
        self.version += 1
        notes = node["metadata"]["annotations"]
        notes |= change["metadata"].get("annotations", {})
        node["metadata"] |= {
            "annotations": {name: value for name, value in notes.items() if value is not None},
            "resourceVersion": str(self.version),
        }
        node["spec"] |= change.get("spec", {})
        return deepcopy(node)

    def tainted(self) -> list[str]:
        """Return which nodes have the taint."""
        return [name for name, one in self.nodes.items() if any(each["key"] == SICK for each in one["spec"]["taints"])]

    def said(self, name: str, mark: str = SICK) -> str:
        """Return what a mark says."""
        return "; ".join(json.loads(self.nodes[name]["metadata"]["annotations"][mark])["what"])


def _node(name: str) -> Object:
    return {
        "metadata": {"name": name, "uid": name, "resourceVersion": "0", "annotations": {"site/own": "1"}},
        "spec": {"taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]},
        "status": {
            "capacity": {"cpu": "96", "nvidia.com/gpu": "8"},
            "allocatable": {"cpu": "95", "nvidia.com/gpu": "8"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def _pods(node: str, address: str) -> Iterator[Object]:
    for app in ("nvidia-dcgm-exporter", "nvidia-device-plugin-daemonset"):
        yield {
            "metadata": {
                "name": f"{app}-{node}",
                "uid": f"{app}-{node}",
                "labels": {"app": app},
                "ownerReferences": [{"kind": "DaemonSet", "name": app, "controller": True}],
            },
            "spec": {"nodeName": node},
            "status": {"podIP": address, "conditions": [{"type": "Ready", "status": "True"}]},
        }


class Care:
    """The scripts, on a site, at a time."""

    def __init__(self, site: Site, patch: pytest.MonkeyPatch) -> None:
        self.site, self.patch = site, patch
        self.look_module, self.cleared_module = import_module("gpu_care"), import_module("gpu_cleared")

    def look(self, at: str = "2026-11-23T12:00:00Z") -> None:
        """Look at all nodes at a time."""
        self.patch.setattr(self.look_module, "now", lambda: at)
        self.look_module.look(self.site)

    def cleared(self, node: str) -> None:
        """Let pods in again."""
        self.patch.setenv("NODE", node)
        self.cleared_module.cleared(self.site)

    @property
    def verdict(self) -> type[Exception]:
        return sys.modules["api"].Verdict  # type: ignore[no-any-return]
