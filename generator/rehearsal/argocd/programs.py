"""Argo CD's programs as processes, with the settings that were applied and the rights of their own accounts."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from generator.components.argo_cd import NAMESPACE
from generator.errors import UsageError
from generator.live.apiserver import free_ports
from generator.rehearsal.twin.plane import Plane
from generator.rehearsal.twin.running import listens, program, running

PROGRAMS = ("argocd", "redis-server", "kustomize", "helm")
SETTINGS = f"/api/v1/namespaces/{NAMESPACE}/configmaps/argocd-cmd-params-cm"
FLAGS = {
    "controller.diff.server.side": ("--server-side-diff-enabled", "true"),
    "controller.resource.health.persist": ("--persist-resource-health", "true"),
}
"""Keys of argocd-cmd-params-cm, which no process but a pod reads: the flag that they stand for, and the value known."""
NOT_HERE = {"redis.server", "server.insecure"}
"""Keys about programs that are not run, or are reached in another way."""


class Measured(NamedTuple):
    """The ports on loopback at which the repository server and the application controller tell their metrics."""

    server: int
    controller: int


@contextlib.contextmanager
def argo_cd(api: Plane, resync: int = 30) -> Iterator[Measured]:
    """Run Redis, the repository server and the application controller, which compares each Application again after
    `resync` seconds even if nothing happened; yields where they tell their metrics. Raises UsageError where a program
    or what they need of the cluster is missing.
    """
    store, server, measured, ours = free_ports(4)
    folder = api.address.folder
    with contextlib.ExitStack() as stack:
        start = stack.enter_context
        start(running(folder / "redis", _redis(store), lambda: listens(store)))
        start(_part(api, "repo-server", _repo_server(server, measured, store), server))
        start(_part(api, "application-controller", _controller(api, server, store, ours, resync), ours))
        yield Measured(measured, ours)


def _redis(port: int) -> list[str]:
    return [program("redis-server"), "--bind", "127.0.0.1", "--port", str(port), "--save", "", "--appendonly", "no"]


def _repo_server(port: int, measured: int, store: int) -> list[str]:
    return [
        "--address=127.0.0.1",
        f"--port={port}",
        "--metrics-address=127.0.0.1",
        f"--metrics-port={measured}",
        f"--redis=127.0.0.1:{store}",
        "--disable-tls",
        "--client-ca-path=",
        "--parallelismlimit=2",
    ]


def _controller(api: Plane, server: int, store: int, measured: int, resync: int) -> list[str]:
    return [
        f"--namespace={NAMESPACE}",
        f"--redis=127.0.0.1:{store}",
        f"--repo-server=127.0.0.1:{server}",
        "--repo-server-plaintext",
        "--repo-server-timeout-seconds=180",
        f"--metrics-port={measured}",
        f"--app-resync={resync}",
        "--app-resync-jitter=2",
        f"--kubeconfig={api.account(NAMESPACE, 'argocd-application-controller')}",
        *flags(api.get(SETTINGS).get("data") or {}),
    ]


def _part(api: Plane, name: str, words: list[str], port: int) -> contextlib.AbstractContextManager[object]:
    """Run one part of Argo CD: its binary is all of them, by the name that it is told."""
    folder = api.address.folder / name
    kubeconfig = str(api.account(NAMESPACE, f"argocd-{name}"))
    env = _environment(folder) | {"ARGOCD_BINARY_NAME": f"argocd-{name}", "KUBECONFIG": kubeconfig}
    return running(folder, [program("argocd"), *words, "--loglevel=info"], lambda: listens(port), **env)


def _environment(folder: Path) -> dict[str, str]:
    for name in ("home", "tmp", "tls", "ssh", "gpg", "gnupg", "plugins"):
        (folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / "ssh" / "ssh_known_hosts").touch()
    beside = [beside_argocd(), *(Path(program(one)).parent for one in ("kustomize", "helm"))]
    return {
        "PATH": ":".join([*map(str, beside), os.environ["PATH"]]),
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder / "tmp"),
        "HOSTNAME": "twin-0",
        "ARGOCD_FAKE_IN_CLUSTER": "true",
        "ARGOCD_TLS_DATA_PATH": str(folder / "tls"),
        "ARGOCD_SSH_DATA_PATH": str(folder / "ssh"),
        "ARGOCD_GPG_DATA_PATH": str(folder / "gpg"),
        "ARGOCD_GNUPGHOME": str(folder / "gnupg"),
        "ARGOCD_GPG_ENABLED": "false",
        "ARGOCD_PLUGINSOCKFILEPATH": str(folder / "plugins"),
        "ARGOCD_EXEC_TIMEOUT": "180s",
        "GIT_CONFIG_NOSYSTEM": "1",
    }


def beside_argocd() -> Path:
    """Return the folder in which the program lies, with its manifests and the script that it has Git verified by.
    Raises UsageError.
    """
    return Path(program("argocd")).resolve().parent


def flags(data: dict[str, str]) -> list[str]:
    """Return the controller's flags for what argocd-cmd-params-cm holds. Raises UsageError for what nobody here knows
    how to say to a process: it would be silently otherwise than in the cluster.
    """
    unknown = sorted(key for key, value in data.items() if key not in NOT_HERE and FLAGS.get(key, ("", ""))[1] != value)
    if unknown:
        raise UsageError(
            f"argocd-cmd-params-cm: {', '.join(unknown)}: a rehearsal does not know which flags this stands for, and "
            "would run Argo CD otherwise than the cluster does; rehearse without --argocd"
        )
    return [FLAGS[key][0] for key in data if key in FLAGS]
