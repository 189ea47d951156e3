"""What is not compared."""

from typing import Any

import pytest

from generator.live.drift.ignored import compared, unread

HOOK = "admissionregistration.k8s.io"


def configuration() -> dict[str, Any]:
    metadata = {"name": "x", "uid": "1", "managedFields": [], "resourceVersion": "1", "labels": {"a/b": "c"}}
    hooks = [{"name": "one", "clientConfig": {"caBundle": "x", "url": "u"}}, {"name": "two"}]
    return {
        "apiVersion": f"{HOOK}/v1", "kind": "Hook", "metadata": metadata, "webhooks": hooks, "status": {"a": 1},
    }  # fmt: skip


def left(**ignore: Any) -> dict[str, Any]:
    return compared(configuration(), [ignore])


def test_what_the_server_keeps_is_not_compared() -> None:
    found = left(group="other", kind="Hook", jsonPointers=["/webhooks"])
    assert found["metadata"] == {"name": "x", "labels": {"a/b": "c"}}
    assert "status" not in found
    assert len(found["webhooks"]) == 2


@pytest.mark.parametrize(
    "ignore",
    [
        {"jqPathExpressions": [".webhooks[]?.clientConfig.caBundle"]},
        {"jqPathExpressions": [".webhooks[].clientConfig.caBundle"]},
        {"jsonPointers": ["/webhooks/0/clientConfig/caBundle"]},
        {"jsonPointers": ["/webhooks/0/clientConfig/caBundle", "/webhooks/7/x", "/no/where"], "name": "x"},
    ],
)
def test_what_an_application_ignores_is_left_out(ignore: dict[str, Any]) -> None:
    found = left(group=HOOK, kind="Hook", **ignore)
    assert found["webhooks"] == [{"name": "one", "clientConfig": {"url": "u"}}, {"name": "two"}]


def test_pointers_have_signs_of_their_own() -> None:
    assert left(group=HOOK, kind="*", jsonPointers=["/metadata/labels/a~1b"])["metadata"]["labels"] == {}


@pytest.mark.parametrize("other", [{"name": "y"}, {"namespace": "a"}, {"kind": "Other"}, {"group": ""}])
def test_others_are_not_meant(other: dict[str, Any]) -> None:
    assert "webhooks" in left(**{"group": HOOK, "kind": "Hook", "jsonPointers": ["/webhooks"], **other})


def test_rules_that_controllers_gather_are_theirs() -> None:
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "x"}, "rules": []}
    assert "rules" in compared(role, [])
    assert "rules" not in compared({**role, "aggregationRule": {}}, [])


def test_what_is_too_clever_is_told() -> None:
    clever = '.spec.containers[] | select(.name == "x")'
    ignores = [{"jqPathExpressions": [".spec.a", clever]}]
    assert unread({"spec": {"ignoreDifferences": ignores}}) == [clever]
    assert unread({"spec": {}}) == []
