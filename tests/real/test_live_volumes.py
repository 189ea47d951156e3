"""A team's volume on a real node: claimed, written by a pod, backed up by VolSync from a snapshot as gen renders it,
lost, and brought back by `gen restore`. Ceph alone is played: by a driver whose volumes are folders
(`onenode/volumes.py`).
"""

import contextlib
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from msgspec import structs
from onenode.site import Gen
from reference import ROOT, load
from volsyncsite import MOVER, install, manager, secret, sources_of, space
from volumesite import BACKUPS, HOME, serving, sums
from volumesite import Site as Movers

from generator.components import compose
from generator.components.parts import UNPRIVILEGED, pod_security
from generator.components.rook_ceph import NAMESPACE as ROOK
from generator.components.volsync.drills import CA as DRILL_CA
from generator.components.volsync.drills import schedules, scripts, workflow_template
from generator.components.volsync.names import CA, NAMESPACE, repository
from generator.live.identity import record
from generator.model.backup import VolumeBackup
from generator.model.cluster import Cluster
from generator.rehearsal.twin.running import running

if TYPE_CHECKING:
    import subprocess

    from twin.plane import Plane

    from generator.components.component import Component

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin

Object = dict[str, Any]
TEAM = "vision"
SHARED = structs.replace(
    HOME, name="vision-shared", source=structs.replace(HOME.source, claim="shared", storage_class="shared-fast")
)
BOTH = (HOME, SHARED)
SPACE = f"/api/v1/namespaces/{TEAM}"
SOURCES = f"/apis/volsync.backube/v1alpha1/namespaces/{TEAM}/replicationsources"
SNAPSHOTS = f"/apis/snapshot.storage.k8s.io/v1/namespaces/{TEAM}/volumesnapshots"
WRITE = """
cd /data
mkdir -p 'run 1/ä'
for number in 1 2 3 4 5 6 7 8; do head -c 100000 /dev/urandom >"run 1/ä/part $number"; done
head -c 30000000 /dev/urandom >checkpoint.pt
: >empty
ln -s checkpoint.pt latest
chmod 600 checkpoint.pt
sync
"""


class Site(Gen):
    """The cluster, its volumes and the MinIO of its backups."""

    def __init__(self, api: "Plane", folder: Path, volumes: Path, movers: Movers) -> None:
        super().__init__(api, folder)
        self.volumes, self.movers = volumes, movers

    def restore(self, name: str, *words: str) -> "subprocess.CompletedProcess[str]":
        return self.run("restore", name, "-C", str(self.folder / "repository"), "--yes", *words)

    def held(self, claim: str) -> dict[str, str]:
        """Return what a claim's volume holds."""
        found = self.api.get(f"{SPACE}/persistentvolumeclaims/{claim}")
        volume = self.api.get(f"/api/v1/persistentvolumes/{found['spec']['volumeName']}")
        kind = volume["spec"]["csi"]["driver"].split(".")[1]
        return sums(self.volumes / kind / "volumes" / volume["spec"]["csi"]["volumeHandle"])

    def write(self, claim: str, script: str) -> None:
        """Run a script in a pod of the team's, with the claim at /data."""
        name = f"writer-{claim}"
        self.api.apply(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "namespace": TEAM},
                "spec": {
                    "restartPolicy": "Never",
                    "automountServiceAccountToken": False,
                    "securityContext": pod_security(1000, runAsGroup=1000, fsGroup=1000),
                    "containers": [
                        {
                            "name": "write",
                            "image": MOVER,
                            "command": ["bash", "-euc", script],
                            "resources": {
                                "requests": {"cpu": "50m", "memory": "64Mi"},
                                "limits": {"memory": "64Mi"},
                            },
                            "securityContext": UNPRIVILEGED,
                            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                        }
                    ],
                    "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}],
                },
            }
        )
        self.api.wait(f"{name} is at its end", lambda: self.phase(name) in {"Succeeded", "Failed"})
        assert self.phase(name) == "Succeeded", self.api.get(f"{SPACE}/pods/{name}")["status"]
        self.api.request("DELETE", f"{SPACE}/pods/{name}")

    def phase(self, pod: str) -> str:
        found = self.api.get(f"{SPACE}/pods/{pod}") or {}
        return str(found.get("status", {}).get("phase", ""))


