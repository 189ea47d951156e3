"""etcd, kube-apiserver, kube-controller-manager, kube-scheduler and KWOK."""

import contextlib
import json
import os
import random
import secrets
import socket
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from apiserver import ApiServer, programs

from generator.live.apiserver import free_ports, tries
from generator.process import Program, background

Object = dict[str, Any]
PATIENCE = 60.0
"""Seconds to wait for a program; the slowest takes two on an idle machine."""

ADMIN, CONTROLLERS, SCHEDULER = "admin", "system:kube-controller-manager", "system:kube-scheduler"
STAGES = Path(__file__).parent / "stages.yaml"


class Address(NamedTuple):
    """Where the API server will be, and the tokens of those whom it knows from the beginning. All that runs keeps its
    files in `folder`.
    """

    folder: Path
    port: int
    tokens: dict[str, str]

    @property
    def certificate(self) -> Path:
        return self.folder / "certificates" / "apiserver.crt"

    @property
    def key(self) -> Path:
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
        file.write_text(json.dumps(config))
        return file


class Plane(ApiServer):
    """A running control plane."""

    def __init__(self, address: Address) -> None:
        super().__init__(address.port, address.certificate, address.tokens[ADMIN])
        self.address = address

    def get(self, path: str) -> Any:
        """Return what is there, or None where nothing is."""
        status, answer = self.request("GET", path)
        assert status in {200, 404}, answer
        return answer if status == 200 else None

    def items(self, path: str) -> list[Object]:
        """Return the objects of a list."""
        return list(self.get(path)["items"])

    def account(self, namespace: str, name: str) -> Path:
        """Write a kubeconfig of a ServiceAccount, with a token as the API server gives it."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        status, answer = self.request("POST", path, request)
        assert status == 201, answer
        return self.address.kubeconfig(name, answer["status"]["token"])


@contextlib.contextmanager
def running(folder: Path, command: Sequence[str], ready: Callable[[], object], **env: str) -> Iterator[Program]:
    """Run a program in a folder of its own, as soon as it is ready; the test fails with its last words if it never is.

    `ready` may raise OSError as long as the program does not listen.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    words = [f"{key}={value}" for key, value in env.items()]
    # `env` becomes the program, so that it is the program that is ended.
    with background(folder, ["/usr/bin/env", *words, *command]) as process:
        for _ in tries(PATIENCE):
            if process.poll() is not None:
                pytest.fail(f"{folder.name} ended:\n{last_words(folder)}")
            with contextlib.suppress(OSError):
                if ready():
                    break
        else:
            pytest.fail(f"{folder.name} is not ready after {PATIENCE:g} s:\n{last_words(folder)}")
        yield process


def last_words(folder: Path, lines: int = 30) -> str:
    """Return the end of a program's log."""
    text = (folder / "env.log").read_text(errors="replace")
    return "\n".join(line[:600] for line in text.splitlines()[-lines:])


def listens(port: int, host: str = "127.0.0.1") -> bool:
    """Tell whether something listens; raises OSError where nothing does."""
    with socket.create_connection((host, port), timeout=1):
        return True


@contextlib.contextmanager
def services() -> Iterator[str]:
    """Reserve addresses for Services that no other run has: whoever has bound the last one has them all."""
    for second in random.sample(range(2, 255), 253):
        with socket.socket() as last, contextlib.suppress(OSError):
            try:
                last.bind((f"127.{second}.255.254", 443))
            except PermissionError:
                tell = pytest.fail if os.environ.get("CI") else pytest.skip
                tell("the twin needs root: its Services listen on port 443")
            yield f"127.{second}.0.0/16"
            return
    pytest.fail("no addresses of 127.0.0.0/8 are free for Services")


@contextlib.contextmanager
def plane(folder: Path) -> Iterator[Plane]:
    """Run a control plane with KWOK, for nodes that are made later."""
    etcd, server, controllers, scheduler, kwok = programs(
        "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"
    )
    client, peer, port, player = free_ports(4)
    address = Address(folder, port, {name: secrets.token_hex(16) for name in (ADMIN, CONTROLLERS, SCHEDULER)})
    with contextlib.ExitStack() as stack:
        start = stack.enter_context
        ours = start(services())
        start(running(folder / "etcd", _etcd(etcd, client, peer), lambda: listens(client)))
        start(running(folder / "apiserver", _server(server, address, client, ours), lambda: listens(port)))
        api = Plane(address)
        start(contextlib.closing(api.connection))
        api.wait("the API server is ready", lambda: api.request("GET", "/readyz")[0] == 200)
        start(running(folder / "controllers", _controllers(controllers, address), lambda: _accounts(api)))
        start(running(folder / "scheduler", _client(scheduler, address, SCHEDULER), lambda: True))
        start(running(folder / "kwok", _kwok(kwok, address, player), lambda: listens(player)))
        yield api


def _accounts(api: Plane) -> bool:
    return api.get("/api/v1/namespaces/default/serviceaccounts/default") is not None


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


def _server(name: str, address: Address, etcd: int, services: str) -> list[str]:
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
        f"--service-cluster-ip-range={services}",
        "--authorization-mode=Node,RBAC",
        "--allow-privileged=true",
        "--profiling=false",
    ]


def _client(name: str, address: Address, user: str) -> list[str]:
    """Flags of what is a leader by itself, serves nothing and asks as fast as it can."""
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
        "--node-monitor-grace-period=60s",
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
