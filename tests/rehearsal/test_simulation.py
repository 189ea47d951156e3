"""What a simulation makes of a template, of what it sees, and how it tells it. The play itself is in
tests/real/test_simulate.py.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from generator.errors import UsageError
from generator.rehearsal.simulation.course import Course, Step, drain_seconds, filled, holds
from generator.rehearsal.simulation.simulation import Simulation
from generator.rehearsal.simulation.text import lines
from generator.rehearsal.simulation.timeline import Event, Timeline, What
from generator.rehearsal.simulation.units import UNIT, Unit

Object = dict[str, Any]
ASK = """
import os, pathlib, sys
step = sys.argv[1]
pathlib.Path(os.environ["TOLD"], "osds").write_text("3")
print(step, os.environ.get("NODE"), os.environ.get("STATUS"), os.environ["DRAIN_SECONDS"])
if step == os.environ["NODE"]:
    pathlib.Path(os.environ["LAST_WORDS"]).write_text("it must not go")
    sys.exit(2)
"""


class Plane:
    """As much of a twin's control plane as steps are told."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.address = folder, self
        self.certificate, self.port = folder / "ca", 1
        self.certificate.write_bytes(b"ca")

    def account(self, *_: str) -> Path:
        file = self.folder / "kubeconfig"
        file.write_text(json.dumps({"users": [{"user": {"token": "t"}}]}))
        return file


def step(name: str) -> Object:
    env = [{"name": "NODE", "value": "{{workflow.parameters.node}}"}, {"name": "DRAIN_SECONDS", "value": "3600"}]
    env += [{"name": "STATUS", "value": "{{workflow.status}}"}] if name == "report" else []
    told = [{"name": "osds", "valueFrom": {"path": "/told/osds"}}] if name == "first" else []
    container = {"command": ["python3", "/scripts/ask.py"], "args": [name], "env": env}
    return {"name": name, "container": container, "outputs": {"parameters": told}}


def course(folder: Path, drain: int = 0) -> Course:
    made = folder / "run"
    made.mkdir()
    osds = "{{steps.first.outputs.parameters.osds}}"
    rest = [[{"name": "rest", "template": "rest"}]]
    groups = [[{"name": "first", "template": "first"}], [{"name": "rest", "template": "inner"}]]
    groups += [[{"name": "few", "template": "few", "when": f"{osds} == 0"}]]
    groups += [[{"name": "many", "template": "many", "when": f"{osds} != 0"}]]
    templates = [{"name": "all", "steps": groups}, {"name": "inner", "steps": rest}]
    again = {"name": "again", "template": "report", "when": "'{{steps.report.status}}' != 'Succeeded'"}
    templates += [{"name": "exit", "steps": [[{"name": "report", "template": "report"}], [again]]}]
    templates += [step(name) for name in ("first", "rest", "few", "many", "report")]
    spec = {"entrypoint": "all", "onExit": "exit", "serviceAccountName": "a", "templates": templates}
    template = {"metadata": {"name": "op", "namespace": "n"}, "spec": spec}
    return Course(Plane(folder), template, {"ask.py": ASK}, made, drain)  # type: ignore[arg-type]


def test_steps_run_as_their_template_says_with_short_waits(tmp_path: Path) -> None:
    done = [*course(tmp_path).steps({"node": "n1"})]
    assert [(one.name, one.code) for one in done] == [("first", 0), ("rest", 0), ("many", 0), ("report", 0)]
    assert done[0].said == ("first n1 None 15",)
    assert done[-1].said == ("report n1 Succeeded 15",)


def test_a_full_node_is_waited_for_longer(tmp_path: Path) -> None:
    """Pods go one by one: 41 that nothing held up took 20 s on a busy machine."""
    pods: list[Object] = [{"spec": {"nodeName": node}} for node in ["n1"] * 40 + ["n2"] * 3] + [{"spec": {}}] * 50
    assert [drain_seconds(some) for some in (pods, pods[40:], [])] == [40, 15, 15]
    assert next(course(tmp_path, 40).steps({"node": "n1"})).said == ("first n1 None 40",)


