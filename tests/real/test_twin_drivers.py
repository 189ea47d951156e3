"""New drivers brought to nodes with GPUs: real scripts with the rights that are rendered, a real API server, its
controllers and scheduler. The nodes are KWOK's; of the GPU Operator only its DaemonSets are there. Gangs are let in and
taken back by a stand-in; by Kueue they are in test_twin_upgrade.py.
"""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from burnins import BurnIns
from caresite import DEPLOYMENTS, GPU
from driversite import PODS, SETS, Drivers
from nodesite import audited, control_plane, told_tokens, unused
from nodesteps import NODES, Steps, cordoned, notes
from playedgangs import gangs
from reference import load

from generator.components.node_operations.names import DRIVER_UPGRADE, NAMESPACE

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin

POOL = "gpu-inference"
"""Three nodes, all of one rack."""
ONLY = {"DRAIN_ONLY": "nvidia.com/"}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Write down what the steps ask of the API server."""
    with audited(tmp_path_factory.mktemp("audit")) as made:
        yield made


@pytest.fixture(scope="module")
def site(log: Path) -> Iterator[Drivers]:
    assert log.is_dir()
    with (
        tempfile.TemporaryDirectory(prefix="drivers-", ignore_cleanup_errors=True) as name,
        contextlib.ExitStack() as stack,
    ):
        ml50 = load("ml50")
        steps = stack.enter_context(control_plane(ml50, Path(name), *(one.name for one in ml50.machines)))
        made = Drivers(steps, [one.name for one in ml50.gpu_nodes])
        made.prepare()
        yield made


@pytest.fixture
def steps(site: Drivers) -> Steps:
    return site.steps


def test_every_node_gets_a_new_driver_and_only_pods_with_gpus_leave(site: Drivers, steps: Steps) -> None:
    tolerates = ("nvidia.com/gpu", "gen.internal/inference")
    for name in ("serving", "plain"):
        steps.deployment("default", name, "gpu-13", tolerates=tolerates)
    steps.patch(f"{DEPLOYMENTS}/serving", {"spec": {"template": {"spec": {"containers": [GPU]}}}})
    steps.api.wait("it holds a GPU", lambda: [*site.of("serving").values()] == [True])
    steps.api.wait("the other one runs", lambda: [*site.of("plain").values()] == [False])
    before = {name: {*site.of(name)} for name in ("serving", "plain")}
    assert "all nodes have the newest driver" in steps.good("driver_upgrade", "gate", **ONLY)
    site.driver("2")
    assert "15 of 15 nodes with GPUs are to get it, in 15 steps" in steps.good("driver_upgrade", "plan", **ONLY)
    assert site.drivers("2") == set(), "nothing happens by itself"
    with gangs(steps, "gpu-01", "gpu-02", "gpu-03"), BurnIns(steps) as burn_ins:
        steps.good("driver_upgrade", "gate", **ONLY)
        steps.good("driver_upgrade", "nodes", AT_ONCE="3", PATIENCE="900", **ONLY)
    assert "all have the newest driver" in steps.good("driver_upgrade", "report", **ONLY)
    assert site.drivers("2") == {*site.names}
    assert sorted(burn_ins.tried) == sorted([*site.names, *site.names]), "devices, and GPUs together"
    assert {*burn_ins.tried[:6]} == {"gpu-13", "gpu-14", "gpu-15"}, "pool after pool"
    assert site.steps.held() == set()
    assert "gen.internal/driver-upgrade" not in notes(steps, "gpu-13")
    assert not before["serving"] & {*site.of("serving")}, "it had to leave"
    assert before["plain"] == {*site.of("plain")}, "it holds no GPU"
    steps.undeploy("default", "serving", "plain")


def test_a_run_that_was_killed_is_gone_on_with(site: Drivers, steps: Steps) -> None:
    site.driver("3")
    with BurnIns(steps) as burn_ins:
        count = steps.killed("driver_upgrade", "nodes", "", POOLS=POOL, **ONLY)
    # Each of three nodes: held, begun, its driver pod evicted, two burn-ins made, noted, both taken away, let in. A run
    # that meets a burn-in of the one before evicts it where it runs already, and its Job makes it again.
    assert 3 * 9 <= count <= 3 * 11
    assert site.drivers("3") == {"gpu-13", "gpu-14", "gpu-15"}
    assert {*burn_ins.tried} == {"gpu-13", "gpu-14", "gpu-15"}
    assert site.steps.held() == set()


def test_a_node_without_its_gpus_stops_the_next_and_a_new_run_goes_on(site: Drivers, steps: Steps) -> None:
    site.driver("4")
    steps.status(f"{NODES}/gpu-13", {"allocatable": {"nvidia.com/gpu": "7"}})
    assert "gpu-13 lacks already: nvidia.com/gpu: 7 of 8" in steps.good("driver_upgrade", "plan", POOLS=POOL, **ONLY)
    said = steps.refused("driver_upgrade", "nodes", POOLS=POOL, NODE_SECONDS="5", **ONLY)
    assert "gpu-13: not as it must be after 5 s" in said
    assert "nvidia.com/gpu: 7 of 8" in said
    assert site.steps.held() == {"gpu-13"}
    assert "gpu-14" not in site.drivers("4")
    assert "gpu-13 is held" in steps.good("driver_upgrade", "report", STATUS="Failed", POOLS=POOL, **ONLY)
    steps.status(f"{NODES}/gpu-13", {"allocatable": {"nvidia.com/gpu": "8"}})
    with BurnIns(steps):
        steps.good("driver_upgrade", "nodes", POOLS=POOL, **ONLY)
    assert site.drivers("4") == {"gpu-13", "gpu-14", "gpu-15"}
    assert site.steps.held() == set()


def test_what_the_operator_does_by_itself_and_what_others_hold_is_refused(site: Drivers, steps: Steps) -> None:
    mark = "nvidia.com/gpu-driver-upgrade-enabled"
    steps.patch(f"{NODES}/gpu-13", {"metadata": {"annotations": {mark: "true"}}})
    assert "the GPU Operator upgrades drivers by itself" in steps.refused("driver_upgrade", "gate", **ONLY)
    steps.patch(f"{NODES}/gpu-13", {"metadata": {"annotations": {mark: "false"}}})
    steps.good("removal", "cordon", "gpu-09")
    assert "gpu-09 is held by node-removal" in steps.refused("driver_upgrade", "gate", **ONLY)
    assert cordoned(steps, "gpu-09")
    steps.good("driver_upgrade", "gate", LEAVE="gpu-09", **ONLY)
    assert site.steps.held() == {"gpu-09"}


def test_no_right_is_unused_and_none_is_missing(site: Drivers, log: Path) -> None:
    """After all others."""
    assert unused(site.steps, log, DRIVER_UPGRADE) == set()


def test_no_token_is_told(site: Drivers, log: Path) -> None:
    """After all others."""
    assert told_tokens(site.steps, log) == []


def test_a_step_touches_no_node_without_gpus_and_no_pod_but_by_eviction(site: Drivers, steps: Steps) -> None:
    who = (f"system:serviceaccount:{NAMESPACE}:{DRIVER_UPGRADE}", ("system:serviceaccounts", "system:authenticated"))
    cordon = {"spec": {"unschedulable": True}}
    ask = steps.api.request
    assert ask("PATCH", f"{NODES}/cpu-01", cordon, by=who, patch="merge-patch+json")[0] == 403
    (pod, *_) = [one["metadata"]["name"] for one in site.api.items(PODS)]
    assert ask("DELETE", f"{PODS}/{pod}", by=who)[0] == 403
    assert ask("PATCH", f"{SETS}/nvidia-driver-daemonset", {"metadata": {}}, by=who, patch="merge-patch+json")[0] == 403
    assert ask("GET", "/api/v1/secrets", by=who)[0] == 403
