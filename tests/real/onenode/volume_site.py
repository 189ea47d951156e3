"""A cluster on one real node whose team has volumes of both kinds: one is backed up to the cluster's MinIO, the other
elsewhere, to another MinIO. Ceph alone is played: by a driver whose volumes are folders (`volumes.py`).
"""

import contextlib
import json
import re
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from auditing import audited
from minioserver import ROOT_PASSWORD, ROOT_USER, Server
from msgspec import structs
from reference import ROOT, load
from volsyncsite import MOVER, install, manager, secret, space
from volumebackups import HOME
from volumesite import BACKUPS, serving, sums
from volumesite import Site as Movers

from generator.components import compose
from generator.components.minio.volume_keys import policy
from generator.components.parts import UNPRIVILEGED, pod_security
from generator.components.rook_ceph import NAMESPACE as ROOK
from generator.components.volsync.drills import CA as DRILL_CA
from generator.components.volsync.drills import NAME as DRILL
from generator.components.volsync.names import AUTHORITIES, CA, NAMESPACE, RESTORE, repository
from generator.components.volsync.places import known
from generator.live.apiserver import free_ports
from generator.live.identity import record
from generator.model.backup import CopyTarget, VolumeBackup
from generator.model.cluster import Cluster
from generator.model.storage import Elsewhere
from generator.rehearsal.twin.running import running
from onenode.site import Gen, await_template, lighter
from tools import program

if TYPE_CHECKING:
    from twin.plane import Plane

    from generator.components.component import Component

Object = dict[str, Any]
TEAM = "vision"
ACCOUNTS = (f"{NAMESPACE}:{DRILL}", f"{NAMESPACE}:{RESTORE}")
SHARED = structs.replace(
    HOME,
    name="vision-shared",
    source=structs.replace(HOME.source, claim="shared", storage_class="shared-fast"),
    target=CopyTarget(bucket="volumes-of-ml50", at="offsite"),
)
BOTH = (HOME, SHARED)
SPACE = f"/api/v1/namespaces/{TEAM}"


