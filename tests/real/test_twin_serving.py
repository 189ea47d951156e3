"""A team's Triton on `gpu-serving`, on whole GPUs, on turns and on instances of them, and its service without GPUs:
Kubernetes' own autoscaler makes replicas, and Kueue lets each of them in.
"""

import time
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from generator.workloads import workload
from generator.workloads.server import BUSY, Server, server
from generator.workloads.wanted import Serving, Wanted

if TYPE_CHECKING:
    from twin.fixtures import Twin
    from twin.metrics import Fed
    from twin.team import Member

pytest_plugins = ["apiserver", "twin.fixtures"]
pytestmark = pytest.mark.twin

SCALERS = "/apis/autoscaling/v2/namespaces/search/horizontalpodautoscalers"
WAITS = "triton_queue_seconds"
PATIENCE = 240.0
"""Seconds for two steps: the controller looks every 15 s."""


@pytest.fixture(scope="module")
def serving() -> Iterator["Twin"]:
    from twin.fixtures import reference

    with reference("gpu-serving") as made:
        yield made


@pytest.fixture(scope="module")
def waits(serving: "Twin") -> Iterator["Fed"]:
    from twin.metrics import fed

    with fed(serving.api) as made:
        yield made


@pytest.fixture
def search(serving: "Twin") -> Iterator["Member"]:
    yield serving.member("search")
    for path in (SCALERS, "/apis/policy/v1/namespaces/search/poddisruptionbudgets"):
        serving.api.request("DELETE", path)
    for name in ("asr", "bulk", "tagger"):
        serving.api.request("DELETE", f"/api/v1/namespaces/search/services/{name}")
    serving.clean()


def submit(search: "Member", name: str, *, least: int = 1, most: int, pool: str = "l4") -> None:
    """Write a Triton and make it as a member of the team. Only the times that the autoscaler waits are shorter: ten
    minutes without load are a test of patience.
    """
    from reference import load

    asked = Serving(models="s3://models/asr", least=least, most=most, credentials="keys")
    wanted = Wanted(name=name, team="search", pool=pool, gpus=1, image="example.org/triton:26.07", serving=asked)
    made(search, workload(load("gpu-serving"), "triton", wanted).manifests)


def made(search: "Member", manifests: list[dict[str, Any]]) -> None:
    """Make a service, whose autoscaler waits for nothing."""
    for manifest in manifests:
        if manifest["kind"] == "HorizontalPodAutoscaler":
            for each in manifest["spec"]["behavior"].values():
                each["stabilizationWindowSeconds"] = 0
                each["policies"][0]["periodSeconds"] = 15
        assert search.submit(manifest) == (201, ""), manifest["kind"]


def status(search: "Member", name: str = "asr") -> Any:
    return search.api.get(f"{SCALERS}/{name}")["status"]


def told(search: "Member", name: str = "asr") -> dict[str, str]:
    return {one["type"]: one["reason"] for one in status(search, name).get("conditions") or []}


def test_replicas_follow_how_long_requests_wait(serving: "Twin", waits: "Fed", search: "Member") -> None:
    from twin.team import eventually

    waits.values[WAITS] = "50m"  # as long as is wanted
    submit(search, "asr", most=3)
    eventually("a replica runs", lambda: search.running() == 1, PATIENCE)
    eventually("it is looked at", lambda: told(search).get("ScalingActive") == "ValidMetricFound", PATIENCE)
    assert search.running() == 1
    waits.values[WAITS] = "400m"
    eventually("three replicas", lambda: search.running() == 3, PATIENCE)
    assert search.nodes() <= set(serving.pool("l4"))
    assert all(_admitted(one) for one in search.workloads())
    assert len(search.workloads()) == 3
    assert told(search)["ScalingLimited"] == "TooManyReplicas"
    waits.values[WAITS] = "0"
    eventually("one replica", lambda: search.running() == 1, PATIENCE)
    eventually("its quota is given back", lambda: len(search.workloads()) == 1)


def test_replicas_without_gpus_follow_how_many_cpus_they_use(serving: "Twin", waits: "Fed", search: "Member") -> None:
    from reference import load
    from twin.team import eventually

    cpus = 4
    asked = Server(name="tagger", team="search", image="example.org/x:1", port=8080, least=1, most=3, cpus=cpus)
    waits.cpu = f"{cpus * BUSY * 10}m"  # as much as is wanted
    made(search, server(load("gpu-serving"), asked)[0])
    eventually("a replica runs", lambda: search.running() == 1, PATIENCE)
    eventually("it is looked at", lambda: told(search, "tagger").get("ScalingActive") == "ValidMetricFound", PATIENCE)
    assert search.running() == 1
    waits.cpu = f"{cpus}"
    eventually("three replicas", lambda: search.running() == 3, PATIENCE)
    assert search.nodes() <= set(serving.pool("storage"))
    assert len(search.workloads()) == 3
    assert all(_admitted(one) for one in search.workloads())
    waits.cpu = "100m"
    eventually("one replica", lambda: search.running() == 1, PATIENCE)
    eventually("its quota is given back", lambda: len(search.workloads()) == 1)


