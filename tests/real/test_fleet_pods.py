"""A fleet rendered by the real workflow controller in real pods: divided, joined, checked, pushed, and a pod killed."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from auditing import audited, betrayed, stored, unused, written
from chartshop import Shop
from chartworld import World, need
from msgspec import structs
from onenode.site import lighter
from reference import ROOT, load
from vendoring import held, toys

from generator.build.kustomize import program as kustomize
from generator.cli import run
from generator.components.component import HELM
from generator.components.fleet import NAMESPACE, fleet
from generator.components.fleet.install import scripts
from generator.live.apiserver import tries
from generator.live.identity import record
from generator.model.cluster import Cluster
from generator.model.gitops import Fleet
from generator.repository.scaffold import starter

if TYPE_CHECKING:
    from twin.plane import Object, Plane

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin

ACCOUNT = f"{NAMESPACE}:fleet"
KEY = {"username": "gen-pushes", "password": "only-for-the-test-of-the-fleet"}
IMAGE = "localhost/gen:1"
"""Empty: what it would hold are this machine's own programs, which the pods mount."""
NAMES = ("one", "two", "three")
USER = 8737
SYSTEM = {"/usr": "/usr", "/bin": "/usr/bin", "/lib": "/usr/lib", "/lib64": "/usr/lib64", "/etc/ssl": "/etc/ssl"}


GEN = """#!/bin/sh
export GEN_KUSTOMIZE={kustomize} PYTHONPATH={root} PYTHONDONTWRITEBYTECODE=1
[ ! -s /opt/gen/spec.json ] || exec {python} {root}/tests/chartworld.py /opt/gen/spec.json "$@"
exec {python} -m generator "$@"
"""
"""The program of the pods; with components of a test where there are some."""


class Site:
    """The cluster, and the repository at its server, which is a folder."""

    def __init__(self, api: "Plane", folder: Path) -> None:
        self.api, self.folder, self.server = api, folder, folder / "server.git"

    def gen(self, verb: str, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run `gen workflow`."""
        config = str(self.api.address.kubeconfig("admin"))
        command = [sys.executable, "-m", "generator", "workflow", verb, *words, "--kubeconfig", config]
        command += ["--namespace", NAMESPACE, "--cluster", "ml50"]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=900)

    def pods(self, step: str) -> list[str]:
        """Return the pods of a step that run."""
        found = self.api.items(f"/api/v1/namespaces/{NAMESPACE}/pods")
        running = (one["metadata"]["name"] for one in found if one["status"].get("phase") == "Running")
        return [name for name in running if f"-{step}-" in name]


def git(root: Path, *words: str) -> str:
    """Run Git as somebody, in a repository that may be somebody else's."""
    who = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "safe.directory=*")
    return subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    from onenode.argo import argo
    from onenode.images import image
    from onenode.node import node
    from twin.plane import plane

    given = load("ml50")
    settings = Fleet(image=IMAGE, storage_class="shared-fast", shards=2)
    cluster = structs.replace(given, gitops=structs.replace(given.gitops, fleet=settings))
    with tempfile.TemporaryDirectory(prefix="fleet-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        with contextlib.ExitStack() as stack:
            start = stack.enter_context
            start(audited(folder, ACCOUNT))
            api = start(plane(folder, simulated=False))
            machine = start(node(api))
            start(argo(api, machine, cluster))
            machine.load(image(folder / "gen.tar", IMAGE, {"/etc/passwd": b""}))
            made = Site(api, folder)
            repository(made)
            install(made, cluster)
            yield made


def repository(site: Site) -> None:
    """Make the repository: three clusters, rendered, of which one has changed since."""
    root = site.folder / "source"
    for second, name in enumerate(NAMES, 11):
        file = root / "clusters" / name / "cluster.yaml"
        file.parent.mkdir(parents=True)
        file.write_text(starter(name).decode().replace("10.10.", f"10.{second}."))
    git(site.folder, "init", "-q", "-b", "main", str(root))
    assert run(["render", "-C", str(root)]) == 0
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "first")
    file.write_text(file.read_text().replace("gpus: 8", "gpus: 4"))
    git(root, "commit", "-q", "-a", "-m", "fewer")
    git(site.folder, "clone", "-q", "--bare", str(root), str(site.server))
    owned(site, USER)


def owned(site: Site, user: int) -> None:
    """Give the server's repository to a user: Git serves nobody else's."""
    subprocess.run(["chown", "-R", f"{user}:{user}", site.server], check=True)


def install(site: Site, cluster: Cluster) -> None:
    """Apply what gen renders. The volume is a folder of the one node, and programs are the machine's own."""
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    volume = site.folder / "volume"
    volume.mkdir()
    os.chown(volume, USER, USER)
    spec = {
        "capacity": {"storage": "1Ti"},
        "accessModes": ["ReadWriteMany"],
        "storageClassName": "shared-fast",
        "persistentVolumeReclaimPolicy": "Retain",
        "hostPath": {"path": str(volume)},
    }
    disks = [
        {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"fleet-{one}"}, "spec": spec}
        for one in range(3)
    ]
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "fleet-git", "namespace": NAMESPACE}}
    secret["stringData"] = KEY
    made = fleet(cluster)
    for one in (space, record(cluster), *disks, secret, scripts(), *made.base, *made.objects):
        site.api.apply(lighter(on_this_machine(site, one)))