class Site(Gen):
    """The cluster, its volumes, the MinIO of its backups, and the port of the workflows' metrics."""

    def __init__(  # noqa: PLR0913, PLR0917
        self, api: "Plane", folder: Path, cluster: Cluster, servers: tuple[Movers, Server], volumes: Path, metrics: int
    ) -> None:
        super().__init__(api, folder)
        self.cluster, self.volumes, self.metrics = cluster, volumes, metrics
        self.movers, self.away = servers
        self.secrets: set[str] = set()
        """What Secrets hold that nobody may know."""

    def submit(self, operation: str, *words: str) -> "subprocess.CompletedProcess[str]":
        """Begin an operation, and wait for its end."""
        return self.gen("submit", operation, *words, "-C", str(self.folder / "repository"), "--watch")

    def measured(self, metric: str, one: VolumeBackup) -> float | None:
        """Return what Prometheus reads of the drills of a backup."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics}/metrics", timeout=30) as answer:
            text = answer.read().decode()
        found = re.search(rf'^{metric}\{{backup="{one.name}"[^}}]*\}} (\S+)$', text, re.MULTILINE)
        return float(found[1]) if found else None

    def mc(self, one: VolumeBackup, *words: str) -> str:
        """Run MinIO's client as the root user of where a backup goes, which is called `s`."""
        done = client(self.folder, self.away, *words) if one.target.at else self.movers.mc(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def patch(self, path: str, change: Object) -> None:
        """Change an object as `kubectl patch --type merge` does."""
        status, answer = self.api.request("PATCH", path, change, patch="merge-patch+json")
        assert status == 200, answer

    def logs(self, run: str) -> str:
        """Return what the pods of a run wrote."""
        return self.gen("logs", run, "-C", str(self.folder / "repository")).stdout

    def restore(self, name: str, *words: str) -> "subprocess.CompletedProcess[str]":
        return self.run("restore", name, "-C", str(self.folder / "repository"), "--yes", *words)

    def held(self, claim: str) -> dict[str, str]:
        """Return what a claim's volume holds."""
        return self.kept(self.api.get(f"{SPACE}/persistentvolumeclaims/{claim}")["spec"]["volumeName"])

    def kept(self, name: str) -> dict[str, str]:
        """Return what a volume holds."""
        volume = self.api.get(f"/api/v1/persistentvolumes/{name}")
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


def backed_up(movers: Movers, away: Server) -> Cluster:
    """Return the cluster with both backups, and the service elsewhere."""
    ml50 = load("ml50")
    offsite = Elsewhere(name="offsite", url=away.url, region="us-east-1", ca=movers.ca.read_text())
    return structs.replace(ml50, volume_backups=BOTH, storage=structs.replace(ml50.storage, elsewhere=(offsite,)))


@contextlib.contextmanager
def serving_volumes() -> Iterator[Site]:
    """Run all of it until the block ends."""
    from twin.plane import plane

    from onenode.argo import argo
    from onenode.node import node
    from onenode.simulated import load_python
    from onenode.volumes import load_mover, volumes

    with (
        tempfile.TemporaryDirectory(prefix="claims-", ignore_cleanup_errors=True) as name,
        contextlib.ExitStack() as stack,
    ):
        start, folder = stack.enter_context, Path(name)
        movers = start(serving(BACKUPS))
        away = start(elsewhere(folder, movers))
        cluster = backed_up(movers, away)
        made = {one.name: one for one in compose(cluster)}
        assert cluster.storage.ceph
        start(audited(folder, *ACCOUNTS))
        api = start(plane(folder, simulated=False))
        machine = start(node(api))
        load_mover(machine)
        load_python(machine)
        (metrics,) = free_ports(1)
        start(argo(api, machine, cluster, metrics, host=False))
        for namespace in (ROOK, NAMESPACE):
            api.namespace(namespace)
        program = install(api, folder, cluster, made)
        at = start(volumes(api, machine, cluster.storage.ceph))
        start(volsync(api, folder, program))
        api.apply(record(cluster))
        space(api, made, TEAM)
        found = Site(api, folder, cluster, (movers, away), at, metrics)
        for one in BOTH:
            given(found, one)
        drills(api, made)
        of_team(api, made["tenants"])
        repository_of(folder / "repository", cluster)
        yield found


@contextlib.contextmanager
def elsewhere(folder: Path, movers: Movers) -> Iterator[Server]:
    """Serve the bucket elsewhere, with the keys that its owner gives: for one repository, and nothing beside it."""
    server = Server(folder / "elsewhere", certificates=movers.server.certificates)
    try:
        rights = folder / "elsewhere.json"
        rights.write_text(json.dumps(policy(SHARED)))
        access, key = movers.key(SHARED).split(":")
        words = (("ready", "s"), ("mb", f"s/{SHARED.target.bucket}"), ("admin", "user", "add", "s", access, key))
        granted = (("create", "s", "own", str(rights)), ("attach", "s", "own", "--user", access))
        for one in (*words, *(("admin", "policy", *each) for each in granted)):
            done = client(folder, server, *one)
            assert done.returncode == 0, done.stderr
        yield server
    finally:
        server.stop()


def client(folder: Path, server: Server, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run MinIO's client as the root user of a server."""
    host = server.url.replace("://", f"://{ROOT_USER}:{ROOT_PASSWORD}@")
    env = {"MC_HOST_s": host, "MC_CONFIG_DIR": str(folder / "mc"), "HOME": str(folder)}
    command = [program("mc"), "--insecure", *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60)


@contextlib.contextmanager
def volsync(api: "Plane", folder: Path, program: str) -> Iterator[None]:
    """Run VolSync's manager with the account and the rights of its chart until the block ends."""
    account = {"name": "volsync", "namespace": NAMESPACE}
    api.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
    with running(folder / "volsync", manager(program, api.account(NAMESPACE, "volsync")), lambda: True):
        yield


def given(site: Site, one: VolumeBackup) -> None:
    """Make what bootstrap and cert-manager make for movers and drills; MinIO answers on this machine."""
    env = site.movers.mover(one, site.movers.folder)
    where = known(site.cluster, one) if one.target.at else {"RESTIC_REPOSITORY": env["RESTIC_REPOSITORY"]}
    held = {key: env[key] for key in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "RESTIC_PASSWORD")} | where
    site.secrets |= {held["AWS_SECRET_ACCESS_KEY"], held["RESTIC_PASSWORD"]}
    for named, ca in ((TEAM, CA), (NAMESPACE, DRILL_CA)):
        secret(site.api, named, repository(one), held)
        secret(site.api, named, ca, {"ca.crt": site.movers.ca.read_text()})


def drills(api: "Plane", made: dict[str, "Component"]) -> None:
    """Make what drills are and run with, in a namespace with the rules that it is rendered with."""
    (named,) = made["volsync"].namespaces
    metadata = {"name": NAMESPACE, "labels": named.labels | {"pod-security.kubernetes.io/enforce": "restricted"}}
    api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    (operation,) = made["volsync"].operations
    for one in (*made["volsync"].base, *operation.templates, *made["volsync"].objects):
        if one["kind"] not in {"Certificate", "NetworkPolicy"}:
            api.apply(lighter(one))
    await_template(api, NAMESPACE, DRILL)


def of_team(api: "Plane", tenants: "Component") -> None:
    """Make what says to movers who signed elsewhere, and what lets runs bring volumes back."""
    for one in tenants.objects:
        named = (one["kind"], one["metadata"]["name"])
        if named in {("ConfigMap", AUTHORITIES), ("RoleBinding", RESTORE)}:
            api.apply(one)


def repository_of(folder: Path, cluster: Cluster) -> None:
    """Make the repository in which somebody runs gen: the cluster file says what is backed up."""
    text: Object = yaml.load((ROOT / "clusters" / "ml50" / "cluster.yaml").read_bytes(), yaml.CSafeLoader)
    text["spec"]["storage"]["objects"]["buckets"].append({"name": "volumes"})
    (offsite,) = cluster.storage.elsewhere
    said = {"name": offsite.name, "url": offsite.url, "region": offsite.region, "ca": offsite.ca, "room": "8T"}
    text["spec"]["storage"]["elsewhere"] = [said]
    text["spec"]["volumeBackups"] = [
        {
            "name": one.name,
            "from": {"team": TEAM, "claim": one.source.claim, "storageClass": one.source.storage_class},
            "to": {"bucket": one.target.bucket} | ({"at": one.target.at} if one.target.at else {}),
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
