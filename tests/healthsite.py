"""A cluster in memory for the report of health and capacity: all of it well, and what Prometheus and the API server
answer of it. Forms: the CRDs of Argo CD 3.5, cert-manager 1.21, Kueue 0.18, Rook 1.20, VolSync 0.16, Argo Workflows 4.
"""

import contextlib
import json
import sys
import threading
from collections.abc import Iterator, Sequence
from copy import deepcopy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

Object = dict[str, Any]
NOW = "2026-11-23T07:00:00Z"
APPS = "/apis/apps/v1"
APPLICATIONS = "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications"
CEPH = "/apis/ceph.rook.io/v1/namespaces/rook-ceph/cephclusters"
CERTIFICATES = "/apis/cert-manager.io/v1/certificates"
FLAVORS = "/apis/kueue.x-k8s.io/v1beta2/resourceflavors"
NODES, PODS = "/api/v1/nodes", "/api/v1/pods"
QUEUES = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues"
VOLUMES = "/apis/volsync.backube/v1alpha1/replicationsources"
WORKFLOWS = "/apis/argoproj.io/v1alpha1/workflows"
KEPT = "/api/v1/namespaces/health-report/configmaps"
TIB = 2**40
METRICS = """# HELP apiserver_storage_size_bytes [STABLE] Size of the storage database file physically allocated.
# TYPE apiserver_storage_size_bytes gauge
apiserver_storage_size_bytes{storage_cluster_id="etcd-0"} 1.073741824e+09
apiserver_storage_objects{resource="pods"} 812
"""
FACTS: Object = {
    "cluster": "ml50",
    "nodes": ["cp-1", "cpu-1", "gpu-1", "gpu-2"],
    "teams": ["vision"],
    "zabbix": False,
    "ceph": True,
    "objects": True,
    "etcdQuota": 8 * 2**30,
    "addresses": 256,
    "slices": 256,
    "backups": [
        {"of": "backup", "name": "datasets", "schedule": "0 17 * * *", "tooOld": 172800, "suspended": False},
        {
            "of": "backup", "name": "models", "schedule": "0 3 * * *", "tooOld": 172800, "suspended": False,
            "team": "vision",
        },
        {"of": "drill", "name": "datasets", "schedule": "30 5 * * 0", "tooOld": 1209600, "suspended": False},
    ],
    "room": [{"backup": "datasets", "needs": 200 * TIB, "takes": 300 * TIB}],
    "usable": 700 * TIB,
}  # fmt: skip


def ready(status: str = "True", **more: str) -> list[Object]:
    """Return conditions of what is ready, or is not."""
    return [condition("Ready", status, **more)]


def condition(kind: str, status: str, **more: str) -> Object:
    told = {"reason": "Told", "message": "", "lastTransitionTime": "2026-11-20T07:00:00Z"}
    return {"type": kind, "status": status, **told, **more}


def node(name: str, pool: str = "cpu", **allocatable: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"gen.internal/pool": pool}},
        "spec": {},
        "status": {"allocatable": {"pods": "110", **allocatable}, "conditions": ready()},
    }


def application(name: str, space: str, *resources: str) -> Object:
    held = [
        {"group": "apps", "version": "v1", "kind": "Deployment", "namespace": space, "name": one} for one in resources
    ]
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": name, "namespace": "argocd", "labels": {"gen.internal/cluster": "ml50"}},
        "spec": {
            "project": "storage",
            "source": {"repoURL": "https://git.example.org/clusters.git", "path": f"overlays/ml50/{name}"},
            "destination": {"server": "https://kubernetes.default.svc", "namespace": space},
        },
        "status": {
            "sync": {"status": "Synced"},
            "health": {"status": "Healthy", "lastTransitionTime": "2026-11-20T07:00:00Z"},
            "operationState": {
                "operation": {},
                "phase": "Succeeded",
                "message": "successfully synced",
                "startedAt": "2026-11-20T07:00:00Z",
                "finishedAt": "2026-11-20T07:00:10Z",
            },
            "resources": held,
        },
    }


