"""What a real API server makes of defaults, owners and lists, as `gen drift` reads it."""

from collections.abc import Iterator
from typing import Any

import pytest

from generator.build.objects import Object
from generator.live.api import of_started
from generator.live.apiserver import throw_away, tries
from generator.live.applications import application
from generator.live.discovery import discover
from generator.live.drift.drift import _Comparison, _identity
from generator.live.drift.report import Drift
from generator.live.drift.standing import Standing
from generator.live.running import RunningCluster

pytestmark = pytest.mark.real

Manifest = dict[str, Any]
VERSION = "example.org/v1"
POLICY = {"type": "string", "default": "None"}
SPEC = {"type": "object", "properties": {"stopPolicy": POLICY, "size": {"type": "integer"}}}
SCHEMA = {"type": "object", "properties": {"spec": SPEC}}
NAMES = {"plural": "queues", "singular": "queue", "kind": "Queue", "listKind": "QueueList"}
SERVED = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}
DEFINITION: Manifest = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "queues.example.org"},
    "spec": {"group": "example.org", "scope": "Cluster", "names": NAMES, "versions": [SERVED]},
}
QUEUE: Manifest = {"apiVersion": VERSION, "kind": "Queue", "metadata": {"name": "x"}, "spec": {"size": 1}}
PORTS = [{"name": "web", "port": 80}, {"name": "dns", "port": 53, "protocol": "UDP"}]
SERVICE: Manifest = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "x", "namespace": "default"},
    "spec": {"ports": PORTS, "selector": {"a": "b"}},
}
QUEUES, SERVICES = f"/apis/{VERSION}/queues", "/api/v1/namespaces/default/services"


@pytest.fixture(scope="module")
def running() -> Iterator[RunningCluster]:
    with throw_away() as started:
        found = RunningCluster(of_started(started))
        found.apply(
            f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{DEFINITION['metadata']['name']}", DEFINITION
        )
        assert any(found.serves(QUEUES) for _ in tries())
        found.apply(f"{QUEUES}/x", QUEUE)
        found.apply(f"{SERVICES}/x", SERVICE)
        yield found


def look(running: RunningCluster, manifest: Manifest, path: str) -> list[Drift]:
    one, live = Object(manifest, "shop", "x.yaml"), running.get(path)
    assert live
    there = Standing(objects={_identity(one): live}, served=discover(running.api, [one.version]), unread=())
    shop = application({"metadata": {"name": "shop"}, "spec": {}})
    comparison = _Comparison(running, "small", {"shop": shop}, there)
    comparison.compare([one])
    return comparison.found


def edit(running: RunningCluster, path: str, change: Manifest) -> None:
    running.merge(f"{path}?fieldManager=kubectl-edit", change)


def test_defaults_are_no_drift_even_where_a_person_wrote_them(running: RunningCluster) -> None:
    assert look(running, QUEUE, f"{QUEUES}/x") == []
    edit(running, f"{QUEUES}/x", {"spec": {"stopPolicy": "Hold"}})
    (found,) = look(running, QUEUE, f"{QUEUES}/x")
    assert (found.how, [(one.field, one.cluster) for one in found.fields]) == ("added", [("spec.stopPolicy", "Hold")])
    edit(running, f"{QUEUES}/x", {"spec": {"stopPolicy": "None"}})
    assert look(running, QUEUE, f"{QUEUES}/x") == []


def test_items_of_lists_name_who_changed_or_added_them(running: RunningCluster) -> None:
    assert look(running, SERVICE, f"{SERVICES}/x") == []
    ports = [{"name": "web", "port": 80, "targetPort": 8080}, PORTS[1], {"name": "more", "port": 81}]
    edit(running, f"{SERVICES}/x", {"spec": {"ports": ports, "selector": {"a": "c"}}})
    differs, added = look(running, SERVICE, f"{SERVICES}/x")
    fields = {one.field: (one.git, one.cluster, one.by.partition(",")[0]) for one in differs.fields}
    assert fields["spec.selector.a"] == ("b", "c", "kubectl edit")
    assert differs.how == "differs"
    assert added.how == "added"
    assert {one.field for one in added.fields} >= {"spec.ports[81/TCP].port", "spec.ports[80/TCP].targetPort"}
    assert all(one.by.startswith("kubectl edit, 20") for one in added.fields)
