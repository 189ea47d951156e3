"""What a Workflow tells of itself, as steps; what can be run, and how a run is asked for."""

import re
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs

from generator.day2.workflows.operations import Operation, Parameter, chosen, of_template, operations, run_of
from generator.day2.workflows.runs import Step, run
from generator.day2.workflows.submitting import again, begin
from generator.day2.workflows.text import changes, lasted, listed, operation, tree
from generator.errors import UsageError

NOW = datetime(2026, 6, 1, 12, 0, 0, tzinfo=UTC)
BACKUP = Operation(
    name="backup-data",
    namespace="ops",
    template="backup",
    parameters=(Parameter("name", "data"), Parameter("shrink-percent", "20")),
    labels={"gen.internal/backup": "data"},
    more={"tolerations": [{"operator": "Exists"}]},
    schedule="0 1 * * *",
)
TEMPLATE = Operation(
    name="backup",
    namespace="ops",
    template="backup",
    parameters=(Parameter("name", None), Parameter("shrink-percent", "20")),
    labels={},
)


def node(kind: str, phase: str, boundary: str = "", **more: Any) -> dict[str, Any]:
    return {"type": kind, "phase": phase, "boundaryID": boundary, "startedAt": "2026-06-01T11:00:00Z", **more}


def workflow(nodes: dict[str, Any], **status: Any) -> dict[str, Any]:
    metadata = {"name": "run-1", "namespace": "ops", "creationTimestamp": "2026-06-01T11:00:00Z"}
    spec = {"workflowTemplateRef": {"name": "backup"}, "arguments": {"parameters": [{"name": "name", "value": "data"}]}}
    return {"metadata": metadata, "spec": spec, "status": {"nodes": nodes, **status}}


# The shape of what Argo Workflows v4.0.2 wrote of a backup: each step is tried again, in groups that follow each other.
NODES = {
    "run-1": node("Steps", "Running", displayName="run-1", children=["g0"]),
    "g0": node("StepGroup", "Succeeded", "run-1", displayName="[0]", children=["first"]),
    "first": node("Retry", "Succeeded", "run-1", displayName="first", children=["first-0", "first-1"]),
    "first-0": node("Pod", "Failed", "run-1", displayName="first(0)", message="Error (exit code 1)"),
    "first-1": node("Pod", "Succeeded", "run-1", displayName="first(1)", children=["g1"]),
    "g1": node("StepGroup", "Running", "run-1", displayName="[1]", children=["second"]),
    "second": node(
        "Retry", "Running", "run-1", displayName="second", children=["second-0"], startedAt="2026-06-01T11:10:00Z"
    ),
    "second-0": node("Pod", "Pending", "run-1", displayName="second(0)", message="Unschedulable: too big"),
}


def test_a_schedule_knows_what_is_run_of_it_by_hand_and_once_more() -> None:
    """Argo Workflows then begins no second run beside it, which would wait at the head of the queue for its target."""
    template = {"metadata": {"name": "backup", "namespace": "ops"}, "spec": {}}
    spec = {"schedules": ["0 1 * * *"], "workflowSpec": {"workflowTemplateRef": {"name": "backup"}}}
    schedule = {"metadata": {"name": "backup-data", "namespace": "ops", "uid": "u1"}, "spec": spec}
    made: list[dict[str, Any]] = []

    def create(workflow: dict[str, Any], **_: bool) -> dict[str, Any]:
        made.append(workflow)
        return {**workflow, "metadata": workflow["metadata"] | {"name": "data-x"}, "status": {"phase": "Failed"}}

    way: Any = SimpleNamespace(
        templates=lambda _: [template], schedules=lambda _: [schedule], template=lambda *_: template, create=create
    )
    begun = begin(way, run_of(chosen(operations(way, ["ops"]), "backup-data"), {}))
    again(way, begun, {})
    begin(way, run_of(chosen(operations(way, ["ops"]), "backup"), {}))
    labels = [one["metadata"]["labels"].get("workflows.argoproj.io/cron-workflow") for one in made]
    assert labels == ["backup-data", "backup-data", None]
    owners = [[one["uid"] for one in each["metadata"].get("ownerReferences", ())] for each in made]
    assert owners == [["u1"], ["u1"], []]


