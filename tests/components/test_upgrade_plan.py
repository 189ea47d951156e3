"""In which order an upgrade of Kubernetes goes over nodes, and which versions it refuses, as its scripts compute it."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from machineplayed import by_timer
from msgspec import structs
from nodeshelf import Shelf, imported

from generator.components.node_operations.facts import OF_POOL, config_maps, upgrade_facts
from generator.model.cluster import Cluster

Object = dict[str, Any]
CONTROL = ("cp-1", "cp-2", "cp-3")


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The script of the operation, which imports the others that lie beside it."""
    for _ in imported(tmp_path, monkeypatch):
        import upgrade  # type: ignore[import-not-found]

        yield upgrade


def node(version: str, *, ready: bool = True, annotations: Object | None = None, **spec: Any) -> Object:
    """Return a Node as its kubelet reports it."""
    conditions = [{"type": "Ready", "status": str(ready)}]
    status = {"nodeInfo": {"kubeletVersion": f"v{version}"}, "conditions": conditions}
    return {"metadata": {"annotations": annotations or {}}, "spec": spec, "status": status}


def server(version: str) -> Object:
    """Return the pod of an API server, whose image a mirror named and somebody pinned."""
    image = f"mirror.example.org:5000/kube-apiserver:v{version}@sha256:{'0' * 64}"
    return {"metadata": {}, "spec": {"containers": [{"image": image}]}}


def plan(script: ModuleType, cluster: Cluster, version: str = "1.34.6", **nodes: Object | None) -> Any:
    """Return the plan for a cluster all of whose nodes have a version, but for `nodes`, named with `_` for `-`."""
    from planning import Machine  # type: ignore[import-not-found]
    from versions import Plan  # type: ignore[import-not-found]

    facts = json.loads(upgrade_facts(cluster)["data"]["facts"])
    found = {name.replace("_", "-"): one for name, one in nodes.items()}
    machines = []
    for pool in config_maps(cluster):
        shared = json.loads(pool["data"][OF_POOL])
        own = {name: json.loads(line) for name, line in pool["data"].items() if name != OF_POOL}
        machines += [Machine(name, shared | line, found.get(name, node(version))) for name, line in own.items()]
    assert script.STEPS
    return Plan(facts["version"], machines, {name: server(version) for name in CONTROL}, facts)


def steps(made: Any, at_once: int) -> list[tuple[str, list[str]]]:
    return [(unit.where, [one.name for one in unit.machines]) for unit in made.units(at_once)]


def test_the_control_plane_is_first_then_one_rack_after_the_other(script: ModuleType, ml50: Cluster) -> None:
    found = steps(plan(script, ml50), 3)
    assert found[:3] == [("the control plane", [name]) for name in CONTROL]
    assert [where for where, _ in found[3:8]] == ["pool cpu, rack r4"] * 4 + ["pool cpu, rack r5"]
    assert found[-1] == ("pool nas, rack r14", ["nas-4"])
    assert ("pool gpu-training, rack r1", ["gpu-01", "gpu-02", "gpu-03"]) in found
    assert ("pool gpu-training, rack r1", ["gpu-04", "gpu-05"]) in found
    names = [name for _, each in found for name in each]
    assert sorted(names) == sorted(one.name for one in ml50.machines)


def test_hosts_of_ceph_and_minio_go_one_by_one_however_many_may_be_away(script: ModuleType, ml50: Cluster) -> None:
    sizes = {name[0][:3]: len(name) for _, name in steps(plan(script, ml50), 50)}
    assert sizes["cpu"] == sizes["nas"] == sizes["cp-"] == 1
    assert sizes["gpu"] > 1


def test_a_pool_without_racks_is_one_domain(script: ModuleType, ml50: Cluster) -> None:
    plain = structs.replace(ml50, machines=tuple(structs.replace(one, rack=None) for one in ml50.machines))
    assert ("pool gpu-inference", ["gpu-13", "gpu-14", "gpu-15"]) in steps(plan(script, plain), 3)


def test_what_is_done_is_left_out_and_what_is_held_is_gone_on_with(script: ModuleType, ml50: Cluster) -> None:
    held = {"gen.internal/cordoned-by": "kubernetes-upgrade"}
    made = plan(
        script,
        ml50,
        "1.35.3",
        gpu_01=node("1.35.3", annotations=held, unschedulable=True),
        gpu_02=node("1.34.6"),
        gpu_03=node("1.35.3", unschedulable=True),
    )
    assert steps(made, 1) == [("pool gpu-training, rack r1", ["gpu-01"]), ("pool gpu-training, rack r1", ["gpu-02"])]


