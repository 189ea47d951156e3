from typing import Any

import pytest
from manifests import built, container, found, manifest, ml50, reached, workload
from msgspec import structs

from generator.build.pods import pods
from generator.model.text import Taint
from generator.rules import placement
from generator.rules.nodes import workers
from generator.rules.placement import REQUIRED, blocking

PLACED, DAEMONS, SELECTED = placement.placed, placement.daemons_reach, placement.selected
POOL = "gen.internal/pool"
GPU_TAINT = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
TRAINING_TAINT, INFERENCE_TAINT = ({**GPU_TAINT, "key": f"gen.internal/{one}"} for one in ("training", "inference"))


def affinity(*expressions: dict[str, Any]) -> dict[str, Any]:
    terms = [{"matchExpressions": [one]} for one in expressions]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def rule(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


FITS: list[dict[str, Any]] = [
    {},
    {"nodeSelector": {POOL: "cpu"}},
    {"nodeSelector": {POOL: "gpu-training"}, "tolerations": [GPU_TAINT, TRAINING_TAINT]},
    {"nodeSelector": {POOL: "gpu-training"}, "tolerations": [{"operator": "Exists"}]},
    {"nodeSelector": {"kubernetes.io/os": "linux", "kubernetes.io/hostname": "cpu-01"}},
    {"nodeSelector": {"nvidia.com/gpu.present": "true", POOL: "cpu"}},
    {"nodeSelector": {"node-role.kubernetes.io/control-plane": ""}, "tolerations": [{"operator": "Exists"}]},
    {"affinity": affinity(rule(POOL, "In", "none", "cpu"))},
    {"affinity": affinity(rule(POOL, "In", "none"), rule(POOL, "Exists"))},
    {"affinity": affinity(rule(POOL, "NotIn", "gpu-training"))},
    {"affinity": affinity(rule("nobody", "DoesNotExist"))},
    {"nodeName": "cpu-01"},
    {"nodeSelector": {POOL: "given-at-submission"}},
    {"topologySpreadConstraints": [{"topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule"}]},
    {"topologySpreadConstraints": [{"topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}, None, {}]},
    {"topologySpreadConstraints": [{"topologyKey": "nvidia.com/gpu.clique", "whenUnsatisfiable": "DoNotSchedule"}]},
    {"affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}}},
    {"affinity": {"podAntiAffinity": {REQUIRED: [{"topologyKey": "zone"}]}}},
]


@pytest.mark.parametrize("spec", FITS)
def test_a_pod_that_fits_is_left_alone(spec: dict[str, Any]) -> None:
    assert found(PLACED, workload(**spec), cluster=ml50()) == []


HOMELESS: list[tuple[dict[str, Any], str, tuple[str | int, ...]]] = [
    ({"nodeSelector": {POOL: "gpu"}}, "it has no gen.internal/pool=gpu", ("nodeSelector", POOL)),
    (
        {"nodeSelector": {POOL: "gpu-training"}},
        "pool gpu-training comes nearest (gpu-01): the taint nvidia.com/gpu=present:NoSchedule is not tolerated",
        (),
    ),
    (
        {"nodeSelector": {POOL: "gpu-inference"}, "tolerations": [GPU_TAINT, TRAINING_TAINT]},
        "pool gpu-inference comes nearest (gpu-13): the taint gen.internal/inference=present:NoSchedule",
        ("tolerations",),
    ),
    (
        {"nodeSelector": {POOL: "gpu-training"}, "tolerations": [{**GPU_TAINT, "effect": "NoExecute"}]},
        "is not tolerated",
        ("tolerations",),
    ),
    (
        {"nodeSelector": {POOL: "gpu-training"}, "tolerations": [{"key": "nvidia.com/gpu", "value": "other"}]},
        "is not tolerated",
        ("tolerations",),
    ),
    (
        {"affinity": affinity(rule("rack", "In", "r1"), rule(POOL, "DoesNotExist"))},
        "it does not match rack=r1 or gen.internal/pool DoesNotExist",
        ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"),
    ),
    ({"affinity": affinity(rule("rack", "Gt", "4"))}, "it does not match rack Gt 4", ("affinity",)),
    ({"nodeName": "gpu-99"}, "it names node gpu-99", ("nodeName",)),
]


@pytest.mark.parametrize(("spec", "told", "at"), HOMELESS)
def test_a_pod_that_no_node_takes_is_told_what_keeps_it_out(spec: Any, told: str, at: Any) -> None:
    (problem,) = found(PLACED, workload(**spec), cluster=ml50())
    assert problem.message.startswith("no node takes its pods; pool ")
    assert told in problem.message
    assert problem.at[: 3 + len(at)] == ("spec", "template", "spec", *at)
    reached(problem)


@pytest.mark.parametrize(
    ("selector", "fix"),
    [
        ({POOL: "gpu-traning"}, "gen.internal/pool: gpu-training"),
        ({POOL: "zzz"}, "gen.internal/pool is cpu, gpu-inference, gpu-training, nas, system"),
        (
            {"kubernetes.io/hostname": "zzz"},
            "kubernetes.io/hostname is cp-1, cp-2, cp-3, cpu-01, cpu-02, cpu-03, cpu-04",
        ),
        ({"gen.internal/pol": "cpu"}, "leave it out: no node has a label gen.internal/pol"),
    ],
)
def test_labels_that_are_there_are_told(selector: dict[str, str], fix: str) -> None:
    (problem,) = found(PLACED, workload(nodeSelector=selector), cluster=ml50())
    assert problem.fix.startswith(fix)
    (problem,) = found(SELECTED, manifest("ResourceFlavor", spec={"nodeLabels": selector}), cluster=ml50())
    assert problem.fix.startswith(fix)


@pytest.mark.parametrize(
    ("operator", "value", "fits"),
    [("Gt", "6", True), ("Gt", "7", False), ("Lt", "8", True), ("Lt", "7", False), ("Gt", "x", False)],
)
def test_labels_are_compared_as_numbers(operator: str, value: str, fits: bool) -> None:  # noqa: FBT001
    machines = tuple(structs.replace(one, labels={"generation": "7"}) for one in ml50().machines)
    spec = workload(affinity=affinity(rule("generation", operator, value)), tolerations=[{"operator": "Exists"}])
    assert (found(PLACED, spec, cluster=structs.replace(ml50(), machines=machines)) == []) == fits


def test_without_a_cluster_there_are_no_nodes_to_judge_by() -> None:
    assert found(PLACED, workload(nodeSelector={POOL: "gpu"})) == []


def test_a_daemon_set_of_ours_must_reach_the_nodes_it_selects() -> None:
    problems = found(DAEMONS, workload("DaemonSet"), cluster=ml50(), component="cilium")
    assert [problem.message for problem in problems] == [
        "the taint node-role.kubernetes.io/control-plane:NoSchedule keeps its pods off cp-1 and 2 more",
        "the taint nvidia.com/gpu=present:NoSchedule keeps its pods off gpu-01 and 14 more",
        "the taint gen.internal/training=present:NoSchedule keeps its pods off gpu-01 and 11 more",
        "the taint gen.internal/inference=present:NoSchedule keeps its pods off gpu-13 and 2 more",
        "the taint gen.internal/objects=present:NoSchedule keeps its pods off nas-1 and 3 more",
    ]
    everywhere = workload("DaemonSet", tolerations=[{"operator": "Exists"}])
    assert found(DAEMONS, everywhere, cluster=ml50(), component="cilium") == []


def test_a_daemon_set_of_somebody_else_may_leave_nodes_out() -> None:
    assert found(DAEMONS, workload("DaemonSet"), cluster=ml50(), component="theirs") == []


def test_a_daemon_set_for_some_nodes_need_not_reach_others() -> None:
    scratch = workload("DaemonSet", tolerations=[GPU_TAINT, TRAINING_TAINT, INFERENCE_TAINT])
    assert found(DAEMONS, scratch, cluster=ml50(), component="scratch") == []
    problems = found(DAEMONS, workload("DaemonSet"), cluster=ml50(), component="scratch")
    assert ["gpu" in problem.message for problem in problems] == [True] * 3
    selecting = workload("DaemonSet", nodeSelector={POOL: "cpu"})
    assert found(DAEMONS, selecting, cluster=ml50(), component="cilium") == []


def test_an_operator_must_be_told_the_tolerations_of_its_daemons() -> None:
    policy = manifest("ClusterPolicy", "nvidia.com/v1", spec={"daemonsets": {}})
    problem = found(DAEMONS, policy, cluster=ml50())[0]
    assert "keeps its pods off gpu-01 and 14 more" in problem.message
    assert problem.at == ("spec", "daemonsets")
    policy["spec"]["daemonsets"]["tolerations"] = [GPU_TAINT, TRAINING_TAINT]
    (problem,) = found(DAEMONS, policy, cluster=ml50())
    assert "gen.internal/inference=present:NoSchedule keeps its pods off gpu-13 and 2 more" in problem.message
    policy["spec"]["daemonsets"]["tolerations"] += [INFERENCE_TAINT]
    assert found(DAEMONS, policy, cluster=ml50()) == []


SELECTORS: list[tuple[dict[str, Any], bool]] = [
    ({"nodeLabels": {POOL: "gpu-training"}}, True),
    ({"nodeLabels": {POOL: "gpu"}}, False),
    ({"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [rule(POOL, "In", "cpu")]}]}}}, True),
    ({"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [rule(POOL, "In", "x")]}]}}}, False),
    ({"nodeSelector": {"matchLabels": {POOL: "cpu"}}}, True),
    ({"nodeSelector": {"matchLabels": {POOL: "x"}}}, False),
    ({"nodeSelector": {}}, True),
    ({"nodeSelector": "all()"}, True),
    ({"parts": [{"nodeSelector": {POOL: "x"}}]}, False),
]


@pytest.mark.parametrize(("spec", "right"), SELECTORS)
def test_selectors_outside_pods_match_a_node(spec: dict[str, Any], right: bool) -> None:  # noqa: FBT001
    problems = found(SELECTED, manifest("Widget", "example.org/v1", spec=spec), cluster=ml50())
    assert (problems == []) == right
    for problem in problems:
        reached(problem)


def test_a_workload_is_not_told_twice_and_a_definition_selects_nothing() -> None:
    crd = manifest("CustomResourceDefinition", spec={"nodeSelector": {"type": "object"}})
    assert found(SELECTED, crd, workload(nodeSelector={POOL: "x"}), cluster=ml50()) == []


@pytest.mark.parametrize(
    ("toleration", "covered"),
    [
        ({"key": "a", "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"key": "a", "value": "b"}, True),
        ({"key": "a", "operator": "Equal", "value": "b", "effect": "NoSchedule"}, True),
        ({"key": "a"}, False),
        ({"key": "b", "operator": "Exists"}, False),
        ({"key": "a", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "", "value": "b"}, False),
        ({}, False),
    ],
)
def test_tolerations_cover_taints_as_the_scheduler_says(toleration: Any, covered: bool) -> None:  # noqa: FBT001
    node = workers(ml50())[0]
    tainted = structs.replace(node, taints=(TAINT,))
    assert (blocking([toleration], tainted) == []) == covered


TAINT = Taint("a", "b", "NoSchedule")


def test_nodes_are_those_of_the_cluster_file() -> None:
    nodes = {node.name: node for node in workers(ml50())}
    assert len(nodes) == len(ml50().machines)
    assert nodes["gpu-01"].room["nvidia.com/gpu"] == 8000
    assert nodes["gpu-01"].has("rdma/hca_shared_devices_a") == 63000
    assert nodes["cpu-01"].has("nvidia.com/gpu") == 0
    assert nodes["cpu-01"].has("ephemeral-storage") is None
    assert 0 < nodes["cpu-01"].room["cpu"] < nodes["cpu-01"].whole["cpu"]


def test_obstacles_are_told_for_each_node() -> None:
    (pod,) = pods(built(workload(nodeSelector={POOL: "cpu"}, containers=[container()])))
    nodes = {node.name: placement.obstacles(pod, node) for node in workers(ml50())}
    assert nodes["cpu-01"] == []
    assert len(nodes["gpu-01"]) == 3


GROUPED: list[dict[str, Any]] = [
    {"topologySpreadConstraints": [{"topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]},
    {"affinity": {"podAffinity": {REQUIRED: [{"topologyKey": "zone"}]}}},
]


@pytest.mark.parametrize("spec", GROUPED)
def test_pods_are_not_kept_apart_or_together_by_a_label_that_no_node_has(spec: dict[str, Any]) -> None:
    (problem,) = found(PLACED, workload(**spec), cluster=ml50())
    assert "it has no label zone, by which they are to be" in problem.message
    assert reached(problem) == "zone"
    assert problem.fix == "leave it out, or topologyKey: kubernetes.io/hostname"


def test_nodes_without_the_gpus_that_a_pod_asks_for_come_nowhere_near() -> None:
    """The fix leaves nothing of what keeps it off."""
    asking = [container(resources={"limits": {"nvidia.com/gpu": 8, "example.org/none": 1}})]
    one = workload(containers=asking, nodeSelector={"accelerator": "h100"}, tolerations=[GPU_TAINT])
    (problem,) = found(PLACED, one, cluster=ml50())
    assert "pool gpu-training comes nearest" in problem.message
    lists = "tolerations: [{key: gen.internal/training, operator: Exists, effect: NoSchedule}]"
    assert problem.fix == f"leave it out: no node has a label accelerator; {lists}"
