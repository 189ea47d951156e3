"""The backup's WorkflowTemplate: its steps in order, whose scripts and settings fit each other."""

import re
from typing import Any

import pytest
from msgspec import structs

from generator.components.workflows.backup import COMPARER, scripts, workflow_template
from generator.components.workflows.scheduled import cron_workflow
from generator.components.workflows.targets import WAY
from generator.model.cluster import Cluster

TEMPLATE, SCRIPTS = workflow_template(), scripts()
SHARED = "".join(SCRIPTS["data"][f"{name}.sh"] for name in ("buckets", "client", "guard"))
SCRIPT = SCRIPTS["data"]["backup.sh"] + SHARED + SCRIPTS["data"]["ready.sh"]
KEEP = SCRIPTS["data"]["keep.sh"] + SHARED
PHASES = ("precheck", "mirror", "verify", "record")
ALL = (*PHASES, "keep")
COMPARE = SCRIPTS["data"]["compare.sh"]
SPEC: dict[str, Any] = TEMPLATE["spec"]
STEPS = {one["name"]: one for one in SPEC["templates"]}


def test_the_steps_are_the_scripts_phases_in_order() -> None:
    order = [step["template"] for group in STEPS["backup"]["steps"] for step in group]
    assert order == ["precheck", "mirror", "verify", "compare", "record", "keep"]
    assert f'{" | ".join(PHASES)}) "$1"' in SCRIPT
    assert [STEPS[phase]["container"]["args"] for phase in ALL] == [[phase] for phase in ALL]


def test_nothing_is_kept_where_the_file_has_nobody_who_does() -> None:
    (keep,) = STEPS["backup"]["steps"][-1]
    assert keep["when"] == "'{{workflow.parameters.retention-secret}}' != 'none'"
    given = {one["name"]: one.get("value") for one in SPEC["arguments"]["parameters"]}
    assert (given["retention-secret"], given["lock-days"]) == ("none", "")


def test_the_script_gets_every_variable_it_reads_and_no_other() -> None:
    read, kept = (
        set(re.findall(r"\$\{?([A-Z][A-Z_]+)", one)) - {"BASH_REMATCH", "BASH_SOURCE"} for one in (SCRIPT, KEEP)
    )
    assert {one["name"] for one in STEPS["keep"]["container"]["env"]} - {"HOME", *WAY.values()} == kept
    counted = {"OBJECTS", "BYTES", "MOVING", "SAMPLED", "LISTED"}
    # mc reads HOME, the way to a service elsewhere, and how fast it may be.
    of_mc = {"HOME", *WAY.values(), "MC_LIMIT_DOWNLOAD"}
    for phase in PHASES:
        given = {variable["name"] for variable in STEPS[phase]["container"]["env"]}
        assert given - of_mc == (read if phase == "record" else read - counted)


def test_another_program_compares_only_where_it_is_asked_for_and_before_anything_is_recorded() -> None:
    (step,) = STEPS["backup"]["steps"][3]
    assert step["when"] == "'{{workflow.parameters.compare-percent}}' != 'none'"
    given = {one["name"]: one.get("value") for one in SPEC["arguments"]["parameters"]}
    assert given["compare-percent"] == "none"
    container = STEPS["compare"]["container"]
    assert container["image"] == COMPARER
    assert container["command"] == ["sh", "/scripts/compare.sh"]
    variables = {one["name"] for one in container["env"]}
    own = set(re.findall(r"\$\{?([A-Z][A-Z_]+)", COMPARE))
    assert variables - {"HOME", "SSL_CERT_DIR", *WAY.values()} == own | {
        f"RCLONE_CONFIG_{side}_{name}"
        for side in ("SOURCE", "TARGET")
        for name in ("TYPE", "PROVIDER", "ENDPOINT", "ACCESS_KEY_ID", "SECRET_ACCESS_KEY")
    } | {"RCLONE_CONFIG_TARGET_REGION"}
    for verb in ("copy", "sync", "move", "delete", "purge", "rcat", "cleanup"):
        assert f"rclone {verb}" not in COMPARE


def test_the_script_is_the_one_that_is_mounted_and_run() -> None:
    container = STEPS["mirror"]["container"]
    (volume,) = [one for one in SPEC["volumes"] if one["name"] == "scripts"]
    (mount,) = [one for one in container["volumeMounts"] if one["name"] == "scripts"]
    assert volume["configMap"]["name"] == SCRIPTS["metadata"]["name"]
    assert container["command"][1] == f"{mount['mountPath']}/{next(iter(SCRIPTS['data']))}"


