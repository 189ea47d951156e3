"""Nodes beside the cluster file."""

import json
from typing import Any

from msgspec import structs
from reference import load

from generator.components import CATALOGUE
from generator.components.kubeadm.registration import registration
from generator.live.status.causes import Cause, grouped
from generator.live.status.node_causes import node_causes

Node = dict[str, Any]
CLUSTER = load("a30-bench")
DEFINITIONS = [*CATALOGUE.values()]


def nodes() -> dict[str, Node]:
    """Return the nodes as kubeadm would register them, with what operators offer there."""
    found = {}
    for machine in CLUSTER.machines:
        registered = registration(CLUSTER, machine)
        offered = {key: count for one in DEFINITIONS for key, count in one.offers(CLUSTER, machine).items()}
        found[machine.name] = {
            "metadata": {"name": machine.name, "labels": dict(registered.labels)},
            "spec": {"taints": registered.document["taints"]},
            "status": {
                "allocatable": {key: str(count) for key, count in offered.items() if count is not None},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
    return found


def causes(found: dict[str, Node]) -> list[Cause]:
    return grouped(node_causes(CLUSTER, [*found.values()], DEFINITIONS))


def gpu_node() -> str:
    return next(one.name for one in CLUSTER.machines if one.gpus)


def test_nodes_as_they_should_be_say_nothing() -> None:
    assert causes(nodes()) == []


def test_a_sick_gpu_is_told_in_the_words_of_who_found_it() -> None:
    found = nodes()
    one = found[gpu_node()]
    said = {"at": "2026-11-23T12:00:00Z", "what": ["GPU-a: Xid 79 (GPU has fallen off the bus)"]}
    one["metadata"]["annotations"] = {"gen.internal/gpu-sick": json.dumps(said)}
    one["spec"]["taints"] = [*one["spec"]["taints"], {"key": "gen.internal/gpu-sick", "effect": "NoSchedule"}]
    (sick,) = causes(found)
    assert sick.objects == (gpu_node(),)
    assert sick.why == "it has a sick GPU: GPU-a: Xid 79 (GPU has fallen off the bus)"
    assert sick.command == f"gen workflow submit gpu-cleared -p node={gpu_node()}, once it was repaired"
    one["metadata"]["annotations"] = {"gen.internal/gpu-suspect": "what nobody wrote"}
    assert [cause.why for cause in causes(found)] == [
        "it has a sick GPU: nothing says of what kind",
        "look at its GPUs: nothing says of what kind",
    ]
    one["spec"]["taints"].pop()
    one["metadata"]["annotations"] = {"gen.internal/gpu-sick": json.dumps(said)}
    assert [cause.why for cause in causes(found)] == [
        "it has a sick GPU, and no taint that keeps pods away: GPU-a: Xid 79 (GPU has fallen off the bus)"
    ]


def test_a_node_that_is_absent_or_unknown() -> None:
    found = nodes()
    found["stranger"] = {**found.pop(CLUSTER.machines[0].name), "metadata": {"name": "stranger"}}
    absent, unknown = causes(found)
    assert absent.objects == (CLUSTER.machines[0].name,)
    assert "has not joined" in absent.why
    assert (unknown.objects, unknown.why) == (("stranger",), "the cluster file does not have it")


def test_a_node_that_is_not_ready_under_pressure_or_cordoned() -> None:
    found = nodes()
    one = found[gpu_node()]
    one["status"]["conditions"] = [
        {"type": "Ready", "status": "Unknown", "message": "Kubelet stopped posting node status."},
        {"type": "DiskPressure", "status": "True", "message": "kubelet has disk pressure"},
    ]
    one["spec"]["unschedulable"] = True
    assert [cause.why for cause in causes(found)] == [
        "it is not ready: Kubelet stopped posting node status.",
        "it has DiskPressure: kubelet has disk pressure",
        "it is cordoned: no pod goes there",
    ]


def test_labels_and_taints_that_are_lacking_are_set_by_bootstrap() -> None:
    found = nodes()
    for one in found.values():
        del one["metadata"]["labels"]["gen.internal/pool"]
    machine = next(one for one in CLUSTER.machines if one.taints)
    found[machine.name]["spec"]["taints"] = []
    told = causes(found)
    assert {cause.command for cause in told} == {"gen bootstrap --cluster a30-bench --apply"}
    assert f"it lacks the taints {machine.taints[0]}" in {cause.why for cause in told}
    assert sum(len(one.objects) for one in told if "labels gen.internal/pool=" in one.why) == len(CLUSTER.machines)


def test_resources_that_are_not_offered_name_who_brings_them() -> None:
    found = nodes()
    found[gpu_node()]["status"]["allocatable"] = {"nvidia.com/gpu": "0"}
    told = causes(found)
    assert any("of" in one.why and one.why.endswith("which gpu-operator brings") for one in told), told
    assert {one.objects for one in told} == {(gpu_node(),)}


def test_what_nobody_can_foretell_is_not_missed() -> None:
    found = nodes()
    found[gpu_node()]["status"]["allocatable"] = {}
    values = {"devicePlugin": {"config": {"name": "mine"}}}
    settings = structs.replace(CLUSTER.settings("gpu-operator"), values=values)
    own = structs.replace(CLUSTER, components={**CLUSTER.components, "gpu-operator": settings})
    told = [one.why for one in node_causes(own, [*found.values()], DEFINITIONS)]
    assert not any("gpu-operator" in why for why in told)
