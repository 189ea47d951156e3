"""A control plane's etcd on loopback as kubeadm sets it up: members with certificates, static pods, and containerd,
whose `ctr` runs the programs of etcd's image. What the kubelet does with manifests, `Machine.kubelet` does here.
"""

import contextlib
import fcntl
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from msgspec import structs
from onenode.images import image
from reference import load

from generator.components.kubeadm.listening import PEER_PORT
from generator.layout.bootstrap import bootstrap
from generator.model.cluster import Cluster
from generator.model.secret_store import Escrow
from generator.rehearsal.twin.running import running
from tools import program

IMAGE = "registry.k8s.io/etcd:3.6.6-0"
PARTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd")
OWN = "clusters/ml50/bootstrap/node/pools/system/"
WAY_BACK = "clusters/ml50/bootstrap/etcd/"
Files = dict[str, bytes]


class Machine:
    """A control-plane node with its `rendered` files: a folder stands for its root, `address` is on loopback."""

    quota = 2 * 2**30
    """What the database may hold, in bytes."""

    def __init__(self, folder: Path, name: str, address: str, rendered: Files, environment: dict[str, str]) -> None:
        self.root, self.name, self.address = folder / name, name, address
        self.manifests = self.root / "etc/kubernetes/manifests"
        self.pki = self.root / "etc/kubernetes/pki/etcd"
        self.out = self.root / "var/lib/etcd-snapshots/out"
        self.data = self.root / "var/lib/etcd"
        self.tools = self.root / "tools"
        for made in (self.manifests, self.pki, self.data, self.tools):
            made.mkdir(parents=True)
        self.data.chmod(0o700)
        self.put("hostname", f"#!/bin/sh\necho {name}\n")
        for path, content in rendered.items():
            for begin, place in ((OWN, self.root), (WAY_BACK, self.tools)):
                if path.startswith(begin):
                    file = place / path.removeprefix(begin)
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(content)
        self.environment = environment | {"PATH": f"{self.tools}:{environment['PATH']}", "GEN_ROOT": str(self.root)}
        self.etcd: subprocess.Popen[bytes] | None = None
        self.over = threading.Event()

    def put(self, name: str, text: str) -> None:
        (self.tools / name).write_text(text)
        (self.tools / name).chmod(0o755)

    def manifest(self, initial: str) -> None:
        """Write the static pods as kubeadm does, those of the API server's without content."""
        words = {
            "name": self.name,
            "data-dir": "/var/lib/etcd",
            "listen-client-urls": f"https://{self.address}:2379",
            "advertise-client-urls": f"https://{self.address}:2379",
            "listen-peer-urls": f"https://{self.address}:{PEER_PORT}",
            "initial-advertise-peer-urls": f"https://{self.address}:{PEER_PORT}",
            "initial-cluster": initial,
            "initial-cluster-state": "new",
            "quota-backend-bytes": str(self.quota),
            "cert-file": "/etc/kubernetes/pki/etcd/server.crt",
            "key-file": "/etc/kubernetes/pki/etcd/server.key",
            "client-cert-auth": "true",
            "trusted-ca-file": "/etc/kubernetes/pki/etcd/ca.crt",
            "peer-cert-file": "/etc/kubernetes/pki/etcd/server.crt",
            "peer-key-file": "/etc/kubernetes/pki/etcd/server.key",
            "peer-client-cert-auth": "true",
            "peer-trusted-ca-file": "/etc/kubernetes/pki/etcd/ca.crt",
        }
        lines = "".join(f"    - --{name}={value}\n" for name, value in words.items())
        text = f"spec:\n  containers:\n  - command:\n    - etcd\n{lines}    image: {IMAGE}\n"
        for part in PARTS[:3]:
            (self.manifests / f"{part}.yaml").write_text("# of kubeadm\n")
        (self.manifests / "etcd.yaml").write_text(text)

    def kubelet(self) -> None:
        """Run etcd while its manifest is there."""
        while not self.over.wait(0.1):
            wanted = (self.manifests / "etcd.yaml").exists()
            if wanted and self.etcd is None:
                self.etcd = self.started()
            elif not wanted and self.etcd:
                self.end()

    def started(self) -> "subprocess.Popen[bytes]":
        text = (self.manifests / "etcd.yaml").read_text().replace("=/etc/", f"={self.root}/etc/")
        words = [line.split("- ")[1] for line in text.splitlines() if line.strip().startswith("- --")]
        words = [word.replace("=/var/", f"={self.root}/var/") for word in words]
        with (self.root / "etcd.log").open("ab") as log:
            return subprocess.Popen([program("etcd"), *words, "--unsafe-no-fsync"], stdout=log, stderr=log)

    def end(self) -> None:
        if self.etcd:
            self.etcd.terminate()
            self.etcd.wait()
            self.etcd = None

    def run(self, script: Path, *words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        """Run one of the scripts as root of this machine."""
        command = ["sh", str(script), *words]
        env = self.environment | environment
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=120)

    def snapshot(self, **environment: str) -> "subprocess.CompletedProcess[str]":
        return self.run(self.root / "usr/local/sbin/etcd-snapshot.sh", **environment)

    def defragment(self, *words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        return self.run(self.root / "usr/local/sbin/etcd-defragment.sh", *words, **environment)

    def restore(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return self.run(self.tools / "restore.sh", *words, PATIENCE="30")

    def ctl(self, *words: str) -> str:
        """Run etcdctl as who may do everything."""
        own = [f"--endpoints=https://{self.address}:2379", f"--cacert={self.pki}/ca.crt"]
        own += [f"--cert={self.pki}/healthcheck-client.crt", f"--key={self.pki}/healthcheck-client.key"]
        done = subprocess.run([program("etcdctl"), *own, *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout


class Site:
    """The machines of one cluster, the cluster as its file says it, and who may decrypt."""

    def __init__(self, folder: Path, cluster: Cluster, machines: list[Machine], identity: Path) -> None:
        self.folder, self.cluster, self.machines, self.identity = folder, cluster, machines, identity

    def decrypted(self, machine: Machine, what: str = "db") -> Path:
        """Return the newest snapshot of a machine, or the keys beside it, decrypted as a person does it."""
        newest = max(machine.out.glob(f"*.{what}.age"))
        target = self.folder / f"{machine.name}-{newest.stem}"
        subprocess.run([program("age"), "--decrypt", "-i", self.identity, "-o", target, newest], check=True)
        return target


def _certificates(folder: Path, addresses: list[str]) -> None:
    """Write a CA, a certificate of all members and that of the health check, as kubeadm calls them."""
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    # Loopback too, as kubeadm has it: peers come from there here.
    names = ",".join(f"IP:{one}" for one in ("127.0.0.1", *addresses))
    signed = ["-CA", "ca.crt", "-CAkey", "ca.key", "-addext", "basicConstraints=critical,CA:FALSE"]
    for subject, more in (
        ("ca", []),
        ("server", [*signed, "-addext", f"subjectAltName={names}"]),
        ("healthcheck-client", signed),
    ):
        files = ["-subj", f"/CN={subject}", "-keyout", f"{subject}.key", "-out", f"{subject}.crt"]
        command = [program("openssl"), "req", "-x509", *curve, *files, *more]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)


@contextlib.contextmanager
def containerd(folder: Path) -> Iterator[dict[str, str]]:
    """Run containerd with etcd's image, made of real programs; yields what `ctr` must be told."""
    if os.getuid() or not shutil.which("ctr"):
        pytest.skip("containers need root, and containerd and runc (Debian: containerd, runc)")
    folder.mkdir()
    # runc knows containers by their names alone, whichever containerd they are of.
    lock = (Path(tempfile.gettempdir()) / "gen-etcd-containers.lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    # Its socket lies apart: a path of pytest's is too long for one.
    apart = tempfile.TemporaryDirectory(prefix="etcd-")
    socket = Path(apart.name) / "c.sock"
    config = f'version = 2\nroot = "{folder}/root"\nstate = "{folder}/state"\n'
    config += 'disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.internal.v1.opt"]\n'
    config += f'[grpc]\naddress = "{socket}"\n[ttrpc]\naddress = "{socket}.ttrpc"\n'
    (folder / "config.toml").write_text(config)
    told = {"CONTAINERD_ADDRESS": str(socket)}
    programs = ("etcd", "etcdctl", "etcdutl")
    files: dict[str, Path | bytes] = {f"/usr/local/bin/{one}": Path(program(one)) for one in programs}
    archive = image(folder / "etcd.tar", IMAGE, files, Env=["PATH=/usr/local/bin"])
    with apart, lock, running(folder / "log", ["containerd", "--config", str(folder / "config.toml")], socket.exists):
        command = ["ctr", "--namespace=k8s.io", "images", "import", "--all-platforms", str(archive)]
        subprocess.run(command, env=os.environ | told, check=True, capture_output=True)
        try:
            yield told
        finally:
            _end_containers(os.environ | told)


def _end_containers(environment: dict[str, str]) -> None:
    """End what a drill that was killed has left: it outlives containerd."""
    tasks = ["ctr", "--namespace=k8s.io", "tasks"]
    left = subprocess.run([*tasks, "list", "-q"], env=environment, check=True, capture_output=True, text=True)
    for name in left.stdout.split():
        subprocess.run([*tasks, "delete", "--force", name], env=environment, check=True, capture_output=True)


@contextlib.contextmanager
def site(folder: Path, count: int = 3) -> Iterator[Site]:
    """Run the members of one cluster until the block ends."""
    place = f"127.{os.getpid() % 200 + 20}.{time.time_ns() % 250 + 1}"
    names = {f"cp-{number}": f"{place}.{number}" for number in range(1, count + 1)}
    pki, identity = folder / "pki", folder / "key.txt"
    pki.mkdir()
    _certificates(pki, [*names.values()])
    with containerd(folder / "containerd") as told, contextlib.ExitStack() as stack:
        environment = {**os.environ, **told, "PATH": f"{Path(program('age')).parent}:{os.environ['PATH']}"}
        cluster = _cluster(names, identity_of(identity))
        rendered = bootstrap(cluster)
        machines = [Machine(folder, name, address, rendered, environment) for name, address in names.items()]
        made = Site(folder, cluster, machines, identity)
        initial = ",".join(f"{name}=https://{address}:{PEER_PORT}" for name, address in names.items())
        for one in machines:
            shutil.copytree(pki, one.pki, dirs_exist_ok=True)
            one.manifest(initial)
            stack.callback(one.end)
            thread = threading.Thread(target=one.kubelet, daemon=True)
            thread.start()
            stack.callback(thread.join)
            stack.callback(one.over.set)
        yield made


def identity_of(file: Path) -> str:
    """Make a key of age by the other implementation, and return its public half."""
    import pyrage

    made = pyrage.x25519.Identity.generate()
    file.write_text(f"{made}\n")
    return str(made.to_public())


def _cluster(addresses: dict[str, str], recipient: str) -> Cluster:
    """Return ml50 with a control plane at these addresses."""
    ml50 = load("ml50")
    control = {one.name: one for one in ml50.control_plane}
    machines = [structs.replace(control[name], address=IPv4Address(at)) for name, at in addresses.items()]
    workers = [one for one in ml50.machines if one.name not in control]
    site = structs.replace(ml50.site, escrow=Escrow(recipients=(recipient,)))
    return structs.replace(ml50, machines=(*machines, *workers), site=site)


def healthy(machine: Machine) -> None:
    """Wait until its etcd answers with a majority."""
    for _ in range(100):
        with_words = ["endpoint", "health", "--command-timeout=2s"]
        try:
            machine.ctl(*with_words)
        except AssertionError:
            time.sleep(0.2)
        else:
            return
    raise AssertionError((machine.root / "etcd.log").read_text()[-3000:])


def fill(machine: Machine, count: int) -> None:
    for number in range(count):
        machine.ctl("put", f"/registry/pods/default/pod-{number}", f"pod {number}")
