"""kubelet and containerd beside a control plane: pods that are bound to the node `localhost` run.

Every pod uses the network of the machine's own, also where it does not ask for it: only there is the API server at the
address that pods are told. What runs outside the folder is undone: containers, mounts.
"""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from apiserver import programs
from twin.plane import Plane

from generator.live.apiserver import free_ports
from generator.rehearsal.twin.running import listens, running
from onenode.images import files, image

NAME = "localhost"
"""The node's name: the API server finds its kubelet by it."""
PAUSE = "localhost/pause:1"
KERNEL = Path("/proc/sys")
SET_BY_KUBELET = ("kernel/panic", "kernel/panic_on_oops", "vm/overcommit_memory")
NEEDED = ("containerd", "ctr", "runc")
LOGS = "pod-logs"
CONTROL_GROUP = Path("/sys/fs/cgroup/cpu/k8s.io")
"""Where containerd puts all containers."""


class Node:
    """The node: images can be put there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = folder / "containerd.sock"

    def ctr(self, *words: str | Path) -> str:
        """Run containerd's own client."""
        command = ["ctr", f"--address={self.socket}", "--namespace=k8s.io", *map(str, words)]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout

    def load(self, archive: Path, *names: str) -> None:
        """Import an image, and give it further names: those that manifests say, with digests too."""
        self.ctr("images", "import", "--all-platforms", archive)
        (first,) = json.loads(_index(archive))["manifests"]
        for name in names:
            self.ctr("images", "tag", "--force", first["annotations"]["io.containerd.image.name"], name)

    def clear(self) -> None:
        """End every container that is still there."""
        for name in self.ctr("tasks", "list", "--quiet").split():
            with contextlib.suppress(subprocess.CalledProcessError):
                self.ctr("tasks", "delete", "--force", name)


def _index(archive: Path) -> bytes:
    done = subprocess.run(["tar", "-xOf", archive, "index.json"], check=True, capture_output=True)
    return done.stdout


@contextlib.contextmanager
def node(api: Plane) -> Iterator[Node]:
    """Run the node until the block ends; skips without containerd, its tools, or the right to use them."""
    missing = [name for name in NEEDED if not shutil.which(name)]
    if missing or os.getuid():
        pytest.skip(
            f"a real node needs root, and {', '.join(NEEDED)} (Debian: containerd, runc, containernetworking-plugins)"
        )
    (kubelet,) = programs("kubelet")
    folder = api.address.folder
    made = Node(folder)
    with contextlib.ExitStack() as stack:
        start = stack.enter_context
        start(_settings_kept())
        start(_logs_kept(folder))
        start(_address_of_pods(api))
        stack.callback(_unmount, folder)
        start(running(folder / "containerd", _containerd(folder), made.socket.exists))
        _weigh()
        stack.callback(made.clear)
        made.load(_pause(folder))
        port, health = free_ports(2)
        words = [kubelet, *_kubelet(api, made, port, health)]
        start(running(folder / "kubelet", words, lambda: listens(health)))
        api.wait("the node is ready", lambda: _ready(api))
        yield made


@contextlib.contextmanager
def _settings_kept() -> Iterator[None]:
    """Undo what kubelet sets in the kernel."""
    before = {name: (KERNEL / name).read_text() for name in SET_BY_KUBELET}
    try:
        yield
    finally:
        for name, value in before.items():
            (KERNEL / name).write_text(value)


@contextlib.contextmanager
def _logs_kept(folder: Path) -> Iterator[None]:
    """Keep what pods log until the block ends: kubelet removes it soon after a pod is deleted."""
    ended = threading.Event()

    def keep() -> None:
        while not ended.wait(0.5):
            with contextlib.suppress(FileNotFoundError):  # kubelet removes folders meanwhile
                for log in (folder / LOGS).rglob("*.log"):
                    kept = folder / f"kept-{LOGS}" / log.relative_to(folder / LOGS)
                    kept.parent.mkdir(parents=True, exist_ok=True)
                    with contextlib.suppress(FileExistsError):
                        kept.hardlink_to(log)

    keeper = threading.Thread(target=keep, daemon=True)
    keeper.start()
    try:
        yield
    finally:
        ended.set()
        keeper.join()


def _weigh() -> None:
    """Let pods weigh as much as two processors, as below kubelet's own group: all together they would be given no more
    than any one program of the machine.
    """
    if CONTROL_GROUP.parent.is_dir():
        with contextlib.suppress(OSError):
            CONTROL_GROUP.mkdir(exist_ok=True)
            (CONTROL_GROUP / "cpu.shares").write_text("2048")


