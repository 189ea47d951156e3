"""Sick GPUs, step by step: real scripts with the rights that are rendered, against a real API server, scheduler and
Kueue; the nodes are KWOK's, and their exporters answer on loopback.
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
import yaml
from exporteroutputs import Device, output, uuid
from msgspec import structs
from nodesteps import ACCOUNT, NODES, TIMES, Steps
from reference import ROOT, load

from generator.components.gpu_care import gpu_care
from generator.components.gpu_care.names import SICK, SUSPECT
from generator.components.gpu_care.templates import scripts
from generator.components.gpu_operator import NAMESPACE as GPU_OPERATOR
from generator.components.node_operations.facts import config_maps
from generator.components.node_operations.names import NAMESPACE
from generator.model.gpu_care import GpuCare
from generator.rehearsal.twin import plane as real

if TYPE_CHECKING:
    from twin.fixtures import Twin

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin

CLUSTER = structs.replace(load("ml50"), gpu_care=GpuCare(drain=True))
NAMES = ("gpu-care", "gpu-drain")
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

    def begin(self, operation: str, step: str, node: str, **told: str) -> "subprocess.Popen[str]":
        """Begin a step of `care`, `cleared` or `drain`."""
        env = {
            **os.environ,
            **TIMES,
            "KUBERNETES_SERVICE_HOST": "127.0.0.1",
            "KUBERNETES_SERVICE_PORT": str(self.api.address.port),
            "ACCOUNT": str(self.folder / ("gpu-drain" if operation == "drain" else "gpu-care")),
            "DRAIN_ONLY": "nvidia.com/",
            "EXPORTER_PORT": str(self.port),
            "EXPORTER_SECONDS": "5",
            "NODE": node,
            "PERCENT_PER_DAY": "10",
            "TOLD": str(self.folder),
            **told,
        }
        command = [sys.executable, "-B", str(self.folder / f"gpu_{operation}.py"), step]
        return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def look(self) -> str:
        """Look at all nodes; what was said."""
        return self.good("care", "look", "")

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


@contextlib.contextmanager
def exporters(care: Care) -> Iterator[None]:
    """Answer at the address of each node's exporter."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(care.answers[self.connection.getsockname()[0]].encode())

        def log_message(self, *_: object) -> None:
            pass

    servers: list[ThreadingHTTPServer] = []
    for address in care.answers:
        servers.append(ThreadingHTTPServer((address, care.port), Handler))
        care.port = servers[0].server_port
    threads = [threading.Thread(target=one.serve_forever, args=(0.1,)) for one in servers]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()
        for thread in threads:
            thread.join()


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Write down what the steps ask of the API server."""
    folder = tmp_path_factory.mktemp("audit")
    users = [f"{ACCOUNT}{name}" for name in NAMES]
    rules = [{"level": "Metadata", "users": users, "omitStages": ["RequestReceived"]}, {"level": "None"}]
    policy = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": rules}
    (folder / "policy.yaml").write_text(yaml.safe_dump(policy))
    flags = [f"--audit-policy-file={folder}/policy.yaml", f"--audit-log-path={folder}/log", "--audit-log-mode=blocking"]
    plain = real._server
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(real, "_server", lambda *words: [*plain(*words), *flags])
        yield folder / "log"


@pytest.fixture(scope="module")
def care(log: Path) -> Iterator[Care]:
    """The steps, after a first look."""
    from twin.fixtures import twin_of

    assert log.parent.is_dir()
    with (
        tempfile.TemporaryDirectory(prefix="gpus-", ignore_cleanup_errors=True) as name,
        contextlib.ExitStack() as stack,
    ):
        folder = Path(name)
        (folder / "scripts").mkdir()
        twin = stack.enter_context(twin_of(ROOT, "ml50", folder))
        made = Care(twin, folder / "scripts", twin.leave("gpu-training", 3))
        made.bring_all()
        stack.enter_context(exporters(made))
        made.look()
        yield made


def test_from_the_first_xid_to_the_repair(care: Care) -> None:
    """One story: each step is killed once, and run again."""
    assert care.tainted() == []
    vision = care.twin.member("vision")
    vision.prepare("train", pods=2)
    sick, second = sorted(vision.nodes("train"))
    (third,) = {*care.names} - {sick, second}
    pools = care.node(sick)["spec"]["taints"]

    care.tells(sick, Device(0), Device(1, 79, pod="vision/train-0"))
    killed = care.begin("care", "look", "")
    care.api.wait("it is marked", lambda: care.tainted() == [sick])
    killed.kill()
    killed.communicate()
    assert f"sick: {sick}" in care.look()
    said = json.loads(care.node(sick)["metadata"]["annotations"][SICK])
    assert said["what"] == [f"{uuid(1)}: Xid 79 (GPU has fallen off the bus)"]
    where = quote(f"involvedObject.kind=Node,involvedObject.name={sick},reason=GpuSick")
    assert len(care.api.items(f"/api/v1/namespaces/node-operations/events?fieldSelector={where}")) == 1
    assert vision.running("train") == 2, "what runs there runs on until somebody lets it leave"

    assert care.which() == [sick]
    former = {pod["metadata"]["uid"] for pod in vision.pods("train")}
    pod = vision.pods("train")[0]
    at = f"/api/v1/namespaces/vision/pods/{pod['metadata']['name']}"
    care.patch(at, {"metadata": {"finalizers": [*pod["metadata"].get("finalizers", []), "twin.test/hold"]}})
    stopping = care.begin("drain", "gangs", sick)
    care.api.wait("it is stopped", lambda: vision.workload("train")["spec"].get("active") is False)  # type: ignore[index]
    stopping.kill()
    stopping.communicate()
    assert care.which() == [sick], "a gang that a killed run has stopped is not forgotten"
    with contextlib.suppress(AssertionError):
        care.patch(at, {"metadata": {"finalizers": None}})
    assert "is in its queue again" in care.good("drain", "gangs", sick)
    vision.runs("train", 2)
    assert not former & {one["metadata"]["uid"] for one in vision.pods("train")}, "a pod of the former gang was left"
    assert vision.nodes("train") == {second, third}
    assert "no pod holds nvidia.com/" in care.good("drain", "evict", sick)
    assert care.which() == []

    for name in (second, third):
        care.tells(name, Device(0, 119))
    care.look()
    assert len(care.tainted()) == 2, "a tenth of twelve nodes, rounded up"
    (reported,) = {second, third} - {*care.tainted()}
    assert "too many nodes of the pool got one today" in care.node(reported)["metadata"]["annotations"][SUSPECT]

    assert f"{uuid(1)} still tells Xid 79" in care.refused("cleared", "cleared", sick)
    assert sick in care.tainted()
    care.tells(sick, Device(0), Device(1))
    assert "all its GPUs are healthy" in care.good("cleared", "cleared", sick)
    assert "all its GPUs are healthy" in care.good("cleared", "cleared", sick)
    assert sick not in care.tainted()
    assert care.node(sick)["spec"]["taints"] == pools
    assert SICK not in care.node(sick)["metadata"]["annotations"]
    assert "is not sick any more" in care.good("drain", "gangs", sick), "who waited for hours stops nothing then"


def test_pods_without_gpus_stay_and_those_nobody_makes_again_are_named(care: Care) -> None:
    node = care.tainted()[0]
    care.twin.clean()
    care.deployment("default", "plain", node, tolerates=("nvidia.com/gpu", "gen.internal/training", SICK))
    pods = "/api/v1/namespaces/default/pods?labelSelector=one%3Dplain"
    care.api.wait("it runs", lambda: [one["status"].get("phase") for one in care.api.items(pods)] == ["Running"])
    care.good("drain", "evict", node)
    assert len(care.api.items(pods)) == 1
    limits = {"limits": {"nvidia.com/gpu": "1"}}
    spec = {"nodeName": node, "containers": [{"name": "a", "image": "registry.example.org/any:1", "resources": limits}]}
    spec["tolerations"] = [{"operator": "Exists"}]
    bare = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bare", "namespace": "default"}, "spec": spec}
    assert care.api.create(bare, dry=False)[0] == 201
    assert "nobody makes default/bare again" in care.refused("drain", "evict", node)
    care.api.request("DELETE", "/api/v1/namespaces/default/pods/bare?gracePeriodSeconds=0")
    care.undeploy("default", "plain")


def test_fewer_gpus_are_noted_and_not_yet_judged(care: Care) -> None:
    (node,) = [one for one in care.names if one not in care.tainted()][:1]
    path = f"{NODES}/{node}"
    care.status(path, {"allocatable": {"nvidia.com/gpu": "7"}})
    before = care.tainted()
    care.look()
    assert care.tainted() == before
    assert "short" in json.loads(care.node(node)["metadata"]["annotations"]["gen.internal/gpu-care"])
    care.status(path, {"allocatable": {"nvidia.com/gpu": "8"}})
    care.look()
    assert "short" not in json.loads(care.node(node)["metadata"]["annotations"]["gen.internal/gpu-care"])


@pytest.mark.usefixtures("care")
def test_no_right_is_missing(log: Path) -> None:
    """After all others: nothing that was asked was forbidden."""
    asked = [json.loads(line) for line in log.read_text().splitlines()]
    forbidden = [one for one in asked if one["annotations"]["authorization.k8s.io/decision"] != "allow"]
    assert asked
    assert [(one["verb"], one["objectRef"]) for one in forbidden] == []


def test_a_step_may_not_touch_other_nodes(care: Care) -> None:
    for name in NAMES:
        who = (f"{ACCOUNT}{name}", ("system:serviceaccounts", "system:authenticated"))
        change = {"spec": {"unschedulable": True}}
        assert care.api.request("PATCH", f"{NODES}/cp-1", change, patch="merge-patch+json", by=who)[0] == 403
        assert care.api.request("DELETE", f"{NODES}/gpu-01", by=who)[0] == 403
        assert care.api.request("GET", "/api/v1/secrets", by=who)[0] == 403
        assert care.api.request("GET", f"/api/v1/namespaces/{NAMESPACE}/secrets", by=who)[0] == 403
