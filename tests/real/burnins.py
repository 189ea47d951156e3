"""Burn-ins on nodes that are KWOK's: their pods end well, and what was true of the nodes meanwhile is remembered."""

from typing import Any

from beside import Beside
from nodesteps import NODES, Steps

from generator.components.node_operations.names import NAMESPACE

Object = dict[str, Any]
BURN_INS = "app.kubernetes.io%2Fname+in+(burn-in,burn-in-nccl)"


class BurnIns(Beside):
    """Who lets the pods of burn-ins end, and remembers what else was true of their nodes at that moment."""

    def __init__(self, steps: Steps) -> None:
        super().__init__(steps)
        self.tried: list[str] = []
        self.ended: set[str] = set()

    def once(self) -> None:
        at = f"/api/v1/namespaces/{NAMESPACE}/pods"
        for pod in self.api.request("GET", f"{at}?labelSelector={BURN_INS}")[1]["items"]:
            uid = pod["metadata"]["uid"]
            if pod["status"].get("phase") == "Running" and uid not in self.ended:
                self.ended.add(uid)
                self.look(pod)
                mark = {"metadata": {"annotations": {"twin.test/complete": "1"}}}
                self.api.request("PATCH", f"{at}/{pod['metadata']['name']}", mark, patch="merge-patch+json")

    def look(self, pod: Object) -> None:
        """Hold that a node is cordoned while it is tried, and has no other pod with GPUs."""
        name = pod["spec"]["nodeName"]
        self.tried.append(name)
        node = self.api.request("GET", f"{NODES}/{name}")[1]
        there = self.api.request("GET", f"/api/v1/pods?fieldSelector=spec.nodeName%3D{name}")[1]["items"]
        holders = [one for one in there if "nvidia.com/gpu" in str(one["spec"]["containers"]) and alive(one)]
        if not node["spec"].get("unschedulable") or len(holders) != 1:
            self.wrong.append(node)


def alive(pod: Object) -> bool:
    return pod["status"].get("phase") in ("Pending", "Running")
