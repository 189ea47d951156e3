"""A node behind its firewall: two network namespaces, the node's with the rules that gen renders, and one with the
addresses of whoever connects. A program carries packets from one to the other (`wire.py`): nothing of it is on this
machine's own network.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

from msgspec import structs

from generator.components import listening
from generator.components.kubeadm.firewall import firewall_files
from generator.model.cluster import Cluster
from generator.model.firewall import Firewall

ADMINS = IPv4Network("10.50.0.0/24")
SCRIPT = "usr/local/sbin/gen-firewall.sh"
PARTS = Path(__file__).parent / "firewall_parts"


def behind(cluster: Cluster, **settings: Any) -> Cluster:
    """Return a cluster with a firewall."""
    firewall = structs.replace(Firewall(by="nftables", admins=(ADMINS,)), **settings)
    return structs.replace(cluster, networks=structs.replace(cluster.networks, firewall=firewall))


def files(cluster: Cluster) -> dict[str, str]:
    """Return the files of the firewall."""
    return {str(path): str(text) for path, text in firewall_files(cluster, listening(cluster)).items()}


def rules_of(cluster: Cluster, pool: str) -> str:
    """Return the rules of a pool."""
    return files(cluster)[f"node/pools/{pool}/etc/gen-firewall/rules.nft"]


class Space:
    """A network namespace, which a process keeps."""

    def __init__(self, keeper: "subprocess.Popen[bytes]") -> None:
        self.path = f"/proc/{keeper.pid}/ns/net"

    def inside(self, *command: str) -> list[str]:
        """Return a command as it is run there."""
        return ["nsenter", f"--net={self.path}", *command]

    def run(self, *command: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        """Run a command there."""
        env = {**os.environ, **variables}
        return subprocess.run(self.inside(*command), capture_output=True, text=True, check=False, env=env)

    def must(self, *command: str) -> str:
        """Run a command that must succeed; return what it says."""
        done = self.run(*command)
        assert done.returncode == 0, done.stderr
        return done.stdout


class Callers:
    """Whoever connects to the node, by their addresses."""

    def __init__(self, space: Space, address: str) -> None:
        command = space.inside(sys.executable, "-S", str(PARTS / "caller.py"), address)
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)

    def ask(self, *words: str | int) -> bool:
        """Let the program do something; tell whether it went well."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        assert answer in {"yes", "no"}, answer
        return answer == "yes"

    def reaches(self, source: str, port: int, protocol: str = "tcp") -> bool:
        """Tell whether a port answers somebody."""
        return self.ask(protocol, source, port)

    def open(self, source: str, port: int) -> bool:
        """Open a connection that stays."""
        return self.ask("open", source, port)

    def still(self) -> bool:
        """Tell whether that connection still carries words there and back."""
        return self.ask("still")


class Node:
    """One node: its root, its namespace, and who connects to it."""

    def __init__(self, root: Path, space: Space, callers: Callers) -> None:
        self.root, self.space, self.callers = root, space, callers
        self.reaches = callers.reaches

    def lay(self, cluster: Cluster, pool: str) -> None:
        """Put the files of a pool's nodes where `prepare.sh` would."""
        for path, text in files(cluster).items():
            for start in ("node/all/", f"node/pools/{pool}/"):
                if path.startswith(start):
                    file = self.root / path.removeprefix(start)
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_text(text)

    def firewall(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run `gen-firewall.sh`."""
        return self.space.run("sh", str(self.root / SCRIPT), *words, GEN_ROOT=str(self.root))

    def must(self, *words: str) -> str:
        """Run `gen-firewall.sh`, which must succeed; return what it says."""
        done = self.firewall(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @contextlib.contextmanager
    def listening(self, *ports: str) -> Iterator[None]:
        """Have something that answers on ports, as `tcp/22`."""
        with _ready(self.space.inside(sys.executable, "-S", str(PARTS / "echo.py"), *ports)):
            yield


def until(check: Callable[[], bool], patience: float = 60.0) -> bool:
    """Wait until something holds; False where it never does."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if check():
            return True
        time.sleep(0.1)
    return False


@contextlib.contextmanager
def _ready(command: list[str]) -> Iterator[None]:
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            assert process.stdout.readline() == "ready\n"
            yield
        finally:
            process.kill()


@contextlib.contextmanager
def _space() -> Iterator[Space]:
    keeper = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
    try:
        made = Space(keeper)
        own = Path("/proc/self/ns/net").readlink()
        assert until(lambda: Path(made.path).readlink() != own)
        yield made
    finally:
        keeper.kill()
        keeper.wait()


@contextlib.contextmanager
def node(address: str, others: tuple[str, ...]) -> Iterator[Node]:
    """Have a node with an address, and others around it who may connect."""
    with contextlib.ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        inner, outer = stack.enter_context(_space()), stack.enter_context(_space())
        stack.enter_context(_ready([sys.executable, "-S", str(PARTS / "wire.py"), inner.path, outer.path]))
        for space, addresses in ((inner, (address,)), (outer, others)):
            space.must("ip", "link", "set", "lo", "up")
            space.must("ip", "link", "set", "eno1", "up")
            for one in addresses:
                space.must("ip", "address", "add", f"{one}/32", "dev", "eno1")
            space.must("ip", "route", "add", "default", "dev", "eno1")
        callers = Callers(outer, address)
        stack.enter_context(callers.process)
        stack.callback(callers.process.kill)
        yield Node(root, inner, callers)
