"""The nodes that a cluster's kubeadm files would make, with what kubelet and the operators add to them."""

from pathlib import Path
from typing import Any

from generator.build.manifests import documents
from generator.components import CATALOGUE
from generator.components.component import Manifest
from generator.model.cluster import Cluster
from generator.model.fields import dig
from generator.model.nodes import Machine
from generator.model.quantity import Quantity


def nodes(cluster: Cluster, bootstrap: Path) -> list[Manifest]:
    """Return the Node objects of a cluster whose rendered folder `bootstrap` this is."""
    files = [documents(file.read_bytes()) for file in sorted((bootstrap / "kubeadm").glob("*.yaml"))]
    kubelet = next(one for each in files for one in each if one["kind"] == "KubeletConfiguration")
    machines = {one.name: one for one in cluster.machines}
    registered = [first for first, *_ in files if "nodeRegistration" in first]
    return [_node(cluster, machines[dig(one, "nodeRegistration", "name")], kubelet, one) for one in registered]


def _node(cluster: Cluster, machine: Machine, kubelet: Manifest, first: Manifest) -> Manifest:
    registration = first["nodeRegistration"]
    flags = {one["name"]: one["value"] for one in registration["kubeletExtraArgs"]}
    capacity = _capacity(cluster, machine)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": machine.name, "labels": _labels(machine, flags["node-labels"], first)},
        "spec": {"taints": registration.get("taints", [])},
        "status": {
            "capacity": capacity,
            "allocatable": capacity | _allocatable(kubelet, machine),
            "addresses": [
                {"type": "InternalIP", "address": flags["node-ip"].split(",")[0]},
                {"type": "Hostname", "address": machine.name},
            ],
            "nodeInfo": _info(cluster.kubernetes.version),
        },
    }


def _labels(machine: Machine, given: str, first: Manifest) -> dict[str, str]:
    """Return the labels of kubeadm, and those that kubelet and the operators of GPUs and HCAs add."""
    labels = dict(one.split("=", 1) for one in given.split(","))
    labels |= {"kubernetes.io/hostname": machine.name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    if first["kind"] == "InitConfiguration" or "controlPlane" in first:
        labels["node-role.kubernetes.io/control-plane"] = ""
    if machine.hardware.gpu and machine.gpus:
        product = f"NVIDIA-{machine.hardware.gpu.model}".replace(" ", "-")
        labels |= {"nvidia.com/gpu.present": "true", "nvidia.com/gpu.product": product}
    if machine.hardware.hcas:
        labels["feature.node.kubernetes.io/ib-hca.present"] = "true"
    return labels


def _capacity(cluster: Cluster, machine: Machine) -> dict[str, str]:
    offered = [one.offers(cluster, machine) for one in CATALOGUE.values() if one.wanted(cluster)]
    return {
        "cpu": str(machine.hardware.cpu),
        "memory": str(machine.hardware.memory.value),
        "pods": "110",
        "ephemeral-storage": "1Ti",
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
        **{name: str(count) for each in offered for name, count in each.items() if count is not None},
    }


def _allocatable(kubelet: Manifest, machine: Machine) -> dict[str, str]:
    """Return what kubelet leaves to pods."""
    kept = [kubelet.get(name, {}) for name in ("systemReserved", "kubeReserved")]
    kept.append({"memory": dig(kubelet, "evictionHard", "memory.available") or 0})
    cpu = machine.hardware.cpu * 1000 - sum(_amount(one.get("cpu", 0)).milli for one in kept)
    memory = machine.hardware.memory.value - sum(_amount(one.get("memory", 0)).value for one in kept)
    return {"cpu": str(Quantity(cpu)), "memory": str(memory)}


def _amount(said: Any) -> Quantity:
    return Quantity.parse(str(said))


def _info(version: str) -> dict[str, str]:
    return {
        "architecture": "amd64",
        "bootID": "",
        "containerRuntimeVersion": "containerd://2.2.0",
        "kernelVersion": "6.8.0-generic",  # kwok prints it without quotes: 6.8 would be a number
        "kubeProxyVersion": "",
        "kubeletVersion": f"v{version}",
        "machineID": "",
        "operatingSystem": "linux",
        "osImage": "Linux",
        "systemUUID": "",
    }
