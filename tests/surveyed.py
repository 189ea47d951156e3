"""Running clusters for tests of what `gen init --kubeconfig` makes of them, each as its objects by path."""

from collections.abc import Iterator
from typing import Any

from generator.live.api import Answer
from generator.live.running import RunningCluster
from generator.model.cluster import Cluster
from generator.model.fields import dig, mapping, sequence
from generator.model.nodes import Machine
from generator.survey.survey import Surveyed, survey

Object = dict[str, Any]
NODES, PODS = "/api/v1/nodes", "/api/v1/namespaces/kube-system/pods"
CONFIGS = "/api/v1/namespaces/kube-system/configmaps"
KUBEADM = f"{CONFIGS}/kubeadm-config"


class Held(RunningCluster):
    """A cluster that is its objects by path. What `refused` begins a path with may not be read."""

    def __init__(self, objects: dict[str, Any], refused: tuple[str, ...] = ()) -> None:
        self.objects, self.refused, self.asked = objects, refused, []  # type: ignore[var-annotated]

    @property
    def host(self) -> str:
        return "https://10.0.0.10:6443"

    def get(self, path: str) -> Object | None:
        self._allowed(path)
        return mapping(self.objects.get(path)) or None

    def items(self, path: str, **query: str) -> Iterator[Object]:
        self._allowed(path)
        wanted = query.get("labelSelector", "").partition("=")
        for one in sequence(self.objects.get(path)):
            labels = mapping(dig(one, "metadata", "labels"))
            if not wanted[0] or labels.get(wanted[0], object()) == (wanted[2] or labels.get(wanted[0])):
                yield one

    def _allowed(self, path: str) -> None:
        self.asked.append(path)
        if path.startswith(self.refused or ("!",)):
            self._refused(Answer(403, {"message": "User me cannot list"}), f"list {path}")


def node(name: str, *addresses: str, labels: Object | None = None, **capacity: Any) -> Object:
    return {
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {},
        "status": {
            "capacity": {"cpu": "16", "memory": "65811648Ki", "pods": "110", **capacity},
            "addresses": [{"type": "InternalIP", "address": one} for one in addresses],
            "nodeInfo": {"kubeletVersion": "v1.35.3", "kernelVersion": "6.8.0-79-generic"},
        },
    }


CONTROL = {"node-role.kubernetes.io/control-plane": ""}
GPU = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.memory": "81559", "nvidia.com/gpu.count": "8"}


def small(*others: Object) -> dict[str, Any]:
    """Return a cluster of one control-plane node and others, as kubeadm makes it."""
    text = "controlPlaneEndpoint: 10.0.0.10:6443\nnetworking: {podSubnet: 10.244.0.0/16, serviceSubnet: 10.96.0.0/12}"
    return {
        "/version": {"gitVersion": "v1.35.3"},
        "/apis": {"groups": []},
        NODES: [node("cp-1", "10.0.0.11", labels=CONTROL), *others],
        KUBEADM: {"data": {"ClusterConfiguration": text}},
    }


def group(objects: dict[str, Any], name: str, version: str, **lists: list[Object]) -> dict[str, Any]:
    """Add an API group with its objects."""
    served = {"name": name, "preferredVersion": {"groupVersion": f"{name}/{version}"}}
    paths = {f"/apis/{name}/{version}/{plural}": found for plural, found in lists.items()}
    return {**objects, "/apis": {"groups": [*objects["/apis"]["groups"], served]}, **paths}


def begun(objects: dict[str, Any], *refused: str) -> tuple[Cluster, Surveyed]:
    found = survey(Held(objects, refused), "copy")
    assert found.loaded.cluster, (found.loaded.findings, found.text)
    return found.loaded.cluster, found


def machines(*others: Object) -> tuple[dict[str, Machine], Surveyed]:
    cluster, found = begun(small(*others))
    return {one.name: one for one in cluster.machines}, found


def unlisted(found: Surveyed) -> list[str]:
    """Return the errors of the file that its list does not name: the first of each kind stands for all of it."""
    listed = " ".join(found.unknown)
    first: dict[str, str] = {}
    for one in found.loaded.findings:
        if one.severity == "error":
            first.setdefault(f"{one.code} {one.at[1:2]}", f"{one.code}: {one.message}")
    return [text for text in first.values() if text not in listed]


def full() -> dict[str, Any]:
    """Return a cluster with something of everything that is read."""
    gpu = node("w-1", "10.0.0.21", labels={**GPU, "team": "a"}, **{"nvidia.com/gpu": "8", "rdma/hca": "63"})
    gpu["spec"]["taints"] = [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
    flavor = {"metadata": {"name": "h100"}, "spec": {"nodeLabels": {"team": "a"}}}
    resources = [{"name": name, "nominalQuota": count} for name, count in (("cpu", "8"), ("nvidia.com/gpu", "8"))]
    queue = {
        "metadata": {"name": "vision"},
        "spec": {"resourceGroups": [{"flavors": [{"name": "h100", "resources": resources}]}]},
    }
    block = {"metadata": {"name": "rbd"}, "spec": {"deviceClass": "nvme", "replicated": {"size": 3}}}
    ceph = {"metadata": {"name": "ceph"}, "spec": {"mon": {"count": 3}, "network": {"provider": "host"}}}
    daemon = {
        "metadata": {
            "name": "cilium",
            "namespace": "kube-system",
            "annotations": {"meta.helm.sh/release-name": "net", "meta.helm.sh/release-namespace": "kube-system"},
        },
        "spec": {"template": {"spec": {"containers": [{"image": "quay.io/cilium/cilium:v1.20.0@sha256:00"}]}}},
    }
    old = {
        "metadata": {"name": "cert-manager", "labels": {"helm.sh/chart": "cert-manager-v1.14.0"}},
        "spec": {
            "template": {"spec": {"containers": [{"image": "reg:5000/jetstack/cert-manager-controller:v1.14.0"}]}}
        },
    }
    server = {
        "metadata": {"name": "kube-apiserver-cp-1", "labels": {"component": "kube-apiserver", "tier": "control-plane"}},
        "spec": {
            "containers": [{"image": "registry.k8s.io/kube-apiserver:v1.35.3", "command": ["kube-apiserver", "--v=2"]}]
        },
    }
    objects = {
        **small(gpu),
        PODS: [server],
        "/apis/apps/v1/daemonsets": [daemon],
        "/apis/apps/v1/deployments": [old],
        "/api/v1/namespaces": [{"metadata": {"name": "vision", "labels": {"gen.internal/team": "vision"}}}],
        "/apis/storage.k8s.io/v1/storageclasses": [{"metadata": {"name": "rbd"}, "provisioner": "rbd.csi.ceph.com"}],
        "/apis/networking.k8s.io/v1/ingressclasses": [{"metadata": {"name": "nginx"}}],
        f"{CONFIGS}/cilium-config": {"data": {"devices": "eno1", "cluster-pool-ipv4-cidr": "10.244.0.0/16"}},
        f"{CONFIGS}/kubelet-config": {"data": {"kubelet": "maxPods: 200\nsystemReserved: {cpu: 1, memory: 2Gi}"}},
    }
    objects = group(objects, "kueue.x-k8s.io", "v1beta1", resourceflavors=[flavor], clusterqueues=[queue])
    return group(objects, "ceph.rook.io", "v1", cephclusters=[ceph], cephblockpools=[block])
