"""Who made a pod, as operations on nodes follow it up: members of teams can write owners."""

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from generator.components.node_operations.templates import scripts


@pytest.fixture
def draining(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    before = set(sys.modules)
    for name, text in scripts()["data"].items():
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield import_module("draining")
    for name in set(sys.modules) - before:
        del sys.modules[name]


def made_by(name: str, uid: str) -> dict[str, Any]:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": uid, "controller": True}
    return {"namespace": "vision", "ownerReferences": [owner]}


def test_jobs_that_own_each_other_are_followed_once(draining: Any) -> None:
    jobs = {
        "a": {"metadata": {**made_by("b", "uid-b"), "name": "a", "uid": "uid-a"}},
        "b": {"metadata": {**made_by("a", "uid-a"), "name": "b", "uid": "uid-b"}},
    }

    class Api:
        asked = 0

        def get(self, path: str) -> dict[str, Any]:
            self.asked += 1
            assert self.asked < 9, "it never ends"
            return jobs[path.rpartition("/")[2]]

    pod = {"metadata": {**made_by("a", "uid-a"), "name": "one", "uid": "uid-pod"}}
    assert [*draining.makers(Api(), pod)] == ["uid-pod", "uid-a", "uid-b"]
