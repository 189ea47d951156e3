"""What stands behind the nodes of a simulation, and how much of its cluster an operation touches. The play itself is in
tests/real/test_simulate_operations.py.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import structs
from reference import load
from test_simulation import simulation

from generator.components import compose
from generator.components.common import RACK
from generator.components.node_operations.names import NAMESPACE
from generator.model.fields import dig, sequence
from generator.rehearsal.simulation import asked, crush, drivers
from generator.rehearsal.simulation.course import filled, inputs, of_run
from generator.rehearsal.simulation.joining import joined
from generator.rehearsal.simulation.played import PLAYED
from generator.rehearsal.simulation.reading import NODES, PODS, REVISIONS, SETS, State, reduced
from generator.rehearsal.simulation.simulate import leaving
from generator.rehearsal.simulation.text import lines
from generator.rehearsal.simulation.timeline import Leaving, borne

Object = dict[str, Any]


class Twin:
    """As much of a twin as machines change, and as much as Ceph is asked of."""

    def __init__(self, *osds: tuple[int, str], racks: dict[str, str] | None = None, used: int = 0) -> None:
        self.merged: list[tuple[str, Object]] = []
        self.osds, self.racks, self.used = osds, racks or {}, used

    def merge(self, path: str, change: Object) -> None:
        self.merged.append((path, change))

    def get(self, _path: str) -> Object:
        return {"status": {"ceph": {"capacity": {"bytesTotal": 100, "bytesUsed": self.used}}}}

    def items(self, path: str, **_: str) -> Iterator[Object]:
        if path == NODES:
            for host in {host for _, host in self.osds}:
                labels = {RACK: self.racks[host]} if host in self.racks else {}
                yield {"metadata": {"name": host, "labels": labels}}
            return
        for number, host in self.osds:
            pod = {"nodeSelector": {"kubernetes.io/hostname": host}}
            metadata = {"name": f"rook-ceph-osd-{number}", "labels": {"ceph-osd-id": str(number)}}
            yield {"metadata": metadata, "spec": {"template": {"spec": pod}}}


def node(**notes: str) -> Object:
    return {"metadata": {"name": "n1", "annotations": notes}, "status": {"nodeInfo": {"kubeletVersion": "v1.34.0"}}}


def worked(words: str, **notes: str) -> tuple[list[str], Object]:
    """Return what of a node is changed when its machine is asked, and the annotations that it gets."""
    twin = Twin()
    asked.work(twin, node(**{asked.ASKED: words}, **notes))  # type: ignore[arg-type]
    changed = [json.dumps(change) for path, change in twin.merged if path.endswith("/status")]
    return changed, next((one["metadata"]["annotations"] for _, one in twin.merged if "metadata" in one), {})


TELLS = {"gen.internal/machine": "reboot=2026-01-01T00:00:00Z files=b applied=a certificates=2026-02-01T00:00:00Z"}


def test_a_machine_boots_anew_when_it_must_and_says_that_it_is_done() -> None:
    changed, notes = worked("reboot unknown 2026-11-01T00:00:00Z", **TELLS)
    assert changed == ['{"status": {"nodeInfo": {"bootID": "boot-2026-11-01T00:00:00Z"}}}']
    assert notes[asked.ANSWERED] == "reboot unknown 2026-11-01T00:00:00Z: done"
    assert notes["gen.internal/machine"].startswith("reboot=no files=b applied=a ")
    assert worked("patch unknown now")[1] == {asked.ANSWERED: "patch unknown now: done"}, "no timer is there"


def test_files_and_certificates_need_no_boot_and_nothing_is_done_twice() -> None:
    changed, notes = worked("files a now", **TELLS)
    assert (changed, "applied=b" in notes["gen.internal/machine"]) == ([], True)
    changed, notes = worked("certificates a now", **TELLS)
    assert changed == []
    assert "certificates=2026-02" not in notes["gen.internal/machine"]
    assert worked("files a now", **{asked.ANSWERED: "files a now: done"}) == ([], {})
    assert worked("node 1.34.0 now")[0] == [], "it has that version"


def lacks(twin: Twin, *numbers: int) -> list[str]:
    found: list[str] = json.loads(crush.lacking(twin, load("ml50"), numbers))  # type: ignore[arg-type]
    return found


def test_ceph_can_do_without_one_rack_of_more_than_its_copies_need_and_not_of_as_many() -> None:
    """Each of ml50's nodes with disks has four of nvme, then eight of hdd; a pool of these needs six racks."""
    hosts = [f"cpu-{number:02}" for number in range(1, 8)]
    places = [(place * 12 + number, host) for place, host in enumerate(hosts) for number in range(12)]
    racks = {host: f"r{number}" for number, host in enumerate(hosts)}
    assert lacks(Twin(*places, racks=racks), 4) == [], "one disk of twelve"
    assert lacks(Twin(*places, racks=racks), *range(12)) == [], "six racks are left"
    found = lacks(Twin(*places[12:], racks=racks), *range(12, 24))
    assert "pool bulk needs 6 of type rack for its 6 copies or chunks, and 5 with OSDs that run would be left" in str(
        found
    )
    assert "default (hdd)" in str(found)
    assert "rbd-nvme" not in str(found), "three racks are enough for it"


