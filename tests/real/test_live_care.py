"""Sick GPUs by the operations as rendered, with real pods (livesite.py): found and marked, left by jobs, let in again.
Nodes are KWOK's, and their exporters answer on loopback.
"""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from auditing import betrayed, stored, unused, written
from caresite import ACCOUNTS, CLUSTER, Care, serve, serving
from exporteroutputs import Device, exporters, uuid
from livesite import Site
from playedgangs import TRAIN, WORKLOADS, Gang, running

from generator.components.gpu_care import gpu_care
from generator.components.gpu_care.names import SICK
from generator.components.gpu_operator import EXPORTER_PORT
from generator.components.node_operations.names import NAMESPACE

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin

Object = dict[str, Any]
SICK_ONE, SICK_TWO, THIRD = WATCHED = ("gpu-01", "gpu-03", "gpu-02")
"""Nodes with an exporter."""
SPARE = ("gpu-04", "gpu-05")
"""Where gangs go that leave the others."""
RUNS = f"/apis/argoproj.io/v1alpha1/namespaces/{NAMESPACE}/workflows"


@pytest.fixture(scope="module")
def care(site: Site) -> Iterator[Care]:
    """The operations, and nodes with GPUs."""
    for name in (*WATCHED, *SPARE):
        site.steps.join(name)
    folder = site.folder / "care"
    folder.mkdir()
    made = Care(site.steps.twin, folder, [*WATCHED])
    made.bring_all()
    site.bring(gpu_care(CLUSTER))
    with exporters(made.answers, EXPORTER_PORT):
        yield made
    for name in (*WATCHED, *SPARE):
        site.steps.leave(name)


@pytest.fixture(scope="module")
def gangs(care: Care) -> Iterator[list[Gang]]:
    """Gangs of two pods, one of them on a node that falls sick; and a service on another one that does."""
    with running(care, SICK_ONE, THIRD) as found:
        serve(care, SICK_TWO)
        yield found
        care.undeploy("default", "serving")


def stopped(site: Site, gang: Gang) -> bool:
    return not site.api.get(f"{WORKLOADS}/{gang.name}")["spec"]["active"]


def pods_of(site: Site, run: str) -> dict[str, list[Object]]:
    """Return the pods of a run's nodes as the controller tells them, by the item of `withParam`."""
    found: dict[str, list[Object]] = {}
    for one in site.api.get(f"{RUNS}/{run}")["status"]["nodes"].values():
        if one["type"] == "Pod" and (item := re.search(r"\.node\(\d+:([^)]+)\)", one["name"])):
            found.setdefault(item[1], []).append(one)
    return found


def waits(site: Site, run: str) -> str:
    """Return for what an item of a run waits, as the controller tells it."""
    nodes = (site.api.get(f"{RUNS}/{run}").get("status") or {}).get("nodes") or {}
    told = (one.get("message", "") for one in nodes.values() if one["displayName"].startswith("node("))
    return next((one for one in told if "lock" in one), "")


def test_a_sick_gpu_is_found_by_the_second_look(site: Site, care: Care, gangs: list[Gang]) -> None:
    said = site.well(site.begin("gpu-care"))
    assert "gpu-06: it has no DCGM exporter that is Ready" in said
    (pod, *_) = [one for one in gangs[0].pods() if one["spec"]["nodeName"] == THIRD]
    care.tells(SICK_ONE, Device(0), Device(1, 79))
    care.tells(SICK_TWO, Device(0, 119))
    care.tells(THIRD, Device(0, 31, pod=f"default/{pod['metadata']['name']}"))
    assert f"sick: {SICK_ONE}, {SICK_TWO}" in site.well(site.begin("gpu-care"))
    assert {*care.tainted()} == {SICK_ONE, SICK_TWO}
    assert care.care_of(THIRD)["jobs"].keys() == {f"default/{gangs[0].name}"}
    events = site.api.items(f"/api/v1/namespaces/{NAMESPACE}/events")
    assert {one["involvedObject"]["name"] for one in events if one["reason"] == "GpuSick"} == {SICK_ONE, SICK_TWO}