def test_mounts_have_volumes_and_what_is_written_is_writable() -> None:
    volumes = {one["name"]: one for one in SPEC["volumes"]}
    for phase in ALL:
        container = STEPS[phase]["container"]
        assert {mount["name"] for mount in container["volumeMounts"]} == volumes.keys()
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        written = {one["value"] for one in container["env"] if one["name"] in ("WORK", "HOME", "MC_CONFIG_DIR")}
        empty = {m["mountPath"] for m in container["volumeMounts"] if "emptyDir" in volumes[m["name"]]}
        assert written == empty
    assert volumes["client"]["emptyDir"]["medium"] == "Memory"


def test_what_verify_counts_is_what_record_writes() -> None:
    counted = {one["name"]: one["valueFrom"]["path"] for one in STEPS["verify"]["outputs"]["parameters"]}
    (names,) = re.findall(r"for name in ([a-z ]+); do printf", SCRIPT)
    assert counted == {name: f"/work/{name}" for name in names.split()}
    assert [one["name"] for one in STEPS["record"]["inputs"]["parameters"]] == list(counted)
    (step,) = STEPS["backup"]["steps"][-2]
    assert {one["name"] for one in step["arguments"]["parameters"]} == counted.keys()


@pytest.mark.parametrize("phase", ALL)
def test_trouble_is_tried_again_and_a_verdict_is_not(phase: str) -> None:
    strategy = STEPS[phase]["retryStrategy"]
    assert strategy["expression"] == "asInt(lastRetry.exitCode) != 2"
    assert "verdict() {" in SCRIPT
    assert re.search(r"verdict\(\) \{.* exit 2; \}", SCRIPT)
    assert re.search(r"trouble\(\) \{.* exit 1; \}", SCRIPT)


def test_one_backup_never_runs_twice_at_once() -> None:
    assert SPEC["synchronization"]["mutexes"] == [{"name": "backup-{{workflow.parameters.name}}"}]


def test_nothing_is_deleted_and_nothing_unsafe_is_asked_of_mc() -> None:
    (mirror,) = re.findall(r"mc --json mirror .*", SCRIPT)
    assert {"--overwrite", "--retry", "--skip-errors", '"${check[@]}"'} <= set(mirror.split())
    assert {"check=(--checksum CRC32C)", "check=(--md5)"} <= set(re.findall(r"check=\(.*\)", SCRIPT))
    for flag in ("--remove", "--watch", "--insecure", "--active-active", "mc rm", "mc rb"):
        assert flag not in SCRIPT


def test_what_is_hidden_keeps_its_versions_and_its_pod_no_key_that_writes() -> None:
    (hides,) = re.findall(r"mc (?:--json )?r[mb] .*", KEEP)
    assert hides.startswith('mc --json rm "$@" >')
    (locks,) = re.findall(r"retention set (.*) >", KEEP)
    assert locks.split()[:2] == ["--recursive", "compliance"]
    for flag in ("--versions", "--version-id", "--force", "--purge", "--bypass", "--dangerous"):
        assert flag not in KEEP
    given = STEPS["keep"]["container"]["env"]
    assert {one["valueFrom"]["secretKeyRef"]["name"] for one in given if "valueFrom" in one} == {
        "{{workflow.parameters.source-secret}}",
        "{{workflow.parameters.retention-secret}}",
    }


def test_the_image_is_pinned_by_digest() -> None:
    assert {STEPS[phase]["container"]["image"].partition("@")[2][:7] for phase in ALL} == {"sha256:"}


def test_keys_come_from_secrets() -> None:
    for variable in [*STEPS["mirror"]["container"]["env"], *STEPS["keep"]["container"]["env"]]:
        if variable["name"].endswith("_KEY"):
            assert "secretKeyRef" in variable["valueFrom"]


def test_names_of_days_are_told_to_no_cron_workflow(ml50: Cluster) -> None:
    """Its CRD refuses them (Argo Workflows v4.0.2)."""
    weekly = structs.replace(ml50.backups[0], schedule="0 2 * * sun")
    assert cron_workflow(weekly, "a", {}, {})["spec"]["schedules"] == ["0 2 * * 0"]