def test_groups_are_left_out_and_tries_lie_below_their_step() -> None:
    found = run(workflow(NODES, phase="Running", progress="2/3"))
    assert [one.name for one in found.steps] == ["first", "second"]
    assert [one.name for one in found.steps[0].steps] == ["first(0)", "first(1)"]
    assert (found.template, found.parameters, found.ended) == ("backup", {"name": "data"}, False)


def test_a_tree_tells_why_something_waits() -> None:
    assert list(tree(run(workflow(NODES, phase="Running", progress="2/3", startedAt="2026-06-01T11:00:00Z")), NOW)) == [
        "run-1 Running, 2/3 steps, 60 min",
        "  ✔ first 60 min Succeeded",
        "    ✖ first(0) 60 min Failed: Error (exit code 1)",
        "    ✔ first(1) 60 min Succeeded",
        "  ● second 50 min Running",
        "    ◌ second(0) 60 min Pending: Unschedulable: too big",
    ]


def test_only_what_is_otherwise_than_before_is_told() -> None:
    before = run(workflow(NODES, phase="Running"))
    assert list(changes(before, before)) == []
    after = run(workflow({**NODES, "second-0": {**NODES["second-0"], "message": "no node"}}, phase="Running"))
    assert list(changes(before, after)) == ["◌ second(0) Pending: no node"]


@pytest.mark.parametrize(
    "nodes",
    [
        {"run-1": {}, "a": None, "b": [], "c": {"children": "x", "boundaryID": 3}},
        {"a": node("Retry", "Running", "run-1", children=["a"]), "b": node("Steps", "Running", "b", children=["a"])},
        {"a": node("DAG", "Running", "b"), "b": node("DAG", "Running", "a")},
    ],
)
def test_whatever_a_status_holds_is_read(nodes: dict[str, Any]) -> None:
    list(tree(run(workflow(nodes)), NOW))


def test_a_workflow_of_one_pod_is_a_step_itself() -> None:
    found = run(workflow({"run-1": node("Pod", "Running", displayName="run-1")}))
    assert [(one.name, one.pod) for one in found.steps] == [("run-1", True)]


def test_an_exit_handler_is_told_behind_the_steps() -> None:
    handler = node("Pod", "Running", displayName="run-1.onExit")
    found = run(workflow({**NODES, "exit": handler}))
    assert [one.name for one in found.steps] == ["first", "second", "run-1.onExit"]


def test_a_run_of_a_schedule_has_all_that_the_schedule_says() -> None:
    made = run_of(BACKUP, {"shrink-percent": "100"})
    assert made["metadata"]["generateName"] == "backup-data-"
    assert made["metadata"]["labels"] == {"gen.internal/backup": "data"}
    assert made["spec"] == {
        "tolerations": [{"operator": "Exists"}],
        "workflowTemplateRef": {"name": "backup"},
        "arguments": {
            "parameters": [{"name": "name", "value": "data"}, {"name": "shrink-percent", "value": "100"}],
        },
    }


def test_a_run_says_what_it_was_told_and_what_its_template_says_of_the_rest() -> None:
    made = run_of(TEMPLATE, {"name": "data"})
    assert made["spec"]["arguments"]["parameters"] == [
        {"name": "name", "value": "data"},
        {"name": "shrink-percent", "value": "20"},
    ]


@pytest.mark.parametrize(
    ("operation", "given", "said"),
    [
        (TEMPLATE, {}, "backup does not know name: say -p name=..."),
        (TEMPLATE, {"name": " "}, "backup does not know name: say -p name=..."),
        (BACKUP, {"shrink-percen": "1"}, "backup-data has no parameter shrink-percen; did you mean"),
        (BACKUP, {"zzz": "1"}, "backup-data has no parameter zzz; it has name, shrink-percent"),
    ],
)
def test_what_cannot_be_run_is_told(operation: Operation, given: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError) as error:
        run_of(operation, given)
    assert said in str(error.value)


def test_a_name_is_found_and_a_wrong_one_answered() -> None:
    assert chosen([BACKUP, TEMPLATE], "backup") is TEMPLATE
    with pytest.raises(UsageError, match="did you mean backup-data"):
        chosen([BACKUP, TEMPLATE], "backup-dat")
    with pytest.raises(UsageError, match="sync it first"):
        chosen([], "backup")
    twice = [BACKUP, TEMPLATE, structs.replace(TEMPLATE, namespace="elsewhere")]
    with pytest.raises(UsageError, match=r"no operation zzz; there are backup-data, backup$"):
        chosen(twice, "zzz")


