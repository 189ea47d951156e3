"""A throw-away API server with its etcd, on loopback: no controllers, so that nothing runs and nothing is collected."""

import contextlib
import os
import random
import secrets
import shutil
import signal
import socket
import ssl
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Never

from msgspec import Struct

from generator.errors import UsageError
from generator.process import Program, background, cache_home

PATIENCE = 60.0
"""Seconds to wait for a program; it takes two on an idle machine."""


_ALONE = {"etcd", "kube-apiserver"}
"""What `make real-tools` builds: all that a check needs."""


class Started(Struct, frozen=True, kw_only=True):
    """A running API server: where it is, the certificate it must show and the token of its administrator."""

    port: int
    certificate: Path
    token: str

    @property
    def url(self) -> str:
        """Its address."""
        return f"https://127.0.0.1:{self.port}"


def program(name: str, instead: str = ", or judge by a cluster with --kubeconfig") -> str:
    """Return the path of a program, as `kube-apiserver`: $GEN_KUBE_APISERVER, then the cache, then PATH. Raises
    UsageError that says how to get it, or how to do without: `instead`.
    """
    variable = f"GEN_{name.upper().replace('-', '_')}"
    if given := os.environ.get(variable):
        if found := shutil.which(given):
            return found
        raise UsageError(f"{variable}: {given} is not a program; correct it or unset it")
    cache = cache_home() / "bin"
    if found := shutil.which(cache / name) or shutil.which(name):
        return str(found)
    how = "make real-tools" if name in _ALONE else f"python tools/real.py {name}"
    raise UsageError(
        f"{name} is neither in {cache} nor on PATH: `{how}` in gen's source builds it once (some minutes), or set "
        f"{variable} to one you have{instead}"
    )


@contextlib.contextmanager
def throw_away(*flags: str) -> Iterator[Started]:
    """Run an API server as long as the block, with all it writes in a temporary folder; `flags` are added to its own.

    Ctrl-C, an exception or SIGTERM leave neither a program nor a file behind. Raises UsageError as `start`.
    """
    with (
        tidied(),
        tempfile.TemporaryDirectory(prefix="gen-apiserver-") as folder,
        start(Path(folder), *flags) as api,
    ):
        yield api


@contextlib.contextmanager
def tidied() -> Iterator[None]:
    """Let SIGTERM end the block as an exception does."""
    # By default SIGTERM ends Python at once, and with it all tidying up.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _leave(number: int, _frame: FrameType | None) -> Never:
    raise SystemExit(128 + number)


@contextlib.contextmanager
def start(folder: Path, *flags: str) -> Iterator[Started]:
    """Run etcd and kube-apiserver with their data in `folder` until the block ends. Raises UsageError when a program is
    absent, ends or does not get ready, with its last words.
    """
    etcd, server = program("etcd"), program("kube-apiserver")
    client, peer, port = free_ports(3)
    token = secrets.token_hex(16)
    tokens = folder / "tokens.csv"
    tokens.touch(0o600)
    tokens.write_text(f'{token},admin,admin,"system:masters"\n')
    started = Started(port=port, certificate=folder / "certificates" / "apiserver.crt", token=token)
    with background(folder, _etcd(etcd, folder, client, peer)) as store:
        _wait(folder, store, lambda: _listens(client))
        with background(folder, [*_server(server, folder, client, port), *flags]) as process:
            _wait(folder, process, lambda: _ready(started))
            yield started


def _etcd(name: str, folder: Path, client: int, peer: int) -> list[str]:
    own, other = f"http://127.0.0.1:{client}", f"http://127.0.0.1:{peer}"
    return [
        name,
        "--name=gen",
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={own}",
        f"--advertise-client-urls={own}",
        f"--listen-peer-urls={other}",
        f"--initial-advertise-peer-urls={other}",
        f"--initial-cluster=gen={other}",
        "--unsafe-no-fsync=true",
        "--log-level=warn",
    ]


def _server(name: str, folder: Path, etcd: int, port: int) -> list[str]:
    """As kubeadm runs it, as far as objects can tell. It makes its certificate itself, whose key also signs the tokens
    of ServiceAccounts.
    """
    key = folder / "certificates" / "apiserver.key"
    return [
        name,
        f"--etcd-servers=http://127.0.0.1:{etcd}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={port}",
        "--endpoint-reconciler-type=none",
        f"--cert-dir={key.parent}",
        f"--token-auth-file={folder / 'tokens.csv'}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--authorization-mode=Node,RBAC",
        # Nothing makes ServiceAccounts here, so that pods would wait for theirs.
        "--disable-admission-plugins=ServiceAccount",
        "--allow-privileged=true",
        "--profiling=false",
    ]


def free_ports(count: int) -> list[int]:
    """Return ports on loopback that were free a moment ago. They are none of those that the kernel gives to whoever
    connects to somewhere, where it leaves others: one of these may be taken before its program listens.
    """
    with contextlib.ExitStack() as stack:
        return [stack.enter_context(_bound()).getsockname()[1] for _ in range(count)]


def _bound() -> socket.socket:
    ports = _never_given()
    for port in (*random.SystemRandom().sample(ports, min(len(ports), 50)), 0):
        one = socket.socket()
        try:
            one.bind(("127.0.0.1", port))
        except OSError:
            one.close()
        else:
            return one
    message = "no port is free on loopback"
    raise UsageError(message)


def _never_given() -> range:
    """Return the ports that the kernel gives to nobody (ip(7), `ip_local_port_range`), but for the lower ones, which
    programs have as their own.
    """
    with contextlib.suppress(OSError, ValueError):
        first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
        return range(16_000, min(first, 30_000))  # node ports of Kubernetes begin there
    return range(0)


def tries(patience: float = PATIENCE) -> Iterator[None]:
    """Try again every 50 ms until patience, in seconds, ends."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        yield
        time.sleep(0.05)


def _wait(folder: Path, process: Program, ready: Callable[[], bool]) -> None:
    for _ in tries():
        if process.poll() is not None:
            break
        with contextlib.suppress(OSError):  # it does not listen yet, or listens and does not speak
            if ready():
                return
    raise _failed(folder, process)


def _listens(port: int) -> bool:
    with socket.create_connection(("127.0.0.1", port), timeout=1):
        return True


def _ready(started: Started) -> bool:
    from http.client import HTTPSConnection  # noqa: PLC0415 - only when it is needed

    tls = ssl.create_default_context(cafile=str(started.certificate))
    with contextlib.closing(HTTPSConnection("127.0.0.1", started.port, timeout=PATIENCE, context=tls)) as connection:
        connection.request("GET", "/readyz", headers={"Authorization": f"Bearer {started.token}"})
        return connection.getresponse().status == 200


def _failed(folder: Path, process: Program) -> UsageError:
    name = Path(str(process.args[0] if isinstance(process.args, list) else process.args)).name
    words = (folder / f"{name}.log").read_text(errors="replace").strip()[-1500:]
    status = process.poll()
    how = f"did not get ready within {PATIENCE:g} s" if status is None else f"ended with status {status}"
    return UsageError(f"the throw-away {name} {how}:\n{words or '(no output)'}")
