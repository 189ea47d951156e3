"""In which order an upgrade of Kubernetes goes over nodes, and which versions it refuses, as its scripts compute it."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from msgspec import structs

from generator.components.node_operations.facts import OF_POOL, config_maps, upgrade_facts
from generator.components.node_operations.templates import FILES, scripts
from generator.model.cluster import Cluster

Object = dict[str, Any]
CONTROL = ("cp-1", "cp-2", "cp-3")


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The script of the operation, which imports the others that lie beside it."""
    for name in FILES:
        (tmp_path / name).write_text(scripts()["data"][name])
    monkeypatch.syspath_prepend(tmp_path)
    import upgrade  # type: ignore[import-not-found]

    yield upgrade
    for name in FILES:
        sys.modules.pop(name.removesuffix(".py"), None)


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
    from planning import Machine, Plan  # type: ignore[import-not-found]

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
    other = {"gen.internal/cordoned-by": "node-removal"}
    made = plan(
        script,
        ml50,
        gpu_01=None,
        gpu_02=node("1.34.6", ready=False),
        gpu_03=node("1.34.6", annotations=other, unschedulable=True),
        gpu_04=node("1.34.6", annotations=other),
    )
    assert [one.split(":")[0] for one in script.away(made)] == ["gpu-01 has not joined", "gpu-02 is not Ready"]
    (held,) = script.others(made)
    assert held.startswith("gpu-03 is held by node-removal: let that end first")


def test_only_a_good_backup_tells_of_snapshots(script: ModuleType) -> None:
    taken = {"outputs": {"parameters": [{"name": "taken", "value": "1700000000"}, {"name": "x", "value": "9"}]}}
    status = {"phase": "Succeeded", "nodes": {"a": taken, "b": {"outputs": None}, "c": {}}}
    assert list(script.snapshots({"status": status})) == [1700000000]
    assert list(script.snapshots({"status": status | {"phase": "Failed"}})) == []
    assert list(script.snapshots({})) == []