def test_a_replica_that_has_no_room_waits_and_is_not_asked_for_twice(
    serving: "Twin", waits: "Fed", search: "Member"
) -> None:
    """Eight GPUs are all that the team can have there, and another service of its own has six."""
    from twin.team import eventually, most

    submit(search, "bulk", least=6, most=6)
    eventually("the other service runs", lambda: search.running() == 6, PATIENCE)
    waits.values[WAITS] = "400m"
    submit(search, "asr", most=3)
    eventually("three are wanted", lambda: status(search).get("desiredReplicas") == 3, PATIENCE)
    eventually("two of them run", lambda: search.running() == 6 + 2, PATIENCE)
    assert most(search.running, 20) == 6 + 2
    scaled(serving, search, "bulk", 5)
    eventually("the third runs", lambda: search.running() == 5 + 3, PATIENCE)


def test_without_its_metric_it_stays_as_large_as_it_is(waits: "Fed", search: "Member") -> None:
    from twin.team import eventually

    waits.values[WAITS] = "400m"
    submit(search, "asr", most=2)
    eventually("two replicas", lambda: search.running() == 2, PATIENCE)
    waits.values.clear()
    eventually("it is told", lambda: told(search).get("ScalingActive") == "FailedGetPodsMetric", PATIENCE)
    time.sleep(20)
    assert search.running() == 2


BESIDE = {"labelSelector": {"matchLabels": {"app.kubernetes.io/instance": "asr"}}}
HOSTS = {"topologyKey": "kubernetes.io/hostname", **BESIDE}
SPREADS: dict[str, tuple[dict[str, Any], int]] = {
    "as it is written": ({}, 2),
    "a wish": (
        {
            "affinity": {
                "podAntiAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": HOSTS}]
                }
            }
        },
        2,
    ),
    # Of the nodes that a pod may run on, which are one.
    "a spread": ({"topologySpreadConstraints": [{"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **HOSTS}]}, 2),
    "a demand": ({"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [HOSTS]}}}, 1),
}


@pytest.mark.parametrize("spread", SPREADS)
def test_kueue_chooses_the_node_of_replicas_whatever_they_say_of_each_other(search: "Member", spread: str) -> None:
    """The fullest that has room: what is wished for changes nothing, and a demand keeps one of them waiting there."""
    from reference import load
    from twin.team import eventually, most

    said, run = SPREADS[spread]
    asked = Serving(models="s3://models/asr", least=2, most=2, credentials="keys")
    wanted = Wanted(name="asr", team="search", pool="l4", gpus=1, image="example.org/triton:26.07", serving=asked)
    manifests = workload(load("gpu-serving"), "triton", wanted).manifests
    for manifest in manifests:
        if manifest["kind"] == "Deployment":
            manifest["spec"]["template"]["spec"] |= said
    made(search, manifests)
    eventually("both are let in", lambda: [_admitted(one) for one in search.workloads()] == [True, True], PATIENCE)
    eventually("what can run does", lambda: search.running() == run, PATIENCE)
    assert most(search.running, 8) == run
    assert len(search.nodes()) == 1


@pytest.mark.parametrize(
    ("pool", "device", "on_each"),
    [("t4", "nvidia.com/gpu", 16), ("a100-slices", "nvidia.com/mig-2g.20gb", 12)],
    ids=["turns on T4", "instances of A100"],
)
def test_a_pool_of_parts_takes_as_many_replicas_as_it_has(
    serving: "Twin", search: "Member", pool: str, device: str, on_each: int
) -> None:
    """Four T4 in each node with four turns, and four A100 with three instances each, of which the team borrows what
    another one leaves idle. No service gets the device of another pool instead.
    """
    from twin.team import eventually, most

    nodes = {*serving.pool(pool)}
    there = on_each * len(nodes)
    submit(search, "bulk", least=there, most=there, pool=pool)
    eventually("all that there is runs", lambda: search.running() == there, PATIENCE)
    found = search.pods()
    limits = [one["spec"]["containers"][0]["resources"]["limits"] for one in found]
    assert {each[device] for each in limits} == {"1"}
    assert Counter(one["spec"]["nodeName"] for one in found) == dict.fromkeys(nodes, on_each)
    submit(search, "asr", most=1, pool=pool)
    eventually("one more is wanted", lambda: len(search.pods()) == there + 1)
    assert most(search.running, 20) == there
    assert len([one for one in search.workloads() if _admitted(one)]) == there
    scaled(serving, search, "bulk", there - 1)
    eventually("it runs", lambda: search.running() == there and len(search.pods()) == there, PATIENCE)


def scaled(serving: "Twin", search: "Member", name: str, replicas: int) -> None:
    """Have a service run so many replicas, as a member."""
    path = f"/apis/apps/v1/namespaces/search/deployments/{name}/scale"
    scale = serving.api.get(path)
    scale["spec"]["replicas"] = replicas
    assert serving.api.request("PUT", path, scale, by=search.who)[0] == 200


def _admitted(one: dict[str, Any]) -> bool:
    conditions = one.get("status", {}).get("conditions") or []
    return any(each["type"] == "Admitted" and each["status"] == "True" for each in conditions)
