"""Fifty machines patched, rebooted, given certificates: real scripts with the rights that are rendered, against a real
control plane; nodes are KWOK's, and a stand-in does on each machine what its timer would. Gangs are let in and taken
back by a stand-in; by Kueue they are in test_twin_upgrade.py.
"""

import contextlib
import time
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest
from minioplayed import minio_answering
from nodesite import audited, control_plane, told_tokens, unused
from nodesteps import NODES, Steps
from playedgangs import gangs
from reference import load
from upgradesite import ANSWERED, ASKED, GOOD, NEW, Machines, Site

from generator.components.ceph_csi_drivers import CEPHFS_DRIVER, RBD_DRIVER
from generator.components.node_operations.names import MAINTENANCE

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin

POOL = "gpu-inference"
WAITS = GOOD.replace("reboot=no", "reboot=2026-11-01T00:00:00Z")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Write down what the steps ask of the API server."""
    with audited(tmp_path_factory.mktemp("audit")) as found:
        yield found


@pytest.fixture(scope="module")
def whole(log: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    assert log.is_dir()
    cluster = load("ml50")
    names = [one.name for one in cluster.machines]
    with contextlib.ExitStack() as stack:
        steps = stack.enter_context(control_plane(cluster, tmp_path_factory.mktemp("site"), *names))
        made = Site(steps)
        made.prepare((RBD_DRIVER, CEPHFS_DRIVER))
        made.drives = stack.enter_context(minio_answering(steps, cluster))
        yield made


@pytest.fixture
def site(whole: Site) -> Site:
    """The twin, all of whose machines need nothing."""
    whole.older(NEW)
    whole.tell(GOOD)
    return whole


@pytest.fixture
def steps(site: Site) -> Steps:
    return site.steps


def test_the_plan_names_what_waits_and_what_is_missing(site: Site, steps: Steps) -> None:
    said = steps.good("maintenance", "plan", ACTION="reboot")
    assert "reboot: 0 of 50 nodes, in 0 steps" in said
    assert "would be refused" not in said
    site.tell(WAITS, "cp-2", "gpu-14", "cpu-03")
    said = steps.good("maintenance", "plan", ACTION="reboot")
    order = [line.partition(". ")[2] for line in said.splitlines() if ". " in line.partition(": ")[0]]
    assert order == ["pool cpu, rack r6: cpu-03", "pool gpu-inference, rack r3: gpu-14", "the control plane: cp-2"]
    assert "gpu-14: it waits for a reboot since 2026-11-01T00:00:00Z" in said
    steps.ceph("HEALTH_WARN", PG_DEGRADED="Degraded data redundancy: 7 pgs undersized")
    assert "Ceph is not whole: PG_DEGRADED" in steps.refused("maintenance", "gate", ACTION="reboot")
    steps.good("maintenance", "gate", ACTION="certificates")
    steps.ceph("HEALTH_OK")
    assert "action is format, and must be one of patch" in steps.refused("maintenance", "gate", ACTION="format")
    assert site.steps.held() == set()


def test_fifty_machines_are_patched_after_a_kill_each_of_them_once(site: Site, steps: Steps) -> None:
    told = {"ACTION": "patch", "AT_ONCE": "3"}
    with gangs(steps, "gpu-01", "gpu-02", "gpu-03"), Machines(steps) as machines:
        running = steps.begin("maintenance", "workers", **told)
        steps.api.wait("some are asked", lambda: len(machines.asks) > 4)
        running.kill()
        running.communicate()
        steps.good("maintenance", "workers", PATIENCE="900", **told)
        steps.good("maintenance", "control-plane", PATIENCE="300", **told)
        assert "node-maintenance patch: Succeeded, 50 of 50 nodes" in steps.good("maintenance", "report", **told)
        assert len(machines.asks) == len({one.name for one in machines.asks}) == 50
        steps.good("maintenance", "workers", **told)
        assert len(machines.asks) == 50, "it is done"
    assert site.steps.held() == set()
    assert [one.name for one in machines.asks[-3:]] == ["cp-1", "cp-2", "cp-3"], "what is bad is so on workers first"
    ordered(machines)
    nodes = site.api.items(NODES)
    assert {one["status"]["nodeInfo"]["kernelVersion"] for one in nodes} == {"6.8.0-50-generic"}
    assert not [one for one in nodes if {ASKED, ANSWERED} & (one["metadata"].get("annotations") or {}).keys()]


def ordered(machines: Machines) -> None:
    """Hold that each machine was asked when it was empty, and that only one rack of a pool was away."""
    assert [(one.name, one.left) for one in machines.asks if one.left] == []
    labels = {one["metadata"]["name"]: one["metadata"]["labels"] for one in machines.steps.twin.machines}
    place = {name: (one["gen.internal/pool"], one["topology.rook.io/rack"]) for name, one in labels.items()}
    stretches = [place for place, _ in groupby(place[one.name] for one in machines.asks)]
    assert len(stretches) == len({*stretches}), "no rack of a pool is begun again after another one"
    for one in machines.asks:
        assert len(one.away) <= (3 if one.name.startswith("gpu-") else 1), one
        assert len({place[name] for name in one.away}) == 1, one


def test_a_machine_that_fails_stops_the_next_and_is_asked_again(site: Site, steps: Steps) -> None:
    site.tell(WAITS, "gpu-13", "gpu-14", "gpu-15")
    with Machines(steps) as machines:
        machines.sick.add("gpu-14")
        said = steps.refused("maintenance", "workers", ACTION="reboot", POOLS=POOL)
        assert "gpu-14: its machine says: " in said
        assert site.steps.held() == {"gpu-14"}
        report = steps.good("maintenance", "report", ACTION="reboot", POOLS=POOL, STATUS="Failed")
        assert "to be done: gpu-14, gpu-15." in report
        assert "`gen workflow submit node-maintenance -p action=reboot` goes on there" in report
        machines.sick.clear()
        time.sleep(1.1)  # what is asked holds the second
        steps.good("maintenance", "workers", ACTION="reboot", POOLS=POOL)
    assert [one.name for one in machines.asks] == ["gpu-13", "gpu-14", "gpu-14", "gpu-15"]
    assert site.steps.held() == set()


def test_certificates_take_no_pod_from_its_node(site: Site, steps: Steps) -> None:
    site.tell(GOOD.replace("2098-01-01", "2026-12-01"), "cp-1", "cp-2", "cp-3")
    told = {"ACTION": "certificates"}
    with Machines(steps) as machines:
        steps.good("maintenance", "workers", **told)
        assert machines.asks == []
        steps.good("maintenance", "control-plane", **told)
        assert "take admin.conf of a control-plane node anew" in steps.good("maintenance", "report", **told)
    assert [(one.name, one.away) for one in machines.asks] == [(f"cp-{one}", frozenset()) for one in (1, 2, 3)]
    assert site.steps.held() == set()


def test_no_right_is_unused_and_none_is_missing(whole: Site, log: Path) -> None:
    """After all others."""
    assert unused(whole.steps, log, MAINTENANCE) == set()


def test_no_token_is_told(whole: Site, log: Path) -> None:
    """After all others."""
    assert told_tokens(whole.steps, log) == []