def workload(kind: str, space: str, name: str, wanted: int = 1, has: int | None = None) -> Object:
    number = wanted if has is None else has
    daemons = {"numberReady": number, "desiredNumberScheduled": wanted, "currentNumberScheduled": wanted}
    pod = {"metadata": {"labels": {"one": name}}, "spec": {"containers": [{"name": "main", "image": "any:1"}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": space},
        "spec": {
            "selector": {"matchLabels": {"one": name}},
            "template": pod,
            **({} if kind == "DaemonSet" else {"replicas": wanted}),
        },
        "status": {**daemons, "numberMisscheduled": 0}
        if kind == "DaemonSet"
        else {"replicas": wanted, "readyReplicas": number},
    }


def workflow(name: str, template: str, began: str, phase: str = "Succeeded", **labels: str) -> Object:
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {"name": name, "namespace": "argo", "creationTimestamp": began, "labels": labels},
        "spec": {"workflowTemplateRef": {"name": template}},
        "status": {"phase": phase, **({"message": "exit code 2: the disk is full"} if phase == "Failed" else {})},
    }


def certificate(name: str, ends: str, renewal: str) -> Object:
    return {
        "apiVersion": "cert-manager.io/v1",
        "kind": "Certificate",
        "metadata": {"name": name, "namespace": "minio"},
        "spec": {"secretName": name, "issuerRef": {"name": "site"}, "dnsNames": ["minio.minio.svc"]},
        "status": {"notAfter": ends, "renewalTime": renewal, "conditions": ready()},
    }


def queue(name: str, **gpus: int) -> Object:
    flavors = [
        {"name": flavor, "resources": [{"name": "nvidia.com/gpu", "nominalQuota": str(number)}]}
        for flavor, number in gpus.items()
    ]
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": name},
        "spec": {"resourceGroups": [{"coveredResources": ["nvidia.com/gpu"], "flavors": flavors}]},
        "status": {"conditions": [condition("Active", "True")]},
    }


def well() -> dict[str, list[Object]]:
    """Return what is in the cluster, by the path of its list."""
    labels = {"gen.internal/backup": "datasets"}
    return {
        NODES: [
            node("cp-1", "system"),
            node("cpu-1"),
            *(node(name, "gpus", **{"nvidia.com/gpu": "8"}) for name in ("gpu-1", "gpu-2")),
        ],
        PODS: [{"metadata": {"name": f"p{number}"}, "spec": {"nodeName": "cpu-1"}} for number in range(5)],
        APPLICATIONS: [application("minio", "minio"), application("rook-ceph", "rook-ceph", "rook-ceph-operator")],
        f"{APPS}/deployments": [
            workload("Deployment", "rook-ceph", "rook-ceph-operator"),
            workload("Deployment", "vision", "of-a-team", 3, 0),
        ],
        f"{APPS}/statefulsets": [workload("StatefulSet", "minio", "minio", 4)],
        f"{APPS}/daemonsets": [workload("DaemonSet", "rook-ceph", "csi-rbdplugin", 4)],
        CERTIFICATES: [certificate("minio-tls", "2027-01-10T00:00:00Z", "2026-12-10T00:00:00Z")],
        CEPH: [
            {
                "apiVersion": "ceph.rook.io/v1",
                "kind": "CephCluster",
                "metadata": {"name": "rook-ceph", "namespace": "rook-ceph"},
                "spec": {},
                "status": {
                    "ceph": {
                        "health": "HEALTH_OK",
                        "lastChecked": "2026-11-23T06:59:10Z",
                        "capacity": {
                            "bytesTotal": 100 * TIB,
                            "bytesUsed": 40 * TIB,
                            "bytesAvailable": 60 * TIB,
                            "lastUpdated": "2026-11-23T06:59:10Z",
                        },
                    }
                },
            }
        ],
        QUEUES: [queue("vision", gpus=12), queue("language", gpus=4)],
        FLAVORS: [{"metadata": {"name": "gpus"}, "spec": {"nodeLabels": {"gen.internal/pool": "gpus"}}}],
        VOLUMES: [
            {
                "metadata": {"name": "models", "namespace": "vision"},
                "status": {"lastSyncTime": "2026-11-23T03:10:00Z", "latestMoverStatus": {"result": "Successful"}},
            }
        ],
        WORKFLOWS: [
            workflow("backup-datasets-1", "backup", "2026-11-22T17:00:00Z", **labels),
            workflow("drill-datasets-1", "drill", "2026-11-22T05:30:00Z", **{"gen.internal/drill": "datasets"}),
            workflow("gpu-care-1", "gpu-care", "2026-11-23T06:55:00Z"),
        ],
    }


