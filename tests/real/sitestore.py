"""A site's store of Secrets: the real operator (External Secrets), and a store with entries, of its kind `fake`."""

import contextlib
import json
from collections.abc import Collection, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from generator.components.component import Secret
from generator.live.apiserver import free_ports
from generator.process import background

if TYPE_CHECKING:
    from apiserver import ApiServer

Object = dict[str, Any]


def value(secret: Secret, key: str) -> str:
    """Return what the store has under a key of a Secret."""
    if computed := secret.computed.get(key):
        return computed.value(*(value(secret, one).encode() for one in computed.of)).decode()
    return f"{secret.entry} {key}"


def entry(secret: Secret, lacking: Collection[str] = ()) -> Object:
    """Return an entry of the fake store. It reads a property as a path into JSON, where a dot leads deeper; stores of
    sites take it as the name of a key first.
    """
    held: Object = {}
    for key in secret.keys:
        *steps, last = key.split(".")
        part = held
        for step in steps:
            part = part.setdefault(step, {})
        if key not in lacking:
            part[last] = value(secret, key)
    return {"key": secret.entry, "value": json.dumps(held)}


def install(api: "ApiServer", name: str, entries: Iterable[Object]) -> None:
    """Have the operator's kinds, and a ClusterSecretStore of a name."""
    from apiserver import programs

    (program,) = programs("external-secrets")
    for crd in yaml.load_all(Path(program).resolve().with_name("crds.yaml").read_bytes(), yaml.CSafeLoader):
        crd["spec"].pop("conversion", None)
        api.apply(crd)
        api.wait(crd["metadata"]["name"], partial(api.established, crd))
    kind = {"apiVersion": "external-secrets.io/v1", "kind": "ClusterSecretStore", "metadata": {"name": name}}
    api.apply({**kind, "spec": {"provider": {"fake": {"data": [*entries]}}}})


@contextlib.contextmanager
def operator(folder: Path, kubeconfig: Path) -> Iterator[None]:
    """Run the operator as long as the block."""
    from apiserver import programs

    (program,) = programs("external-secrets")
    metrics, live = free_ports(2)
    addresses = (f"--metrics-addr=127.0.0.1:{metrics}", f"--live-addr=127.0.0.1:{live}")
    command = ["env", f"KUBECONFIG={kubeconfig}", program, *addresses, "--enable-leader-election=false"]
    with background(folder, command):
        yield