def test_a_step_that_refuses_ends_it_with_its_last_words_and_the_report(tmp_path: Path) -> None:
    done = [*course(tmp_path).steps({"node": "rest"})]
    assert [(one.name, one.code, one.why) for one in done][1:] == [("rest", 2, "it must not go"), ("report", 0, "")]
    assert done[-1].said == ("report rest Failed 15",)


def test_what_needs_another_machine_is_not_played(tmp_path: Path) -> None:
    assert [one.name for one in course(tmp_path).steps({"node": "n1"}, "rest")] == ["first", "rest"]


def test_what_only_argo_knows_is_told_and_not_guessed() -> None:
    assert filled("a-{{workflow.parameters.b}}", {"workflow.parameters.b": "c"}) == "a-c"
    with pytest.raises(UsageError, match=r"asks Argo for pod\.name"):
        filled("{{pod.name}}", {})
    assert holds("'x' != 'none'", {})
    assert not holds("{{a}} == 0", {"a": "1"})


class Twin:
    """As much of a twin as is asked while it is watched."""

    def __init__(self, refusal: str) -> None:
        self.refusal, self.api = refusal, self

    def ask(self, _request: object) -> Any:
        from generator.live.api import Answer

        return Answer(429, {"message": self.refusal}) if self.refusal else Answer(201, {})


WEB = "Deployment team/web"
BROUGHT = Unit(
    named="MPIJob team/train",
    manifest={"metadata": {"labels": {UNIT: "3"}}},
    places={},
    gang=True,
)


def node(*, closed: bool, version: str = "v1.34.0") -> Object:
    spec = {"unschedulable": True} if closed else {}
    return {
        "metadata": {"name": "n1", "uid": "n1"},
        "spec": spec,
        "status": {"nodeInfo": {"kubeletVersion": version}},
    }


def gang(*states: str, active: bool = True) -> Object:
    notes = {} if active else {"gen.internal/stopped-for": "n1"}
    owners = [{"kind": "Job", "name": "train", "uid": "j"}]
    sets = [{"template": {"metadata": {"labels": {UNIT: "3"}}}}]
    return {
        "metadata": {
            "name": "job-train",
            "namespace": "team",
            "uid": "w",
            "ownerReferences": owners,
            "annotations": notes,
        },
        "spec": {"active": active, "queueName": "team", "priority": 7, "podSets": sets},
        "status": {"conditions": [{"type": one, "status": "True", "message": "for another"} for one in states]},
    }


def pod(name: str, load: str = "", **metadata: Any) -> Object:
    notes = {"kueue.x-k8s.io/workload": load} if load else {}
    own = {"name": name, "namespace": "team", "uid": name, "annotations": notes, **metadata}
    return {"metadata": own, "spec": {"nodeName": "n1"}, "status": {"phase": "Running"}}


def watched(refusal: str = "") -> Timeline:
    made = Timeline(Twin(refusal), [BROUGHT])  # type: ignore[arg-type]
    made._nodes = {"n1": node(closed=False)}
    made._loads = {"w": gang("Admitted")}
    made._pods = {name: pod(name, load) for name, load in (("g", "job-train"), ("one", ""))}
    return made


def told(found: Timeline) -> list[tuple[str, ...]]:
    return [(one.what.value, one.node, one.to, one.more) for one in found.end()]


def test_a_node_that_is_emptied_is_told_with_its_gang_under_its_own_name() -> None:
    found = watched()
    found._node("MODIFIED", node(closed=True))
    found._load("MODIFIED", gang(active=False))
    found._pod("MODIFIED", pod("g", "job-train", deletionTimestamp="now"))
    found._pod("MODIFIED", pod("one", deletionTimestamp="now"))
    found._pod("DELETED", pod("one", deletionTimestamp="now"))
    found._load("MODIFIED", gang())
    found._load("MODIFIED", gang("Admitted"))
    found._node("MODIFIED", node(closed=True, version="v1.35.3"))
    found._node("MODIFIED", node(closed=False, version="v1.35.3"))
    assert told(found) == [
        ("cordoned", "n1", "", ""),
        ("gang stopped", "n1", "MPIJob team/train", "queue team, priority 7, 1 pod on n1"),
        ("evicted a pod", "n1", "Pod team/one", ""),
        ("gang queued again", "n1", "MPIJob team/train", "queue team, priority 7"),
        ("gang let in again", "", "MPIJob team/train", ""),
        ("upgraded", "n1", "", "v1.34.0 to v1.35.3"),
        ("takes pods", "n1", "", ""),
    ]


