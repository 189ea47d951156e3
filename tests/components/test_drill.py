"""The drill's WorkflowTemplate: its two steps, whose script and settings fit each other."""

import re
from typing import Any

import pytest

from generator.checks.schedules import DRILL_MOST
from generator.components.static import read_text
from generator.components.workflows.backup import scripts
from generator.components.workflows.backup import workflow_template as backup_template
from generator.components.workflows.drill import GOOD, NEWEST, workflow_template
from generator.components.workflows.targets import WAY
from generator.model.quantity import Quantity

SPEC: dict[str, Any] = workflow_template()["spec"]
STEPS = {one["name"]: one for one in SPEC["templates"]}
SCRIPT = read_text("workflows/drill.sh")
SHARED = "".join(read_text(f"workflows/{name}.sh") for name in ("records", "buckets", "client"))
PHASES = ("prove", "record")
PROVE = {"AT", "READY_SECONDS", "SAMPLE", "SAMPLE_BYTES"}
RECORD = {"STAMP", "OBJECTS", "BYTES", "PROVEN", "UNKNOWN", "SECONDS_TAKEN", "RATE"}
NOT_GIVEN = {"BASH", "BASH_REMATCH", "BASH_SOURCE", "EPOCHREALTIME", "RANDOM", "WHEN"}


def test_the_steps_are_the_scripts_phases_in_order() -> None:
    order = [step["template"] for group in STEPS["drill"]["steps"] for step in group]
    assert order == list(PHASES)
    assert f'{" | ".join(PHASES)}) "$1"' in SCRIPT
    assert [STEPS[phase]["container"]["args"] for phase in PHASES] == [[phase] for phase in PHASES]


def test_the_script_gets_every_variable_it_reads_and_no_other() -> None:
    read = set(re.findall(r"\$\{?([A-Z][A-Z_]+)", SCRIPT + SHARED)) | {"SAMPLE"}
    for phase, others in (("prove", RECORD), ("record", PROVE)):
        given = {one["name"] for one in STEPS[phase]["container"]["env"]} - {"HOME", *WAY.values()}
        assert given == read - NOT_GIVEN - others


def test_what_is_found_is_what_is_recorded() -> None:
    found = {one["name"]: one["valueFrom"]["path"] for one in STEPS["prove"]["outputs"]["parameters"]}
    (names,) = re.findall(r"for name in ([a-z ]+); do printf", SCRIPT)
    assert found == {name: f"/work/{name}" for name in names.split()}
    (step,) = STEPS["drill"]["steps"][-1]
    told = {one["name"]: one["value"] for one in step["arguments"]["parameters"]}
    assert told == {name: f"{{{{steps.prove.outputs.parameters.{name}}}}}" for name in found}
    assert [one["name"] for one in STEPS["record"]["inputs"]["parameters"]] == list(found)


def test_its_pods_are_as_the_backups_and_read_their_scripts() -> None:
    backup = backup_template()["spec"]
    assert (SPEC["volumes"], SPEC["securityContext"]) == (backup["volumes"], backup["securityContext"])
    assert {"drill.sh", "records.sh", "buckets.sh", "client.sh"} <= scripts()["data"].keys()
    for phase in PHASES:
        container = STEPS[phase]["container"]
        assert {mount["name"] for mount in container["volumeMounts"]} == {one["name"] for one in SPEC["volumes"]}
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["image"].partition("@")[2].startswith("sha256:")


def test_the_pod_has_room_for_what_may_be_asked_for() -> None:
    (work,) = [one for one in SPEC["volumes"] if one["name"] == "work"]
    assert Quantity.parse(work["emptyDir"]["sizeLimit"]).value >= 2 * DRILL_MOST


@pytest.mark.parametrize("phase", PHASES)
def test_trouble_is_tried_again_and_a_verdict_is_not(phase: str) -> None:
    assert STEPS[phase]["retryStrategy"]["expression"] == "asInt(lastRetry.exitCode) != 2"


def test_one_backup_is_never_tried_twice_at_once_and_not_for_ever() -> None:
    assert SPEC["synchronization"]["mutexes"] == [{"name": "drill-{{workflow.parameters.name}}"}]
    assert SPEC["activeDeadlineSeconds"] == 12 * 3600


def test_what_alerts_read_is_told_whatever_came_of_it() -> None:
    told = [(one["name"], one["when"].rpartition("status}} ")[2], one["gauge"]["value"]) for one in metrics(SPEC)]
    assert told == [
        (NEWEST.removeprefix("argo_workflows_"), "== Succeeded", "{{workflow.creationTimestamp.s}}"),
        (GOOD.removeprefix("argo_workflows_"), "== Succeeded", "1"),
        (GOOD.removeprefix("argo_workflows_"), "!= Succeeded", "0"),
    ]
    for one in (*metrics(SPEC), *metrics(STEPS["record"])):
        assert one["labels"] == [{"key": "backup", "value": "{{workflow.parameters.name}}"}]


def metrics(of: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = of["metrics"]["prometheus"]
    return found


def test_nothing_is_deleted_and_only_the_record_is_written() -> None:
    for flag in ("--remove", "--watch", "--insecure", "--overwrite", "mc rm", "mc rb", "mc mb", "mirror"):
        assert flag not in SCRIPT
    assert re.findall(r"^.*mc --json cp .*$", SCRIPT, re.MULTILINE) == [
        '  mc --json cp "${which[@]}" "$backup/$name" "$brought" >&2 </dev/null || trouble "cannot read $backup/$name"'
    ]
