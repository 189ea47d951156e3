"""Operations as rendered, run by the real workflow controller in real pods, and driven by `gen workflow`."""

import base64
import contextlib
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from minioserver import ROOT_PASSWORD, ROOT_USER, Server, certificates, program
from reference import ROOT, load

from generator.components.rook_ceph import NAMESPACE
from generator.live.apiserver import tries
from generator.live.identity import record

if TYPE_CHECKING:
    from twin.plane import Object, Plane

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin

NOT_HERE = {"Certificate"}
"""Kinds that nobody defines here."""
READER, WRITER = "rook-ceph-object-user-datasets-datasets-backup-reader", "minio-user-backup-writer"


class Site:
    """A cluster with the operations of ml50, and MinIO at both ends of its backups."""

    def __init__(self, api: "Plane", source: Server, target: Server, folder: Path) -> None:
        self.api, self.source, self.target, self.folder = api, source, target, folder

    def gen(self, verb: str, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run `gen workflow`."""
        config = str(self.api.address.kubeconfig("admin"))
        command = [sys.executable, "-P", "-m", "generator", "workflow", verb, *words, "--kubeconfig", config]
        return subprocess.run(
            [*command, "--cluster", "ml50"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=400
        )

    def backup(self, *words: str, watch: bool = True) -> "subprocess.CompletedProcess[str]":
        """Submit the backup of `datasets`, whose ends are here."""
        ends = [f"source-url={self.source.url}", f"target-url={self.target.url}"]
        given = [word for end in ends for word in ("-p", end)]
        return self.gen("submit", "backup-datasets", *given, *words, *(["--watch"] if watch else []))

    def mc(self, *words: str, text: str | None = None) -> str:
        """Run MinIO's client as the root user of both ends."""
        hosts = {
            f"MC_HOST_{name}": server.url.replace("://", f"://{ROOT_USER}:{ROOT_PASSWORD}@")
            for name, server in (("source", self.source), ("target", self.target))
        }
        env = {**hosts, "MC_CONFIG_DIR": str(self.folder / "mc"), "HOME": str(self.folder)}
        command = [program("mc"), "--insecure", *words]
        return subprocess.run(command, env=env, input=text, capture_output=True, text=True, check=True).stdout

    def secret(self, name: str, **values: str) -> None:
        data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
        metadata = {"name": name, "namespace": NAMESPACE}
        self.api.apply({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    from onenode.argo import argo
    from onenode.node import node
    from twin.plane import plane
    from twin.rendered import Rendered

    cluster = load("ml50")
    with tempfile.TemporaryDirectory(prefix="one-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        rendered = Rendered(ROOT, "ml50", folder / "rendered", ("workflows",))
        with contextlib.ExitStack() as stack:
            start = stack.enter_context
            stack.callback(rendered.stop)
            api = start(plane(folder, simulated=False))
            start(argo(api, start(node(api)), cluster))
            signed = certificates(folder / "certificates")
            source, target = (start(serving(folder / one, signed)) for one in ("source", "target"))
            made = Site(api, source, target, folder)
            for one in ({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}, record(cluster)):
                api.apply(one)
            for one in rendered.objects("workflows"):
                if one["kind"] not in NOT_HERE:
                    api.apply(lighter(one))
            made.secret("backup-client", **{"ca.crt": (signed / "CAs/ca.crt").read_text()})
            made.secret(READER, AccessKey=ROOT_USER, SecretKey=ROOT_PASSWORD)
            made.secret(WRITER, accessKey=ROOT_USER, secretKey=ROOT_PASSWORD)
            ready(made)
            made.mc("mb", "source/datasets")
            made.mc("mb", "--with-lock", "target/datasets-backup")
            yield made


def lighter(one: "Object") -> "Object":
    """Ask for less of the machine, which has two processors."""
    for template in one["spec"]["templates"] if one["kind"] == "WorkflowTemplate" else ():
        if "container" in template:
            template["container"]["resources"]["requests"] = {"cpu": "50m", "memory": "64Mi"}
    return one


@contextlib.contextmanager
def serving(folder: Path, signed: Path) -> Iterator[Server]:
    server = Server(folder, certificates=signed)
    try:
        yield server
    finally:
        server.stop()


def ready(site: Site) -> None:
    for name in ("source", "target"):
        assert any(served(site, name) for _ in tries(20)), f"MinIO {name} is not ready"


def served(site: Site, name: str) -> bool:
    try:
        site.mc("ls", name)
    except subprocess.CalledProcessError:
        return False
    return True


def run_of(done: "subprocess.CompletedProcess[str]") -> str:
    """Return the name of the run that began."""
    (name,) = re.findall(r"^(\S+) begins", done.stdout, re.MULTILINE)
    return str(name)


def shown(site: Site, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(site.gen("show", name, "--output", "json").stdout)
    return found


def test_a_backup_is_submitted_watched_and_read(site: Site) -> None:
    for number in range(30):
        site.mc("pipe", f"source/datasets/a folder/{number} 한글.txt", text=f"object {number}")
    time.sleep(1.1)
    done = site.backup()
    assert done.returncode == 0, done.stdout + done.stderr
    for step in ("precheck", "mirror", "verify", "record"):
        assert f"✔ {step} Succeeded" in done.stdout, done.stdout
    assert site.mc("cat", "target/datasets-backup/a folder/7 한글.txt") == "object 7"
    name = run_of(done)
    logs = site.gen("logs", name)
    assert re.search(r"^mirror\(0\) \| .* copied 30 objects$", logs.stdout, re.MULTILINE), logs.stdout
    assert "argo=true" not in logs.stdout
    listed = site.gen("list")
    assert name in listed.stdout, listed.stderr
    assert "backup-checkpoints" in listed.stdout
    steps = shown(site, name)["steps"]
    assert [(one["name"], one["phase"]) for one in steps] == [
        (step, "Succeeded") for step in ("precheck", "mirror", "verify", "record")
    ]


def test_what_failed_is_told_and_done_once_more(site: Site) -> None:
    site.secret(READER, AccessKey=ROOT_USER, SecretKey="another")
    begun = site.backup(watch=False)
    assert begun.returncode == 0, begun.stderr
    name = run_of(begun)
    assert site.gen("retry", name).returncode == 2
    for _ in tries(60):
        if "mc: <ERROR>" in (said := site.gen("logs", name).stdout) or "cannot list" in said:
            break
    else:
        raise AssertionError(said)
    stopped = site.gen("stop", name)
    assert stopped.returncode == 0, stopped.stderr
    watched = site.gen("watch", name)
    assert watched.returncode == 1, watched.stdout
    assert f"{name} Failed" in watched.stdout
    assert "✖ precheck" in site.gen("show", name).stdout
    site.secret(READER, AccessKey=ROOT_USER, SecretKey=ROOT_PASSWORD)
    again = site.gen("retry", name, "--watch")
    assert again.returncode == 0, again.stdout + again.stderr
    assert shown(site, run_of(again))["parameters"]["source-url"] == site.source.url
    assert site.gen("stop", name).stdout.startswith(f"{name} ended already")


def test_a_source_that_shrank_is_a_verdict_that_a_parameter_lifts(site: Site) -> None:
    site.mc("rm", "--recursive", "--force", "source/datasets/a folder/")
    site.mc("pipe", "source/datasets/one", text="one")
    time.sleep(1.1)
    refused = site.backup()
    assert refused.returncode == 1, refused.stdout
    lines = site.gen("logs", run_of(refused)).stdout
    assert "FAILED: the source shrank by more than 20 %" in lines
    meant = site.backup("-p", "shrink-percent=100")
    assert meant.returncode == 0, meant.stdout


def test_wrong_words_are_answered_and_nothing_begins(site: Site) -> None:
    def names() -> set[str]:
        return {one["name"] for one in json.loads(site.gen("list", "--output", "json").stdout)["runs"]}

    before = names()
    for words, answer in (
        (("backup-dataset",), "no operation backup-dataset; did you mean backup-datasets"),
        (("backup",), "backup does not know name, source-url, source-bucket"),
        (("backup-datasets", "-p", "shrink-percen=1"), "has no parameter shrink-percen; did you mean"),
        (("backup-datasets", "-p", "shrink-percent"), "say NAME=VALUE"),
    ):
        done = site.gen("submit", *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert answer in done.stderr
    assert site.gen("submit", "backup-datasets", "--dry-run").returncode == 0
    assert site.gen("watch", "backup-datasets-none").returncode == 2
    assert names() == before


def test_a_step_uses_no_right_that_its_account_has_not(site: Site) -> None:
    """The account of the steps may report results, and nothing else."""
    account = f"system:serviceaccount:{NAMESPACE}:backup"
    path = f"/api/v1/namespaces/{NAMESPACE}/secrets"
    status, _ = site.api.request("GET", path, by=(account, ("system:serviceaccounts",)))
    assert status == 403