def test_what_is_used_counts_as_the_cluster_tells_it() -> None:
    places = [(place * 12 + number, f"cpu-0{place + 1}") for place in range(8) for number in range(12)]
    racks = {f"cpu-0{number + 1}": f"r{number}" for number in range(8)}
    assert lacks(Twin(*places, racks=racks, used=50), *range(12)) == []
    assert "would be used, and Ceph warns from 85%" in str(lacks(Twin(*places, racks=racks, used=80), *range(12)))


def owned(name: str, revision: str, at: str = "") -> Object:
    owner = {"kind": "DaemonSet", "name": "driver", "uid": "d", "controller": True}
    labels = {"controller-revision-hash": revision, "app.kubernetes.io/component": "nvidia-driver"}
    return {
        "metadata": {"name": name, "uid": name, "labels": labels, "ownerReferences": [owner]},
        "spec": {"nodeName": at},
    }


def test_a_node_has_the_newest_driver_by_the_number_of_its_revision() -> None:
    sets = [{"metadata": {"name": "driver", "uid": "d", "labels": {"app.kubernetes.io/component": "nvidia-driver"}}}]
    revisions = [{**owned("driver-b", "b"), "revision": 10}, {**owned("driver-a", "a"), "revision": 9}]
    pods = [owned("one", "a", "n1"), owned("two", "b", "n2")]
    state = State("it", "there", "now", {SETS: sets, REVISIONS: revisions, PODS: pods})
    assert drivers.newest(state) == {"n2"}


def test_of_what_drivers_are_told_only_what_their_manager_does_by_itself_is_read() -> None:
    told = [{"name": "ENABLE_AUTO_DRAIN", "value": "false"}, {"name": "PASSWORD", "value": "hunter2"}]
    container = {"name": "manager", "image": "any:1", "env": told}
    spec = {"template": {"spec": {"initContainers": [container], "containers": [{**container, "name": "main"}]}}}
    found = reduced({"kind": "DaemonSet", "metadata": {"name": "driver"}, "spec": spec})
    assert found["spec"]["template"]["spec"]["initContainers"][0]["env"] == told[:1]
    revision = {"kind": "ControllerRevision", "metadata": {"name": "a"}, "revision": 1, "data": spec}
    assert "hunter2" not in json.dumps([found, reduced(revision)])


def pod(limits: Object | None = None) -> Object:
    container = {"name": "main", "resources": {"limits": limits or {}}}
    return {"metadata": {"name": "a"}, "spec": {"nodeName": "n1", "containers": [container]}, "status": {}}