def test_a_control_plane_node_is_done_with_its_api_server_too(script: ModuleType, ml50: Cluster) -> None:
    made = plan(script, ml50, "1.35.3")
    made.servers["cp-2"] = server("1.34.6")
    assert steps(made, 1) == [("the control plane", ["cp-2"])]


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("1.33.9", "from 1.33.9 to 1.35.3 is more than one minor version; 1.34 comes first"),
        ("1.36.0", "1.36.0 is newer than 1.35.3 of the file, and there is no way back"),
        ("1.35.4", "1.35.4 is newer than 1.35.3 of the file, and there is no way back"),
    ],
)
def test_jumps_and_ways_back_are_refused(script: ModuleType, ml50: Cluster, version: str, said: str) -> None:
    assert list(script.jumps(plan(script, ml50, gpu_07=node(version)))) == [f"gpu-07: {said}"]


def test_one_minor_version_or_a_patch_is_none(script: ModuleType, ml50: Cluster) -> None:
    for version in ("1.34.0", "1.35.0", "1.35.3"):
        assert list(script.jumps(plan(script, ml50, version))) == []


def test_nodes_that_are_not_there_or_held_by_others_are_told(script: ModuleType, ml50: Cluster) -> None:
    import standing  # type: ignore[import-not-found]

    other = {"gen.internal/cordoned-by": "node-removal"}
    made = plan(
        script,
        ml50,
        gpu_01=None,
        gpu_02=node("1.34.6", ready=False),
        gpu_03=node("1.34.6", annotations=other, unschedulable=True),
        gpu_04=node("1.34.6", annotations=other),
    )
    assert [one.split(":")[0] for one in standing.away(made.machines)] == [
        "gpu-01 has not joined",
        "gpu-02 is not Ready",
    ]
    (held,) = standing.others(made.machines, made.operation)
    assert held.startswith("gpu-03 is held by node-removal: let that end first")


def test_a_mark_that_an_uncordon_left_makes_no_cordon_of_a_person_the_operations(
    script: ModuleType, ml50: Cluster
) -> None:
    """A run failed, somebody uncordoned the node by hand, and cordons it weeks later for a fault of its own."""
    import rounds  # type: ignore[import-not-found]
    import standing

    def marked(operation: str, **spec: Any) -> Object:
        one = node("1.35.3", annotations={"gen.internal/cordoned-by": operation}, **spec)
        notes: Object = {"f:metadata": {"f:annotations": {".": {}, "f:gen.internal/cordoned-by": {}}}}
        cordon: Object = {"f:spec": {"f:unschedulable": {}}}
        one["metadata"]["managedFields"] = [{"fieldsV1": notes}, {"fieldsV1": cordon if spec else {}}]
        return one

    byhand, opened = marked("kubernetes-upgrade", unschedulable=True), marked("kubernetes-upgrade")
    made = plan(script, ml50, "1.35.3", gpu_01=byhand, gpu_02=opened, gpu_03=marked("node-removal", unschedulable=True))
    assert steps(made, 1) == [], "nothing is to be done there, and nothing is emptied"
    assert list(standing.others(made.machines, made.operation)) == [], "no such run holds gpu-03"
    shelf = Shelf()
    shelf.put("/api/v1/nodes/gpu-01", byhand)["metadata"]["resourceVersion"] = "1"
    rounds.let_in(shelf, "gpu-01", "kubernetes-upgrade")
    assert byhand["spec"] == {"unschedulable": True}
    assert byhand["metadata"]["annotations"] == {}, "the mark that was left goes"


def left_out(made: Any, *names: str) -> Any:
    """Return the plan of a run that was told to leave nodes as they are."""
    chosen = [one for one in made.machines if one.name not in names]
    return made._replace(machines=chosen, others=tuple(one for one in made.machines if one.name in names))


def test_nodes_that_could_never_follow_are_not_left_out(script: ModuleType, ml50: Cluster) -> None:
    """The control plane would be two minor versions ahead of them, and the file can name no version in between."""
    behind = plan(script, ml50, gpu_07=node("1.33.9"), gpu_08=node("1.33.2"), gpu_09=node("1.34.0"), gpu_10=None)
    (said,) = script.stranded(left_out(behind, "gpu-07", "gpu-08", "gpu-09", "gpu-10"))
    assert said == (
        "gpu-07, gpu-08: left out at 1.33.2, from where nothing leads to 1.35.3: upgrade them to 1.34 first, or take "
        "them out (`gen node remove`) and join them anew"
    )
    assert list(script.stranded(left_out(behind, "gpu-09", "gpu-10"))) == []


def test_what_is_left_behind_already_hinders_no_patch_while_kubeadm_bears_it(script: ModuleType, ml50: Cluster) -> None:
    made = plan(script, ml50, gpu_07=node("1.33.9"), gpu_08=node("1.31.0"))
    made.servers.update({name: server("1.35.2") for name in CONTROL})
    assert list(script.stranded(left_out(made, "gpu-07"))) == []
    (said,) = script.stranded(left_out(made, "gpu-07", "gpu-08"))
    assert said.startswith("gpu-08: left out at 1.31.0")


