"""Kueue as a process, with the configuration, arguments, account and webhooks that were applied."""

import contextlib
import urllib.request
from base64 import b64decode
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from generator.components.component import Manifest
from generator.layout.emit import emit
from generator.live.apiserver import free_ports
from generator.rehearsal.twin.plane import Plane
from generator.rehearsal.twin.running import listens, program, running
from generator.spec.pyyaml import yaml

NAMESPACE, DEPLOYMENT, CONFIG = "kueue-system", "kueue-controller-manager", "kueue-manager-config"
SERVICE, CERTIFICATES = "kueue-webhook-service", "kueue-webhook-server-cert"


@contextlib.contextmanager
def kueue(api: Plane, changes: Mapping[str, Any] = MappingProxyType({})) -> Iterator[None]:
    """Run Kueue; `changes` replace keys of its configuration. It binds the address of its own Service, so that the
    webhooks are called as they were rendered, and makes its certificates itself.
    """
    folder = api.address.folder / "kueue"
    folder.mkdir(mode=0o700, exist_ok=True)
    core = f"/api/v1/namespaces/{NAMESPACE}"
    host = api.get(f"{core}/services/{SERVICE}")["spec"]["clusterIP"]
    (health,) = free_ports(1)
    file = folder / "config.yaml"
    file.write_text(emit({**_here(_applied(api), host, health, folder), **changes}))
    command = [
        program("kueue"),
        f"--kubeconfig={api.account(NAMESPACE, DEPLOYMENT)}",
        *_arguments(api),
        f"--config={file}",
    ]
    with running(folder, command, lambda: _mounted(api, folder) and listens(443, host) and _ready(health)):
        yield


def _applied(api: Plane) -> Manifest:
    data = api.get(f"/api/v1/namespaces/{NAMESPACE}/configmaps/{CONFIG}")["data"]
    config: Manifest = yaml.load(data["controller_manager_config.yaml"], yaml.CSafeLoader)
    return config


def _here(config: Manifest, host: str, health: int, folder: Path) -> Manifest:
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
