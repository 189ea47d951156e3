"""A cluster that somebody runs, as its API server tells it: nodes, a service with a budget, a team's gang. No
controller is there, so that all stands as it is written.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rehearsing import Repository

from generator.components.gpu_operator import MANAGER_ACTS
from generator.components.gpu_operator import NAMESPACE as GPU_OPERATOR
from generator.live.identity import record
from generator.model.cluster import Cluster
from generator.rehearsal.simulation.assuming import static_pod
from generator.rehearsal.twin.nodes import nodes
from generator.spec.decode import decode
from generator.spec.reader import read

if TYPE_CHECKING:
    from apiserver import ApiServer

Object = dict[str, Any]
TAKES = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
GPUS = {"nvidia.com/gpu": "4"}
READER = "reader"
OLD = "v1.34.6"
"""The version that all nodes have."""
READ = {
    "": ["configmaps", "namespaces", "nodes", "persistentvolumeclaims", "persistentvolumes", "pods"],
    "apps": ["controllerrevisions", "daemonsets", "deployments", "replicasets", "statefulsets"],
    "argoproj.io": ["workflows"],
    "batch": ["jobs"],
    "ceph.rook.io": ["cephclusters"],
    "kueue.x-k8s.io": ["workloads"],
    "policy": ["poddisruptionbudgets"],
    "scheduling.k8s.io": ["priorityclasses"],
    "storage.k8s.io": ["csinodes"],
}
"""All that a simulation reads, by API group, as docs/operations.md names it."""


class Site:
    """The cluster, and a kubeconfig of somebody who may only read."""

    def __init__(self, api: "ApiServer", repository: Repository) -> None:
        self.api, self.repository = api, repository
        api.install("kueue/v0.18.3/crds")
        file = repository.file.relative_to(repository.root)
        cluster = decode(read(repository.file.read_bytes(), str(file)))
        assert isinstance(cluster, Cluster)
        api.namespace("kube-system")
        api.apply(record(cluster))
        for one in nodes(cluster, repository.root / "clusters/small/bootstrap"):
            one["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
            one["status"]["nodeInfo"]["kubeletVersion"] = OLD
            self.stored(one)
        self.control_plane()

    def stored(self, one: Object) -> Object:
        """Store an object with its status; return it as it is then."""
        code, made = self.api.request("POST", self.api.path(one), one)
        assert code == 201, made
        if "status" in one:
            path = f"{self.api.path(one, named=True)}/status"
            code, made = self.api.request("PATCH", path, {"status": one["status"]}, patch="merge-patch+json")
            assert code == 200, made
        return dict(made)

    def control_plane(self) -> None:
        """Have the static pods of the control plane."""
        for part in ("etcd", "kube-apiserver"):
            pod = static_pod(part, "cp1", f"registry.k8s.io/{part}:{OLD}")
            self.stored({**pod, "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}})

    def pod(
        self, name: str, space: str, node: str, labels: dict[str, str], limits: Object | None = None, **own: Any
    ) -> None:
        """Let a pod run on a node."""
        spec = template(labels, limits)["spec"] | {"nodeName": node}
        ready = [{"type": "Ready", "status": "True"}]
        metadata = {"name": name, "namespace": space, "labels": labels, **own}
        status = {"phase": "Running", "conditions": ready}
        self.stored({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status})

    def service(self, *places: str, least: int) -> None:
        """Let a service of so many pods run, of which a budget wants some to stay."""
        self.api.namespace("apps")
        labels = {"app": "web"}
        spec = {"replicas": len(places), "selector": {"matchLabels": labels}, "template": template(labels)}
        own = {"name": "web", "namespace": "apps"}
        made = self.stored({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": own, "spec": spec})
        hashed = own | {"name": "web-abc", "ownerReferences": [owner(made)]}
        of_hash = {**spec, "selector": {"matchLabels": labels | {"pod-template-hash": "abc"}}}
        of_hash["template"] = template(labels | {"pod-template-hash": "abc"})
        made = self.stored({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": hashed, "spec": of_hash})
        for number, node in enumerate(places):
            self.pod(f"web-abc-{number}", "apps", node, labels, ownerReferences=[owner(made)])
        self.stored(
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": own,
                "spec": {"minAvailable": least, "selector": {"matchLabels": labels}},
            }
        )

    def gang(self, team: str, name: str, *places: str) -> None:
        """Let a team's job run that was let in whole, a pod with four GPUs on each of some nodes."""
        self.api.namespace(team)
        pod = template({}, GPUS)
        pod["spec"] |= {"restartPolicy": "Never", "schedulerName": "volcano"}
        labels = {"kueue.x-k8s.io/queue-name": "default"}
        own = {"name": name, "namespace": team, "labels": labels}
        count = len(places)
        spec = {"parallelism": count, "completions": count, "template": pod}
        made = self.stored({"apiVersion": "batch/v1", "kind": "Job", "metadata": own, "spec": spec})
        load = {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Workload",
            "metadata": {"name": f"job-{name}", "namespace": team, "ownerReferences": [owner(made)]},
            "spec": {"queueName": "default", "podSets": [{"name": "main", "count": count, "template": pod}]},
            "status": {"conditions": [held("QuotaReserved"), held("Admitted")]},
        }
        self.stored(load)
        notes = {"kueue.x-k8s.io/workload": f"job-{name}"}
        for number, node in enumerate(places):
            self.pod(f"{name}-{number}", team, node, {}, GPUS, ownerReferences=[owner(made)], annotations=notes)

    def drivers(self, **places: str) -> None:
        """Let the GPU Operator run a driver: by node, each pod of a revision, the last one of which is the newest."""
        self.api.namespace(GPU_OPERATOR)
        labels = {"app.kubernetes.io/component": "nvidia-driver"}
        pod = template(labels)
        pod["spec"]["nodeSelector"] = {"nvidia.com/gpu.present": "true"}
        variables = [{"name": name, "value": "false"} for name in MANAGER_ACTS]
        pod["spec"]["initContainers"] = [{**pod["spec"]["containers"][0], "name": "manager", "env": variables}]
        spec = {"selector": {"matchLabels": labels}, "updateStrategy": {"type": "OnDelete"}, "template": pod}
        own = {"name": "driver", "namespace": GPU_OPERATOR, "labels": labels}
        made = self.stored({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": own, "spec": spec})
        for number, revision in enumerate(dict.fromkeys(places.values()), start=1):
            hashed = {"controller-revision-hash": revision}
            meta = own | {"name": f"driver-{revision}", "labels": hashed, "ownerReferences": [owner(made)]}
            self.stored(
                {
                    "apiVersion": "apps/v1",
                    "kind": "ControllerRevision",
                    "metadata": meta,
                    "revision": number,
                    "data": {},
                }
            )
        for node, revision in places.items():
            hashed = labels | {"controller-revision-hash": revision}
            self.pod(f"driver-{node}", GPU_OPERATOR, node, hashed, ownerReferences=[owner(made)])
        watches = {"app": "nvidia-operator-validator"}
        pod = {**template(watches), "spec": template(watches)["spec"] | {"nodeSelector": pod["spec"]["nodeSelector"]}}
        spec = {"selector": {"matchLabels": watches}, "template": pod}
        own = {"name": "validator", "namespace": GPU_OPERATOR, "labels": watches}
        self.stored({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": own, "spec": spec})

    def kubeconfig(self) -> Path:
        """Return the kubeconfig of who may read what a simulation reads, and do nothing else."""
        api = self.api
        own = {"name": READER, "namespace": "kube-system"}
        api.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": own})
        rules = [{"apiGroups": [group], "resources": kinds, "verbs": ["get", "list"]} for group, kinds in READ.items()]
        rbac = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": READER}}
        api.apply({**rbac, "kind": "ClusterRole", "rules": rules})
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": READER}
        api.apply(
            {**rbac, "kind": "ClusterRoleBinding", "roleRef": role, "subjects": [{"kind": "ServiceAccount", **own}]}
        )
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        code, answer = api.request("POST", f"/api/v1/namespaces/kube-system/serviceaccounts/{READER}/token", asked)
        assert code == 201, answer
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "a", "cluster": {"server": api.url, "certificate-authority": str(api.certificate)}}],
            "users": [{"name": "a", "user": {"token": answer["status"]["token"]}}],
            "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
            "current-context": "a",
        }
        file = self.repository.cache / "reader.kubeconfig"
        file.write_text(json.dumps(config))
        return file


def template(labels: dict[str, str], limits: Object | None = None) -> Object:
    """Return the template of pods that may run beside GPUs."""
    security = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    container: Object = {"name": "main", "image": "registry.example.org/any:1", "securityContext": security}
    container["resources"] = {"limits": {"cpu": "1", "memory": "1Gi", **(limits or {})}}
    container["env"] = [{"name": "PASSWORD", "value": "of-the-cluster"}]
    own = {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}}
    spec = {"containers": [container], "tolerations": TAKES, "securityContext": own}
    return {"metadata": {"labels": labels}, "spec": spec}


def owner(one: Object) -> Object:
    """Return what names an object as who makes another one."""
    return {
        "apiVersion": one["apiVersion"],
        "kind": one["kind"],
        "name": one["metadata"]["name"],
        "uid": one["metadata"]["uid"],
        "controller": True,
    }


def held(kind: str) -> Object:
    """Return a condition that holds."""
    return {
        "type": kind,
        "status": "True",
        "reason": "Test",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
