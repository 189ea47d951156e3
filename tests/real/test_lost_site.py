"""The page on the way back of a lost site, followed step by step: a real etcd and its API server are lost and come back
from a snapshot; without one Ceph's identity comes back from the escrow file.
"""

import base64
import contextlib
import json
import os
import re
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from etcdsite import Machine, Site, healthy, identity_of, site
from msgspec import structs
from recoverypage import Step, steps
from reference import load

from generator.components import compose
from generator.live import kept
from generator.live.api import of_started
from generator.live.apiserver import Started, free_ports
from generator.live.bootstrap.secret_values import Values
from generator.live.bootstrap.secrets_step import Keeping, secrets_step
from generator.live.identity import record
from generator.live.running import RunningCluster
from generator.model.cluster import Cluster
from generator.model.secret_store import Escrow
from generator.rehearsal.twin.running import listens, running
from tools import program

if TYPE_CHECKING:
    from apiserver import ApiServer

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.real

FSID = "3f271841-6188-47c1-b3fd-90fd4f978c76"
OWNER = [{"apiVersion": "ceph.rook.io/v1", "kind": "CephCluster", "name": "rook-ceph", "uid": "gone"}]
FINALIZERS = ["ceph.rook.io/disaster-protection"]
ACTING = {
    "argocd/argocd-application-controller": "StatefulSet",
    "argo/workflow-controller": "Deployment",
    "rook-ceph/rook-ceph-operator": "Deployment",
}
ENCRYPTION = """
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
  - resources: [secrets]
    providers: [{{secretbox: {{keys: [{{name: key1, secret: {key}}}]}}}}, {{identity: {{}}}}]
"""
# Every node is a folder: what is said to it is done there.
SSH = """#!/bin/sh
[ "$1" != -n ] || { shift; exec </dev/null; }
while [ "$1" = -o ]; do shift 2; done
root=$SITE/$(grep -l "^${1#root@}$" "$SITE"/*/address | sed 's#/address$##; s#.*/##')
shift
there="s#/etc/kubernetes#$root/etc/kubernetes#g; s#/root/#$root/root/#g; s#/var/lib/rook#$root/rook#g"
exec sh -c "$(printf %s "$*" | sed "$there")"
"""
SCP = """#!/bin/sh
place=${2#root@}
root=$(dirname "$(grep -l "^${place%%:*}$" "$SITE"/*/address)")
mkdir -p "$root/root"
exec cp "$1" "$root/root/"
"""


class Person:
    """Who follows the page, in a folder, with the programs that it names."""

    def __init__(self, folder: Path, cluster: Cluster, identity: Path) -> None:
        self.folder, self.steps = folder, steps(cluster)
        folder.mkdir(exist_ok=True)
        shutil.copy(identity, folder / "KEY.txt")
        self.env = {**os.environ, "PATH": f"{folder}/bin:{Path(program('age')).parent}:{os.environ['PATH']}"}
        (folder / "bin").mkdir()
        for name, text in {"ssh": SSH, "scp": SCP}.items():
            (folder / "bin" / name).write_text(text)
            (folder / "bin" / name).chmod(0o755)

    def reach(self, machines: list[Machine]) -> None:
        """Know the machines by their addresses."""
        for machine in machines:
            (machine.root / "address").write_text(f"{machine.address}\n")
        self.env["SITE"] = str(machines[0].root.parent)

    def use(self, api: "ApiServer") -> None:
        """Have a kubeconfig."""
        cluster = {"server": api.url, "certificate-authority": str(api.certificate)}
        parts = {
            "clusters": [{"name": "x", "cluster": cluster}],
            "users": [{"name": "x", "user": {"token": api.token}}],
            "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        }
        file = self.folder / "admin.conf"
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "x", **parts}))
        self.env |= {"KUBECONFIG": str(file), "HOME": str(self.folder)}

    def types(self, title: str, number: int) -> str:
        """Run a block of a step as it stands; return what it printed."""
        step: Step = self.steps[title]
        done = subprocess.run(
            ["sh", "-c", step.blocks[number]],
            cwd=self.folder,
            env=self.env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{title}: {done.stdout}{done.stderr}"
        return done.stdout


@contextlib.contextmanager
def server(folder: Path, machine: Machine) -> Iterator["ApiServer"]:
    """Run an API server on a machine's etcd, with that machine's keys, as kubeadm does."""
    from apiserver import ApiServer

    (port,) = free_ports(1)
    token, pki, kubernetes = secrets.token_hex(16), machine.pki, machine.root / "etc/kubernetes"
    folder.mkdir(exist_ok=True)
    (folder / "tokens.csv").write_text(f'{token},admin,admin,"system:masters"\n')
    certificate = folder / "certificates/apiserver.crt"
    flags = {
        "etcd-servers": f"https://{machine.address}:2379",
        "etcd-cafile": pki / "ca.crt",
        "etcd-certfile": pki / "healthcheck-client.crt",
        "etcd-keyfile": pki / "healthcheck-client.key",
        "encryption-provider-config": kubernetes / "enc/encryption.yaml",
        "service-account-key-file": kubernetes / "pki/sa.pub",
        "service-account-signing-key-file": kubernetes / "pki/sa.key",
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-cluster-ip-range": "10.96.0.0/24",
        "endpoint-reconciler-type": "none",
        "authorization-mode": "RBAC",
        "bind-address": "127.0.0.1",
        "advertise-address": "127.0.0.1",
        "secure-port": port,
        "cert-dir": certificate.parent,
        "token-auth-file": folder / "tokens.csv",
    }
    command = [program("kube-apiserver"), *(f"--{name}={value}" for name, value in flags.items())]
    with running(folder, command, lambda: listens(port) and certificate.exists()):
        api = ApiServer(port, certificate, token)
        with contextlib.closing(api.connection):
            api.wait("it is ready", lambda: api.request("GET", "/readyz")[0] == 200)
            yield api


def made(kind: str, name: str, **more: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "rook-ceph", "finalizers": FINALIZERS, "ownerReferences": OWNER}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **more}


