"""The nodes that a cluster's kubeadm files would make, with what kubelet and the operators add to them."""

import re
from pathlib import Path
from typing import Any

import yaml

Object = dict[str, Any]
UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


def number(quantity: Any) -> float:
    """Return a quantity of Kubernetes as a number."""
    match = re.fullmatch(r"([\d.]+)(m|[kMGT]i?|)", str(quantity))
    assert match, quantity
    return float(match[1]) / 1000 if match[2] == "m" else float(match[1]) * UNITS[match[2]]


def nodes(repository: Path, cluster: str) -> list[Object]:
    """Return the Node objects of a rendered cluster."""
    folder = repository / "clusters" / cluster
    spec = yaml.load((folder / "cluster.yaml").read_bytes(), yaml.CSafeLoader)["spec"]
    named = {node["name"]: node for node in spec["nodes"]}
    files = sorted((folder / "bootstrap" / "kubeadm").glob("*.yaml"))
    registered = [one for one in (_registration(file) for file in files) if one]
    kubelet = _kubelet(folder / "bootstrap" / "kubeadm" / "init.yaml")
    return [_node(spec, kubelet, named[one["name"]], one) for one in registered]


def _kubelet(file: Path) -> Object:
    documents: list[Object] = list(yaml.load_all(file.read_bytes(), yaml.CSafeLoader))
    return next(one for one in documents if one["kind"] == "KubeletConfiguration")


def _registration(file: Path) -> Object | None:
    """Return what kubeadm registers a node with. Whether it becomes a part of the control plane is told by a role."""
    first: Object = next(yaml.load_all(file.read_bytes(), yaml.CSafeLoader))
    if "nodeRegistration" not in first:
        return None
    control = first["kind"] == "InitConfiguration" or "controlPlane" in first
    return dict(first["nodeRegistration"], control=control)


def _node(spec: Object, kubelet: Object, machine: Object, registration: Object) -> Object:
    hardware = spec["pools"][machine["pool"]]["hardware"] | machine.get("hardware", {})
    flags = {one["name"]: one["value"] for one in registration["kubeletExtraArgs"]}
    capacity = _capacity(spec, hardware)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": machine["name"], "labels": _labels(machine, registration, flags, hardware)},
        "spec": {"taints": registration.get("taints", [])},
        "status": {
            "capacity": capacity,
            "allocatable": capacity | _allocatable(kubelet, hardware),
            "addresses": [
                {"type": "InternalIP", "address": flags["node-ip"].split(",")[0]},
                {"type": "Hostname", "address": machine["name"]},
            ],
            "nodeInfo": _info(spec["kubernetes"]["version"]),
        },
    }


def _labels(machine: Object, registration: Object, flags: dict[str, str], hardware: Object) -> dict[str, str]:
    labels = dict(one.split("=", 1) for one in flags["node-labels"].split(","))
    labels |= {"kubernetes.io/hostname": machine["name"], "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    if registration["control"]:
        labels["node-role.kubernetes.io/control-plane"] = ""
    gpu = hardware.get("gpu") or {}
    if gpu.get("count"):
        labels |= {"nvidia.com/gpu.present": "true", "nvidia.com/gpu.product": f"NVIDIA-{gpu['model']}"}
    if hardware.get("hcas"):
        labels["feature.node.kubernetes.io/ib-hca.present"] = "true"
    return labels


def _capacity(spec: Object, hardware: Object) -> dict[str, str]:
    capacity = {
        "cpu": str(hardware["cpu"]),
        "memory": f"{number(hardware['memory']):.0f}",
        "pods": "110",
        "ephemeral-storage": "1Ti",
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
    }
    if hardware.get("hcas"):
        shared = spec.get("fabric", {}).get("rdma", {})
        capacity[f"rdma/{shared.get('resource', 'hca_shared_devices_a')}"] = str(shared.get("maxPods", 63))
    return capacity | gpus(hardware.get("gpu") or {}, spec.get("gpus", {}).get("migStrategy", "single"))


def gpus(gpu: Object, strategy: str) -> dict[str, str]:
    """Return what NVIDIA's device plugin offers: whole GPUs, or the parts that MIG makes of them. With the strategy
    `single` parts are called as GPUs are.
    """
    # As many pods take turns on each as time-slicing lets.
    count = gpu.get("count", 0) * gpu.get("timeSlices", 1)
    mig = gpu.get("mig")
    if not count or not mig:
        return {"nvidia.com/gpu": str(count)} if count else {}
    if mig["profile"] == "all-balanced":
        parts = {profile: count * each for profile, each in BALANCED[gpu["model"]].items()}
    else:
        profile = mig["profile"].removeprefix("all-")
        parts = {profile: count * PARTS[profile]}
    if strategy == "single":
        return {"nvidia.com/gpu": str(sum(parts.values()))}
    return {"nvidia.com/gpu": "0"} | {f"nvidia.com/mig-{profile}": str(each) for profile, each in parts.items()}


BALANCED = {"A30": {"1g.6gb": 2, "2g.12gb": 1}, "H100": {"1g.10gb": 2, "2g.20gb": 1, "3g.40gb": 1}}
"""What the operator's `all-balanced` makes of one A30 (24 GB) and one H100 (80 GB)."""

PARTS = {"1g.6gb": 4, "2g.12gb": 2, "4g.24gb": 1, "1g.10gb": 7, "2g.20gb": 3, "3g.40gb": 2, "7g.80gb": 1}
"""How many parts of a kind NVIDIA's A30 (24 GB), A100 and H100 (80 GB) are split into."""


def _allocatable(kubelet: Object, hardware: Object) -> dict[str, str]:
    """Return what kubelet leaves to pods."""
    kept = [kubelet.get(name, {}) for name in ("systemReserved", "kubeReserved")]
    cpu = number(hardware["cpu"]) - sum(number(one.get("cpu", 0)) for one in kept)
    memory = number(hardware["memory"]) - sum(number(one.get("memory", 0)) for one in kept)
    memory -= number(kubelet.get("evictionHard", {}).get("memory.available", 0))
    return {"cpu": f"{cpu:g}", "memory": f"{memory:.0f}"}


def _info(version: str) -> dict[str, str]:
    return {
        "architecture": "amd64",
        "bootID": "",
        "containerRuntimeVersion": "containerd://2.2.0",
        "kernelVersion": "6.8.0-generic",
        "kubeProxyVersion": "",
        "kubeletVersion": f"v{version}",
        "machineID": "",
        "operatingSystem": "linux",
        "osImage": "Linux",
        "systemUUID": "",
    }
