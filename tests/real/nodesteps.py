"""The steps of operations on nodes, run as processes with the rights of their ServiceAccounts, on a twin of `ml50`."""

import contextlib
import copy
import datetime as dt
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from generator.components.ceph_cluster import ceph_cluster
from generator.components.etcd_backup import NAMESPACE as BACKUPS
from generator.components.gpu_operator import NAMESPACE as GPU_OPERATOR
from generator.components.minio.layout import NAMESPACE as MINIO
from generator.components.node_operations import node_operations
from generator.components.node_operations.names import (
    DRIVE_REPLACEMENT,
    DRIVER_UPGRADE,
    EXPANSION,
    MAINTENANCE,
    MINIO_EXPANSION,
    NAMESPACE,
    OSD_REPLACEMENT,
    REMOVAL,
    REPLACEMENT,
    UPGRADE,
)
from generator.components.node_operations.templates import scripts
from generator.components.parts import UNPRIVILEGED, pod_security
from generator.components.rook_ceph import NAMESPACE as ROOK
from generator.components.scratch.install import storage_class
from generator.model.cluster import Cluster

if TYPE_CHECKING:
    from twin.fixtures import Twin
    from twin.nodes import Object
    from twin.plane import Plane

MIRRORED = "docker.io/library/python:3"
"""Of the repository that is rendered, and not of its version: the image of a pod that began before an upgrade."""
NODES = "/api/v1/nodes"
OPERATIONS = {
    "expansion": EXPANSION,
    "removal": REMOVAL,
    "replacement": REPLACEMENT,
    "osd_replacement": OSD_REPLACEMENT,
    "drive_replacement": DRIVE_REPLACEMENT,
    "minio_expansion": MINIO_EXPANSION,
    "upgrade": UPGRADE,
    "maintenance": MAINTENANCE,
    "driver_upgrade": DRIVER_UPGRADE,
}
"""Names of operations by their scripts."""
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:"
TIMES = {
    "ANSWER_PORT": "",
    "JOIN_SECONDS": "120",
    "READY_SECONDS": "120",
    "BURN_IN_SECONDS": "240",
    "NEIGHBOUR": "",
    "STORAGE_SECONDS": "120",
    "GANG_SECONDS": "0",
    "DRAIN_SECONDS": "120",
    "NODE_SECONDS": "120",
    "STEADY_SECONDS": "0.5",
    "BACKUP_HOURS": "2",
    "FRESH_HOURS": "72",
    "CERTIFICATE_DAYS": "90",
    "CONTROL_PLANE_OUTAGE": "no",
    "AT_ONCE": "1",
    "MOMENT": "0.2",
    "PAUSE": "0.2",
    "OFF": "no",
    "SILENT_SECONDS": "300",
    "MEMBER": "kept",
    "DISK": "former",
    "ROOM": "enough",
    "OSDS": "kept",
    "OSD_SECONDS": "120",
    "RESTART_SECONDS": "60",
    "ACCEPT_SECONDS": "60",
    "HEAL_SECONDS": "120",
    "SAMPLE": "20",
}
# Runs a step that is killed when the API server has made its first change. Questions to Ceph and MinIO are none; where
# LET_PASS says a number, it is ended while the Job asks the question after so many.
KILLED = """
import os, runpy, signal, sys

script, step = sys.argv[1:]
sys.path.insert(0, os.path.dirname(script))
import api

ASKING = tuple(f"/apis/batch/v1/namespaces/{space}/jobs" for space in ("rook-ceph", "minio"))
send = api.Api.send
left = int(os.environ.get("LET_PASS", "-1"))

def send_and_die(self, method, *words):
    global left
    answer = send(self, method, *words)
    if method == "GET" or answer is None:
        return answer
    if not words[0].startswith(ASKING):
        os.kill(os.getpid(), signal.SIGKILL)
    if method == "POST":
        if left == 0:
            os.kill(os.getpid(), signal.SIGTERM)
        left -= 1
    return answer

api.Api.send = send_and_die
sys.argv = [script, step]
runpy.run_path(script, run_name="__main__")
"""