def identity() -> list[dict[str, Any]]:
    """Return what Rook makes of a cluster of Ceph (`createClusterAccessSecret`, `persistExpectedMonDaemons`)."""
    values = {"fsid": FSID, "ceph-username": "client.admin", "ceph-secret": "AQA=", "mon-secret": secrets.token_hex()}
    data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
    node = {"a": {"Name": "cpu-01", "Hostname": "cpu-01", "Address": "10.20.0.131"}}
    monitors = {"data": "a=10.20.0.131:3300", "mapping": json.dumps({"node": node}), "maxMonId": "0"}
    return [
        made("Secret", "rook-ceph-mon", type="kubernetes.io/rook", data=data),
        made("ConfigMap", "rook-ceph-mon-endpoints", data=monitors),
    ]


def workload(place: str, kind: str) -> dict[str, Any]:
    namespace, name = place.split("/")
    labels = {"app": name}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": name, "image": "x"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": pod}
    spec |= {"serviceName": name} if kind == "StatefulSet" else {}
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}


def certificates(machine: Machine, *phases: str) -> str:
    """Run kubeadm's phases of certificates on a machine; what it said."""
    command = [program("kubeadm"), "init", "phase", "certs"]
    said = ""
    for phase in phases:
        more = ["--apiserver-advertise-address=10.10.0.11"] if phase == "apiserver" else []
        words = [*command, phase, f"--cert-dir={machine.root}/etc/kubernetes/pki", *more]
        words += [] if phase == "sa" else ["--kubernetes-version=v1.35.3"]
        said += subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return said


def secrets_of(api: "ApiServer") -> list[dict[str, Any]]:
    found = api.request("GET", "/api/v1/secrets")[1]["items"]
    return sorted(found, key=lambda one: str(one["metadata"]["name"]))


def replicas(api: "ApiServer") -> dict[str, int]:
    objects = {place: workload(place, kind) for place, kind in ACTING.items()}
    return {
        place: api.request("GET", api.path(one, named=True))[1]["spec"]["replicas"] for place, one in objects.items()
    }


def token_is_good(api: "ApiServer", token: str) -> bool:
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
    status = api.request("POST", "/apis/authentication.k8s.io/v1/tokenreviews", review)[1]["status"]
    return bool(status.get("authenticated"))


def filled(api: "ApiServer") -> str:
    """Give the cluster Ceph's identity, and what acts; return a token of a ServiceAccount."""
    for name in ("rook-ceph", "argocd", "argo"):
        api.namespace(name)
    for one in (*identity(), *(workload(place, kind) for place, kind in ACTING.items())):
        assert api.create(one, dry=False)[0] == 201
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "rook", "namespace": "rook-ceph"}}
    api.apply(account)
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    return str(api.request("POST", f"{api.path(account, named=True)}/token", asked)[1]["status"]["token"])


def prepared(machine: Machine) -> None:
    """Give a machine the keys of a control plane, beside those that its etcd has already."""
    certificates(machine, "ca", "front-proxy-ca", "sa")
    (machine.root / "etc/kubernetes/enc").mkdir()
    key = base64.b64encode(secrets.token_bytes(32)).decode()
    (machine.root / "etc/kubernetes/enc/encryption.yaml").write_text(ENCRYPTION.format(key=key))


def lost(machine: Machine) -> None:
    """Take everything from a machine but the certificates of its own, which kubeadm makes anew of the authorities."""
    shutil.rmtree(machine.data)
    machine.data.mkdir(mode=0o700)
    shutil.rmtree(machine.root / "etc/kubernetes/enc")
    for name in ("ca", "sa", "front-proxy-ca", "etcd/ca"):
        for file in machine.pki.parent.glob(f"{name}.*"):
            file.unlink()


