"""The backup of etcd as rendered, run by the real workflow controller in real pods on one node: what is brought away,
and what is told of each control-plane node, also of one that is down.
"""

import base64
import contextlib
import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from minioserver import ROOT_PASSWORD, ROOT_USER, certificates
from onenode.site import Site, lighter, ready, run_of, serving
from reference import ROOT, load

from generator.components.etcd_backup.names import NAMESPACE
from generator.live.identity import record

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin

NOT_HERE = {"Certificate"}
HERE, DOWN = "localhost", "cp-9"
CONTROL_PLANE = {"node-role.kubernetes.io/control-plane": ""}


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    from onenode.argo import argo
    from onenode.node import node
    from twin.plane import plane
    from twin.rendered import Rendered

    cluster = load("ml50")
    with tempfile.TemporaryDirectory(prefix="one-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        rendered = Rendered(ROOT, "ml50", folder / "rendered", ("etcd-backup",))
        with contextlib.ExitStack() as stack:
            start = stack.enter_context
            stack.callback(rendered.stop)
            api = start(plane(folder, simulated=False))
            start(argo(api, start(node(api)), cluster))
            signed = certificates(folder / "certificates")
            target = start(serving(folder / "target", signed))
            made = Site(api, target, target, folder)
            for one in ({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}, record(cluster)):
                api.apply(one)
            api.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": HERE, "labels": CONTROL_PLANE}})
            for one in rendered.objects("etcd-backup"):
                if one["kind"] not in NOT_HERE:
                    api.apply(on_this_machine(lighter(one), folder))
            secret(made, "etcd-backup-client", **{"ca.crt": (signed / "CAs/ca.crt").read_text()})
            secret(made, "minio-user-etcd-writer", accessKey=ROOT_USER, secretKey=ROOT_PASSWORD)
            ready(made)
            made.mc("mb", "--with-lock", "target/etcd-backup")
            yield made


def secret(site: Site, name: str, **values: str) -> None:
    data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
    site.api.apply(
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": NAMESPACE}, "data": data}
    )


def on_this_machine(one: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Let snapshots lie in the test's folder, and wait less long for a node that is down."""
    if one["kind"] == "WorkflowTemplate":
        (volume,) = [each for each in one["spec"]["volumes"] if "hostPath" in each]
        volume["hostPath"]["path"] = str(folder / "out")
        (look,) = [each for each in one["spec"]["templates"] if each["name"] == "look"]
        look["timeout"] = "20s"
    return one


def snapshot(site: Site) -> str:
    """Lay down what a node does, and return when it was taken."""
    now = datetime.now(UTC).replace(microsecond=0)
    folder, content = site.folder / "out", b"encrypted"
    folder.mkdir(exist_ok=True)
    stamp, taken = f"{now:%Y%m%dT%H%M%SZ}", f"{now:%Y-%m-%dT%H:%M:%SZ}"
    (folder / f"{stamp}.db.age").write_bytes(content)
    told = {"backup": "etcd", "node": HERE, "taken": taken, "revision": 7, "keys": 7, "bytes": len(content)}
    text = json.dumps(told | {"sha256": hashlib.sha256(content).hexdigest()}, separators=(",", ":"))
    (folder / f"{stamp}.json").write_text(f"{text}\n")
    folder.chmod(0o755)
    return str(int(now.timestamp()))


def run(site: Site) -> "subprocess.CompletedProcess[str]":
    """Run the worktree's `gen workflow submit`."""
    config = str(site.api.address.kubeconfig("admin"))
    given = [f"target-url={site.target.url}", f"nodes={json.dumps([HERE, DOWN])}"]
    words = [word for one in given for word in ("-p", one)]
    command = [sys.executable, "-m", "generator", "workflow", "submit", "backup-etcd", *words, "--watch"]
    command += ["--kubeconfig", config, "--cluster", "ml50"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=400)


def test_the_newest_is_brought_away_and_each_node_is_told_of(site: Site) -> None:
    taken = snapshot(site)
    done = run(site)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "snapshot.db.age" in site.mc("ls", "--recursive", "target/etcd-backup")
    ran = site.api.get(f"/apis/argoproj.io/v1alpha1/namespaces/{NAMESPACE}/workflows/{run_of(done)}")
    assert ran["status"]["phase"] == "Succeeded"
    looks = [one for one in ran["status"]["nodes"].values() if one.get("templateName") == "look"]
    told = {one["inputs"]["parameters"][0]["value"]: one for one in looks if one["type"] == "Pod"}
    assert {name: one["phase"] for name, one in told.items()} == {HERE: "Succeeded", DOWN: "Failed"}
    assert told[HERE]["outputs"]["parameters"][0]["value"] == taken
    assert "outputs" not in told[DOWN]
    # What the controller says where it can make no metric of what a step told.
    assert "MetricsError" not in {one["type"] for one in ran["status"].get("conditions", [])}
