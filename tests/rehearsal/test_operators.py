"""What is brought for operators that do not run in a rehearsal. On a real API server: tests/real/test_rehearse.py."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from livecluster import LiveCluster, Manifest, living
from reference import load

from generator.build.objects import Built, Object
from generator.live.running import RunningCluster
from generator.rehearsal.applying import Applier
from generator.rehearsal.operators import STATED, Operators

CERTIFICATE = {
    "apiVersion": "cert-manager.io/v1",
    "kind": "Certificate",
    "metadata": {"name": "web", "namespace": "ours"},
    "spec": {"secretName": "web-tls"},
}


class Acting:
    """A cluster on which operators are played."""

    def __init__(self, live: LiveCluster, running: RunningCluster) -> None:
        self.live, self.running = live, running

    def acts(self, component: str, *manifests: Manifest) -> list[str]:
        """Have objects applied, and their operators act; return what is told."""
        objects = tuple(Object(self.live.add(one), component, "") for one in manifests)
        built = Built(name="ml50", cluster=load("ml50"), objects=objects)
        twin: Any = SimpleNamespace(cluster=self.running)
        return [*Operators(Applier(twin, built), built).act(objects)]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Acting]:
    with living(tmp_path) as (live, running):
        yield Acting(live, running)


def settings(namespace: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "own", "namespace": namespace}}


def test_the_status_that_is_stated_is_written_and_what_is_made_of_the_object_is_made(
    cluster: Acting,
) -> None:
    told = cluster.acts("somebodys", CERTIFICATE)
    assert told == ["the status of each Certificate, for cert-manager", "Secret ours/web-tls, for cert-manager"]
    assert cluster.live.get("Certificate", "web")["status"]["conditions"][0]["type"] == "Ready"
    assert set(cluster.live.get("Secret", "web-tls", "ours")["data"]) >= {"tls.crt", "tls.key"}


def test_what_a_component_brings_by_itself_comes_with_its_objects(cluster: Acting) -> None:
    assert "RuntimeClass nvidia, for gpu-operator" in cluster.acts("gpu-operator", settings("gpu-operator"))
    assert cluster.live.get("RuntimeClass", "nvidia")["handler"] == "nvidia"
    assert cluster.acts("somebodys", settings("ours")) == []


def test_secrets_that_a_component_makes_in_the_cluster_are_there_with_their_keys(cluster: Acting) -> None:
    assert "Secret rook-ceph/rook-ceph-mon, for ceph-cluster" in cluster.acts("ceph-cluster", settings("rook-ceph"))
    keys = cluster.live.get("Secret", "rook-ceph-mon", "rook-ceph")["data"]
    assert {*keys} == {"ceph-secret", "ceph-username", "fsid", "mon-secret"}
    assert {*keys.values()} == {""}


def test_who_makes_a_secret_is_told_and_not_who_reads_it(cluster: Acting) -> None:
    assert "Secret minio/minio-tls, for cert-manager" in cluster.acts("minio", settings("minio"))


@pytest.mark.parametrize("component", ["kueue", "volcano"])
def test_nothing_is_played_for_what_runs(component: str, cluster: Acting) -> None:
    assert cluster.acts(component, settings(f"{component}-system")) == []


def test_what_is_there_already_stays_and_is_not_told(cluster: Acting) -> None:
    own = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "web-tls", "namespace": "ours"}}
    cluster.live.add(own)
    assert cluster.acts("somebodys", CERTIFICATE) == ["the status of each Certificate, for cert-manager"]
    assert "data" not in cluster.live.get("Secret", "web-tls")


def test_an_object_of_another_group_gets_no_status(cluster: Acting) -> None:
    other = CERTIFICATE | {"apiVersion": "example.org/v1"}
    assert cluster.acts("somebodys", other)[:1] != ["the status of each Certificate, for cert-manager"]
    assert "cert-manager.io/Certificate" in STATED