def backed_up() -> Cluster:
    return structs.replace(load("ml50"), volume_backups=BOTH)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    from onenode.node import node
    from onenode.volumes import load_mover, volumes
    from twin.plane import plane

    cluster = backed_up()
    assert cluster.storage.ceph
    made = {one.name: one for one in compose(cluster)}
    with (
        tempfile.TemporaryDirectory(prefix="claims-", ignore_cleanup_errors=True) as name,
        contextlib.ExitStack() as stack,
    ):
        start, folder = stack.enter_context, Path(name)
        movers = start(serving((*BACKUPS, SHARED)))
        api = start(plane(folder, simulated=False))
        machine = start(node(api))
        load_mover(machine)
        for namespace in (ROOK, NAMESPACE):
            api.namespace(namespace)
        program = install(api, folder, cluster, made)
        at = start(volumes(api, machine, cluster.storage.ceph))
        start(volsync(api, folder, program))
        api.apply(record(cluster))
        space(api, made, TEAM)
        for one in BOTH:
            known(api, movers, one)
        drills(api, made)
        repository_of(folder / "repository")
        yield Site(api, folder, at, movers)


@contextlib.contextmanager
def volsync(api: "Plane", folder: Path, program: str) -> Iterator[None]:
    """Run VolSync's manager with the account and the rights of its chart until the block ends."""
    account = {"name": "volsync", "namespace": NAMESPACE}
    api.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
    with running(folder / "volsync", manager(program, api.account(NAMESPACE, "volsync")), lambda: True):
        yield


def known(api: "Plane", movers: Movers, one: VolumeBackup) -> None:
    """Make what bootstrap and cert-manager make for movers and drills; MinIO answers on this machine."""
    env = movers.mover(one, movers.folder)
    keys = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "RESTIC_PASSWORD", "RESTIC_REPOSITORY")
    for named, ca in ((TEAM, CA), (NAMESPACE, DRILL_CA)):
        secret(api, named, repository(one), {key: env[key] for key in keys})
        secret(api, named, ca, {"ca.crt": movers.ca.read_text()})


def drills(api: "Plane", made: dict[str, "Component"]) -> None:
    """Make what drills run with, in a namespace with the rules that it is rendered with."""
    (named,) = made["volsync"].namespaces
    metadata = {"name": NAMESPACE, "labels": named.labels | {"pod-security.kubernetes.io/enforce": "restricted"}}
    api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    for one in made["volsync"].base:
        if one["kind"] == "ServiceAccount":
            api.apply(one)
    api.apply(scripts())


