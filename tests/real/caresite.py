"""The steps of `gpu-care`, run as processes with the rights of their ServiceAccounts, on a twin; exporters answer on
loopback.
"""

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exporteroutputs import Device, output
from msgspec import structs
from nodesteps import NODES, TIMES, Running, Steps
from reference import load

from generator.components.gpu_care import gpu_care
from generator.components.gpu_care.names import SICK
from generator.components.gpu_care.templates import scripts
from generator.components.gpu_operator import NAMESPACE as GPU_OPERATOR
from generator.components.node_operations.facts import config_maps
from generator.components.node_operations.names import NAMESPACE
from generator.model.gpu_care import GpuCare

if TYPE_CHECKING:
    from twin.fixtures import Twin

CLUSTER = structs.replace(load("ml50"), gpu_care=GpuCare(drain=True))
NAMES = ("gpu-care", "gpu-drain", "gpu-cleared")
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
ACCOUNTS = [f"{NAMESPACE}:{name}" for name in NAMES]
GPU = {"name": "main", "image": "registry.example.org/any:1", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
APPS = ("nvidia-dcgm-exporter", "nvidia-device-plugin-daemonset")


class Care(Steps):
    """The twin, what runs steps there, and what exporters of three nodes answer."""

    def __init__(self, twin: "Twin", folder: Path, nodes: list[str]) -> None:
        super().__init__(twin, folder)
        for name, text in scripts()["data"].items():
            (folder / name).write_text(text)
        self.names = nodes
        self.answers = {f"127.0.0.{20 + number}": output([Device(0)], name) for number, name in enumerate(nodes)}
        self.port = 0

    def bring_all(self) -> None:
        """Apply what is rendered, but for Argo's kinds, and what the GPU operator would run."""
        self.api.namespace(NAMESPACE)
        self.api.namespace(GPU_OPERATOR)
        objects = [one for one in gpu_care(CLUSTER).objects if one["kind"] != "CronWorkflow"]
        self.twin.bring([*config_maps(CLUSTER), *objects])
        for name in NAMES:
            self.account(name)
        for app in APPS:
            self.api.apply(_daemon_set(app, self.names))
        self.api.wait("their pods are Ready", lambda: all(len(self.ready(app)) == len(self.names) for app in APPS))
        for pod in self.ready(APPS[0]):
            address = f"127.0.0.{20 + self.names.index(pod['spec']['nodeName'])}"
            path = f"/api/v1/namespaces/{GPU_OPERATOR}/pods/{pod['metadata']['name']}"
            self.status(path, {"podIP": address, "podIPs": [{"ip": address}]})

    def ready(self, app: str) -> list[dict[str, Any]]:
        """Return the Ready pods of a DaemonSet."""
        found = self.api.items(f"/api/v1/namespaces/{GPU_OPERATOR}/pods?labelSelector=app%3D{app}")
        return [
            one
            for one in found
            if any(each["type"] == "Ready" and each["status"] == "True" for each in one["status"].get("conditions", ()))
        ]

    def tells(self, node: str, *devices: Device) -> None:
        """Let the exporter of a node tell of these GPUs."""
        self.answers[f"127.0.0.{20 + self.names.index(node)}"] = output(devices, node)

    def begin(self, operation: str, step: str, node: str = "", **told: str) -> Running:
        """Begin a step of `care`, `cleared` or `drain`."""
        env = {
            **os.environ,
            **TIMES,
            "KUBERNETES_SERVICE_HOST": "127.0.0.1",
            "KUBERNETES_SERVICE_PORT": str(self.api.address.port),
            "ACCOUNT": str(self.folder / f"gpu-{operation}"),
            "DRAIN_ONLY": "nvidia.com/",
            "EXPORTER_PORT": str(self.port),
            "EXPORTER_SECONDS": "5",
            "NODE": node,
            "PERCENT_PER_DAY": "10",
            "RUN": "gpu-drain-x7k2p",
            "TOLD": str(self.folder),
            **told,
        }
        command = [sys.executable, "-B", str(self.folder / f"gpu_{operation}.py"), step]
        return Running(command, env, self.said, f"{operation}-{step}")

    def look(self, **told: str) -> str:
        """Look at all nodes; what was said."""
        return self.good("care", "look", "", **told)

    def care_of(self, node: str) -> dict[str, Any]:
        """Return what was judged of a node."""
        return dict(json.loads(self.node(node)["metadata"]["annotations"]["gen.internal/gpu-care"]))

    def which(self) -> list[str]:
        """Return the nodes that jobs must leave."""
        self.good("drain", "which", "")
        return list(json.loads((self.folder / "nodes").read_text()))

    def tainted(self) -> list[str]:
        """Return the nodes that have the taint."""
        return [
            one["metadata"]["name"]
            for one in self.api.items(NODES)
            if any(each["key"] == SICK for each in one["spec"].get("taints", ()))
        ]


def _daemon_set(app: str, nodes: list[str]) -> dict[str, Any]:
    labels = {"app": app}
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": nodes}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    pod = {
        "affinity": affinity,
        "containers": [{"name": "main", "image": "registry.example.org/any:1"}],
        "tolerations": [{"operator": "Exists"}],
    }
    template = {"metadata": {"labels": labels}, "spec": pod}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": app, "namespace": GPU_OPERATOR, "labels": labels},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }


def serve(care: Care, node: str) -> None:
    """Let a service hold a GPU of a node that it may not come back to once it is sick."""
    care.deployment("default", "serving", node, tolerates=("nvidia.com/gpu", "gen.internal/training"))
    care.patch(f"{DEPLOYMENTS}/serving", {"spec": {"template": {"spec": {"containers": [GPU]}}}})
    care.api.wait("it holds a GPU", lambda: serving(care) == [(True, node)])


def serving(care: Care) -> list[tuple[bool, str]]:
    """Return of each pod of the service whether it holds a GPU, and on which node it runs."""
    pods = care.api.items("/api/v1/namespaces/default/pods?labelSelector=one%3Dserving")
    return [("limits" in one["spec"]["containers"][0]["resources"], one["spec"].get("nodeName", "")) for one in pods]