class Cluster:
    """What the scripts ask of an API server, answered from memory, two objects a page."""

    def __init__(self) -> None:
        self.lists = well()
        self.metrics = METRICS
        self.kept: Object | None = None
        self.refused: dict[str, Exception] = {}

    def get(self, path: str) -> Any:
        address, query = urlsplit(path), dict(parse_qsl(urlsplit(path).query))
        if error := next((each for place, each in self.refused.items() if address.path.startswith(place)), None):
            raise error
        if address.path.startswith(KEPT):
            return deepcopy(self.kept)
        if address.path not in self.lists:
            return None
        found = [one for one in self.lists[address.path] if chosen(one, query.get("labelSelector", ""))]
        start = int(query.get("continue") or 0)
        more = {"continue": str(start + 2)} if start + 2 < len(found) else {}
        return {"metadata": more, "items": deepcopy(found[start : start + 2])}

    def each(self, path: str, **query: str) -> Iterator[Object]:
        """Yield the objects of a list as the scripts' own client does."""
        yield from sys.modules["api"].Api.each(self, path, **query)

    def send(self, method: str, path: str) -> bytes:
        assert (method, path) == ("GET", "/metrics")
        return self.metrics.encode()

    def ask(self, method: str, path: str, body: Object) -> None:
        assert (method, path) == ("POST", KEPT)
        self.kept = body

    def patch(self, path: str, body: Object) -> None:
        assert path == f"{KEPT}/health-report"
        assert self.kept
        self.kept["data"] |= body["data"]


def chosen(one: Object, selector: str) -> bool:
    """Tell whether an object has the labels that are asked for: `a`, `!a` and `a=b`, with commas between."""
    labels = one["metadata"].get("labels", {})
    for part in filter(None, selector.split(",")):
        name, _, value = part.lstrip("!").partition("=")
        if (name in labels) == part.startswith("!") or (value and labels.get(name) != value):
            return False
    return True


class Answers:
    """What Prometheus answers: for each query that begins so, label sets and values."""

    def __init__(self) -> None:
        self.url = ""
        self.of: dict[str, Sequence[tuple[dict[str, str], float]]] = {
            "ALERTS": [({"alertname": "Watchdog", "severity": "none"}, 1)],
            "ceph_pool_metadata": [({"pool_id": "2", "name": "rbd-nvme"}, 1)],
            "ceph_pool_stored": [({"pool_id": "2"}, 10 * TIB)],
            "ceph_pool_max_avail": [({"pool_id": "2"}, 30 * TIB)],
            "ceph_pool_quota_bytes": [({"pool_id": "2"}, 0)],
            "deriv((max by (pool_id)": [({"pool_id": "2"}, TIB / 10 / 86400)],
            "count_over_time((max by (pool_id)": [({"pool_id": "2"}, 672)],
            "max(minio_cluster_capacity_usable_total_bytes)": [({}, 700 * TIB)],
            "max(minio_cluster_capacity_usable_free_bytes)": [({}, 350 * TIB)],
            "deriv((max(minio": [({}, TIB / 86400)],
            "count_over_time((max(minio": [({}, 672)],
            "max(minio_cluster_nodes_offline_total)": [({}, 0)],
            "max(minio_cluster_drive_offline_total)": [({}, 0)],
            "max by (backup) (max_over_time(argo_workflows_backup": [],
            "max by (backup) (max_over_time(argo_workflows_drill": [],
            "max by (namespace, persistentvolumeclaim)": [
                ({"namespace": "vision", "persistentvolumeclaim": "models"}, 0.5)
            ],
        }
        self.refused: dict[str, tuple[int, str]] = {}
        self.asked: list[str] = []

    def answer(self, query: str) -> tuple[int, str]:
        self.asked.append(query)
        exact = max((one for one in {*self.of, *self.refused} if query.startswith(one)), key=len, default="")
        if exact in self.refused:
            return self.refused[exact]
        result = [{"metric": labels, "value": [1, str(value)]} for labels, value in self.of.get(exact, [])]
        return 200, json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}})


@contextlib.contextmanager
def prometheus() -> Iterator[Answers]:
    """Serve until the block ends."""
    answers = Answers()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            code, text = answers.answer(dict(parse_qsl(urlsplit(self.path).query))["query"])
            self.send_response(code)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    answers.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield answers
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