def test_what_a_budget_keeps_on_a_cordoned_node_is_told_once() -> None:
    found = watched("budget web needs 2 healthy pods")
    found.round()
    assert told(found) == [], "nothing is asked of nodes that take pods"
    found._node("MODIFIED", node(closed=True))
    found.round()
    found.round()
    assert told(found)[1:] == [("a budget keeps a pod", "n1", "Pod team/one", "budget web needs 2 healthy pods")]


def test_a_node_that_is_deleted_and_a_gang_that_another_one_ends_are_told() -> None:
    found = watched()
    found._load("MODIFIED", gang("Admitted", "Preempted"))
    found._node("DELETED", node(closed=True))
    assert [one[0] for one in told(found)] == ["gang preempted", "node deleted"]


def simulation(*events: Event, code: int = 0) -> Simulation:
    steps = (Step(name="evict", code=code, why="it is held", said=(), begun=2.0, seconds=1.0),)
    return Simulation(
        cluster="ml50", operation="node-removal", parameters={"node": "n1", "room": ""}, source="that ran at there",
        nodes=50, jobs=3, steps=steps, events=events, assumed=("this",), seconds={"operation": 3.0},
    )  # fmt: skip


def test_it_is_told_in_order_with_what_stands_against_it() -> None:
    gone = [Event(at=4.0 + n, what=What.GONE, node="n1", to=WEB, pod=f"web-{n}") for n in range(5)]
    gone.append(Event(at=9.0, what=What.GONE, node="n1", to="Deployment team/other", pod="other"))
    held = Event(at=3.0, what=What.HELD, node="n1", to=WEB, more="a budget", pod="web-9")
    found = simulation(Event(at=1.0, what=What.CORDONED, node="n1"), held, *gone, code=2)
    assert found.loud
    text = [*lines(found)]
    assert text[0].startswith("ml50: node-removal, on a twin of 50 nodes with 3 jobs that ran at there; nothing was")
    assert text[1] == "  node=n1"
    assert text[3:7] == [
        "    1.0 s    n1           cordoned",
        "    2.0 s  step evict: 1.0 s, FAILED with code 2",
        "    3.0 s    n1           a budget keeps a pod of Deployment team/web: a budget",
        "    4.0 s    n1           6 pods evicted: Deployment team/web (5), Deployment team/other",
    ]
    assert "REFUSED by step evict: it is held" in text
    assert "HELD UP    a pod of Deployment team/web on n1: a budget" in text
    assert not simulation().loud
    stopped = Event(at=1.0, what=What.STOPPED, node="n1", to="Job team/train")
    assert "WAITS      Job team/train: stopped, and not let in again by the end" in [*lines(simulation(stopped))]
    again = Event(at=2.0, what=What.STARTED, to="Job team/train")
    assert simulation(stopped, again).waiting == ()


def test_a_pod_that_only_waited_for_another_one_stands_against_nothing() -> None:
    held = Event(at=1.0, what=What.HELD, node="n1", to=WEB, more="a budget", pod="web-9")
    assert simulation(held).loud
    assert not simulation(held, Event(at=2.0, what=What.GONE, node="n1", to=WEB, pod="web-9")).loud


def test_it_is_told_as_data() -> None:
    held = Event(at=1.0, what=What.HELD, node="n1", to=WEB, more="a budget", pod="web-9")
    found = simulation(held, code=2).data()
    assert (found["refused"], [one["pod"] for one in found["held"]], found["waiting"]) == (["evict"], ["web-9"], [])
    json.dumps(found)
    assert "nothing stood against it" in [*lines(simulation())]
