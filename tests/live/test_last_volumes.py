"""The last good backup of a volume, by what VolSync writes to the status of its object."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import volumebackups
from msgspec import structs
from reference import load

from generator.components.volsync.drills import workflow_template
from generator.components.workflows.scheduled import DRILL, label
from generator.live.status.last_backups import LastBackup
from generator.live.status.last_volumes import last_volumes
from generator.model.backup import Drill, VolumeBackup

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
REMEDY = "bring back what is lost while the backups before it are kept"
NIGHTLY = structs.replace(volumebackups.NIGHTLY, name="home")


def ago(hours: float) -> str:
    return (NOW - timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")


def told(status: dict[str, Any] | None, backup: VolumeBackup = NIGHTLY, *drills: dict[str, Any]) -> LastBackup:
    source = {"metadata": {"name": "home", "namespace": "vision"}, "status": status}
    cluster = structs.replace(load("ml50"), volume_backups=(backup,))
    (found,) = last_volumes(cluster, [] if status is None else [source], drills, NOW)
    return found


def test_the_last_good_run_and_the_one_that_runs() -> None:
    found = told({"lastSyncTime": ago(12), "lastSyncStartTime": ago(0.5)})
    assert (found.copy.good, found.copy.running, found.copy.causes) == (ago(12), ago(0.5), ())


@pytest.mark.parametrize(
    ("status", "why"),
    [
        (None, "there is no ReplicationSource home in namespace vision"),
        ({}, "no run was good yet"),
        ({"lastSyncTime": ago(49)}, "its last good run ended 49 hours ago, and it should run by `0 0 * * *`"),
        (
            {
                "lastSyncTime": ago(12),
                "latestMoverStatus": {"result": "Failed", "logs": "restic\nERROR: incorrect password\n\n"},
            },
            "its last mover failed: ERROR: incorrect password",
        ),
        *(
            (
                {"lastSyncTime": ago(12), "latestMoverStatus": {"result": "Successful", "logs": f"opened\n{said}\n"}},
                f"its last run found no file in claim home: {REMEDY}",
            )
            for said in ("== Directory is empty skipping backup ===", "processed 0 files, 0 B in 0:00")
        ),
        (
            {
                "lastSyncTime": ago(12),
                "conditions": [{"type": "Synchronizing", "reason": "Error", "message": "no snapshot class"}],
            },
            "VolSync says: no snapshot class",
        ),
    ],
)
def test_what_is_wrong_is_told_with_where_to_look(status: dict[str, Any] | None, why: str) -> None:
    (cause,) = told(status).copy.causes
    assert cause.why == why
    assert cause.command == "kubectl describe replicationsource home --namespace vision"


def test_a_run_with_files_is_well() -> None:
    said = "processed 10 files, 3.2 GiB in 0:05\nsnapshot 2f1 saved\nRestic completed in 8s"
    assert not told({"lastSyncTime": ago(12), "latestMoverStatus": {"result": "Successful", "logs": said}}).copy.causes


def test_what_rests_is_said_to_rest() -> None:
    (cause,) = told({}, structs.replace(NIGHTLY, suspended=True)).copy.causes
    assert cause.why == "it is suspended in the cluster file"


def drilled(hours: float, phase: str) -> dict[str, Any]:
    metadata = {"name": "drill-home-1", "creationTimestamp": ago(hours), "labels": {label(DRILL): "home"}}
    return {"metadata": metadata, "status": {"phase": phase, "message": "main: Error (exit code 2)"}}


def test_the_last_good_drill_is_told_beside_the_backup() -> None:
    found = told({"lastSyncTime": ago(12)}, NIGHTLY, drilled(170, "Succeeded"), drilled(400, "Failed")).drill
    assert found
    assert (found.good, found.causes) == (ago(170), ())


@pytest.mark.parametrize(
    ("drills", "why"),
    [
        ([drilled(170, "Succeeded"), drilled(2, "Failed")], "its last run failed: main: Error (exit code 2)"),
        ([drilled(337, "Succeeded")], "its last good run began 337 hours ago, and it should run by `30 12 * * 0`"),
        ([], "no run of the last 28 days was good"),
    ],
)
def test_a_drill_that_failed_or_did_not_come_is_told(drills: list[dict[str, Any]], why: str) -> None:
    found = told({"lastSyncTime": ago(12)}, NIGHTLY, *drills)
    assert [cause.why for cause in found.causes] == [why]
    assert found.causes[0].command.startswith("gen workflow ")


def test_the_drill_rests_where_the_file_says_so() -> None:
    found = told({"lastSyncTime": ago(12)}, structs.replace(NIGHTLY, drill=Drill(suspended=True))).drill
    assert found
    assert [cause.why for cause in found.causes] == ["it is suspended in the cluster file"]


def test_drills_are_kept_for_as_long_as_they_are_looked_for() -> None:
    assert workflow_template("image")["spec"]["ttlStrategy"]["secondsAfterCompletion"] == 28 * 86400
