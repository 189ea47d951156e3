"""What of the GPU Operator a new driver meets: its DaemonSets, whose pods are played."""

from typing import Any

from nodesteps import Steps
from upgradesite import is_ready

from generator.components.ceph_csi_drivers import CEPHFS_DRIVER, RBD_DRIVER
from generator.components.gpu_operator import MANAGER_ACTS
from generator.components.gpu_operator import NAMESPACE as GPU_OPERATOR

Object = dict[str, Any]
SETS = f"/apis/apps/v1/namespaces/{GPU_OPERATOR}/daemonsets"
PODS = f"/api/v1/namespaces/{GPU_OPERATOR}/pods"
COMPONENT = {"app.kubernetes.io/component": "nvidia-driver"}


class Drivers:
    """The twin, its steps, and the DaemonSets of the GPU Operator on some nodes."""

    def __init__(self, steps: Steps, names: list[str]) -> None:
        self.steps, self.api, self.names = steps, steps.api, names

    def prepare(self) -> None:
        for name in self.names:
            self.steps.register(name, RBD_DRIVER, CEPHFS_DRIVER)
        self.daemon_set("nvidia-operator-validator", {"app": "nvidia-operator-validator"}, "any:1")
        self.driver("1")
        self.api.wait("drivers run", lambda: len(self.drivers("1")) == len(self.names))

    def driver(self, version: str) -> None:
        """Let the operator have been told of a driver."""
        variables = [{"name": name, "value": "false"} for name in MANAGER_ACTS]
        manager = {"name": "k8s-driver-manager", "image": "registry.example.org/any:1", "env": variables}
        self.daemon_set("nvidia-driver-daemonset", COMPONENT, f"driver:{version}", initContainers=[manager])
        at = f"{SETS}/nvidia-driver-daemonset"
        self.api.wait(
            "it is seen",
            lambda: self.api.get(at)["status"].get("observedGeneration") == self.api.get(at)["metadata"]["generation"],
        )

    def daemon_set(self, name: str, labels: Object, image: str, **more: Any) -> None:
        term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": self.names}]}
        affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
        pod = {
            "affinity": affinity,
            "containers": [{"name": "main", "image": f"registry.example.org/{image}"}],
            "tolerations": [{"operator": "Exists"}],
            **more,
        }
        spec = {
            "selector": {"matchLabels": labels},
            "updateStrategy": {"type": "OnDelete"},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        }
        metadata = {"name": name, "namespace": GPU_OPERATOR, "labels": labels}
        self.api.apply({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata, "spec": spec})

    def drivers(self, version: str) -> set[str]:
        """Return the nodes on which a driver of this version is Ready."""
        image = f"registry.example.org/driver:{version}"
        pods = [one for one in self.api.items(PODS) if one["spec"]["containers"][0]["image"] == image]
        return {one["spec"].get("nodeName", "") for one in pods if is_ready(one)}

    def of(self, name: str) -> dict[str, bool]:
        """Return the running pods of a Deployment by uid, each with whether it holds a GPU."""
        pods = self.api.items(f"/api/v1/namespaces/default/pods?labelSelector=one%3D{name}")
        running = [one for one in pods if one["status"].get("phase") == "Running"]
        return {one["metadata"]["uid"]: "nvidia.com/gpu" in str(one["spec"]["containers"]) for one in running}
