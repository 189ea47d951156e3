"""The restore's WorkflowTemplate: its steps in order, whose script and settings fit each other."""

import re
from typing import Any

import pytest

from generator.components.static import read_text
from generator.components.workflows.backup import scripts, workflow_template
from generator.components.workflows.restore import workflow_template as restore_template
from generator.components.workflows.targets import WAY

GIVEN = {
    name: name
    for name in (
        "name", "backup-url", "backup-bucket", "backup-secret", "live-url", "live-bucket", "live-secret",
        "restore-secret", "room",
    )
}  # fmt: skip
TEMPLATE = restore_template("datasets", "registry/mc:1", GIVEN)
SPEC: dict[str, Any] = TEMPLATE["spec"]
STEPS = {one["name"]: one for one in SPEC["templates"]}
SCRIPT = read_text("workflows/restore.sh")
SHARED = "".join(read_text(f"workflows/{name}.sh") for name in ("records", "buckets", "client"))
PHASES = ("precheck", "copy", "verify", "switch")


def test_the_steps_are_the_scripts_phases_in_order() -> None:
    order = [step["template"] for group in STEPS["restore"]["steps"] for step in group]
    assert order == list(PHASES)
    assert f'{" | ".join(PHASES)}) "$1"' in SCRIPT
    assert [STEPS[phase]["container"]["args"] for phase in PHASES] == [[phase] for phase in PHASES]


def test_the_script_gets_every_variable_it_reads_and_no_other() -> None:
    read = set(re.findall(r"\$\{?([A-Z][A-Z_]+)", SHARED + SCRIPT)) - {"BASH_REMATCH"}
    read.remove("BASH_SOURCE")
    for phase in PHASES:
        given = {variable["name"] for variable in STEPS[phase]["container"]["env"]} - {"HOME", *WAY.values()}
        expected = read - ({"WHEN"} if phase == "precheck" else set())
        # The first step is told who the owner is: whether there will be keys for the switch.
        hidden = {"precheck": {"LIVE_SECRET_KEY"}, "switch": set[str]()}
        assert given == expected - hidden.get(phase, {"LIVE_ACCESS_KEY", "LIVE_SECRET_KEY"})


def test_only_the_switch_has_the_owners_keys_and_runs_where_it_is_asked_for() -> None:
    (step,) = [one for group in STEPS["restore"]["steps"] for one in group if "when" in one]
    assert step["name"] == "switch"
    assert step["when"] == "'{{workflow.parameters.switch}}' != 'none'"
    assert {one["name"]: one.get("value") for one in SPEC["arguments"]["parameters"]}["switch"] == "none"


def test_what_the_first_step_chose_is_told_to_the_others() -> None:
    (chosen,) = STEPS["precheck"]["outputs"]["parameters"]
    assert (chosen["name"], chosen["valueFrom"]["path"]) == ("when", "/work/when")
    assert 'printf \'%s\' "$WHEN" >"$WORK/when"' in SCRIPT
    for phase in PHASES[1:]:
        assert STEPS[phase]["inputs"] == {"parameters": [{"name": "when"}]}
    for group in STEPS["restore"]["steps"][1:]:
        for step in group:
            (given,) = step["arguments"]["parameters"]
            assert given == {"name": "when", "value": "{{steps.precheck.outputs.parameters.when}}"}


def test_its_pods_are_as_the_backups_and_read_their_scripts() -> None:
    backup = workflow_template()["spec"]
    assert (SPEC["volumes"], SPEC["securityContext"]) == (backup["volumes"], backup["securityContext"])
    assert {"restore.sh", "records.sh", "buckets.sh", "client.sh"} <= scripts()["data"].keys()
    for phase in PHASES:
        container = STEPS[phase]["container"]
        assert {mount["name"] for mount in container["volumeMounts"]} == {one["name"] for one in SPEC["volumes"]}
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["image"] == "registry/mc:1"


@pytest.mark.parametrize("phase", PHASES)
def test_trouble_is_tried_again_and_a_verdict_is_not(phase: str) -> None:
    assert STEPS[phase]["retryStrategy"]["expression"] == "asInt(lastRetry.exitCode) != 2"


def test_two_restores_of_a_bucket_wait_for_each_other() -> None:
    assert SPEC["synchronization"]["mutexes"] == [{"name": "restore-{{workflow.parameters.live-bucket}}"}]


def test_nothing_is_deleted() -> None:
    for flag in ("--remove", "--watch", "--insecure", "--active-active", "mc rm", "mc rb", "--overwrite"):
        assert flag not in SCRIPT
