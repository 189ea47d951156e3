"""etcd, kube-apiserver, kube-controller-manager, kube-scheduler and KWOK."""

import contextlib
import json
import os
import secrets
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from generator.components.component import Manifest
from generator.errors import UsageError
from generator.live.api import Request, of_started
from generator.live.apiserver import Started, free_ports, tries
from generator.live.running import RunningCluster
from generator.process import Program
from generator.rehearsal.twin.running import PATIENCE, listens, program, running

NEEDS_443 = (
    "the twin's Services listen on port 443 of addresses in 127.0.0.0/8, which this user may not: give it a network of "
    "its own, `unshare -rn sh -c 'ip link set lo up && gen rehearse'`, or run it as root"
)
ADMIN, CONTROLLERS, SCHEDULER = "admin", "system:kube-controller-manager", "system:kube-scheduler"
STAGES = Path(__file__).parent / "stages.yaml"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
"""What KWOK, like kubelet, renews for each of its nodes."""


class Address(Struct, frozen=True):
    """Where the API server will be, and the tokens of those whom it knows from the beginning. All that runs keeps its
    files in `folder`. Services have addresses of 127.`services`.0.0/16.
    """

    folder: Path
    port: int
    tokens: dict[str, str]
    services: int

    @property
    def certificate(self) -> Path:
        """The certificate that it makes itself."""
        return self.folder / "certificates" / "apiserver.crt"

    @property
    def key(self) -> Path:
        """The certificate's key."""
        return self.certificate.with_suffix(".key")

    def kubeconfig(self, name: str, token: str = "") -> Path:
        """Write a file with which a program speaks to the API server, and return its path."""
        cluster = {"server": f"https://127.0.0.1:{self.port}", "certificate-authority": str(self.certificate)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "twin", "cluster": cluster}],
            "users": [{"name": name, "user": {"token": token or self.tokens[name]}}],
            "contexts": [{"name": "twin", "context": {"cluster": "twin", "user": name}}],
            "current-context": "twin",
        }
        file = self.folder / f"{name.replace(':', '-')}.kubeconfig"
        text = json.dumps(config)
        if not file.exists() or file.read_text() != text:  # a program that starts meanwhile must find it whole
            file.write_text(text)
        return file