def on_this_machine(site: Site, one: "Object") -> "Object":
    """Let pods find gen, Git and bash, and the repository."""
    if one["kind"] != "WorkflowTemplate":
        return one
    gen = site.folder / "bin/gen"
    gen.parent.mkdir(exist_ok=True)
    gen.write_text(GEN.format(kustomize=kustomize()[0], root=ROOT, python=sys.executable))
    for path in (gen.parent, gen):
        path.chmod(0o755)
    places = {**SYSTEM, "/opt/gen": str(gen.parent), str(site.server): str(site.server)}
    own = (Path(sys.prefix), Path(sys.base_prefix), ROOT, Path(kustomize()[0]).parent)
    places |= {str(path): str(path) for path in own if not path.is_relative_to("/usr")}
    volumes = [{"name": f"own-{number}", "hostPath": {"path": path}} for number, path in enumerate(places.values())]
    mounts = [{"name": f"own-{number}", "mountPath": path} for number, path in enumerate(places)]
    spec = dict(one["spec"])
    spec["volumes"] = [*spec["volumes"], *volumes]
    spec["templates"] = [with_programs(template, mounts) for template in spec["templates"]]
    parameters = [
        {**each, "value": str(site.server)} if each["name"] == "url" else each
        for each in spec["arguments"]["parameters"]
    ]
    return {**one, "spec": {**spec, "arguments": {"parameters": parameters}}}


def with_programs(template: dict[str, Any], mounts: list[dict[str, Any]]) -> dict[str, Any]:
    if "container" not in template:
        return template
    container = template["container"]
    env = [*container["env"], {"name": "PATH", "value": "/opt/gen:/usr/bin:/bin"}]
    return {
        **template,
        "container": {**container, "env": env, "volumeMounts": [*container["volumeMounts"], *mounts]},
    }


def test_a_run_renders_all_clusters_though_a_pod_is_killed(site: Site) -> None:
    begun = site.gen("submit", "fleet")
    assert begun.returncode == 0, begun.stdout + begun.stderr
    name = begun.stdout.split()[0]
    for _ in tries(240):
        if found := site.pods("part"):
            break
    else:
        raise AssertionError(site.gen("show", name).stdout)
    path = f"/api/v1/namespaces/{NAMESPACE}/pods/{found[0]}?gracePeriodSeconds=0"
    assert site.api.request("DELETE", path)[0] == 200
    done = site.gen("watch", name)
    assert done.returncode == 0, done.stdout + done.stderr + site.gen("logs", name).stdout
    assert git(site.server, "log", "--format=%an %s", "main..gen/fleet") == "gen Render all clusters"
    changed = git(site.server, "diff", "--name-only", "main", "gen/fleet").splitlines()
    assert changed == ["overlays/three/queues/clusterqueue-research.yaml", "overlays/three/queues/cohort-teams.yaml"]
    assert "part(0:1)" in done.stdout, done.stdout


def test_a_cluster_that_is_wrong_ends_the_run_with_its_finding(site: Site) -> None:
    before = git(site.server, "for-each-ref", "refs/heads/gen")
    source = site.folder / "source"
    file = source / "clusters/two/cluster.yaml"
    file.write_text(file.read_text().replace("domain:", "domains:"))
    git(source, "commit", "-q", "-a", "-m", "wrong")
    owned(site, os.getuid())
    git(source, "push", "-q", str(site.server), "main")
    owned(site, USER)
    done = site.gen("submit", "fleet", "--watch")
    assert done.returncode == 1, done.stdout
    logs = site.gen("logs", done.stdout.split()[0]).stdout
    assert "clusters/two/cluster.yaml:" in logs
    assert "FAILED: gen render: see above" in logs
    assert git(site.server, "for-each-ref", "refs/heads/gen") == before


def test_a_run_vendors_charts_in_parts(site: Site, two: World, shop: Shop, tmp_path: Path) -> None:
    """Of two clusters whose components are a test's; from a shop of charts that is at the site alone."""
    spec = site.folder / "bin/spec.json"
    shutil.copy(need("helm", HELM), spec.parent / "helm")
    spec.write_bytes(toys(two, shop))
    owned(site, os.getuid())
    git(two.root, "push", "-q", str(site.server), "main:toys")
    owned(site, USER)
    words = ("how=vendor", "branch=toys", "target=gen/toys", "shards=3")
    done = site.gen("submit", "fleet", *(each for word in words for each in ("-p", word)), "--watch")
    spec.unlink()
    assert done.returncode == 0, done.stdout + done.stderr + site.gen("logs", done.stdout.split()[0]).stdout
    assert git(site.server, "log", "--format=%an %s", "toys..gen/toys") == "gen Vendor all clusters"
    owned(site, os.getuid())
    git(tmp_path, "clone", "-q", "--branch", "gen/toys", str(site.server), str(tmp_path / "made"))
    two.gen("vendor")
    assert held(tmp_path / "made") == two.tree()
    assert any(path.startswith("overlays/two/other/upstream/") for path in two.tree())


def test_no_right_is_unused_and_none_is_missing(site: Site) -> None:
    """After all others."""
    assert unused(site.api, site.folder, ACCOUNT) == set()


def test_no_secret_is_told(site: Site) -> None:
    """After all others: also not by the pod that was killed, and by the run that failed."""
    assert betrayed([*stored(site.api), *written(site.folder)], KEY.values()) == []
