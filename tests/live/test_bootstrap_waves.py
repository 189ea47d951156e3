"""The waves after a bootstrap: whom they wait for, and how that is told."""

from pathlib import Path
from typing import Any

import pytest
from livecluster import living

from generator.live.applications import REFRESH, application
from generator.live.bootstrap import waves as bootstrap_waves
from generator.live.bootstrap.waves import refresh_all, waits_for, watch

COMPARED = {"sync": {"status": "Synced"}, "health": {"status": "Healthy"}}


def one(name: str = "kueue", wave: int = 1, annotations: dict[str, str] | None = None, **status: Any) -> dict[str, Any]:
    marked = {"argocd.argoproj.io/sync-wave": str(wave), **(annotations or {})}
    metadata = {"name": name, "namespace": "argocd", "annotations": marked}
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": metadata,
        "spec": {"syncPolicy": {"automated": {}}},
        "status": {**COMPARED, **status},
    }


def state(phase: str, message: str = "", **more: Any) -> dict[str, Any]:
    return {"phase": phase, "message": message, **more}


def resource(**more: Any) -> dict[str, Any]:
    return {"kind": "Deployment", "namespace": "a", "name": "b", "status": "Synced", **more}


@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        (one(), ""),
        (one(operationState=state("Succeeded")), ""),
        (one(status={}, health={}, sync={}), "not compared yet"),
        (one(annotations={REFRESH: "normal"}), "to be compared with Git"),
        (
            one(operationState=state("Running", "waiting for healthy state of apps/Deployment/b")),
            "Synced Healthy: waiting",
        ),
        (one(sync={"status": "OutOfSync"}), "OutOfSync Healthy"),
        (
            one(
                health={"status": "Degraded"},
                resources=[resource(health={"status": "Degraded", "message": "no image"})],
            ),
            "Synced Degraded: Deployment a/b Degraded: no image",
        ),
        (
            one(sync={"status": "Unknown"}, conditions=[{"type": "ComparisonError", "message": "cannot\nclone"}]),
            "Unknown Healthy: ComparisonError: cannot clone",
        ),
        (
            one(
                sync={"status": "OutOfSync"},
                resources=[resource(status="OutOfSync")],
                operationState=state("Failed", "denied"),
            ),
            "OutOfSync Healthy: denied",
        ),
        (one(health={"status": "Progressing"}, annotations={"argocd.argoproj.io/ignore-healthcheck": "true"}), ""),
    ],
)
def test_what_an_application_waits_for_in_words(manifest: dict[str, Any], words: str) -> None:
    found = waits_for(application(manifest))
    assert found.startswith(words)
    assert bool(found) == bool(words)


def test_what_people_sync_is_told_with_the_command() -> None:
    """Nothing else would ever end the watch."""
    manifest = one(sync={"status": "OutOfSync"}, health={"status": "Missing"})
    assert "gen sync" not in waits_for(application(manifest))
    manifest["spec"] = {"syncPolicy": {"syncOptions": ["ServerSideApply=true"]}}
    assert waits_for(application(manifest)) == (
        "OutOfSync Missing: is synced only by `gen sync kueue`, in another terminal"
    )
    manifest["status"]["operationState"] = state("Running", "applying")
    assert "gen sync" not in waits_for(application(manifest))


def test_the_watch_ends_when_all_are_well_and_tells_each_change_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap_waves, "POLL", 0.0)
    told: list[str] = []
    looks = [0]
    progressing = {"status": "Progressing"}
    with living(tmp_path, one("root", 0, health=progressing), one("kueue", 1, health=progressing)) as (live, running):

        def tick(_: float) -> None:
            looks[0] += 1
            if looks[0] == 2:
                live.add(one("kueue", 1))
                live.add(one("queues", 2))
            if looks[0] == 4:
                live.add(one("root", 0))

        monkeypatch.setattr("time.sleep", tick)
        watch(running, {"kueue", "queues"}, told.append)
    assert told == [
        "root: Synced Progressing",
        "wave 1, kueue: Synced Progressing",
        "wave 1, kueue: synced and healthy",
        "wave 2, queues: synced and healthy",
        "root: synced and healthy",
    ]


def test_one_that_is_not_made_yet_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    with living(tmp_path, one("root", 0)) as (live, running):
        monkeypatch.setattr("time.sleep", lambda _: live.add(one("kueue", 1)))
        watch(running, {"kueue"}, told.append)
    assert told[-1] == "wave 1, kueue: synced and healthy"


def test_all_that_are_there_are_compared_anew(tmp_path: Path) -> None:
    with living(tmp_path, one("root", 0), one()) as (live, running):
        refresh_all(running)
        for name in ("root", "kueue"):
            assert live.get("Application", name)["metadata"]["annotations"][REFRESH] == "normal"
