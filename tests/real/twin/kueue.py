"""Kueue as a process, with the configuration, arguments, account and webhooks that were applied."""

import contextlib
import urllib.request
from base64 import b64decode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml
from apiserver import programs

from generator.live.apiserver import free_ports
from twin.plane import Plane, listens, running

Object = dict[str, Any]
NAMESPACE, DEPLOYMENT, CONFIG = "kueue-system", "kueue-controller-manager", "kueue-manager-config"
SERVICE, CERTIFICATES = "kueue-webhook-service", "kueue-webhook-server-cert"


@contextlib.contextmanager
def kueue(api: Plane, changes: Object | None = None) -> Iterator[None]:
    """Run Kueue; `changes` replace keys of its configuration. It binds the address of its own Service, so that the
    webhooks are called as they were rendered, and makes its certificates itself.
    """
    (program,) = programs("kueue")
    folder = api.address.folder / "kueue"
    folder.mkdir(mode=0o700, exist_ok=True)
    core = f"/api/v1/namespaces/{NAMESPACE}"
    host = api.get(f"{core}/services/{SERVICE}")["spec"]["clusterIP"]
    (health,) = free_ports(1)
    file = folder / "config.yaml"
    file.write_text(yaml.safe_dump(_here(_applied(api), host, health, folder) | (changes or {})))
    command = [program, f"--kubeconfig={api.account(NAMESPACE, DEPLOYMENT)}", *_arguments(api), f"--config={file}"]
    with running(folder, command, lambda: _mounted(api, folder) and listens(443, host) and _ready(health)):
        yield


def _applied(api: Plane) -> Object:
    data = api.get(f"/api/v1/namespaces/{NAMESPACE}/configmaps/{CONFIG}")["data"]
    config: Object = yaml.safe_load(data["controller_manager_config.yaml"])
    return config


def _here(config: Object, host: str, health: int, folder: Path) -> Object:
    """Return the configuration for a process instead of a pod: only where it listens is another."""
    return config | {
        "leaderElection": {"leaderElect": False},
        "webhook": {"host": host, "port": 443, "certDir": str(_certificates(folder))},
        "metrics": config["metrics"] | {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": f"127.0.0.1:{health}"},
        "featureGates": {"VisibilityOnDemand": False},
    }


def _arguments(api: Plane) -> list[str]:
    deployment = api.get(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{DEPLOYMENT}")
    words: list[str] = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    return [word for word in words if not word.startswith("--config=")]


def _certificates(folder: Path) -> Path:
    return folder / "certificates"


def _mounted(api: Plane, folder: Path) -> bool:
    """Do what kubelet does: put the Secret that Kueue has filled where it looks for it."""
    data = api.get(f"/api/v1/namespaces/{NAMESPACE}/secrets/{CERTIFICATES}").get("data", {})
    target = _certificates(folder)
    target.mkdir(exist_ok=True)
    for name in ("ca.crt", "tls.key", "tls.crt"):  # Kueue goes on once the last one is there
        if name in data and not (target / name).exists():
            (target / name).write_bytes(b64decode(data[name]))
    return "tls.crt" in data


def _ready(port: int) -> bool:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
        return bool(answer.status == 200)


BY_SUMS: Object = {
    "featureGates": {
        "TopologyAwareScheduling": False,
        "TASProfileMixed": False,
        "TASFailedNodeReplacement": False,
        "TASFailedNodeReplacementFailFast": False,
        "TASReplaceNodeOnPodTermination": False,
        "TASReplaceNodeOnNodeTaints": False,
        "TASHandleOverlappingFlavors": False,
        "TASRecomputeAssignmentWithinSchedulingCycle": False,
        "VisibilityOnDemand": False,
    }
}
"""How Kueue was before it looked at nodes: what it lets in may find none, and Volcano must hold it together."""

Starter = Callable[..., contextlib.AbstractContextManager[None]]


class Restartable:
    """A program that tests may run in another way for a while."""

    def __init__(self, api: Plane, starter: Starter) -> None:
        self.api, self.starter = api, starter
        self.stack = contextlib.ExitStack()

    def start(self, *changes: Any) -> None:
        self.stack.enter_context(self.starter(self.api, *changes))

    def stop(self) -> None:
        self.stack.close()

    @contextlib.contextmanager
    def changed(self, *changes: Any) -> Iterator[None]:
        """Run it changed as long as the block."""
        self.stop()
        self.start(*changes)
        try:
            yield
        finally:
            self.stop()
            self.start()
