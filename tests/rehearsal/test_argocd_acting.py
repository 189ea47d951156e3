"""Operators that are played while Argo CD syncs. With Argo CD: tests/real/test_rehearse_argocd.py."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from argocd_states import state
from livecluster import LiveCluster, Manifest, living
from reference import load

from generator.build.objects import Built, Object
from generator.live.applications import application
from generator.live.running import RunningCluster
from generator.rehearsal.applying import Applier
from generator.rehearsal.argocd.acting import Acting

CERTIFICATE = {
    "apiVersion": "cert-manager.io/v1",
    "kind": "Certificate",
    "metadata": {"name": "web", "namespace": "ours"},
    "spec": {"secretName": "web-tls"},
}
INGRESS = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "Ingress",
    "metadata": {"name": "web", "namespace": "ours"},
    "spec": {},
}
ADDRESS = "the address of each Ingress that wants one"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[LiveCluster, RunningCluster]]:
    with living(tmp_path) as both:
        yield both


def acting(running: RunningCluster, *manifests: Manifest) -> Acting:
    objects = tuple(Object(one, "one", "") for one in manifests)
    built = Built(name="ml50", cluster=load("ml50"), objects=objects)
    twin: Any = SimpleNamespace(cluster=running)
    return Acting(Applier(twin, built), built)


def test_each_object_is_acted_on_once_it_has_come_and_only_then(cluster: tuple[LiveCluster, RunningCluster]) -> None:
    live, running = cluster
    made = acting(running, CERTIFICATE, INGRESS)
    live.add(INGRESS)
    assert [*made.round([state("one", phase="Running")])] == [ADDRESS]
    assert live.get("Ingress", "web")["status"]["loadBalancer"]["ingress"]
    live.add(CERTIFICATE)
    said = [*made.round([state("one", phase="Running")])]
    assert said == ["the status of each Certificate, for cert-manager", "Secret ours/web-tls, for cert-manager"]
    assert [*made.round([state("one")])] == []


def test_nothing_is_played_before_the_application_is_synced(cluster: tuple[LiveCluster, RunningCluster]) -> None:
    live, running = cluster
    live.add(INGRESS)
    made = acting(running, INGRESS)
    assert [*made.round([application({"metadata": {"name": "one"}})])] == []
    assert [*made.round([state("two")])] == []
    assert [*made.round([state("one")])] == [ADDRESS]


def test_a_service_that_wants_no_address_gets_none(cluster: tuple[LiveCluster, RunningCluster]) -> None:
    live, running = cluster
    service: Manifest = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "ours"}}
    balanced = service | {"metadata": {"name": "out", "namespace": "ours"}, "spec": {"type": "LoadBalancer"}}
    for one in (service, balanced):
        live.add(one)
    assert [*acting(running, service, balanced).round([state("one")])] == ["the address of each Service that wants one"]
    assert "status" not in live.get("Service", "web", "ours")