class Plane:
    """A running control plane, and those whom it knows."""

    def __init__(self, address: Address, store: Program) -> None:
        self.address, self._store = address, store
        self._scheduler: Program | None = None
        started = Started(port=address.port, certificate=address.certificate, token=address.tokens[ADMIN])
        self.cluster = RunningCluster(of_started(started))

    def get(self, path: str) -> Manifest:
        """Return what is there, an empty manifest where nothing is. Raises UsageError."""
        return self.cluster.get(path) or {}

    def account(self, namespace: str, name: str) -> Path:
        """Write a kubeconfig of a ServiceAccount, with a token as the API server gives it. Raises UsageError."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        answer = self.cluster.create(path, request) or {}
        return self.address.kubeconfig(name, str(answer["status"]["token"]))

    @contextlib.contextmanager
    def halted(self) -> Iterator[None]:
        """Let etcd do nothing as long as the block: its files are then as a crash would leave them, which it outlives.
        Everybody else waits for it.
        """
        with _stopped(self._store):
            yield

    def scheduled_by(self, scheduler: Program) -> None:
        """Know the scheduler, which begins after the API server."""
        self._scheduler = scheduler

    @contextlib.contextmanager
    def unscheduled(self) -> Iterator[None]:
        """Let the scheduler give no pod a node as long as the block: whoever asks may bind pods."""
        with _stopped(self._scheduler) if self._scheduler else contextlib.nullcontext():
            yield

    def wait(self, what: str, check: Callable[[], object], patience: float = PATIENCE) -> None:
        """Wait until something holds. Raises UsageError that says `what` was waited for."""
        if not any(check() for _ in tries(patience)):
            raise UsageError(f"the twin: {what}: not within {patience:g} s")


@contextlib.contextmanager
def services(wanted: int = 0) -> Iterator[int]:
    """Reserve addresses 127.N.0.0/16 for Services that no other run has, and give N, which may be `wanted`: whoever has
    bound the last one has them all. Raises UsageError for who may not listen on port 443, as webhooks of Services do.
    """
    for second in [wanted] if wanted else secrets.SystemRandom().sample(range(2, 255), 253):
        with socket.socket() as last, contextlib.suppress(OSError):
            try:
                last.bind((f"127.{second}.255.254", 443))
            except PermissionError:
                raise UsageError(NEEDS_443) from None
            yield second
            return
    raise UsageError("no addresses of 127.0.0.0/8 are free for the twin's Services: end other twins")


@contextlib.contextmanager
def plane(folder: Path, wanted: int = 0) -> Iterator[Plane]:
    """Run a control plane with KWOK, for nodes that are made later, or on what a snapshot has put into the folder; its
    Services' addresses are then `wanted` (see `services`).
    """
    kwok = program("kwok")
    (player,) = free_ports(1)
    with (
        control_plane(folder, wanted) as api,
        running(folder / "kwok", _kwok(kwok, api.address, player), lambda: listens(player)),
    ):
        yield api


@contextlib.contextmanager
def control_plane(folder: Path, wanted: int = 0) -> Iterator[Plane]:
    """Run a control plane alone; see `plane`."""
    etcd, server, controllers, scheduler = map(
        program, ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
    )
    client, peer, port = free_ports(3)
    tokens = {name: secrets.token_hex(16) for name in (ADMIN, CONTROLLERS, SCHEDULER)}
    with contextlib.ExitStack() as stack:
        start = stack.enter_context
        address = Address(folder, port, tokens, start(services(wanted)))
        store = start(running(folder / "etcd", _etcd(etcd, client, peer), lambda: listens(client)))
        served = start(running(folder / "apiserver", _server(server, address, client), lambda: listens(port)))
        # It would wait for everybody who watches to end; what it knows is thrown away.
        stack.callback(served.kill)
        api = Plane(address, store)
        api.wait("the API server is ready", lambda: api.cluster.api.ask(Request(path="/readyz")).good)
        api.cluster.delete(LEASES)  # KWOK would wait for those of the KWOK before it to end
        account = "/api/v1/namespaces/default/serviceaccounts/default"
        start(running(folder / "controllers", _controllers(controllers, address), lambda: api.get(account)))
        api.scheduled_by(start(running(folder / "scheduler", _client(scheduler, address, SCHEDULER), lambda: True)))
        yield api


@contextlib.contextmanager
def _stopped(program: Program) -> Iterator[None]:
    os.kill(program.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(program.pid, signal.SIGCONT)


def _etcd(name: str, client: int, peer: int) -> list[str]:
    own, other = f"http://127.0.0.1:{client}", f"http://127.0.0.1:{peer}"
    return [
        name,
        "--name=twin",
        "--data-dir=data",
        f"--listen-client-urls={own}",
        f"--advertise-client-urls={own}",
        f"--listen-peer-urls={other}",
        f"--initial-advertise-peer-urls={other}",
        f"--initial-cluster=twin={other}",
        "--unsafe-no-fsync=true",
        "--log-level=warn",
    ]


def _server(name: str, address: Address, etcd: int) -> list[str]:
    """As kubeadm runs it, as far as objects and rights can tell. It makes its certificate itself, whose key also signs
    the tokens of ServiceAccounts.
    """
    groups = {ADMIN: "system:masters"}
    lines = [f'{token},{user},{user},"{groups.get(user, "")}"\n' for user, token in address.tokens.items()]
    tokens = address.folder / "tokens.csv"
    tokens.touch(0o600)
    tokens.write_text("".join(lines))
    return [
        name,
        f"--etcd-servers=http://127.0.0.1:{etcd}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={address.port}",
        "--endpoint-reconciler-type=none",
        f"--cert-dir={address.key.parent}",
        f"--token-auth-file={tokens}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={address.key}",
        f"--service-account-signing-key-file={address.key}",
        f"--service-cluster-ip-range=127.{address.services}.0.0/16",
        "--authorization-mode=Node,RBAC",
        "--allow-privileged=true",
        "--profiling=false",
    ]


def _client(name: str, address: Address, user: str) -> list[str]:
    """Return the flags of what is a leader by itself, serves nothing and asks as fast as it can."""
    return [
        name,
        f"--kubeconfig={address.kubeconfig(user)}",
        "--secure-port=0",
        "--leader-elect=false",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
    ]


def _controllers(name: str, address: Address) -> list[str]:
    """Each controller is its own ServiceAccount, as with kubeadm: admission policies tell them by that."""
    return [
        *_client(name, address, CONTROLLERS),
        f"--service-account-private-key-file={address.key}",
        f"--root-ca-file={address.certificate}",
        "--use-service-account-credentials=true",
        "--controllers=*",
        "--node-monitor-period=1s",
        # Silence says only that this machine is busy, or that the API server was away: KWOK, other than kubelet, never
        # makes pods Ready again that were made not Ready with their node.
        "--node-monitor-grace-period=3600s",
        # A quota that counts kinds which came just before it is not looked at again before this: else for five minutes
        # it lets none of them in.
        "--resource-quota-sync-period=15s",
    ]


def _kwok(name: str, address: Address, port: int) -> list[str]:
    return [
        name,
        f"--kubeconfig={address.kubeconfig(ADMIN)}",
        f"--config={STAGES}",
        "--manage-all-nodes=true",
        "--node-lease-duration-seconds=40",
        f"--server-address=127.0.0.1:{port}",
        "--cidr=10.244.0.1/16",
    ]
