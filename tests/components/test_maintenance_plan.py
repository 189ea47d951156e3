"""On which nodes a maintenance is done, in which order, and when a node has it, as its scripts compute it."""

import datetime as dt
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from machineplayed import by_timer
from nodeshelf import Shelf, imported

from generator.components.node_operations.facts import OF_POOL, config_maps, upgrade_facts
from generator.model.cluster import Cluster

Object = dict[str, Any]
CONTROL = ("cp-1", "cp-2", "cp-3")
ASKED, ANSWERED = "gen.internal/upgrade", "gen.internal/upgrade-answer"
FILES, STATE = "gen.internal/upgrade-files", "gen.internal/machine"


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The script of the operation, which imports the others that lie beside it."""
    for _ in imported(tmp_path, monkeypatch):
        import maintenance  # type: ignore[import-not-found]

        yield maintenance


def ago(**units: float) -> str:
    """Return a time as scripts write it."""
    return (dt.datetime.now(dt.UTC) - dt.timedelta(**units)).strftime("%Y-%m-%dT%H:%M:%SZ")


def state(**words: str) -> str:
    """Return what a machine tells of itself."""
    told = {"reboot": "no", "files": "aa", "applied": "aa", "certificates": ago(days=-360)} | words
    return " ".join(f"{key}={value}" for key, value in told.items())


def node(boot: str = "b1", *, told: str = "", **notes: str) -> Object:
    """Return a Node, whose machine has told something of itself or not."""
    said = {FILES: "1.35.3", STATE: told} if told else {}
    conditions = [{"type": "Ready", "status": "True"}]
    status = {"nodeInfo": {"kubeletVersion": "v1.35.3", "bootID": boot}, "conditions": conditions}
    annotations = said | {f"gen.internal/{key.replace('_', '-')}": value for key, value in notes.items()}
    return {"metadata": {"annotations": annotations, "resourceVersion": "1"}, "spec": {}, "status": status}


def plan(cluster: Cluster, action: str, told: str = "", **nodes: Object | None) -> Any:
    """Return the plan for a cluster all of whose machines told the same, but for `nodes`, named with `_` for `-`."""
    from maintaining import Maintenance  # type: ignore[import-not-found]
    from planning import Machine  # type: ignore[import-not-found]

    facts = json.loads(upgrade_facts(cluster)["data"]["facts"])
    found = {name.replace("_", "-"): one for name, one in nodes.items()}
    machines = []
    for pool in config_maps(cluster):
        shared = json.loads(pool["data"][OF_POOL])
        own = {name: json.loads(line) for name, line in pool["data"].items() if name != OF_POOL}
        machines += [Machine(name, shared | line, found.get(name, node(told=told))) for name, line in own.items()]
    return Maintenance(action, machines, {name: {"metadata": {}} for name in CONTROL}, facts)


def left(made: Any) -> list[str]:
    return [one.name for one in made.left()]


@pytest.mark.usefixtures("script")
def test_workers_come_first_rack_by_rack_and_the_control_plane_last(ml50: Cluster) -> None:
    units = plan(ml50, "reboot-always", state()).units(3)
    assert [one.name for unit in units[-3:] for one in unit.machines] == [*CONTROL]
    assert ("pool gpu-training, rack r1", 3) in {(unit.where, len(unit.machines)) for unit in units}
    names = [one.name for unit in units for one in unit.machines]
    assert sorted(names) == sorted(one.name for one in ml50.machines)


WAITS = "2026-11-01T00:00:00Z"


@pytest.mark.usefixtures("script")
@pytest.mark.parametrize(
    ("action", "one", "why"),
    [
        ("reboot", node(told=state(reboot=WAITS)), f"it waits for a reboot since {WAITS}"),
        ("files", node(told=state(files="bb")), "other files were brought than are in place"),
        ("certificates", node(told=state(certificates="unknown")), "its certificates end at unknown"),
    ],
)
def test_only_nodes_that_need_it_are_left(ml50: Cluster, action: str, one: Object, why: str) -> None:
    made = plan(ml50, action, state(), cp_2=one)
    assert left(made) == ["cp-2"]
    assert made.behind("cp-2", one) == [why]


@pytest.mark.usefixtures("script")
def test_certificates_are_renewed_so_many_days_before_their_end(ml50: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    made = plan(ml50, "certificates", state(), cp_2=node(told=state(certificates=ago(days=-89))))
    assert left(made) == ["cp-2"]
    monkeypatch.setenv("CERTIFICATE_DAYS", "88")
    assert left(made) == []
    assert not made.empties


@pytest.mark.usefixtures("script")
@pytest.mark.parametrize("action", ["patch", "reboot-always"])
def test_what_was_done_of_late_is_done(ml50: Cluster, action: str) -> None:
    for hours, done in ((71, True), (73, False)):
        note = {f"maintained_{action.removesuffix('-always')}": ago(hours=hours)}
        made = plan(ml50, action, state(), gpu_01=node(told=state(), **note))
        assert ("gpu-01" not in left(made)) == done
    other = plan(ml50, action, state(), gpu_01=node(told=state(), maintained_files=ago(hours=1)))
    assert "gpu-01" in left(other)


@pytest.mark.usefixtures("script")
def test_one_that_waits_for_a_reboot_after_a_reboot_is_not_taken_down_again(ml50: Cluster) -> None:
    """A step that begins again would reboot it each time."""
    for since, done, again in ((2, 1, False), (1, 2, True), (100, 99, True)):
        one = node(told=state(reboot=ago(hours=since)), maintained_reboot=ago(hours=done))
        assert (left(plan(ml50, "reboot", state(), gpu_01=one)) == ["gpu-01"]) == again


@pytest.mark.usefixtures("script")
def test_a_machine_is_believed_by_its_boot_and_by_what_it_answered(ml50: Cluster) -> None:
    timed, asked = by_timer(ml50), f"reboot b1 {ago(minutes=1)}"
    for cluster, boot, answer, lacks in (
        (timed, "b1", "done", ["it has not booted anew"]),
        (timed, "b2", "", ["its machine has not said that it is done"]),
        (timed, "b2", "done: kernel 6.1", []),
        (ml50, "b1", "", ["it has not booted anew"]),
        (ml50, "b2", "", []),
    ):
        one = node(boot, told=state(), upgrade=asked, upgrade_answer=f"{asked}: {answer}")
        assert plan(cluster, "reboot-always").behind("gpu-01", one) == lacks
    other = node("b2", told=state(), upgrade=asked, upgrade_answer=f"reboot b1 {ago(minutes=9)}: done")
    assert plan(timed, "reboot-always").behind("gpu-01", other), "an answer to something else"


@pytest.mark.usefixtures("script")
def test_what_was_asked_is_asked_no_second_time_unless_it_failed_or_shows_nothing(ml50: Cluster) -> None:
    made = plan(by_timer(ml50), "files", state())
    (one,) = [each for each in made.machines if each.name == "gpu-01"]
    asked = f"files b0 {ago(minutes=1)}"
    changed, taken = state(files="bb"), state()
    for told, answer, words in (
        (changed, None, "files b0"),
        (taken, "done", "files b0"),
        (changed, "done", "files b1"),
        (changed, "failed: no space", "files b1"),
    ):
        notes = {"upgrade": asked} | ({"upgrade_answer": f"{asked}: {answer}"} if answer else {})
        assert made.request(one, node(told=told, **notes)) == words
    old = node(told=changed, upgrade=f"files b0 {ago(days=30)}")
    assert made.request(one, old) == "files b1", "nobody asks for it any more"


def test_machines_that_would_do_nothing_or_were_forgotten_are_told(script: ModuleType, ml50: Cluster) -> None:
    timed = by_timer(ml50)
    older = node()
    older["metadata"]["annotations"][FILES] = "1.35.3"
    amiss = node(told=state())
    amiss["metadata"]["annotations"][FILES] = "/home/a is not root's alone"
    made = plan(timed, "patch", state(), gpu_01=node(), gpu_02=older, gpu_03=amiss)
    then = "bring the files of bootstrap/ there, and run prepare.sh"
    assert sorted(script.untold(made)) == [
        f"gpu-01: no node-upgrade.timer has told: {then}",
        f"gpu-02: its node-upgrade.timer is one of an older gen: {then}",
        f"gpu-03: /home/a is not root's alone: {then}",
    ]
    assert list(script.untold(plan(ml50, "patch"))) == []
    changed = plan(timed, "files", state(files="bb"), gpu_01=node(told=state()))
    assert list(script.uneven(changed)) == [
        "pool gpu-training was not brought the same files everywhere: look at gpu-01 first"
    ]
    assert list(script.uneven(plan(timed, "files", state(files="bb")))) == []


def test_only_a_few_things_are_done(script: ModuleType, ml50: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    from api import Verdict  # type: ignore[import-not-found]

    shelf = Shelf()
    shelf.put("/api/v1/namespaces/node-operations/configmaps/kubernetes-upgrade", upgrade_facts(ml50))
    monkeypatch.setenv("ACTION", "sh")
    said = "action is sh, and must be one of patch, reboot, reboot-always, files, certificates"
    with pytest.raises(Verdict, match=said):
        script.planned(shelf)


@pytest.mark.usefixtures("script")
@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("FRESH_HOURS", "x", "fresh-hours is x, and must be a number, without its unit"),
        ("FRESH_HOURS", "673", "fresh-hours is 673, and must be a number from 1 to 672"),
        ("CERTIFICATE_DAYS", "365", "certificate-days is 365, and must be a number from 1 to 300"),
    ],
)
def test_numbers_must_be_some(ml50: Cluster, monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str) -> None:
    from api import Verdict

    made = plan(ml50, "patch" if name == "FRESH_HOURS" else "certificates", state())
    monkeypatch.setenv(name, value)
    with pytest.raises(Verdict, match=said):
        left(made)


def test_who_does_it_by_hand_is_told_what_and_how_to_say_so(
    ml50: Cluster, script: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    import upgrading  # type: ignore[import-not-found]

    for action, words in (
        ("files", "`sudo node/prepare.sh gpu-training && sudo kubeadm upgrade node phase kubelet-config --config"),
        ("reboot-always", "`sudo systemctl reboot`. The run waits"),
        ("patch", "`kubectl annotate --overwrite node gpu-01 'gen.internal/upgrade-answer=patch b1 20"),
    ):
        shelf, made = Shelf(), plan(ml50, action)
        one = shelf.put("/api/v1/nodes/gpu-01", node())
        (machine,) = [each for each in made.machines if each.name == "gpu-01"]
        upgrading.ask(shelf, made, machine)
        assert one["metadata"]["annotations"][ASKED].startswith(f"{made.what} b1 ")
        assert words in capsys.readouterr().out
    assert script.STEPS


@pytest.mark.usefixtures("script")
def test_certificates_hold_no_node_and_let_none_in(ml50: Cluster) -> None:
    import upgrading

    shelf, made = Shelf(), plan(ml50, "certificates", state())
    one = node(upgrade="certificates b1 x", upgrade_answer="y", cordoned_by="node-maintenance")
    one["spec"]["unschedulable"] = True
    shelf.put("/api/v1/nodes/cp-1", one)
    upgrading.finish(shelf, made, "cp-1")
    notes = one["metadata"]["annotations"]
    assert not {ASKED, ANSWERED} & {key for key, value in notes.items() if value}
    assert notes["gen.internal/maintained-certificates"].startswith("20")
    assert one["spec"]["unschedulable"], "held by a run that patched it, and failed"
