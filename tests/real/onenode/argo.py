"""The workflow controller, with the configuration that gen renders, and what its pods are made of."""

import contextlib
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import yaml
from apiserver import SHARED, programs, sources
from twin.plane import Plane

from generator.components.argo_workflows import NAMESPACE, argo_workflows
from generator.components.minio.settings import CLIENT_IMAGE
from generator.components.workflows.backup import COMPARER
from generator.model.cluster import Cluster
from generator.rehearsal.twin.running import running
from onenode.images import Files, image
from onenode.images import files as files_of
from onenode.node import Node
from tools import program

EXECUTOR = "localhost/argoexec:v4.0.2"
CLIENT = "localhost/mc:1"
STARTED = "Starting Workflow Controller"
"""What it logs. The port of its health is fixed in the program: another one of this machine may have it."""
COREUTILS = (
    "bash", "cat", "cut", "date", "dd", "head", "id", "join", "md5sum", "mkdir", "mv", "rm", "sha256sum", "shuf",
    "sleep", "sort", "split", "stat", "sync", "tail", "timeout", "tr", "wc",
)  # fmt: skip
"""All that scripts in MinIO's client image may use beside `mc`."""
BUSYBOX = ("awk", "cut", "date", "grep", "head", "mkdir", "sed", "sh", "sort", "tail", "tr", "uniq", "wc")
"""What the script uses beside `rclone` that compares."""


@contextlib.contextmanager
def argo(  # noqa: PLR0913 - who is there, and what of it is otherwise
    api: Plane, node: Node, cluster: Cluster, metrics: int = 0, *, host: bool = True, limits: bool = True
) -> Iterator[None]:
    """Run workflows until the block ends; their metrics are at the port `metrics` where there is one. Without `host`
    their pods do not ask for the machine's network, which no restricted namespace lets them, and have it all the same.
    Without `limits` any number runs at once: of runs that are deleted early the controller counts some for ever.
    """
    controller, executor = programs("workflow-controller", "argoexec")
    node.load(image(node.folder / "argoexec.tar", EXECUTOR, {"/bin/argoexec": Path(executor)}, Env=["PATH=/bin"]))
    load_client(node, client())
    install(api, cluster, metrics, host=host, limits=limits)
    with controller_as(api, controller, api.address.kubeconfig("admin")):
        yield


def client() -> Files:
    """Return what the image of MinIO's client holds, whose shell is bash."""
    (mc,) = programs("mc")
    held = files_of(Path("/usr/bin") / name for name in COREUTILS)
    return held | {"/usr/bin/sh": Path("/usr/bin/bash"), "/usr/bin/mc": Path(mc), "/etc/ssl/openssl.cnf": b""}


def load_client(node: Node, held: Files) -> None:
    """Give the node this as the image of MinIO's client."""
    node.load(image(node.folder / "client.tar", CLIENT, held, Env=["PATH=/usr/bin"]), *references(CLIENT_IMAGE))


def comparer(node: Node) -> None:
    """Give the node the image of the program that compares: rclone beside busybox, which is all that its own has."""
    busybox = Path(program("busybox"))
    tools = {f"/bin/{name}": busybox for name in BUSYBOX} | files_of([Path(program("rclone"))])
    node.load(image(node.folder / "comparer.tar", COMPARER, tools, Env=["PATH=/bin:/usr/bin"]), *references(COMPARER))


@contextlib.contextmanager
def alone(api: Plane, cluster: Cluster) -> Iterator[None]:
    """Run the controller with the account and the rights that upstream gives it, until the block ends. Its pods are
    simulated: nobody runs an executor.
    """
    (controller,) = programs("workflow-controller")
    install(api, cluster, host=False)
    for name in ("clusterrole", "clusterrolebinding"):
        folder = sources("argo-workflows") / "cluster-install-no-crds" / "workflow-controller-rbac"
        one = yaml.load((folder / f"workflow-controller-{name}.yaml").read_bytes(), yaml.CSafeLoader)
        for subject in one.get("subjects", []):
            subject["namespace"] = NAMESPACE
        api.apply(one)
    api.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "argo", "namespace": NAMESPACE}})
    with controller_as(api, controller, api.account(NAMESPACE, "argo")):
        yield


@contextlib.contextmanager
def controller_as(api: Plane, controller: str, kubeconfig: Path) -> Iterator[None]:
    """Run the controller until the block ends."""
    folder = api.address.folder / "workflow-controller"
    words = [controller, f"--kubeconfig={kubeconfig}", f"--namespace={NAMESPACE}"]
    env = {"LEADER_ELECTION_DISABLE": "true", "DEFAULT_REQUEUE_TIME": "1s"}
    log = folder / "env.log"
    with running(folder, words, lambda: STARTED in log.read_text(), **env) as process:
        try:
            yield
        finally:
            process.kill()  # it does not heed SIGTERM


def references(name: str) -> list[str]:
    """Return the names under which containerd looks for an image that is named with a digest."""
    tagged, _, digest = name.partition("@")
    return [tagged, f"{tagged.rpartition(':')[0]}@{digest}", name] if digest else [name]


def install(api: Plane, cluster: Cluster, metrics: int = 0, *, host: bool = True, limits: bool = True) -> None:
    """Apply the definitions of upstream and the configuration of gen. Only what a machine without a pod network needs
    is said otherwise, where pods really run on the `host`, and without `limits` how many workflows run at once.
    """
    files = sorted((SHARED / "argo-workflows" / "v4.0.2" / "crds").iterdir())
    definitions = [yaml.load(file.read_bytes(), yaml.CSafeLoader) for file in files]
    for one in definitions:
        api.apply(one)
    for one in definitions:
        api.wait(one["metadata"]["name"], partial(api.established, one))
    api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    name = "workflow-controller-configmap"
    (patch,) = [one for one in argo_workflows(cluster).patches if one.target.get("name") == name]
    data = dict(patch.operations[0]["value"])
    executor, defaults = json.loads(data["executor"]), json.loads(data["workflowDefaults"])
    data["executor"] = json.dumps(executor | {"image": EXECUTOR})
    if not limits:
        del data["parallelism"], data["namespaceParallelism"]
    if host:
        data["workflowDefaults"] = json.dumps({"spec": defaults["spec"] | {"hostNetwork": True}})
    told = json.loads(data["metricsConfig"]) | {"port": metrics}
    data["metricsConfig"] = json.dumps(told if metrics else {"enabled": False})
    metadata = {"name": name, "namespace": NAMESPACE}
    api.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
