from typing import Any

import pytest
from manifests import container, deployment, found, ml50, reached, workload
from msgspec import structs
from reference import load, with_hardware

from generator.model.cluster import ComponentSettings
from generator.model.nodes import Gpus, Machine, Mig
from generator.rules import resources
from generator.rules.nodes import workers

FITTING, LIMITED, WHOLE = resources.fitting, resources.limited, resources.whole
OFFERED, UNKNOWN = resources.offered, resources.unknown
ANYWHERE = [{"operator": "Exists"}]


def asking(requests: dict[str, Any] | None = None, limits: dict[str, Any] | None = None, **spec: Any) -> Any:
    told = {"requests": requests or {}, "limits": limits or {}}
    return workload(tolerations=ANYWHERE, containers=[container(resources=told)], **spec)


def test_what_a_node_can_give_is_fine() -> None:
    spec = asking({"cpu": 100, "memory": "900Gi"}, {"nvidia.com/gpu": 8, "rdma/hca_shared_devices_a": 1})
    assert found(FITTING, spec, cluster=ml50()) == []


TOO_MUCH: list[tuple[Any, str]] = [
    (asking({"cpu": 500}), "it asks for 500 cpu, and no node that it may be on has more than 125 cpu (gpu-01)"),
    (asking({"memory": "9Ti"}), "it asks for 9 TiB of memory, and no node"),
    (
        asking(limits={"nvidia.com/gpu": 9}),
        "it asks for 9 nvidia.com/gpu, and no node that it may be on has more than 8",
    ),
    (
        asking({"cpu": 10}, {"nvidia.com/gpu": 1}, nodeSelector={"gen.internal/pool": "cpu"}),
        "has more than 0 nvidia.com/gpu",
    ),
    (workload(containers=[container(resources={"requests": {"cpu": 80}})] * 2, tolerations=ANYWHERE), "160 cpu"),
]


@pytest.mark.parametrize(("spec", "told"), TOO_MUCH)
def test_what_no_node_can_give_is_told(spec: Any, told: str) -> None:
    (problem,) = found(FITTING, spec, cluster=ml50())
    assert told in problem.message
    assert problem.at[:5] == ("spec", "template", "spec", "containers", 0)
    reached(problem)


def test_what_other_nodes_have_is_no_matter_of_less() -> None:
    there = {"nodeSelector": {"gen.internal/pool": "a100-slices"}}
    (problem,) = found(FITTING, asking(limits={"nvidia.com/gpu": 1}, **there), cluster=load("gpu-serving"))
    assert problem.fix == "select nodes that have it: those of pool a100 or l4 or t4"


def test_what_only_different_nodes_can_give_is_told() -> None:
    cpu, gpu = {"cpu": 100}, {"nvidia.com/gpu": 1}
    lean = structs.replace(
        ml50(),
        machines=tuple(with_hardware(one, cpu=8 if one.gpus else 256) for one in ml50().machines),
    )
    assert found(FITTING, asking(cpu, gpu), cluster=ml50()) == []
    (problem,) = found(FITTING, asking(cpu, gpu), cluster=lean)
    assert "at once" in problem.message


def test_containers_that_run_one_after_another_are_not_added_up() -> None:
    first = container(name="first", resources={"requests": {"cpu": 100}})
    main = container(resources={"requests": {"cpu": 100}})
    pod = workload(initContainers=[first], containers=[main], tolerations=ANYWHERE)
    assert found(FITTING, pod, cluster=ml50()) == []
    sidecar = {**first, "restartPolicy": "Always"}
    (problem,) = found(
        FITTING, workload(initContainers=[sidecar], containers=[main], tolerations=ANYWHERE), cluster=ml50()
    )
    assert "200 cpu" in problem.message