def test_jobs_leave_one_sick_node_after_the_other_though_a_run_is_killed(
    site: Site, care: Care, gangs: list[Gang]
) -> None:
    """Each item of `withParam` waits for the lock that all operations have which take nodes away."""
    train = next(one for one in gangs if one.kind == TRAIN)
    (pod,) = [one for one in train.pods() if one["spec"]["nodeName"] == SICK_ONE]
    at = f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}"
    care.patch(at, {"metadata": {"annotations": {"twin.test/stuck": "1"}}})
    run = site.begin("gpu-drain")
    site.until("its gang is stopped", lambda: stopped(site, train))
    run = site.killed(run)
    assert site.api.get(at), "the run was killed while the gang left"
    site.api.request("DELETE", f"{at}?gracePeriodSeconds=0")
    said = site.well(run)
    assert f"jobs must leave: {SICK_ONE}, {SICK_TWO}" in said
    assert f"no pod holds nvidia.com/ of {SICK_ONE}" in said
    assert f"no pod holds nvidia.com/ of {SICK_TWO}" in said
    items = pods_of(site, run)
    assert items.keys() == {SICK_ONE, SICK_TWO}
    first, second = sorted(items.values(), key=lambda found: min(one["startedAt"] for one in found))
    assert max(one["finishedAt"] for one in first) <= min(one["startedAt"] for one in second), items
    for one in gangs:
        site.until(f"{one.name} runs", one.whole)
        assert one.runs_on().isdisjoint({SICK_ONE, SICK_TWO})
    assert serving(care) == [(True, "")]


@pytest.mark.usefixtures("care")
def test_jobs_of_a_node_wait_for_another_operation(site: Site) -> None:
    """And what nobody would make again keeps its node alone from being left."""
    site.steps.deployment("default", "held", SPARE[1], tolerates=("nvidia.com/gpu", "gen.internal/training"))
    budget = {"minAvailable": 1, "selector": {"matchLabels": {"one": "held"}}}
    kind = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
    site.api.apply({**kind, "metadata": {"name": "held", "namespace": "default"}, "spec": budget})
    container = {
        "name": "main",
        "image": "registry.example.org/any:1",
        "resources": {"limits": {"nvidia.com/gpu": "1"}},
    }
    bare = {"nodeName": SICK_TWO, "containers": [container], "tolerations": [{"operator": "Exists"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bare", "namespace": "default"}, "spec": bare}
    assert site.api.create(pod, dry=False)[0] == 201
    removal = site.begin("node-removal", SPARE[1])
    site.reaches(removal, "evict")
    run = site.begin("gpu-drain")
    site.until("it waits", lambda: waits(site, run))
    assert "node-disruption" in waits(site, run)
    assert pods_of(site, run) == {}
    site.api.request("DELETE", "/apis/policy/v1/namespaces/default/poddisruptionbudgets/held")
    site.good(removal)
    site.refused({"nobody makes default/bare again: end or delete it first": run})
    site.api.request("DELETE", "/api/v1/namespaces/default/pods/bare?gracePeriodSeconds=0")
    site.steps.undeploy("default", "held")


def test_a_node_keeps_its_marks_until_it_is_repaired(site: Site, care: Care) -> None:
    site.refused({f"{SICK_ONE} keeps its marks: {uuid(1)} still tells Xid 79": site.begin("gpu-cleared", SICK_ONE)})
    assert SICK_ONE in care.tainted()
    care.tells(SICK_ONE, Device(0), Device(1))
    assert f"{SICK_ONE}: all its GPUs are healthy" in site.well(site.begin("gpu-cleared", SICK_ONE))
    assert care.tainted() == [SICK_TWO]
    assert SICK not in care.node(SICK_ONE)["metadata"]["annotations"]
    run = site.begin("gpu-drain")
    assert "jobs must leave: none" in site.well(run)
    assert pods_of(site, run) == {}


def test_no_right_is_unused_and_none_is_missing(site: Site, care: Care) -> None:
    """After all others. What Argo's executor asks is among it."""
    assert care.tainted() == [SICK_TWO]
    assert unused(site.api, site.folder, *ACCOUNTS) == set()


def test_no_token_is_told(site: Site, care: Care) -> None:
    """After all others."""
    tokens = [file.read_text() for file in care.folder.glob("*/token")]
    assert betrayed([*stored(site.api), *written(site.folder)], tokens) == []
