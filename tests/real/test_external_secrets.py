"""The ExternalSecrets of a cluster with a store, brought by the real operator (External Secrets, with its `fake` store)
on a real API server: each Secret arrives with the keys that its readers want, and bootstrap names those that do not.
"""

import base64
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
import yaml
from loopback import config
from msgspec import structs
from reference import load
from sitestore import entry, install, operator, value

from generator.components import compose
from generator.components.component import Secret
from generator.live.api import of_kubeconfig
from generator.live.bootstrap.secret_values import Values
from generator.live.bootstrap.secrets_step import Keeping, secrets_step
from generator.live.bootstrap.step import Item, State
from generator.live.bootstrap.store_step import store_step
from generator.live.running import RunningCluster
from generator.model.secret_store import SecretStore

if TYPE_CHECKING:
    from apiserver import ApiServer

pytestmark = pytest.mark.real
pytest_plugins = ["apiserver"]

PLAIN = load("ml50")
STORE = SecretStore(by="external-secrets", store="lab", prefix="clusters")
ML50 = structs.replace(PLAIN, site=structs.replace(PLAIN.site, secrets=STORE))
COMPONENTS = compose(ML50)
STORED = [one for each in COMPONENTS for one in each.secrets if one.entry]
ABSENT, HALF = STORED[0], next(one for one in STORED[1:] if len(one.keys) > 1)
"""A Secret whose entry the store does not have, and one whose entry lacks a key."""


@pytest.fixture(scope="module")
def there(api: "ApiServer", tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    """A cluster with the operator, the store, and the ExternalSecrets that gen renders."""
    folder = tmp_path_factory.mktemp("store")
    # Of two with one entry, a copy may hold fewer keys.
    whole = sorted(STORED, key=lambda one: one.copy_of is None)
    entries = {one.entry: entry(one, one.keys[-1:] if one is HALF else ()) for one in whole if one is not ABSENT}
    install(api, STORE.store, entries.values())
    for name in sorted({one.namespace for one in STORED}):
        api.namespace(name)
    for one in (one for each in COMPONENTS for one in each.objects if one["kind"] == "ExternalSecret"):
        api.apply(one)
    file = config(folder, api.url, token=api.token)
    content = yaml.load(file.read_text(), yaml.CSafeLoader)
    content["clusters"][0]["cluster"]["certificate-authority"] = str(api.certificate)
    file.write_text(yaml.safe_dump(content))
    running = RunningCluster(of_kubeconfig(file, None))
    before = store_step(running, ML50, STORE).items
    assert [one.state for one in before] == [State.LATER], before
    assert "has not looked at it" in before[0].what
    with operator(folder, file):
        yield running


def test_the_store_is_there_and_ready(there: RunningCluster, api: "ApiServer") -> None:
    def item() -> Item:
        (one,) = store_step(there, ML50, STORE).items
        return one

    api.wait("the operator's word on the store", lambda: item().state is State.DONE)
    assert item().what == "ClusterSecretStore lab is there and ready"


def test_a_store_that_is_not_there_is_told(there: RunningCluster) -> None:
    (item,) = store_step(there, ML50, structs.replace(STORE, store="another")).items
    assert item.state is State.LATER
    assert item.what.startswith("ClusterSecretStore another is not there, and Argo CD stops before what reads a Secret")


def test_a_store_that_cannot_be_read_is_told_with_why(there: RunningCluster, api: "ApiServer") -> None:
    kind = {"apiVersion": "external-secrets.io/v1", "kind": "ClusterSecretStore", "metadata": {"name": "sealed"}}
    secret = {"name": "no-such-token", "namespace": "default", "key": "token"}
    vault = {"server": "http://127.0.0.1:9", "path": "lab", "version": "v2", "auth": {"tokenSecretRef": secret}}
    api.apply({**kind, "spec": {"provider": {"vault": vault}}})
    sealed = structs.replace(STORE, store="sealed")

    def told() -> str:
        (one,) = store_step(there, ML50, sealed).items
        return one.what if one.state is State.LATER else ""

    api.wait("the operator's word on it", lambda: "sealed is not ready" in told())
    assert "Argo CD stops before what reads a Secret of it: " in told()


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
