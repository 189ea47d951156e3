"""The fake of an API server, as the client for running clusters sees it."""

from pathlib import Path

import pytest
from livecluster import forbidden, living

from generator.errors import UsageError
from generator.live.api import Request
from generator.live.discovery import discover

PODS = "/api/v1/namespaces/a/pods"


def pod(name: str, **labels: str) -> dict[str, object]:
    metadata = {"name": name, "namespace": "a", "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": name}}


def test_lists_select_and_go_on(tmp_path: Path) -> None:
    with living(tmp_path, pod("x", app="one"), pod("y", app="one"), pod("z")) as (_, running):
        assert [one["metadata"]["name"] for one in running.items(PODS, limit="1")] == ["x", "y", "z"]
        assert [one["metadata"]["name"] for one in running.items("/api/v1/pods", labelSelector="app=one")] == ["x", "y"]
        assert [one["metadata"]["name"] for one in running.items(PODS, fieldSelector="spec.nodeName!=z")] == ["x", "y"]


def test_what_is_not_there_and_not_served(tmp_path: Path) -> None:
    with living(tmp_path) as (cluster, running):
        del cluster.served["cert-manager.io/v1"]
        assert running.get("/api/v1/namespaces/default/pods/x") is None
        assert not running.serves("/apis/cert-manager.io/v1/certificates")
        assert running.serves("/apis/argoproj.io/v1alpha1/applications")
        assert discover(running.api, ["argoproj.io/v1alpha1"])["argoproj.io/v1alpha1", "AppProject"] == (
            "appprojects",
            True,
        )


def test_objects_are_made_changed_and_deleted(tmp_path: Path) -> None:
    with living(tmp_path) as (cluster, running):
        cluster.add_namespace("a")
        assert running.create(PODS, pod("x"))
        assert running.create(PODS, pod("x")) is None
        assert running.merge(f"{PODS}/x", {"spec": {"nodeName": None, "b": 1}})["spec"] == {"b": 1}
        assert running.apply(f"{PODS}/x", pod("x", c="d"))["metadata"]["labels"] == {"c": "d"}
        running.delete(f"{PODS}/x")
        running.delete(f"{PODS}/x")
        assert not cluster.get("Pod", "x")
        assert [method for method, _ in cluster.writes] == ["POST", "POST", "PATCH", "PATCH", "DELETE", "DELETE"]


def test_who_comes_late_is_refused(tmp_path: Path) -> None:
    with living(tmp_path, pod("x")) as (cluster, running):
        seen = running.get(f"{PODS}/x") or {}
        cluster.add(pod("x", other="writer"))
        with pytest.raises(UsageError, match="somebody changed it meanwhile"):
            running.merge(f"{PODS}/x", {"metadata": {"resourceVersion": seen["metadata"]["resourceVersion"]}})


def test_trying_stores_nothing(tmp_path: Path) -> None:
    with living(tmp_path, pod("x")) as (cluster, running):
        path = f"{PODS}/x?dryRun=All&fieldManager=me"
        answer = running.api.ask(Request(path=path, method="PATCH", body=pod("x", a="b")))
        assert answer.body["metadata"]["labels"] == {"a": "b"}
        assert cluster.get("Pod", "x")["metadata"]["labels"] == {}
        assert cluster.writes == []


def test_a_namespace_comes_before_what_is_in_it(tmp_path: Path) -> None:
    with living(tmp_path) as (_, running), pytest.raises(UsageError, match='namespaces "a" not found'):
        running.apply(f"{PODS}/x", pod("x"))


def test_what_is_not_allowed_is_refused(tmp_path: Path) -> None:
    with living(tmp_path) as (cluster, running):
        cluster.refuses["GET .*/secrets"] = forbidden("list", "secrets")
        with pytest.raises(UsageError, match=r'cannot list resource "secrets"'):
            list(running.items("/api/v1/secrets"))


def test_controllers_are_played(tmp_path: Path) -> None:
    with living(tmp_path) as (cluster, running):
        cluster.add_namespace("a")
        cluster.reacts.append(lambda one: one.update(status={"phase": "Running"}))
        assert (running.create(PODS, pod("x")) or {})["status"] == {"phase": "Running"}