def test_what_can_be_run_and_what_ran_are_listed() -> None:
    runs = [run(workflow(NODES, phase="Running", progress="2/3", startedAt="2026-06-01T11:00:00Z"))]
    assert list(listed([TEMPLATE, BACKUP], runs, NOW)) == [
        "operation    namespace  schedule   what it does  must be given",
        "backup       ops        -          -             name",
        "backup-data  ops        0 1 * * *  -",
        "",
        "run    phase    steps  began       took",
        "run-1  Running  2/3    60 min ago  60 min",
    ]


@pytest.mark.parametrize(
    ("seconds", "said"), [(0, "0 s"), (89, "89 s"), (90, "2 min"), (5000, "83 min"), (12000, "3 h 20 min")]
)
def test_lengths_of_time_read_well(seconds: int, said: str) -> None:
    end = datetime.fromtimestamp(NOW.timestamp() + seconds, UTC)
    assert lasted(NOW.isoformat(), end.isoformat(), NOW) == said


def test_a_step_is_plain_data() -> None:
    step = Step(id="a", name="a", phase="Running", message="", started="", finished="", pod=True)
    assert run(workflow({})).data()["steps"] == ()
    assert step.steps == ()


def test_what_an_operation_does_is_shown_and_what_the_cluster_answers_last() -> None:
    does = {"title": "op: Do it", "description": "One node  after\nthe other. docs/operations.md#a"}
    given = [
        {"name": "url", "value": "https://s3", "description": "Of the cluster: where it answers."},
        {"name": "off", "enum": ["no", "yes"], "description": "Whether somebody looked."},
        {"name": "at", "value": "", "description": "A time."},
    ]
    metadata = {"name": "op", "namespace": "n", "annotations": {f"workflows.argoproj.io/{k}": does[k] for k in does}}
    made = of_template({"metadata": metadata, "spec": {"arguments": {"parameters": given}}})
    assert list(operation(made)) == [
        "op: runs op in namespace n",
        "  Do it. One node after the other. docs/operations.md#a",
        "  off (must be given)",
        "    one of no, yes",
        "    Whether somebody looked.",
        "  at (empty)",
        "    A time.",
        "of the cluster, seldom given:",
        "  url = https://s3",
        "    where it answers.",
        "next: gen workflow submit op -p off=...",
    ]
    assert next(one for one in listed([made], [], NOW) if one.startswith("op ")).endswith("  Do it         off")


def test_a_value_that_is_none_of_the_choices_is_refused_with_the_nearest() -> None:
    template = {
        "metadata": {"name": "mlperf", "namespace": "mlperf-benchmark"},
        "spec": {"arguments": {"parameters": [{"name": "benchmark", "enum": ["bert-offline", "bert-server"]}]}},
    }
    operation = of_template(template)
    with pytest.raises(UsageError, match="must be one of bert-offline, bert-server; did you mean bert-offline"):
        run_of(operation, {"benchmark": "bert-ofline"})
    with pytest.raises(UsageError, match=r"mlperf: benchmark is x, and must be one of bert-offline, bert-server$"):
        run_of(operation, {"benchmark": "x"})
    made = run_of(operation, {"benchmark": "bert-server"})
    assert made["spec"]["arguments"]["parameters"] == [{"name": "benchmark", "value": "bert-server"}]


@pytest.mark.parametrize("value", ["2h", "ten", "-1", "1e3", "nan", " 3600"])
def test_a_value_that_is_no_number_is_refused_where_the_default_is_one(value: str) -> None:
    parameters = [{"name": "node-seconds", "value": "3600"}, {"name": "pools", "value": ""}]
    metadata = {"name": "kubernetes-upgrade", "namespace": "node-operations"}
    operation = of_template({"metadata": metadata, "spec": {"arguments": {"parameters": parameters}}})
    said = f"kubernetes-upgrade: node-seconds is {value}, and must be a number, as 3600 is by default"
    with pytest.raises(UsageError, match=re.escape(said)):
        run_of(operation, {"node-seconds": value})
    for good in ("0", "7200", "0.5", ""):  # answer-port="" asks for none; what needs a number refuses it
        run_of(operation, {"node-seconds": good, "pools": "cpu"})