class Running(subprocess.Popen[str]):
    """A step that runs. What it says goes to a file, which tells it also when the step has ended."""

    def __init__(self, command: list[str], env: dict[str, str], folder: Path, name: str) -> None:
        folder.mkdir(exist_ok=True)
        number, said = tempfile.mkstemp(prefix=f"{name}-", dir=folder)
        self.said = Path(said)
        with os.fdopen(number, "w") as file:
            super().__init__(command, env=env, stdout=file, stderr=subprocess.STDOUT, text=True)

    def communicate(self, *args: Any, **more: Any) -> tuple[str, str]:
        super().communicate(*args, **more)
        return self.said.read_text(), ""

    def line(self) -> str:
        """Return the first line that it says, once it has."""
        while self.poll() is None and "\n" not in self.said.read_text():
            time.sleep(0.1)
        return self.said.read_text().partition("\n")[0]


class Machines:
    """What `Steps` asks of a twin: its API server, and the nodes that can join."""

    def __init__(self, api: Any, machines: list[dict[str, Any]]) -> None:
        self.api, self.machines = api, machines

    def bring(self, objects: list[dict[str, Any]]) -> None:
        for one in objects:
            self.api.apply(one)


class Steps:
    """The twin, and what runs steps there."""

    def __init__(self, twin: "Twin", folder: Path) -> None:
        self.twin, self.folder = twin, folder
        for name, text in scripts()["data"].items():
            (folder / name).write_text(text)

    @property
    def api(self) -> "Plane":
        return self.twin.api

    @contextlib.contextmanager
    def beside(self) -> Iterator["Steps"]:
        """Yield the same on a connection of its own, for another thread."""
        from twin.plane import Plane

        made = copy.copy(self)
        made.twin = Machines(Plane(self.api.real), self.twin.machines)  # type: ignore[assignment]
        with contextlib.closing(made.api.connection):
            yield made

    def install(self, cluster: Cluster, security: str = "restricted") -> None:
        """Apply what is rendered, but for Argo's kinds; and what the operations find of other components. `security` is
        what Pod Security demands of the pods.
        """
        made = node_operations(cluster)
        self.api.namespace(NAMESPACE, {"pod-security.kubernetes.io/enforce": security})
        for name in (ROOK, MINIO, BACKUPS, GPU_OPERATOR):
            self.api.namespace(name)
        assert cluster.storage.scratch
        shared = [one for each in made.operations for one in each.templates if one["kind"] == "ConfigMap"]
        self.twin.bring([*made.base, *made.objects, *shared, storage_class(cluster.storage.scratch)])
        self.api.install("rook/v1.20.6/crds")
        (ceph,) = [one for one in ceph_cluster(cluster).objects if one["kind"] == "CephCluster"]
        self.twin.bring([ceph])
        for name in OPERATIONS.values():
            self.account(name)
        container = {"name": "main", "image": MIRRORED, "securityContext": UNPRIVILEGED}
        metadata = {"name": "step", "namespace": NAMESPACE}
        spec = {"containers": [container], "securityContext": pod_security(8737), "nodeSelector": {"no": "where"}}
        answer = self.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}, dry=False)
        assert answer == (201, "")

    def account(self, name: str) -> None:
        """Write what a pod of this ServiceAccount is given."""
        folder = self.folder / name
        folder.mkdir()
        config = json.loads(self.api.account(NAMESPACE, name).read_text())
        (folder / "token").write_text(config["users"][0]["user"]["token"])
        (folder / "ca.crt").write_bytes(self.api.address.certificate.read_bytes())

    def begin(self, operation: str, step: str, node: str = "", **told: str) -> Running:
        """Begin a step."""
        command = [sys.executable, "-B", str(self.folder / f"{operation}.py"), step]
        return self._run(command, operation, node, told)

    def killed(self, operation: str, step: str, node: str, **told: str) -> int:
        """Run a step that is killed as `kills` says, and done again until it succeeds; how often it was killed."""
        return sum(1 for _ in self.kills(operation, step, node, **told))

    def kills(self, operation: str, step: str, node: str, **told: str) -> Iterator[None]:
        """Run a step that is killed after each change that it makes, and done again until it succeeds; yield each time
        that it was killed. With ASKING it is killed at each question to Ceph or MinIO as well.
        """
        command = [sys.executable, "-B", "-c", KILLED, str(self.folder / f"{operation}.py"), step]
        asked = 0
        for _ in range(40):
            passing = {"LET_PASS": str(asked)} if "ASKING" in told else {}
            process = self._run(command, operation, node, {**told, **passing})
            said, _words = process.communicate(timeout=240)
            if process.returncode == 0:
                return
            assert process.returncode in (-signal.SIGKILL, -signal.SIGTERM), said
            asked += process.returncode == -signal.SIGTERM
            yield
        raise AssertionError(f"{step} changes something each time")

    def _run(self, command: list[str], operation: str, node: str, told: dict[str, str]) -> Running:
        env = {
            **os.environ,
            **TIMES,
            "KUBERNETES_SERVICE_HOST": "127.0.0.1",
            "KUBERNETES_SERVICE_PORT": str(self.api.address.port),
            "ACCOUNT": str(self.folder / OPERATIONS[operation]),
            "NODE": node,
            "RUN": f"{OPERATIONS[operation]}-x7k2p",
            "RUN_UID": "x7k2p",
            "STATUS": "Succeeded",
            "POOLS": "",
            "LEAVE": "",
            "TOLD": str(self.folder),
            "POD": "step",
            **told,
        }
        return Running(command, env, self.said, f"{operation}-{command[-1]}")

    @property
    def said(self) -> Path:
        """Where all that steps say is kept."""
        return self.folder / "said"

    def step(self, operation: str, step: str, node: str = "", **told: str) -> tuple[int, str]:
        """Run a step: its exit code, and what it said."""
        process = self.begin(operation, step, node, **told)
        said, _ = process.communicate(timeout=float(told.get("PATIENCE", "240")))
        assert "Traceback" not in said, said
        return process.returncode, said

    def good(self, operation: str, step: str, node: str = "", **told: str) -> str:
        """Run a step that must succeed; what it said."""
        code, said = self.step(operation, step, node, **told)
        assert code == 0, said
        return said

    def refused(self, operation: str, step: str, node: str = "", **told: str) -> str:
        """Run a step that must end with a verdict; what it said."""
        code, said = self.step(operation, step, node, **told)
        assert (code, "FAILED: " in said) == (2, True), said
        return said

    def node(self, name: str) -> "Object":
        """Return a Node."""
        found: Object = self.api.get(f"{NODES}/{name}")
        assert found, name
        return found

    def leave(self, name: str) -> None:
        """Let a machine be none of the cluster's, as before it joined."""
        self.api.request("DELETE", f"{NODES}/{name}")
        self.api.wait(f"{name} has gone", lambda: self.api.get(f"{NODES}/{name}") is None)

    def held(self) -> set[str]:
        """Return the nodes that take no pods."""
        return {one["metadata"]["name"] for one in self.api.items(NODES) if one["spec"].get("unschedulable")}

    def free(self, name: str) -> None:
        """Take away the cordon of an operation."""
        mark = {"annotations": {"gen.internal/cordoned-by": None}}
        self.patch(f"{NODES}/{name}", {"metadata": mark, "spec": {"unschedulable": None}})

    def join(self, name: str, **changes: Any) -> None:
        """Let a machine join, as its kubelet would; `offers` is what its device plugins do, if another."""
        (made,) = [one for one in self.twin.machines if one["metadata"]["name"] == name]
        made = json.loads(json.dumps(made))
        for key in changes.get("without", ()):
            for amounts in (made["status"]["capacity"], made["status"]["allocatable"], made["metadata"]["labels"]):
                amounts.pop(key, None)
        if "taints" in changes:
            made["spec"]["taints"] = changes["taints"]
        if "address" in changes:
            made["status"]["addresses"][0]["address"] = changes["address"]
        assert self.api.create(made, dry=False) == (201, "")

    def status(self, path: str, status: "Object") -> None:
        """Set what only controllers say of an object."""
        code, answer = self.api.request("PATCH", f"{path}/status", {"status": status}, patch="merge-patch+json")
        assert code == 200, answer

    def patch(self, path: str, change: "Object") -> None:
        """Change an object as its administrator."""
        code, answer = self.api.request("PATCH", path, change, patch="merge-patch+json")
        assert code == 200, answer

    def register(self, node: str, *drivers: str) -> None:
        """Let pods of CSI drivers have registered on a node."""
        uid = self.node(node)["metadata"]["uid"]
        owner = {"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid}
        self.api.apply(
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "CSINode",
                "metadata": {"name": node, "ownerReferences": [owner]},
                "spec": {"drivers": [{"name": one, "nodeID": node} for one in drivers]},
            }
        )

    def disk(self, node: str, number: int) -> None:
        """Let the static provisioner have found a scratch disk; one that was used, it has wiped and found again."""
        name = f"local-{node}-{number}"
        self.api.request("DELETE", f"/api/v1/persistentvolumes/{name}")
        self.api.wait(f"{name} has gone", lambda: self.api.get(f"/api/v1/persistentvolumes/{name}") is None)
        term = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
        self.api.apply(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": name},
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "capacity": {"storage": "3Ti"},
                    "local": {"path": f"/mnt/scratch/disk-{number}"},
                    "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [term]}]}},
                    "persistentVolumeReclaimPolicy": "Delete",
                    "storageClassName": "scratch-nvme",
                },
            }
        )

    def deployment(self, space: str, name: str, node: str = "", **more: Any) -> None:
        """Let somebody run one pod: on a node alone where it is named, as Rook does."""
        labels = {"app": more.get("app", name), "one": name, **more.get("labels", {})}
        pod: Object = {"containers": [{"name": "main", "image": more.get("image", "registry.example.org/any:1")}]}
        pod["tolerations"] = [{"key": key, "operator": "Exists"} for key in more.get("tolerates", ())]
        if node:
            pod["nodeSelector"] = {"kubernetes.io/hostname": node}
        template = {"metadata": {"labels": labels}, "spec": pod}
        spec = {"replicas": 1, "selector": {"matchLabels": {"one": name}}, "template": template}
        metadata = {"name": name, "namespace": space, "labels": labels}
        self.api.apply({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})

    def undeploy(self, space: str, *names: str) -> None:
        """Take Deployments away, and wait until their pods are gone."""
        for name in names:
            self.api.request(
                "DELETE", f"/apis/apps/v1/namespaces/{space}/deployments/{name}?propagationPolicy=Background"
            )
        for name in names:
            at = f"/api/v1/namespaces/{space}/pods?labelSelector=one%3D{name}"
            self.api.wait(f"{name} has gone", lambda at=at: not self.api.items(at))  # type: ignore[misc]

    def ceph(self, health: str, **details: str) -> None:
        """Let Ceph be well, or not, with a word on each check that says so."""
        told = {name: {"message": words, "severity": health} for name, words in details.items()}
        path = f"/apis/ceph.rook.io/v1/namespaces/{ROOK}/cephclusters/rook-ceph"
        self.status(path, {"ceph": {"health": health, "details": None}})
        # Rook looks every minute; what is said here holds for the whole test.
        looked = dt.datetime.now(dt.UTC) + dt.timedelta(days=1)
        self.status(path, {"ceph": {"details": told, "lastChecked": looked.strftime("%Y-%m-%dT%H:%M:%SZ")}})