def test_only_what_holds_gpus_leaves_where_an_operation_says_so() -> None:
    drain = Leaving(only="nvidia.com/", sick=True)
    assert drain.goes(pod({"nvidia.com/gpu": "1"}))
    assert not drain.goes(pod({"cpu": "1"}))
    assert Leaving().goes(pod({"cpu": "1"}))
    sick = {"spec": {"taints": [{"key": "gen.internal/gpu-sick"}]}}
    assert (drain.empties(sick), Leaving().empties(sick)) == (True, False)
    assert (drain.empties({"spec": {"unschedulable": True}}), Leaving().empties({"spec": {"unschedulable": True}})) == (
        False,
        True,
    )


@pytest.mark.parametrize(("name", "sick"), [("gpu-drain", True), ("driver-upgrade", False)])
def test_what_leaves_is_what_the_steps_are_told(name: str, *, sick: bool) -> None:
    step = {"container": {"env": [{"name": "DRAIN_ONLY", "value": "nvidia.com/"}]}}
    template = {"metadata": {"name": name}, "spec": {"templates": [{"steps": []}, step]}}
    assert leaving(template) == Leaving(only="nvidia.com/", sick=sick)


def test_a_step_is_run_for_each_item_with_what_it_is_given() -> None:
    given = {"parameters": [{"name": "node", "value": "{{item}}"}]}
    step = {"name": "node", "withParam": "{{steps.which.outputs.parameters.nodes}}", "arguments": given}
    known = {"steps.which.outputs.parameters.nodes": '["n1", "n2"]'}
    assert [one["inputs.parameters.node"] for one in inputs(step, known)] == ["n1", "n2"]
    assert [*inputs(step, {"steps.which.outputs.parameters.nodes": "[]"})] == []
    assert [*inputs({"name": "plan"}, {})] == [{}]


def test_a_node_that_joins_takes_no_pods_until_somebody_keeps_them_off_and_says_what_it_bears() -> None:
    labels = {"kubernetes.io/hostname": "n1", "gen.internal/pool": "gpu"}
    made = joined({"metadata": {"name": "n1", "labels": labels}, "spec": {"taints": [{"key": "nvidia.com/gpu"}]}})
    assert made["metadata"]["annotations"] == {"twin.test/down": "1"}
    assert borne(made) == "labels gen.internal/pool=gpu; taints nvidia.com/gpu"


def test_words_of_a_plan_are_shown_and_that_nobody_had_to_leave() -> None:
    found = simulation()
    (step,) = found.steps
    plan = structs.replace(step, name="plan", said=tuple(f"now {number}. cpu-01" for number in range(70)), why="")
    text = [*lines(structs.replace(found, steps=(plan, structs.replace(plan, name="workers"))))]
    assert sum("| 5. cpu-01" in line for line in text) == 1, "the walk itself is told as it happens"
    assert sum(line.endswith("| ... and 10 lines more, which `--output json` has") for line in text) == 1
    assert "no pod had to leave its node for it, and no gang was stopped" in text


def operations() -> dict[str, Object]:
    parts = [operation for part in compose(load("ml50")) for operation in part.operations]
    found = [one for operation in parts for one in operation.templates]
    kinds = [one for one in found if one["kind"] == "WorkflowTemplate" and one["metadata"]["namespace"] == NAMESPACE]
    return {one["metadata"]["name"]: one["spec"] for one in kinds}


@pytest.mark.parametrize("name", PLAYED)
def test_all_that_steps_ask_argo_for_is_told_in_a_simulation(name: str) -> None:
    spec = operations()[name]
    given = {one["name"]: "any" for one in sequence(dig(spec, "arguments", "parameters"))}
    known = of_run(name, given)
    steps = [one for one in spec["templates"] if "container" in one]
    assert steps
    (handler,) = [one for one in spec["templates"] if one["name"] == spec.get("onExit")] or [{}]
    at_exit = [one["template"] for group in handler.get("steps", ()) for one in group]
    for one in steps:
        items = [each["name"] for each in sequence(dig(one, "inputs", "parameters"))]
        ended = {"workflow.status": "Failed"} if one["name"] in at_exit else {}
        told = known | ended | {f"inputs.parameters.{item}": "any" for item in items}
        for variable in one["container"]["env"]:
            filled(str(variable.get("value", "")), told)
