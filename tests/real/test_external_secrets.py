"""The ExternalSecrets of a cluster with a store, brought by the real operator (External Secrets, with its `fake` store)
on a real API server: each Secret arrives with the keys that its readers want, and bootstrap names those that do not.
"""

import base64
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from loopback import config
from msgspec import structs
from reference import load

from generator.components import compose
from generator.components.component import Secret
from generator.live.api import of_kubeconfig
from generator.live.apiserver import free_ports
from generator.live.bootstrap.secret_values import Values
from generator.live.bootstrap.secrets_step import Keeping, secrets_step
from generator.live.bootstrap.step import Item, State
from generator.live.running import RunningCluster
from generator.model.secret_store import SecretStore
from generator.process import background

if TYPE_CHECKING:
    from apiserver import ApiServer

pytestmark = pytest.mark.real
pytest_plugins = ["apiserver"]

Object = dict[str, Any]
PLAIN = load("ml50")
STORE = SecretStore(by="external-secrets", store="lab", prefix="clusters")
ML50 = structs.replace(PLAIN, site=structs.replace(PLAIN.site, secrets=STORE))
COMPONENTS = compose(ML50)
STORED = [one for each in COMPONENTS for one in each.secrets if one.entry]
ABSENT, HALF = STORED[0], next(one for one in STORED[1:] if len(one.keys) > 1)
"""A Secret whose entry the store does not have, and one whose entry lacks a key."""


def value(secret: Secret, key: str) -> str:
    if computed := secret.computed.get(key):
        return computed.value(*(value(secret, one).encode() for one in computed.of)).decode()
    return f"{secret.entry} {key}"


def entry(secret: Secret) -> Object:
    """Return an entry of the fake store. It reads a property as a path into JSON, where a dot leads deeper; stores of
    sites take it as the name of a key first.
    """
    held: Object = {}
    for key in secret.keys[: -1 if secret is HALF else None]:
        *steps, last = key.split(".")
        part = held
        for step in steps:
            part = part.setdefault(step, {})
        part[last] = value(secret, key)
    return {"key": secret.entry, "value": json.dumps(held)}


@pytest.fixture(scope="module")
def there(api: "ApiServer", tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    """A cluster with the operator, the store, and the ExternalSecrets that gen renders."""
    from apiserver import programs

    (program,) = programs("external-secrets")
    folder = tmp_path_factory.mktemp("store")
    for crd in yaml.load_all(Path(program).resolve().with_name("crds.yaml").read_bytes(), yaml.CSafeLoader):
        crd["spec"].pop("conversion", None)
        api.apply(crd)
        api.wait(crd["metadata"]["name"], partial(api.established, crd))
    # Of two with one entry, a copy may hold fewer keys.
    whole = sorted(STORED, key=lambda one: one.copy_of is None)
    entries = {one.entry: entry(one) for one in whole if one is not ABSENT}
    provider = {"fake": {"data": [*entries.values()]}}
    kind = {"apiVersion": "external-secrets.io/v1", "kind": "ClusterSecretStore", "metadata": {"name": STORE.store}}
    api.apply({**kind, "spec": {"provider": provider}})
    for name in sorted({one.namespace for one in STORED}):
        api.namespace(name)
    for one in (one for each in COMPONENTS for one in each.objects if one["kind"] == "ExternalSecret"):
        api.apply(one)
    file = config(folder, api.url, token=api.token)
    content = yaml.safe_load(file.read_text())
    content["clusters"][0]["cluster"]["certificate-authority"] = str(api.certificate)
    file.write_text(yaml.safe_dump(content))
    metrics, live = free_ports(2)
    addresses = [
        f"--metrics-addr=127.0.0.1:{metrics}",
        f"--live-addr=127.0.0.1:{live}",
        "--enable-leader-election=false",
    ]
    with background(folder, ["env", f"KUBECONFIG={file}", program, *addresses]):
        yield RunningCluster(of_kubeconfig(file, None))


def states(there: RunningCluster) -> dict[str, Item]:
    """Return what bootstrap says of each Secret of the store."""
    items = secrets_step(there, ML50, STORED, Keeping(values=Values(None, {}))).items
    return {item.what.split(" ")[0].rstrip(":"): item for item in items}


def name(secret: Secret) -> str:
    return f"{secret.namespace}/{secret.name}"


def test_each_secret_arrives_with_its_keys_and_labels(there: RunningCluster, api: "ApiServer") -> None:
    whole = [one for one in STORED if one.entry not in {ABSENT.entry, HALF.entry}]
    assert len(whole) > 5
    api.wait("all Secrets", lambda: all(states(there)[name(one)].state is State.DONE for one in whole))
    for one in whole:
        found = there.get(f"/api/v1/namespaces/{one.namespace}/secrets/{one.name}")
        assert found
        held = {key: base64.b64decode(text).decode() for key, text in found["data"].items()}
        assert held == {key: value(one, key) for key in one.keys}
        assert one.labels.items() <= (found["metadata"].get("labels") or {}).items()
        assert not any("argocd" in key for key in found["metadata"].get("annotations") or {})


def test_bootstrap_names_what_does_not_arrive_with_its_entry(there: RunningCluster, api: "ApiServer") -> None:
    path = f"/apis/external-secrets.io/v1/namespaces/{ABSENT.namespace}/externalsecrets/{ABSENT.name}"

    def judged() -> bool:
        conditions = ((there.get(path) or {}).get("status") or {}).get("conditions") or []
        return any((one["type"], one["status"]) == ("Ready", "False") for one in conditions)

    api.wait("the operator's word", judged)
    for one in (ABSENT, HALF):
        item = states(there)[name(one)]
        assert item.state is State.LATER
        assert item.what == f"{name(one)}: comes from outside, the entry {one.entry} of the store"


def test_a_secret_that_lacks_a_key_is_told(there: RunningCluster) -> None:
    there.create(
        f"/api/v1/namespaces/{HALF.namespace}/secrets",
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": HALF.name}, "data": {HALF.keys[0]: "YQ=="}},
    )
    item = states(there)[name(HALF)]
    assert item.state is State.LATER
    assert item.what.startswith(f"{name(HALF)} is there and lacks {HALF.keys[-1]}, which comes from outside, the entry")