def expects(steps: Steps, pool: str, node: str, **facts: object) -> None:
    """Let the file say something else of a node."""
    path = f"/api/v1/namespaces/{NAMESPACE}/configmaps/nodes-{pool}"
    said = json.loads(steps.api.get(path)["data"][node])
    steps.patch(path, {"data": {node: json.dumps(said | facts)}})


def cordoned(steps: Steps, name: str) -> bool:
    return bool(steps.node(name)["spec"].get("unschedulable"))


def notes(steps: Steps, name: str) -> dict[str, str]:
    return dict(steps.node(name)["metadata"].get("annotations") or {})


@contextlib.contextmanager
def silent(address: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
    """Yield a port that answers nothing, as where a firewall drops all: the queue of who listens there is full."""
    with socket.create_server((address, port), backlog=0) as server, contextlib.ExitStack() as stack:
        for _ in range(3):
            client = stack.enter_context(socket.socket())
            client.settimeout(0)
            client.connect_ex(server.getsockname())
        yield str(server.getsockname()[1])


def etcd(steps: Steps, node: str, *, ready: bool) -> str:
    """Let a member of etcd run as kubeadm runs it; its address."""
    name = f"etcd-{node}"
    at = f"/api/v1/namespaces/kube-system/pods/{name}"
    steps.api.request("DELETE", f"{at}?gracePeriodSeconds=0")
    steps.api.wait(f"{name} has gone", lambda: steps.api.get(at) is None)
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": "kube-system",
        "labels": {"component": "etcd", "tier": "control-plane"},
    }
    spec: dict[str, Any] = {"nodeName": node, "containers": [{"name": "etcd", "image": "registry.k8s.io/etcd:3.6.6-0"}]}
    spec["tolerations"] = [{"operator": "Exists"}]
    if ready:
        metadata["annotations"] = {"kubernetes.io/config.mirror": "1"}
    else:
        spec |= {"nodeName": "", "nodeSelector": {"nowhere": "true"}}
    assert (
        steps.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}, dry=False)[0] == 201
    )
    if ready:
        steps.api.wait(f"{name} runs", lambda: steps.api.get(at)["status"].get("phase") == "Running")
    return at