@contextlib.contextmanager
def _address_of_pods(api: Plane) -> Iterator[None]:
    """Let the API server answer at the address of the Service `kubernetes`, which pods are told."""
    listener = socket.create_server((f"127.{api.address.services}.0.1", 443))

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                inside, _ = listener.accept()
                outside = socket.create_connection(("127.0.0.1", api.address.port))
                for one, other in ((inside, outside), (outside, inside)):
                    threading.Thread(target=_pump, args=(one, other), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def _pump(one: socket.socket, other: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := one.recv(65536):
            other.sendall(data)
    for end in (one, other):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()


def _ready(api: Plane) -> bool:
    conditions = (api.get(f"/api/v1/nodes/{NAME}") or {}).get("status", {}).get("conditions", [])
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def _containerd(folder: Path) -> list[str]:
    """As little of containerd as pods need. Its host may not be allowed to change what kills processes first."""
    cri = 'plugins."io.containerd.grpc.v1.cri"'
    snapshotters = ", ".join(f'"io.containerd.snapshotter.v1.{one}"' for one in ("btrfs", "zfs", "devmapper", "aufs"))
    text = f"""
version = 2
root = "{folder}/containerd-root"
state = "{folder}/containerd-state"
disabled_plugins = [{snapshotters}, "io.containerd.internal.v1.opt"]
[grpc]
address = "{folder}/containerd.sock"
[ttrpc]
address = "{folder}/containerd.sock.ttrpc"
[{cri}]
sandbox_image = "{PAUSE}"
stream_server_address = "127.0.0.1"
stream_server_port = "0"
restrict_oom_score_adj = true
[{cri}.containerd]
snapshotter = "overlayfs"
default_runtime_name = "runc"
[{cri}.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[{cri}.containerd.runtimes.runc.options]
BinaryName = "{_runtime(folder)}"
SystemdCgroup = false
[{cri}.cni]
bin_dir = "/usr/lib/cni"
conf_dir = "{folder}/cni"
"""
    network = {
        "cniVersion": "0.4.0",
        "name": "one",
        "plugins": [
            {"type": "ptp", "ipam": {"type": "host-local", "dataDir": f"{folder}/ipam", "subnet": "10.244.77.0/24"}}
        ],
    }
    (folder / "cni").mkdir()
    (folder / "cni" / "10-one.conflist").write_text(json.dumps(network))
    (folder / "containerd.toml").write_text(text)
    return ["containerd", "--config", str(folder / "containerd.toml")]


def _runtime(folder: Path) -> Path:
    """Return what runs containers, with the network of the machine."""
    program, script = folder / "runc", Path(__file__).with_name("shared_network.py")
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -I {script} {shutil.which("runc")} "$@"\n')
    program.chmod(0o755)
    return program


def _pause(folder: Path) -> Path:
    """Return the image of what holds a pod's namespaces: anything that sleeps will do."""
    return image(folder / "pause.tar", PAUSE, files([Path("/bin/sleep")]), Entrypoint=["/bin/sleep", "infinity"])


def _kubelet(api: Plane, made: Node, port: int, health: int) -> list[str]:
    folder = made.folder
    config = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "failCgroupV1": False,
        "cgroupDriver": "cgroupfs",
        "containerRuntimeEndpoint": f"unix://{made.socket}",
        "address": "127.0.0.1",
        "port": port,
        "healthzBindAddress": "127.0.0.1",
        "healthzPort": health,
        "readOnlyPort": 0,
        # On loopback, for as long as a test runs: whoever reaches it is root here already.
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "podLogsDir": f"{folder}/{LOGS}",
        "volumePluginDir": f"{folder}/volume-plugins",
        "makeIPTablesUtilChains": False,
        "failSwapOn": False,
        "enforceNodeAllocatable": [],
        # Another node of this machine would take the groups of these pods for those of pods that are gone, and end
        # them.
        "cgroupsPerQOS": False,
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        "resolvConf": "",
        "localStorageCapacityIsolation": False,
        "nodeStatusUpdateFrequency": "10s",
        "syncFrequency": "10s",
    }
    (folder / "kubelet.json").write_text(json.dumps(config))
    return [
        f"--config={folder}/kubelet.json",
        f"--kubeconfig={api.address.kubeconfig('admin')}",
        f"--root-dir={folder}/kubelet-root",
        f"--cert-dir={folder}/kubelet-certificates",
        f"--hostname-override={NAME}",
        "--v=1",
    ]


def _unmount(folder: Path) -> None:
    """Undo the mounts of pods below the folder, the innermost first."""
    lines = Path("/proc/self/mounts").read_text().splitlines()
    for path in sorted((line.split()[1] for line in lines if line.split()[1].startswith(f"{folder}/")), reverse=True):
        subprocess.run(["umount", "--lazy", path], check=False)