def test_a_daemon_set_may_have_what_is_kept_for_daemon_sets() -> None:
    node = max(workers(ml50()), key=lambda one: one.room["cpu"])
    between = f"{node.room['cpu'] + 1}m"
    spec: dict[str, Any] = {
        "tolerations": ANYWHERE,
        "containers": [container(resources={"requests": {"cpu": between}})],
    }
    assert len(found(FITTING, workload(**spec), cluster=ml50())) == 1
    assert found(FITTING, workload("DaemonSet", **spec), cluster=ml50()) == []


def test_a_pod_without_a_node_is_told_elsewhere() -> None:
    nowhere = asking({"cpu": 500}, nodeSelector={"gen.internal/pool": "none"})
    assert found(FITTING, nowhere, cluster=ml50()) == []


@pytest.mark.parametrize(
    ("requests", "limits", "wrong"),
    [
        ({"memory": "2Gi"}, {"memory": "1Gi"}, True),
        ({"memory": "1Gi"}, {"memory": "1024Mi"}, False),
        ({"cpu": "1500m"}, {"cpu": 1}, True),
        ({"cpu": 1}, {"cpu": "1000m"}, False),
        ({"cpu": 1}, {}, False),
        ({"cpu": "given-at-submission"}, {"cpu": 1}, False),
    ],
)
def test_a_limit_is_not_below_its_request(requests: Any, limits: Any, wrong: bool) -> None:  # noqa: FBT001
    problems = found(LIMITED, deployment(resources={"requests": requests, "limits": limits}))
    assert bool(problems) == wrong
    for problem in problems:
        reached(problem)


@pytest.mark.parametrize(
    ("requests", "limits", "wrong"),
    [
        ({}, {"nvidia.com/gpu": 1}, False),
        ({"nvidia.com/gpu": 1}, {"nvidia.com/gpu": "1"}, False),
        ({"nvidia.com/gpu": 1}, {}, True),
        ({"nvidia.com/gpu": 1}, {"nvidia.com/gpu": 2}, True),
        ({}, {"nvidia.com/gpu": "500m"}, True),
        ({"hugepages-2Mi": "1Gi"}, {}, True),
        ({"hugepages-2Mi": "1Gi"}, {"hugepages-2Mi": "1Gi"}, False),
        ({"cpu": 1}, {"cpu": 2}, False),
    ],
)
def test_devices_are_asked_for_in_whole(requests: Any, limits: Any, wrong: bool) -> None:  # noqa: FBT001
    problems = found(WHOLE, deployment(resources={"requests": requests, "limits": limits}))
    assert bool(problems) == wrong
    for problem in problems:
        reached(problem)


@pytest.mark.parametrize("name", ["nvidia.com/gpu", "rdma/hca_shared_devices_a", "memory", "pods", "ephemeral-storage"])
def test_what_nodes_offer_may_be_asked_for(name: str) -> None:
    for rule in (OFFERED, UNKNOWN):
        assert found(rule, asking(limits={name: 1}), cluster=ml50()) == []


@pytest.mark.parametrize("name", ["nvidia.com/mig-1g.10gb", "rdma/hca"])
def test_a_device_by_a_name_that_no_node_has_is_an_error(name: str) -> None:
    (problem,) = found(OFFERED, asking(limits={name: 1}), cluster=ml50())
    assert problem.message == f"container main: no node offers {name}"
    assert problem.fix == "ask for one that nodes offer: nvidia.com/gpu, rdma/hca_shared_devices_a"
    assert reached(problem) == 1
    assert found(UNKNOWN, asking(limits={name: 1}), cluster=ml50()) == []
    assert found(FITTING, asking(limits={name: 1}), cluster=ml50()) == []


@pytest.mark.parametrize("name", ["example.org/fpga", "hugepages-1Gi"])
def test_a_device_of_somebody_else_is_a_warning(name: str) -> None:
    (problem,) = found(UNKNOWN, asking(limits={name: 1}), cluster=ml50())
    assert problem.severity == "warning"
    assert found(OFFERED, asking(limits={name: 1}), cluster=ml50()) == []