def test_a_pool_that_is_left_out_is_no_stranger(
    script: ModuleType, ml50: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = left_out(plan(script, ml50), "gpu-13", "gpu-14", "gpu-15")
    monkeypatch.setenv("POOLS", "gpu-inference")
    assert list(script.mistaken(made)) == []
    monkeypatch.setenv("POOLS", "gpus")
    assert list(script.mistaken(made)) == ["no pool has the name gpus"]


def with_control_plane(cluster: Cluster, count: int) -> Cluster:
    """Return the cluster with fewer nodes of the control plane."""
    gone = {one.name for one in cluster.control_plane[count:]}
    return structs.replace(cluster, machines=tuple(one for one in cluster.machines if one.name not in gone))


@pytest.mark.parametrize("count", [1, 2])
def test_without_three_members_of_etcd_somebody_must_say_that_the_api_may_be_away(
    script: ModuleType, ml50: Cluster, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    made = plan(script, with_control_plane(ml50, count))
    (said,) = script.without_majority(made)
    assert said.startswith(f"{', '.join(CONTROL[:count])}: etcd has {count} of at least 3 members")
    assert "-p control-plane-outage=yes" in said
    assert list(script.without_majority(plan(script, ml50))) == []
    monkeypatch.setenv("CONTROL_PLANE_OUTAGE", "yes")
    assert list(script.without_majority(made)) == []


def test_no_outage_is_asked_for_where_only_workers_are_left(script: ModuleType, ml50: Cluster) -> None:
    made = plan(script, with_control_plane(ml50, 1), cp_1=node("1.35.3"), gpu_01=node("1.34.6"))
    made.servers["cp-1"] = server("1.35.3")
    assert made.left()
    assert list(script.without_majority(made)) == []


def etcd(name: str, *, ready: bool = True) -> Object:
    """Return the pod of a member of etcd."""
    return {"spec": {"nodeName": name}, "status": {"conditions": [{"type": "Ready", "status": str(ready)}]}}


@pytest.mark.parametrize("count", [1, 2])
def test_with_that_said_no_node_stops_half_way_and_none_goes_while_another_is_down(
    script: ModuleType, ml50: Cluster, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    import upgrading  # type: ignore[import-not-found]

    made = plan(script, with_control_plane(ml50, count))
    shelf = Shelf()
    control = {"node-role.kubernetes.io/control-plane": ""}
    for name in CONTROL[:count]:
        shelf.put(f"/api/v1/namespaces/kube-system/pods/etcd-{name}", etcd(name))
        shelf.put(f"/api/v1/nodes/{name}", {"metadata": {"name": name, "labels": control}})
    (first,) = [one for one in made.machines if one.name == "cp-1"]
    assert next(upgrading.etcd(shelf, made, first)).startswith("without cp-1 only")
    monkeypatch.setenv("CONTROL_PLANE_OUTAGE", "yes")
    assert list(upgrading.etcd(shelf, made, first)) == []
    shelf.put(f"/api/v1/namespaces/kube-system/pods/etcd-{CONTROL[count - 1]}", etcd(CONTROL[count - 1], ready=False))
    assert list(upgrading.etcd(shelf, made, first)) == [f"etcd on {CONTROL[count - 1]} is not Ready"]


def test_three_members_keep_their_majority_whatever_is_said(
    script: ModuleType, ml50: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    import upgrading

    monkeypatch.setenv("CONTROL_PLANE_OUTAGE", "yes")
    made, shelf = plan(script, ml50), Shelf()
    shelf.put(
        "/api/v1/nodes/cp-1", {"metadata": {"name": "cp-1", "labels": {"node-role.kubernetes.io/control-plane": ""}}}
    )
    for name in CONTROL:
        shelf.put(f"/api/v1/namespaces/kube-system/pods/etcd-{name}", etcd(name, ready=name != "cp-2"))
    (first,) = [one for one in made.machines if one.name == "cp-1"]
    assert next(upgrading.etcd(shelf, made, first)).startswith(
        "without cp-1 only 1 of 3 members of etcd are there (cp-3)"
    )


FILES = "gen.internal/upgrade-files"


def test_machines_that_would_do_nothing_are_told_before_they_are_emptied(script: ModuleType, ml50: Cluster) -> None:
    cluster = by_timer(ml50)
    brought: dict[str, Any] = {one.name: node("1.34.6", annotations={FILES: "1.35.3"}) for one in cluster.machines}
    assert list(script.unbrought(plan(script, cluster, **brought))) == []
    amiss = "/home/a/bootstrap is not root's alone"
    done = node("1.35.3", annotations={FILES: "1.34.6"})
    brought |= {"gpu-01": node("1.34.6"), "gpu-02": node("1.34.6", annotations={FILES: "1.34.6"}), "gpu-03": done}
    brought |= {"gpu-04": node("1.34.6", annotations={FILES: amiss}), "gpu-05": None}
    then = "bring the files of 1.35.3 there, and run prepare.sh"
    assert list(script.unbrought(plan(script, cluster, **brought))) == [
        f"gpu-01: no node-upgrade.timer has told: {then}",
        f"gpu-04: {amiss}: {then}",
        f"gpu-02: its files are those of 1.34.6: {then}",
    ]
    assert list(script.unbrought(plan(script, ml50))) == [], "who upgrades by hand sees to it"


def test_the_report_tells_of_nodes_that_were_left_out(
    script: ModuleType, ml50: Cluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import upgrading

    monkeypatch.setenv("STATUS", "Succeeded")
    made = plan(script, ml50, "1.35.3", gpu_13=node("1.34.6"))
    made.servers.update({name: server("1.35.3") for name in CONTROL})
    for names, words in (((), "to be done: gpu-13."), (("gpu-13",), "all that were to be upgraded have the version.")):
        monkeypatch.setattr(script, "planned", lambda _api, names=names: left_out(made, *names))
        monkeypatch.setattr(upgrading, "let_all_in", lambda *_: None)
        script.report(Shelf())
        said = capsys.readouterr().out
        assert words in said
        assert ("not among them, and not at 1.35.3: gpu-13" in said) == bool(names)
    monkeypatch.setattr(script, "planned", lambda _api: left_out(plan_done(script, ml50), "gpu-13"))
    script.report(Shelf())
    assert " all have the version." in capsys.readouterr().out


def plan_done(script: ModuleType, cluster: Cluster) -> Any:
    """Return the plan of a cluster all of whose nodes have the version."""
    made = plan(script, cluster, "1.35.3")
    made.servers.update({name: server("1.35.3") for name in CONTROL})
    return made


def test_who_upgrades_by_hand_is_told_on_which_node_and_how(
    script: ModuleType, ml50: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    import upgrading

    for cluster, how in ((ml50, "node"), (by_timer(ml50), "")):
        shelf, made = Shelf(), plan(script, cluster)
        one = shelf.put("/api/v1/nodes/gpu-01", node("1.34.6", unschedulable=True))
        one["metadata"]["resourceVersion"] = "1"
        (machine,) = [each for each in made.machines if each.name == "gpu-01"]
        upgrading.ask(shelf, made, machine)
        said = capsys.readouterr().out
        assert one["metadata"]["annotations"]["gen.internal/upgrade"].startswith("node 1.35.3 ")
        command = "`sudo node/prepare.sh gpu-training && sudo kubeadm upgrade node --config kubeadm/upgrade.yaml`"
        assert ("gpu-01 is empty, and somebody must upgrade it now" in said and command in said) == bool(how)
    (first,) = [each for each in plan(script, ml50).machines if each.name == "cp-1"]
    assert "sudo kubeadm upgrade apply --config" in plan(script, ml50).by_hand(first, "")


def test_no_node_is_cordoned_before_what_is_on_its_way_there_has_arrived(
    script: ModuleType, ml50: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    import upgrading

    order: list[str] = []
    made = plan(script, ml50)
    (unit,) = [one for one in made.units(3) if one.machines[0].name == "gpu-13"]
    for name in ("settled", "empty", "ask"):
        monkeypatch.setattr(upgrading, name, lambda *_: None)
    monkeypatch.setattr(upgrading, "waited", lambda *_: {})
    monkeypatch.setattr(upgrading, "let_in", lambda *_: None)
    monkeypatch.setattr(upgrading, "placed", lambda _api, name: order.append(f"placed {name}"))
    monkeypatch.setattr(upgrading, "change_node", lambda _api, name, _change: order.append(f"held {name}"))
    upgrading.bring(Shelf(), made, unit)
    names = ("gpu-13", "gpu-14", "gpu-15")
    assert order == [*(f"placed {name}" for name in names), *(f"held {name}" for name in names)]


def test_only_a_good_backup_tells_of_snapshots_and_only_of_those_that_it_brought_away(script: ModuleType) -> None:
    def said(name: str, value: str) -> dict[str, Any]:
        return {"outputs": {"parameters": [{"name": name, "value": value}, {"name": "x", "value": "9"}]}}

    brought, on_a_node = said("stored", "1700000000"), said("taken", "1700009999")
    status = {"phase": "Succeeded", "nodes": {"a": brought, "look": on_a_node, "b": {"outputs": None}, "c": {}}}
    assert list(script.snapshots({"status": status})) == [1700000000]
    assert list(script.snapshots({"status": status | {"phase": "Failed"}})) == []
    assert list(script.snapshots({})) == []