def with_a_snapshot(made_site: Site, person: Person) -> dict[str, Any]:
    """Lose the control plane and do the steps of case A on it; return what the cluster held before."""
    (machine,) = made_site.machines
    before: dict[str, Any] = {}
    with server(made_site.folder / "before", machine) as api:
        before |= {"token": filled(api), "secrets": secrets_of(api)}
        assert machine.snapshot().returncode == 0
        late = made("ConfigMap", "late")
        assert api.create(late, dry=False)[0] == 201
    assert machine.restore("stop").returncode == 0
    for what, name in (("db", "etcd.db"), ("keys", "keys.tar")):
        made_site.decrypted(machine, what).rename(person.folder / name)
    lost(machine)
    return before


def test_a_lost_control_plane_comes_back_from_its_snapshot(tmp_path: Path) -> None:
    with site(tmp_path, 1) as made_site:
        (machine,) = made_site.machines
        healthy(machine)
        prepared(machine)
        person = Person(tmp_path / "person", made_site.cluster, made_site.identity)
        person.reach(made_site.machines)
        before = with_a_snapshot(made_site, person)
        sum_of, *names = person.types("Snapshot and keys", 0).splitlines()
        assert sorted(names) == [
            "enc/encryption.yaml", "pki/ca.key", "pki/etcd/ca.key", "pki/front-proxy-ca.key", "pki/sa.key"
        ]  # fmt: skip
        person.types("Control-plane machines", 1)
        assert not (machine.root / "root/keys.tar").exists()
        assert re.fullmatch("[0-9a-f]{64}  -\n", person.types("Control-plane machines", 2))
        authority = (machine.pki.parent / "ca.crt").read_bytes()
        said = certificates(machine, "ca", "apiserver", "etcd-ca", "sa")
        assert said.count("existing") >= 3, said
        assert (machine.pki.parent / "ca.crt").read_bytes() == authority
        for words in (("restore", str(person.folder / "etcd.db")), ("start-etcd",), ("start",)):
            done = machine.restore(*words)
            assert done.returncode == 0, done.stderr
            assert words[0] != "restore" or sum_of[:16] in done.stdout
        with server(tmp_path / "after", machine) as api:
            person.use(api)
            person.types("etcd", 0)
            assert {*replicas(api).values()} == {0}
            assert secrets_of(api) == before["secrets"]
            assert token_is_good(api, before["token"])
            assert api.request("GET", api.path(made("ConfigMap", "late"), named=True))[0] == 404
            person.types("Ceph", 0)
            person.types("Argo CD again", 0)
            assert {*replicas(api).values()} == {1}


def running_cluster(api: "ApiServer") -> RunningCluster:
    port = int(api.url.rsplit(":", 1)[1])
    return RunningCluster(of_started(Started(port=port, certificate=api.certificate, token=api.token)))


def test_without_a_snapshot_cephs_identity_comes_back_from_the_escrow_file(tmp_path: Path) -> None:
    from apiserver import start

    key, ml50 = tmp_path / "key.txt", load("ml50")
    cluster = structs.replace(ml50, site=structs.replace(ml50.site, escrow=Escrow(recipients=(identity_of(key),))))
    person = Person(tmp_path / "person", cluster, key)
    declared = [*kept.kept_secrets(one for component in compose(cluster) for one in component.secrets)]
    keeping = Keeping(values=Values(None, {}, None), escrow=person.folder / "escrow.age")
    (tmp_path / "old").mkdir()
    with start(tmp_path / "old") as api:
        filled(api)
        api.apply(record(cluster))
        step = secrets_step(running_cluster(api), cluster, declared, keeping)
        assert list(step.act()) == [f"rook-ceph/rook-ceph-mon: encrypted copy added to {keeping.escrow}"]
        (before,) = secrets_of(api)
    node = tmp_path / "cpu-01"
    (node / "rook/rook-ceph").mkdir(parents=True)
    (node / "rook/rook-ceph/rook-ceph.config").write_text(f"[global]\nfsid                = {FSID}\nmon host = x\n")
    (node / "address").write_text(f"{cluster.monitor_hosts[0].address}\n")
    person.env["SITE"] = str(tmp_path)
    (tmp_path / "new").mkdir()
    with start(tmp_path / "new") as api:
        api.namespace("rook-ceph")
        person.use(api)
        said = person.types("Without a snapshot", 1)
        assert said == "secret/rook-ceph-mon created\nconfigmap/rook-ceph-mon-endpoints created\n"
        assert person.types("Without a snapshot", 2) == f"{FSID}\n{FSID}\n"
        assert person.types("Without a snapshot", 3).startswith("a=10.20.0.131:3300\n")
        (after,) = secrets_of(api)
        assert (after["data"], after["type"]) == (before["data"], before["type"])
        assert after["metadata"]["finalizers"] == FINALIZERS
        assert "ownerReferences" not in after["metadata"]
        api.apply(record(cluster))
        (item,) = secrets_step(running_cluster(api), cluster, declared, keeping).items
        assert "copied into" in item.what