def tried(site: Site, one: VolumeBackup, name: str) -> tuple[int, str]:
    """Run the pod of a drill as its Workflow would make it, and return its exit code and its log."""
    template = workflow_template(MOVER)["spec"]
    (schedule,) = [each for each in schedules(backed_up()) if each["metadata"]["name"] == f"drill-{one.name}"]
    given = {each["name"]: each["value"] for each in schedule["spec"]["workflowSpec"]["arguments"]["parameters"]}
    text = json.dumps(template["templates"][0]["container"])
    for key, value in {**given, "seed": ""}.items():
        text = text.replace(f"{{{{workflow.parameters.{key}}}}}", value)
    text = text.replace("{{workflow.creationTimestamp.s}}", str(int(time.time())))
    assert "{{" not in text
    container = json.loads(text) | {"name": "main", "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}}}
    spec = {
        "restartPolicy": "Never",
        "serviceAccountName": template["serviceAccountName"],
        "automountServiceAccountToken": False,
        "securityContext": template["securityContext"],
        "containers": [container],
        "volumes": template["volumes"],
    }
    metadata = {"name": name, "namespace": NAMESPACE}
    site.api.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    path = f"/api/v1/namespaces/{NAMESPACE}/pods/{name}"
    site.api.wait(f"{name} is at its end", lambda: site.api.get(path)["status"]["phase"] in {"Succeeded", "Failed"})
    (status,) = site.api.get(path)["status"]["containerStatuses"]
    logs = sorted((site.folder / "pod-logs").glob(f"*_{name}_*/main/*.log"))
    return status["state"]["terminated"]["exitCode"], "".join(log.read_text() for log in logs)


def damage(site: Site, one: VolumeBackup) -> None:
    """Change one bit of the largest pack of a repository."""
    place = f"s/{one.target.bucket}/{one.prefix}/data/"
    listed = map(json.loads, site.movers.mc("--json", "ls", "--recursive", place).stdout.splitlines())
    key, pack = max(listed, key=lambda each: each["size"])["key"], site.folder / "pack"
    assert site.movers.mc("cp", f"{place}{key}", str(pack)).returncode == 0
    content = bytearray(pack.read_bytes())
    content[len(content) // 2] ^= 1
    pack.write_bytes(content)
    assert site.movers.mc("cp", str(pack), f"{place}{key}").returncode == 0


def repository_of(folder: Path) -> None:
    """Make the repository in which somebody runs gen: the cluster file says what is backed up."""
    text: Object = yaml.safe_load((ROOT / "clusters" / "ml50" / "cluster.yaml").read_bytes())
    text["spec"]["storage"]["objects"]["buckets"].append({"name": "volumes"})
    text["spec"]["volumeBackups"] = [
        {
            "name": one.name,
            "from": {"team": TEAM, "claim": one.source.claim, "storageClass": one.source.storage_class},
            "to": {"bucket": one.target.bucket},
            "schedule": one.schedule,
            "size": str(one.size),
            "dailyChange": str(one.daily_change),
            "user": one.user,
        }
        for one in BOTH
    ]
    file = folder / "clusters" / "ml50" / "cluster.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(yaml.safe_dump(text, sort_keys=False))


def claim(site: Site, one: VolumeBackup, mode: str) -> None:
    site.api.apply(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": one.source.claim, "namespace": TEAM},
            "spec": {
                "accessModes": [mode],
                "storageClassName": one.source.storage_class,
                "resources": {"requests": {"storage": "1Gi"}},
            },
        }
    )


@pytest.mark.parametrize(("one", "mode"), [(HOME, "ReadWriteOnce"), (SHARED, "ReadWriteMany")], ids=["block", "files"])
def test_a_volume_is_backed_up_from_its_snapshot_and_comes_back(site: Site, one: VolumeBackup, mode: str) -> None:
    live, again = one.source.claim, f"{one.source.claim}-again"
    claim(site, one, mode)
    site.write(live, WRITE)
    held = site.held(live)
    assert len(held) == 11
    made = {component.name: component for component in compose(backed_up())}
    (source,) = [each for each in sources_of(made, TEAM) if each["metadata"]["name"] == one.name]
    site.api.apply(source)
    path = f"{SOURCES}/{one.name}"

    def ended() -> bool:
        status = (site.api.get(path) or {}).get("status", {})
        return bool(status.get("lastSyncTime"))

    site.api.wait(f"{one.name} is backed up", ended)
    told = site.api.get(path)["status"]["latestMoverStatus"]
    assert (told["result"], site.held(live)) == ("Successful", held)
    site.api.wait("the snapshot is gone", lambda: not site.api.items(SNAPSHOTS))
    site.write(live, "rm -r '/data/run 1'; printf lost >/data/checkpoint.pt")
    assert site.held(live) != held
    done = site.restore(one.name, "--into", again)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "as the backup has it, file by file" in done.stdout
    assert site.held(again) == held


def test_a_drill_of_a_damaged_backup_fails(site: Site) -> None:
    """Follows the tests before: both volumes are backed up."""
    code, log = tried(site, HOME, "whole")
    assert (code, "all are as they were backed up" in log) == (0, True), log
    damage(site, HOME)
    code, log = tried(site, HOME, "damaged")
    assert (code, "FAILED: restic found damage in the repository" in log) == (2, True), log
