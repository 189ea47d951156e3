"""Volcano as processes: both with the configuration, arguments and accounts that were applied."""

import contextlib
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from generator.components.component import Manifest
from generator.rehearsal.twin.plane import Plane
from generator.rehearsal.twin.running import program, running

NAMESPACE = "volcano-system"
PODS_ONLY = ("--logtostderr", "--enable-healthz", "--enable-metrics", "--leader-elect", "--scheduler-conf", "2>&1")
"""Arguments that serve a pod; what they serve would listen on every address."""


@contextlib.contextmanager
def volcano(api: Plane, conf: str = "", flags: Mapping[str, tuple[str, ...]] = MappingProxyType({})) -> Iterator[None]:
    """Run both; `conf` replaces the scheduler's configuration, and `flags` are more words, by whose they are."""
    scheduler, controllers = program("vc-scheduler"), program("vc-controller-manager")
    file = api.address.folder / "volcano.conf" / "volcano-scheduler.conf"
    file.parent.mkdir(exist_ok=True)  # a folder of its own: all of it is watched
    file.write_text(conf or _applied(api))
    more = [f"--scheduler-conf={file}", "--cache-dumper=false"]
    with (
        _process(api, "volcano-scheduler", [scheduler, *more], lambda: True, flags),
        _process(api, "volcano-controllers", [controllers, "--enable-healthz=false"], lambda: _open(api), flags),
    ):
        yield


@contextlib.contextmanager
def _process(
    api: Plane, name: str, command: list[str], ready: Any, flags: Mapping[str, tuple[str, ...]]
) -> Iterator[None]:
    folder = api.address.folder / name
    words = [
        *command,
        f"--kubeconfig={api.account(NAMESPACE, name)}",
        "--leader-elect=false",
        "--listen-address=127.0.0.1:0",
    ]
    container = _container(api, name)
    env = {one["name"]: one["value"] for one in container.get("env", []) if "value" in one}
    env |= {"DEBUG_SOCKET_DIR": str(folder / "sockets")}
    with running(folder, [*words, *_arguments(container), *flags.get(name, ())], ready, **env):
        yield


def _applied(api: Plane) -> str:
    data = api.get(f"/api/v1/namespaces/{NAMESPACE}/configmaps/volcano-scheduler-configmap")["data"]
    return str(data["volcano-scheduler.conf"])


def _container(api: Plane, name: str) -> Manifest:
    deployment = api.get(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{name}")
    container: Manifest = deployment["spec"]["template"]["spec"]["containers"][0]
    return container


def _arguments(container: Manifest) -> list[str]:
    return [word for word in container["args"] if not word.startswith(PODS_ONLY)]


def _open(api: Plane) -> bool:
    queue = api.get("/apis/scheduling.volcano.sh/v1beta1/queues/default")
    return bool(queue.get("status", {}).get("state") == "Open")