def splitting(profile: str, strategy: str = "single") -> Any:
    """Return the cluster with the GPUs of its training pool split."""

    def split(one: Machine) -> Machine:
        if one.pool != "gpu-training" or one.hardware.gpu is None:
            return one
        return with_hardware(one, gpu=structs.replace(one.hardware.gpu, mig=Mig(profile=profile)))

    gpus = Gpus(mig_strategy=strategy)  # type: ignore[arg-type]
    return structs.replace(ml50(), gpus=gpus, machines=tuple(split(one) for one in ml50().machines))


@pytest.mark.parametrize(
    ("profile", "strategy", "resource", "count"),
    [
        ("all-1g.10gb", "single", "nvidia.com/gpu", 56),
        ("all-3g.40gb", "single", "nvidia.com/gpu", 16),
        ("all-7g.80gb", "single", "nvidia.com/gpu", 8),
        ("all-1g.10gb", "mixed", "nvidia.com/mig-1g.10gb", 56),
        ("all-disabled", "single", "nvidia.com/gpu", 8),
        ("all-balanced", "mixed", "nvidia.com/mig-2g.20gb", 8),
        ("all-1g.10gb.me", "mixed", "nvidia.com/mig-1g.10gb.me", 8),
    ],
)
def test_split_gpus_have_other_names_and_numbers(profile: str, strategy: str, resource: str, count: int) -> None:
    node = next(one for one in workers(splitting(profile, strategy)) if one.name == "gpu-01")
    assert node.has(resource) == count * 1000
    for rule in (OFFERED, UNKNOWN):
        assert found(rule, asking(limits={resource: 1}), cluster=splitting(profile, strategy)) == []


def test_a_device_plugin_with_settings_of_its_own_may_offer_anything() -> None:
    settings = {"gpu-operator": ComponentSettings(values={"devicePlugin": {"config": {"name": "shared"}}})}
    sharing = structs.replace(ml50(), components=settings)
    asked = asking(limits={"nvidia.com/gpu.shared": 64})
    assert found(OFFERED, asked, cluster=sharing) == []
    assert len(found(OFFERED, asked, cluster=ml50())) == 1


@pytest.mark.parametrize(("namespace", "pool"), [("serving", "inference"), ("vision", "training")])
def test_gpus_behind_taints_are_told_with_the_tolerations_of_the_teams_pool(namespace: str, pool: str) -> None:
    asking = [container(resources={"limits": {"nvidia.com/gpu": 1}})]
    (problem,) = found(FITTING, workload(namespace=namespace, containers=asking), cluster=ml50())
    assert f"is on nodes that it does not tolerate: nvidia.com/gpu=present:NoSchedule and gen.internal/{pool}" in str(
        problem.message
    )
    taints = ("nvidia.com/gpu", f"gen.internal/{pool}")
    each = ", ".join(f"{{key: {key}, operator: Exists, effect: NoSchedule}}" for key in taints)
    assert problem.fix == f"tolerations: [{each}]"


@pytest.mark.parametrize(("name", "fix"), [("gpu", "write nvidia.com/gpu"), ("storage", "Kubernetes' own are cpu, ")])
def test_resources_that_are_nobodys_are_told(name: str, fix: str) -> None:
    (problem,) = found(resources.named, deployment(resources={"limits": {name: 1, "cpu": 1, "memory": 1}}))
    assert reached(problem) == 1
    assert problem.at[-1] == name
    assert problem.fix.startswith(fix)


@pytest.mark.parametrize("name", ["cpu", "ephemeral-storage", "hugepages-2Mi", "nvidia.com/gpu", "rdma/hca"])
def test_resources_of_kubernetes_and_of_others_are_fine(name: str) -> None:
    assert found(resources.named, deployment(resources={"limits": {name: 1}})) == []


def test_a_request_unlike_its_limit_is_told_where_it_stands() -> None:
    asked = {"requests": {"nvidia.com/gpu": 1}, "limits": {"nvidia.com/gpu": 8}}
    (problem,) = found(WHOLE, deployment(resources=asked))
    assert "requests 1 nvidia.com/gpu and has a limit of 8" in problem.message
    assert reached(problem) == 1
