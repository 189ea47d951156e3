"""Copies of a dataset on a real kubelet: a pod of a team waits for the first, reads it and writes nothing, and reads on
in its own while another version comes.
"""

import contextlib
import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from generator.components import compose
from generator.components.datasets import CACHE_FOLDER
from generator.components.python_steps import IMAGE
from generator.model.cluster import Cluster
from generator.spec.decode import decode
from generator.spec.reader import read

if TYPE_CHECKING:
    from twin.plane import Plane

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin

FILE = Path(__file__).parents[1] / "wrong/valid/datasets-cached.yaml"
OF_OTHERS = {"dataset-scans.dataset-cache", "cache-scans"}
"""The volume that Ceph's component brings, and the team's claim."""
READS = """
import errno, os, sys, time
def read(): return [open(f"/data/{name}").read() for name in (".version", "part")]
assert read() == sys.argv[1:], read()
try:
    open("/data/part", "w")
except OSError as error:
    assert error.errno == errno.EROFS, error
else:
    sys.exit("it is written")
while os.path.exists("/go/on"):
    time.sleep(0.5)
assert read() == sys.argv[1:], read()
"""
"""What a pod of the team's does: it reads twice, the second time when the folder `go` of the node says so."""


class Site(NamedTuple):
    """The cluster, and folders of its node: the dataset, the disk for copies, and what ends pods."""

    api: "Plane"
    dataset: Path
    disk: Path
    go: Path

    def version(self, name: str, part: str) -> None:
        """Write the dataset's one file, and name the version last."""
        (self.dataset / "part").write_text(part)
        (self.dataset / ".version").write_text(name)

    def pod(self, name: str, *expected: str, careful: bool = True) -> None:
        """Start a pod as a team's namespace wants it, that reads the copy; one that is not careful mounts it as if it
        could write.
        """
        security = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
        container = {"name": "main", "image": IMAGE, "command": ["python3", "-c", READS, *expected]}
        claim = {"claimName": "cache-scans", **({"readOnly": True} if careful else {})}
        spec = {
            "restartPolicy": "Never",
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 1000,
                **({"fsGroup": 1000} if careful else {}),
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [
                container
                | {"securityContext": security}
                | {"volumeMounts": [{"name": "data", "mountPath": "/data"}, {"name": "go", "mountPath": "/go"}]}
            ],
            "volumes": [
                {"name": "data", "persistentVolumeClaim": claim},
                {"name": "go", "persistentVolumeClaim": {"claimName": "go"}},
            ],
        }
        about = {"name": name, "namespace": "vision"}
        self.api.apply({"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": spec})

    def phase(self, name: str) -> str:
        found = self.api.get(f"/api/v1/namespaces/vision/pods/{name}")["status"]
        return str(found.get("phase"))

    def filled(self) -> int:
        found = self.api.get("/apis/apps/v1/namespaces/dataset-cache/daemonsets/scans")["status"]
        return int(found.get("numberReady", 0))


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    from onenode.images import files, image
    from onenode.node import node
    from onenode.simulated import python
    from twin.plane import plane

    with (
        tempfile.TemporaryDirectory(prefix="copies-", ignore_cleanup_errors=True) as name,
        contextlib.ExitStack() as stack,
    ):
        folder = Path(name)
        folder.chmod(0o755)
        api = stack.enter_context(plane(folder, simulated=False))
        made = stack.enter_context(node(api))
        held = python() | files([Path("/usr/bin/test")])
        made.load(image(folder / "python.tar", IMAGE, held, Env=["PATH=/usr/bin"]))
        found = Site(api, *(folder / each for each in ("dataset", "disk", "go")))
        for each in (found.dataset, found.disk, found.go):
            each.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "copies", str(found.disk)], check=True)
        stack.callback(subprocess.run, ["umount", "--lazy", str(found.disk)], check=True)
        change = {"metadata": {"labels": {"gen.internal/cache": "true"}}}
        assert api.request("PATCH", "/api/v1/nodes/localhost", change, patch="merge-patch+json")[0] == 200
        install(found)
        yield found


def install(site: Site) -> None:
    """Bring the component as it is rendered, on folders in place of Ceph and of a disk."""
    for name, security in (("dataset-cache", "privileged"), ("vision", "restricted")):
        labels = {"pod-security.kubernetes.io/enforce": security}
        site.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
    cluster = decode(read(FILE.read_bytes(), FILE.name))
    assert isinstance(cluster, Cluster)
    for part in compose(cluster):
        for one in (*part.base, *part.objects):
            if part.name == "dataset-cache" or one["metadata"]["name"] in OF_OTHERS:
                site.api.apply(moved(one, site))
    for one in ends(site):
        site.api.apply(one)


def moved(one: dict[str, Any], site: Site) -> dict[str, Any]:
    """Return an object with folders of the test's, and what fills looking every second at any disk."""
    made: dict[str, Any] = json.loads(json.dumps(one).replace(CACHE_FOLDER, str(site.disk)))
    if made["kind"] == "DaemonSet":
        (container,) = made["spec"]["template"]["spec"]["containers"]
        container["readinessProbe"]["periodSeconds"] = 1
        for each in container["env"]:
            each["value"] = "1" if each["name"] in {"DISK", "SECONDS"} else each["value"]
    if made["metadata"]["name"] == "dataset-scans.dataset-cache":
        del made["spec"]["csi"], made["spec"]["mountOptions"]
        made["spec"]["hostPath"] = {"path": str(site.dataset)}
    return made


def ends(site: Site) -> list[dict[str, Any]]:
    """Return a volume of the team's that tells its pods to go on."""
    spec = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
    volume = spec | {"capacity": {"storage": "1Mi"}, "hostPath": {"path": str(site.go)}}
    claim = spec | {"volumeName": "go", "resources": {"requests": {"storage": "1Mi"}}}
    return [
        {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "go"}, "spec": volume},
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "go", "namespace": "vision"},
            "spec": claim,
        },
    ]


def test_a_pod_waits_for_the_first_copy_and_reads_on_in_its_own(site: Site) -> None:
    from twin.team import eventually

    (site.go / "on").touch()
    site.pod("first", "1", "one")
    eventually("the pod waits", lambda: site.phase("first") == "Pending")
    assert site.filled() == 0
    site.version("1", "one")
    eventually("the first copy is whole", lambda: site.filled() == 1, 60)
    eventually("the pod reads it", lambda: site.phase("first") == "Running", 180)
    site.version("2", "two")
    copy = site.disk / "scans/current/part"
    eventually("the second copy is there", lambda: copy.read_text() == "two", 60)
    site.pod("second", "2", "two", careful=False)
    eventually("another pod reads that", lambda: site.phase("second") == "Running", 120)
    (site.go / "on").unlink()
    for name in ("first", "second"):
        eventually(f"{name} ends", lambda name=name: site.phase(name) in {"Succeeded", "Failed"}, 60)  # type: ignore[misc]
        assert site.phase(name) == "Succeeded", name
