"""How far an Application is on its way, and why it does not get on, from what Argo CD v3.5.3 writes."""

from typing import Any

import pytest

from generator.live.applications import application
from generator.live.sync.arrival import Stage, stage
from generator.live.why import why

OLD, NEW, NEWER = "a" * 40, "b" * 40, "c" * 40
Object = dict[str, Any]


def state(phase: str, asked: str, *, brought: str = "", message: str = "", tries: int = 0) -> Object:
    found: Object = {
        "phase": phase,
        "message": message,
        "operation": {"sync": {"revision": asked}},
        "retryCount": tries,
    }
    return found | ({"syncResult": {"revision": brought}} if brought else {})


def one(
    *,
    name: str = "rook-ceph",
    operation: Object | None = None,
    sync: str = "Synced",
    at: str = NEW,
    health: str = "Healthy",
) -> Object:
    busy = (operation or {}).get("phase") in {"Running", "Terminating"}
    return {
        "metadata": {"name": name},
        **({"operation": {}} if busy else {}),
        "status": {
            "sync": {"status": sync, "revision": at},
            "health": {"status": health},
            **({"operationState": operation} if operation else {}),
        },
    }


CASES = [
    ("there already", one(), Stage.DONE),
    ("there, by a sync", one(operation=state("Succeeded", NEW, brought=NEW)), Stage.DONE),
    ("there, and it failed before", one(operation=state("Failed", OLD)), Stage.BEGIN),
    ("elsewhere", one(sync="OutOfSync", operation=state("Succeeded", OLD, brought=OLD)), Stage.BEGIN),
    ("never synced", one(sync="OutOfSync"), Stage.BEGIN),
    ("applied, and differs", one(sync="OutOfSync", operation=state("Succeeded", NEW, brought=NEW)), Stage.DIFFERS),
    ("pods not ready", one(health="Progressing"), Stage.WAIT),
    ("nothing there yet", one(health="Missing"), Stage.WAIT),
    ("broken", one(health="Degraded"), Stage.DEGRADED),
    ("root, which holds something broken", one(name="root", health="Degraded"), Stage.DONE),
    ("stopped by somebody", one(health="Suspended"), Stage.DONE),
    ("failed", one(sync="OutOfSync", operation=state("Failed", NEW)), Stage.FAILED),
    ("at work", one(sync="OutOfSync", operation=state("Running", NEW)), Stage.WAIT),
    ("tried again", one(sync="OutOfSync", operation=state("Running", NEW, tries=2)), Stage.WAIT),
    ("tried for ever", one(sync="OutOfSync", operation=state("Running", NEW, tries=5)), Stage.FAILED),
    ("newest taken with each try", one(operation=state("Running", "", brought=NEW)), Stage.WAIT),
    ("older, at work", one(operation=state("Running", OLD)), Stage.WAIT),
    ("older, again and again", one(operation=state("Running", OLD, tries=1)), Stage.OLD),
    ("root, older", one(name="root", operation=state("Running", OLD)), Stage.OLD),
    ("somebody pushed meanwhile", one(name="root", at=NEWER, operation=state("Running", NEWER)), Stage.WAIT),
    ("being ended", one(operation=state("Terminating", OLD)), Stage.WAIT),
    (
        "a person's word",
        one(operation=state("Running", NEW, message="waiting for pruning confirmation of /Pod/x")),
        Stage.CONFIRM,
    ),
    (
        "an older one waits for a word",
        one(operation=state("Running", OLD, message="waiting for pruning confirmation of /Pod/x")),
        Stage.OLD,
    ),
    ("a window", one(operation=state("Running", NEW, message="Sync operation blocked by sync window")), Stage.BLOCKED),
]


@pytest.mark.parametrize(("_name", "manifest", "expected"), CASES, ids=[name for name, _, _ in CASES])
def test_stage(_name: str, manifest: Object, expected: Stage) -> None:
    assert stage(application(manifest), NEW, newest=True)[0] is expected


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        (one(sync="OutOfSync", at=NEWER, operation=state("Succeeded", NEW, brought=NEW)), Stage.DONE),
        (one(sync="Synced", at=NEWER), Stage.BEGIN),
        (one(sync="OutOfSync", at=NEWER, operation=state("Succeeded", NEWER, brought=NEWER)), Stage.BEGIN),
    ],
)
def test_stage_on_the_way_to_an_older_commit(manifest: Object, expected: Stage) -> None:
    assert stage(application(manifest), NEW, newest=False)[0] is expected


def test_why_names_what_the_server_refused_before_what_argo_cd_says_of_it() -> None:
    manifest = one(sync="OutOfSync", operation=state("Failed", NEW, message="one or more objects failed to apply"))
    refused = {"kind": "Job", "namespace": "a", "name": "b", "status": "SyncFailed", "message": "field is immutable"}
    manifest["status"]["operationState"]["syncResult"] = {"resources": [refused, {"kind": "Pod", "status": "Synced"}]}
    assert why(application(manifest)) == "Job a/b: field is immutable; one or more objects failed to apply"


def test_why_names_objects_that_are_not_well_and_conditions() -> None:
    manifest = one(health="Degraded")
    manifest["status"]["resources"] = [
        {"kind": "Deployment", "namespace": "a", "name": "b", "health": {"status": "Degraded", "message": "no\nimage"}},
        {"kind": "Service", "namespace": "a", "name": "b", "health": {"status": "Healthy"}},
    ]
    manifest["status"]["conditions"] = [
        {"type": "ComparisonError", "message": "Git is away"},
        {"type": "SharedResourceWarning", "message": "shared"},
    ]
    assert why(application(manifest)) == "ComparisonError: Git is away; Deployment a/b Degraded: no image"
