"""The waves after a bootstrap: whom they wait for, and how that is told."""

from pathlib import Path
from typing import Any

import pytest
from livecluster import living

from generator.live import api
from generator.live.applications import REFRESH, application
from generator.live.bootstrap import waves as bootstrap_waves
from generator.live.bootstrap.waves import LateError, refresh_all, waits_for, watch

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
        watch(running, {"kueue", "queues"}, told.append, 60.0)
    assert told == [
        "root: Synced Progressing",
        "wave 1, kueue: Synced Progressing",
        "wave 1, kueue: synced and healthy",
        "wave 2, queues: synced and healthy",
        "root: synced and healthy",
    ]


DENIED = {
    "apiVersion": "argoproj.io/v1alpha1",
    "kind": "AppProject",
    "metadata": {"name": "scheduling", "namespace": "argocd"},
    "spec": {
        "syncWindows": [{"kind": "deny", "schedule": "* * * * *", "duration": "1h", "applications": ["*"]}],
    },
}


def late(manifest: dict[str, Any], project: str = "scheduling") -> dict[str, Any]:
    """Return an Application that Argo CD would bring to what Git says."""
    manifest["spec"]["project"] = project
    manifest["status"]["sync"] = {"status": "OutOfSync"}
    return manifest


def test_a_window_that_is_in_the_way_is_told_where_argo_cd_says_nothing(tmp_path: Path) -> None:
    told: list[str] = []
    apps = (one("root", 0), late(one("kueue", 1)), late(one("volcano", 1), "other"))
    with living(tmp_path, DENIED, *apps) as (_, running), pytest.raises(LateError):
        watch(running, {"kueue", "volcano"}, told.append, 0.0)
    (kueue,) = (line for line in told if "kueue" in line)
    assert "the window deny `* * * * *` UTC for 1h of project scheduling is open; no end is in sight" in kueue
    assert not any("window" in line for line in told if "volcano" in line)


def test_a_window_that_cannot_be_read_is_in_the_way_too(tmp_path: Path) -> None:
    told: list[str] = []
    broken = {**DENIED, "spec": {"syncWindows": [{"kind": "deny", "schedule": "x", "duration": "1h"}]}}
    with living(tmp_path, broken, late(one("kueue", 1))) as (_, running), pytest.raises(LateError):
        watch(running, {"kueue"}, told.append, 0.0)
    assert any("cannot be read" in line and "mend it in Git" in line for line in told)


def test_what_is_suspended_is_named() -> None:
    held = one(health={"status": "Suspended"}, resources=[resource(kind="Job", health={"status": "Suspended"})])
    words = waits_for(application(held))
    assert words == "Synced Suspended: Job a/b is suspended, and later waves wait until somebody resumes that"


def test_a_watch_that_lasts_too_long_says_what_it_waits_for_and_that_it_can_go_on(tmp_path: Path) -> None:
    progressing = {"status": "Progressing", "message": "waits for a node"}
    apps = (one("root", 0, health=progressing), *(one(f"a{n}", 1, health=progressing) for n in range(6)), one("fine"))
    expected = {"fine", "unmade", *(f"a{n}" for n in range(6))}
    with living(tmp_path, *apps) as (_, running), pytest.raises(LateError) as caught:
        watch(running, expected, lambda _: None, 0.0)
    text = str(caught.value)
    assert "within 1 minute" in text
    assert text.count("waits for a node") == 5
    assert "and 3 more" in text
    assert "root" not in text
    assert "the same command goes on watching" in text
    assert caught.value.exit_code == 1


def test_a_server_that_is_away_for_a_while_does_not_end_the_watch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "STEP", 0.0)
    told: list[str] = []
    with living(tmp_path, one("root", 0), one("kueue", 1)) as (live, running):
        live.refuses["GET .*/applications"] = (503, "ServiceUnavailable", "starting")
        monkeypatch.setattr(bootstrap_waves, "POLL", 0.0)

        def tick(_: float) -> None:
            if len(live.asked) > 12:
                live.refuses.clear()

        monkeypatch.setattr("time.sleep", tick)
        watch(running, {"kueue"}, told.append, 60.0)
        assert sum("looking again until it answers" in line for line in told) == 1
        assert told[-1] == "wave 1, kueue: synced and healthy"
        live.refuses["GET .*/applications"] = (503, "ServiceUnavailable", "gone")
        monkeypatch.setattr("time.sleep", lambda _: None)
        with pytest.raises(api.AwayError, match="is busy"):
            watch(running, {"kueue"}, told.append, 0.0)


def test_one_that_is_not_made_yet_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    with living(tmp_path, one("root", 0)) as (live, running):
        monkeypatch.setattr("time.sleep", lambda _: live.add(one("kueue", 1)))
        watch(running, {"kueue"}, told.append, 60.0)
    assert told[-1] == "wave 1, kueue: synced and healthy"


def test_all_that_are_there_are_compared_anew(tmp_path: Path) -> None:
    with living(tmp_path, one("root", 0), one()) as (live, running):
        refresh_all(running)
        for name in ("root", "kueue"):
            assert live.get("Application", name)["metadata"]["annotations"][REFRESH] == "normal"
