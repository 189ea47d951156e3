"""Argo CD's programs as processes, with the settings that were applied and the rights of their own accounts."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from apiserver import programs
from twin.plane import Plane

from generator.live.apiserver import free_ports
from generator.rehearsal.twin.running import listens, running

NAMESPACE = "argocd"
FLAGS = {
    "controller.diff.server.side": ("--server-side-diff-enabled", "true"),
    "controller.resource.health.persist": ("--persist-resource-health", "true"),
}
"""Keys of argocd-cmd-params-cm, which no process but a pod reads: the flag that they stand for, and the value known."""

NOT_HERE = {"redis.server", "server.insecure"}
"""Keys about programs that are not run, or are reached in another way."""


@contextlib.contextmanager
def argo_cd(api: Plane, resync: int = 30) -> Iterator[None]:
    """Run Redis, the repository server and the application controller, which compares each Application again after
    `resync` seconds even if nothing happened.
    """
    (redis,) = programs("redis-server")
    store, server, measured, ours = free_ports(4)
    folder = api.address.folder
    with contextlib.ExitStack() as stack:
        start = stack.enter_context
        plain = [redis, "--bind", "127.0.0.1", "--port", str(store), "--save", "", "--appendonly", "no"]
        start(running(folder / "redis", plain, lambda: listens(store)))
        words = [
            "--address=127.0.0.1",
            f"--port={server}",
            "--metrics-address=127.0.0.1",
            f"--metrics-port={measured}",
            f"--redis=127.0.0.1:{store}",
            "--disable-tls",
            "--client-ca-path=",
            "--parallelismlimit=2",
        ]
        start(_program(api, "repo-server", words, server))
        account = api.account(NAMESPACE, "argocd-application-controller")
        words = [
            f"--namespace={NAMESPACE}",
            f"--redis=127.0.0.1:{store}",
            f"--repo-server=127.0.0.1:{server}",
            "--repo-server-plaintext",
            "--repo-server-timeout-seconds=180",
            f"--metrics-port={ours}",
            f"--app-resync={resync}",
            "--app-resync-jitter=2",
            f"--kubeconfig={account}",
            *_flags(api),
        ]
        start(_program(api, "application-controller", words, ours))
        yield


def _program(api: Plane, name: str, words: list[str], port: int) -> contextlib.AbstractContextManager[object]:
    """Run one part of Argo CD: its binary is all of them, by the name that it is told."""
    (argocd,) = programs("argocd")
    folder = api.address.folder / name
    kubeconfig = str(api.account(NAMESPACE, f"argocd-{name}"))
    env = _environment(folder) | {"ARGOCD_BINARY_NAME": f"argocd-{name}", "KUBECONFIG": kubeconfig}
    return running(folder, [argocd, *words, "--loglevel=info"], lambda: listens(port), **env)


def _environment(folder: Path) -> dict[str, str]:
    for name in ("home", "tmp", "tls", "ssh", "gpg", "gnupg", "plugins"):
        (folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / "ssh" / "ssh_known_hosts").touch()
    argocd, kustomize, helm = (Path(one) for one in programs("argocd", "kustomize", "helm"))
    beside = [argocd.resolve().parent, kustomize.parent, helm.parent]
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


def _flags(api: Plane) -> list[str]:
    data = api.get(f"/api/v1/namespaces/{NAMESPACE}/configmaps/argocd-cmd-params-cm")["data"]
    unknown = {
        key for key, value in data.items() if key not in NOT_HERE and (key not in FLAGS or FLAGS[key][1] != value)
    }
    assert not unknown, f"say in FLAGS what these stand for: {unknown}"
    return [FLAGS[key][0] for key in data if key in FLAGS]
