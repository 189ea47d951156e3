"""Kubernetes upgraded on fifty nodes: real scripts with the rights that are rendered, against a real API server,
scheduler, Kueue and Volcano; nodes are KWOK's, and a stand-in reports of each machine what its upgrade would show.
"""

import contextlib
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from itertools import groupby
from pathlib import Path

import pytest
from auditing import asked
from minioplayed import minio_answering
from nodesite import audited, told_tokens, unused
from nodesteps import NODES, Steps
from playedgangs import KINDS, running
from reference import ROOT, load
from upgradesite import ANSWERED, ASKED, NEW, OLD, SYSTEM, Machines, Object, Site, Watcher, ready

from generator.components.ceph_csi_drivers import CEPHFS_DRIVER, RBD_DRIVER
from generator.components.minio.layout import NAMESPACE as MINIO
from generator.components.node_operations.names import NAMESPACE, UPGRADE

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin

POOL = "gpu-inference"
"""Three nodes, all of one rack."""
SILENT = "gpu-02"
"""The second of three that are upgraded at once, of a rack of five."""


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Write down what the steps ask of the API server."""
    more = ("--enable-admission-plugins=NodeRestriction", "--runtime-config=networking.k8s.io/v1beta1=true")
    with audited(tmp_path_factory.mktemp("audit"), *more) as found:
        yield found


@pytest.fixture(scope="module")
def whole(log: Path) -> Iterator[Site]:
    from twin.fixtures import twin_of

    assert log.is_dir()
    with (
        tempfile.TemporaryDirectory(prefix="upgrade-", ignore_cleanup_errors=True) as name,
        contextlib.ExitStack() as stack,
    ):
        folder = Path(name)
        (folder / "scripts").mkdir()
        twin = stack.enter_context(twin_of(ROOT, "ml50", folder, definitions=KINDS))
        steps = Steps(twin, folder / "scripts")
        steps.install(load("ml50"))
        steps.ceph("HEALTH_OK")
        made = Site(steps)
        made.prepare((RBD_DRIVER, CEPHFS_DRIVER))
        made.drives = stack.enter_context(minio_answering(steps, load("ml50")))
        yield made


@pytest.fixture
def site(whole: Site) -> Site:
    """The twin, all of whose nodes run the older version."""
    whole.older()
    return whole


@pytest.fixture
def steps(site: Site) -> Steps:
    return site.steps


def test_the_plan_tells_the_order_and_changes_nothing(steps: Steps, log: Path) -> None:
    before = len([*asked(log)])
    said = steps.good("upgrade", "plan", AT_ONCE="3")
    assert f"to {NEW}: 50 of 50 nodes" in said
    order = [line.partition(". ")[2] for line in said.splitlines() if ": " in line and ". " in line.partition(": ")[0]]
    assert order[:3] == [f"the control plane: {name}" for name in ("cp-1", "cp-2", "cp-3")]
    assert order[3] == "pool cpu, rack r4: cpu-01", "racks in the order of numbers, hosts of Ceph one by one"
    assert "pool gpu-inference, rack r3: gpu-13, gpu-14, gpu-15" in order
    assert "pool gpu-training, rack r1: gpu-01, gpu-02, gpu-03" in order
    assert "pool gpu-training, rack r1: gpu-04, gpu-05" in order, "no second rack in one step"
    assert order[-1] == "pool nas, rack r14: nas-4"
    assert "registry.k8s.io/kube-apiserver:v1.35.3" in said
    assert "would be refused" not in said
    made = {one[1:5] for one in [*asked(log)][before:] if one.verb not in ("get", "list")}
    assert made == {(verb, "batch", "jobs", MINIO) for verb in ("create", "delete")}, "MinIO is asked by a Job"


def test_the_plan_names_gangs_by_what_operators_make_of_jobs(steps: Steps) -> None:
    with running(steps, "gpu-11", "gpu-12") as found:
        names = ", ".join(sorted(f"default/{one.name}" for one in found))
        said = steps.good("upgrade", "plan")
        assert f"would stop whole and queue again, unless they end before: {names}" in said


def test_what_must_not_begin_is_refused(site: Site, steps: Steps) -> None:
    assert "nothing stands against" in steps.good("upgrade", "gate")
    site.file(version="1.36.0")
    said = steps.refused("upgrade", "gate")
    assert f"from {OLD} to 1.36.0 is more than one minor version; 1.35 comes first" in said
    site.file(version="1.33.9")
    assert f"{OLD} is newer than 1.33.9 of the file, and there is no way back" in steps.refused("upgrade", "gate")
    site.file(version=NEW)
    site.snapshot(minutes=130)
    said = steps.refused("upgrade", "gate")
    assert (
        "in the bucket is 2.2 hours old, and may be 2 hours old: `sudo systemctl start etcd-snapshot.service`" in said
    )
    assert "would be refused: the newest snapshot" in steps.good("upgrade", "plan")
    steps.good("upgrade", "gate", BACKUP_HOURS="3")
    site.snapshot(minutes=1)
    steps.ceph("HEALTH_WARN", PG_DEGRADED="Degraded data redundancy: 7 pgs undersized")
    assert "Ceph is not whole: PG_DEGRADED" in steps.refused("upgrade", "gate")
    steps.ceph("HEALTH_OK")
    steps.patch(f"{NODES}/gpu-07", {"metadata": {"annotations": {"twin.test/down": "1"}}})
    ready(site.api, "gpu-07", up=False)
    assert "gpu-07 is not Ready: mend it, or leave it as it is with -p leave=gpu-07" in steps.refused("upgrade", "gate")
    steps.good("upgrade", "gate", LEAVE="gpu-07")
    steps.patch(f"{NODES}/gpu-07", {"metadata": {"annotations": {"twin.test/down": None}}})
    site.api.wait("it is Ready", lambda: not steps.step("upgrade", "gate")[0])
    assert "cp-2 cannot be left" in steps.refused("upgrade", "gate", LEAVE="cp-2")
    site.file(upgrades="timer")
    amiss = "no node-upgrade.timer has told: bring the files of 1.35.3 there, and run prepare.sh"
    assert amiss in steps.refused("upgrade", "gate")
    files = {"metadata": {"annotations": {"gen.internal/upgrade-files": NEW}}}
    for one in site.api.items(NODES):
        steps.patch(f"{NODES}/{one['metadata']['name']}", files)
    steps.good("upgrade", "gate")
    site.file(upgrades="by-hand")
    assert "no pool has the name gpus" in steps.refused("upgrade", "gate", POOLS="gpus")
    assert "at-once is 0" in steps.refused("upgrade", "gate", AT_ONCE="0")
    site.api.request("DELETE", f"{SYSTEM}/etcd-cp-3?gracePeriodSeconds=0")
    assert "etcd on cp-3 is not Ready" in steps.refused("upgrade", "gate")
    assert site.steps.held() == set()


def test_an_api_that_goes_and_is_asked_for_is_told(site: Site, steps: Steps) -> None:
    assert "somebody asks for" not in steps.good("upgrade", "plan")
    old = "networking.k8s.io/v1beta1/servicecidrs"
    assert site.api.request("GET", f"/apis/{old}")[0] == 200
    steps.good("upgrade", "gate")
    site.file(version="1.99.0")
    said = steps.refused("upgrade", "gate")
    site.file(version=NEW)
    assert f"somebody asks for {old}, which 1.37 no longer serves: its audit log names who" in said


def test_a_node_that_another_operation_holds_is_told(steps: Steps) -> None:
    steps.good("removal", "cordon", "gpu-09")
    said = steps.refused("upgrade", "gate")
    assert "gpu-09 is held by node-removal: let that end first" in said
    steps.good("upgrade", "gate", LEAVE="gpu-09")


def test_fifty_nodes_are_upgraded_though_one_never_comes_back_and_no_gang_is_halved(
    site: Site, steps: Steps, log: Path
) -> None:
    four = steps.twin.leave("gpu-training", 4)
    vision = steps.twin.member("vision")
    vision.prepare("train", pods=4)
    assert vision.nodes("train") == {*four} >= {"gpu-01", SILENT, "gpu-03"}
    steps.twin.cordon()
    service(steps)
    with Machines(steps) as machines, Watcher(steps, "vision", "train", "served") as watcher:
        steps.good("upgrade", "control-plane", AT_ONCE="3", PATIENCE="600")
        assert site.versions() == {f"v{OLD}", f"v{NEW}"}
        done = stopped(site, machines)
        vision.runs("train", 4)
        before = len([*asked(log)])
        steps.good("upgrade", "workers", AT_ONCE="3", PATIENCE="1500")
        assert done.isdisjoint(changed(log, before)), "what has the version was touched again"
        assert "all have the version" in steps.good("upgrade", "report")
    assert site.versions() == {f"v{NEW}"}
    assert site.steps.held() == set()
    ordered(machines)
    assert (watcher.mixed, watcher.halved) == ([], [])
    assert len(watcher.whole) > 2, "the gang was moved before the failure, and after it"
    assert watcher.least >= 1, "the budget of a service was kept"
    vision.runs("train", 4)
    assert not steps.api.get("/apis/batch/v1/namespaces/vision/jobs/train")["status"].get("failed")
    notes = [one["metadata"].get("annotations") or {} for one in site.api.items(NODES)]
    assert not [one for one in notes if {ASKED, ANSWERED} & one.keys()]
    asks = len(machines.asks)
    steps.good("upgrade", "workers")
    assert len(machines.asks) == asks, "a run after it finds nothing to do"
    steps.twin.clean()
    steps.undeploy("default", "served")


def stopped(site: Site, machines: Machines) -> set[str]:
    """Let the machine of one node of a rack never come back: the run ends once the others of its step are whole, and
    says why, and another one may begin when somebody has mended it. Return the nodes that were done.
    """
    steps = site.steps
    machines.silent.add(SILENT)
    said = steps.refused("upgrade", "workers", AT_ONCE="3", NODE_SECONDS="20", PATIENCE="1500")
    assert f"{SILENT}: not as it must be after 20 s (nobody has done it, or not yet whole): kubelet is {OLD}" in said
    assert f"{OLD}, Ready: the network or kubelet is not" in said
    assert site.steps.held() == {SILENT}, "what began with it was brought to its end"
    done = {one.name for one in machines.asks} - {SILENT}
    assert {"cp-1", "cpu-28", "gpu-15", "gpu-01", "gpu-03"} <= done, "what comes before it, and its own step"
    assert done.isdisjoint({"gpu-04", "gpu-05", "nas-1"}), "the rest of its rack, and what comes after it"
    assert {steps.node(name)["status"]["nodeInfo"]["kubeletVersion"] for name in done} == {f"v{NEW}"}
    report = steps.good("upgrade", "report", STATUS="Failed")
    assert f"{SILENT} is held, and takes no pods: kubelet is {OLD}" in report
    assert f"kubernetes-upgrade to {NEW}: Failed, {len(done)} of 50 nodes" in report
    assert "After mending, `gen workflow submit kubernetes-upgrade` goes on there" in report
    assert f"{SILENT} is not Ready" in steps.refused("upgrade", "gate")
    mend(site, SILENT)
    steps.good("upgrade", "gate")
    return done


def changed(log: Path, before: int) -> set[str]:
    """Return the nodes that upgrades changed since so much was asked."""
    since = [*asked(log)][before:]
    found = {one.name for one in since if (one.verb, one.resource) == ("patch", "nodes")}
    assert SILENT in found, "the log tells what was changed"
    return found


def mend(site: Site, name: str) -> None:
    """Let somebody have gone to a machine, and upgraded it by hand."""
    site.steps.patch(f"{NODES}/{name}", {"metadata": {"annotations": {"twin.test/down": None}}})
    site.steps.status(f"{NODES}/{name}", {"nodeInfo": {"kubeletVersion": f"v{NEW}"}})
    site.api.wait("it is Ready", lambda: well(site.steps.node(name)))


def well(node: Object) -> bool:
    """Tell whether a node is Ready."""
    return any(one["type"] == "Ready" and one["status"] == "True" for one in node["status"]["conditions"])


def ordered(machines: Machines) -> None:
    """Hold that each machine was asked once, when it was empty, in the order that the plan promises."""
    asks = machines.asks
    assert len({one.name for one in asks}) == len(asks) == 50
    assert [(one.name, one.left) for one in asks if one.left] == []
    assert [one.words.split()[:2] for one in asks[:3]] == [["apply", NEW], ["node", NEW], ["node", NEW]]
    assert [one.name for one in asks[:3]] == ["cp-1", "cp-2", "cp-3"]
    labels = {one["metadata"]["name"]: one["metadata"]["labels"] for one in machines.steps.twin.machines}
    place = {name: (one["gen.internal/pool"], one["topology.rook.io/rack"]) for name, one in labels.items()}
    stretches = [place for place, _ in groupby(place[one.name] for one in asks[3:])]
    assert len(stretches) == len({*stretches}), "no rack of a pool is begun again after another one"
    for one in asks:
        assert len(one.away) <= (3 if one.name.startswith("gpu-") else 1), one
        assert len({place[name] for name in one.away}) == 1, one


def service(steps: Steps) -> None:
    """Let a service run on two nodes, with a budget that keeps one pod of it."""
    labels = {"one": "served"}
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
    pod = {
        "nodeSelector": {"gen.internal/pool": "cpu"},
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}},
        "containers": [{"name": "main", "image": "registry.example.org/any:1"}],
    }
    metadata = {"name": "served", "namespace": "default"}
    spec = {
        "replicas": 2,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    steps.api.apply({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
    budget = {"minAvailable": 1, "selector": {"matchLabels": labels}}
    kind = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
    steps.api.apply({**kind, "metadata": metadata, "spec": budget})
    at = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/served"
    steps.api.wait("it is served", lambda: (steps.api.get(at).get("status") or {}).get("currentHealthy") == 2)


def test_workers_wait_for_the_control_plane(site: Site, steps: Steps) -> None:
    said = steps.refused("upgrade", "workers", POOLS=POOL)
    assert "cp-1, cp-2, cp-3: the control plane comes first, and is not at 1.35.3: begin again" in said
    assert site.steps.held() == set()


def test_a_machine_that_fails_says_why_and_is_asked_again_by_the_next_run(site: Site, steps: Steps) -> None:
    site.ahead()
    with Machines(steps) as machines:
        machines.sick.add("gpu-14")
        said = steps.refused("upgrade", "workers", POOLS=POOL)
        assert "gpu-14: its machine says: kubeadm: no space left on device" in said
        assert site.steps.held() == {"gpu-14"}
        machines.sick.clear()
        time.sleep(1.1)  # what is asked holds the second
        steps.good("upgrade", "workers", POOLS=POOL)
    assert [one.name for one in machines.asks] == ["gpu-13", "gpu-14", "gpu-14", "gpu-15"]
    assert site.steps.held() == set()


def test_a_run_that_was_killed_is_gone_on_with_and_leaves_no_gang_stopped(site: Site, steps: Steps) -> None:
    two = steps.twin.leave("gpu-training", 2)
    vision = steps.twin.member("vision")
    vision.prepare("train", pods=2)
    steps.twin.cordon()
    pod = next(one for one in vision.pods("train") if one["spec"]["nodeName"] == min(two))
    at = f"/api/v1/namespaces/vision/pods/{pod['metadata']['name']}"
    kept = [*pod["metadata"].get("finalizers", []), "twin.test/hold"]
    steps.patch(at, {"metadata": {"finalizers": kept}})
    site.ahead()
    with Machines(steps) as machines:
        running = steps.begin("upgrade", "workers", POOLS="gpu-training")
        steps.api.wait("it is stopped", lambda: vision.workload("train")["spec"].get("active") is False)  # type: ignore[index]
        running.kill()
        running.communicate()
        assert machines.asks == []
        report = steps.good("upgrade", "report", STATUS="Failed", POOLS="gpu-training")
        assert "is in its queue again" in report
        assert vision.workload("train")["spec"]["active"] is True  # type: ignore[index]
        with contextlib.suppress(AssertionError):
            steps.patch(at, {"metadata": {"finalizers": None}})
        # What Kueue has let in and not placed yet is waited for: it ends pods that wait for a node which is cordoned.
        said = steps.good("upgrade", "workers", POOLS="gpu-training", AT_ONCE="5", PATIENCE="600")
        assert "may be ended" not in said
    assert len(machines.asks) == 12
    assert [one for one in machines.asks if one.left] == []
    assert site.steps.held() == set()
    vision.runs("train", 2)
    assert not steps.api.get("/apis/batch/v1/namespaces/vision/jobs/train")["status"].get("failed")
    steps.twin.clean()


def test_a_budget_that_lets_nobody_go_leaves_its_node_as_it_was(site: Site, steps: Steps) -> None:
    node = "gpu-13"
    steps.deployment("default", "kept", node, tolerates=("nvidia.com/gpu", "gen.internal/inference"))
    budget = {"minAvailable": 1, "selector": {"matchLabels": {"one": "kept"}}}
    metadata = {"name": "keep-it", "namespace": "default"}
    steps.api.apply({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": budget})
    at = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/keep-it"
    steps.api.wait("the budget has counted", lambda: steps.api.get(at).get("status", {}).get("currentHealthy") == 1)
    assert "budgets that let no pod go now, and would hold up a drain: default/keep-it" in steps.good("upgrade", "plan")
    site.ahead()
    with Machines(steps) as machines:
        said = steps.refused("upgrade", "workers", POOLS=POOL, AT_ONCE="2", DRAIN_SECONDS="2")
    assert "gpu-13: after 2 s there are still: default/kept-" in said
    assert "disruption budget keep-it needs 1 healthy pods" in said
    assert [one.name for one in machines.asks] == ["gpu-14"], "the other one of its step is brought to its end"
    assert site.steps.held() == set(), "nothing was done to it: it takes pods again"
    steps.api.request("DELETE", at)
    steps.undeploy("default", "kept")


def test_hosts_of_ceph_and_minio_wait_until_copies_are_whole(site: Site, steps: Steps) -> None:
    site.ahead()
    with Machines(steps) as machines:
        steps.ceph("HEALTH_WARN", OSD_DOWN="1 osds down")
        said = steps.refused("upgrade", "workers", POOLS="cpu", STORAGE_SECONDS="1")
        assert "Ceph is not whole before cpu-01 may be away: OSD_DOWN: 1 osds down" in said
        steps.ceph("HEALTH_OK")
        kept = "/apis/apps/v1/namespaces/minio/statefulsets/minio"
        steps.patch(kept, {"spec": {"replicas": 5}})
        said = steps.refused("upgrade", "workers", POOLS="nas", STORAGE_SECONDS="1")
        assert "not all servers of MinIO are Ready before nas-1 may be away: minio" in said
        steps.patch(kept, {"spec": {"replicas": 4}})
        site.drives.heals = ["minio-2.minio-hl.minio.svc:9000/export-1"]
        said = steps.refused("upgrade", "workers", POOLS="nas", STORAGE_SECONDS="1")
        assert "the drives of MinIO are not whole before nas-1 may be away: http://minio-2." in said
        assert "/export-1 is healed: wait, mend it, or leave its nodes" in steps.refused("upgrade", "gate")
        site.drives.heals = []
    assert machines.asks == []
    assert site.steps.held() == set()


def test_what_nobody_would_make_again_is_refused(steps: Steps) -> None:
    bare = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bare", "namespace": "default"}}
    spec = {"nodeName": "cpu-26", "containers": [{"name": "main", "image": "registry.example.org/any:1"}]}
    assert steps.api.create({**bare, "spec": spec}, dry=False)[0] == 201
    assert "nobody makes default/bare again" in steps.refused("upgrade", "gate")
    steps.api.request("DELETE", "/api/v1/namespaces/default/pods/bare?gracePeriodSeconds=0")


def test_no_right_is_unused_and_none_is_missing(whole: Site, log: Path) -> None:
    """After all others."""
    assert unused(whole.steps, log, UPGRADE) == set()


def test_no_token_is_told(whole: Site, log: Path) -> None:
    """After all others."""
    assert told_tokens(whole.steps, log) == []


def test_a_step_may_not_touch_what_is_not_in_the_file(steps: Steps) -> None:
    steps.api.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "stranger"}})
    who = (f"system:serviceaccount:{NAMESPACE}:{UPGRADE}", ("system:serviceaccounts", "system:authenticated"))
    ask = partial(steps.api.request, by=who)
    assert ask("PATCH", f"{NODES}/stranger", {"spec": {"unschedulable": True}}, patch="merge-patch+json")[0] == 403
    assert ask("PATCH", f"{NODES}/gpu-01", {"metadata": {}}, patch="merge-patch+json")[0] == 200
    assert ask("DELETE", f"{NODES}/gpu-01")[0] == 403
    assert ask("GET", "/api/v1/secrets")[0] == 403
    steps.leave("stranger")


def test_a_machine_may_change_no_other_node(steps: Steps) -> None:
    """What the stand-in does as kubelet is what a kubelet may, and no more."""
    who = ("system:node:gpu-01", ("system:nodes", "system:authenticated"))
    told = {"metadata": {"annotations": {ANSWERED: "x"}}}
    ask = partial(steps.api.request, by=who, patch="merge-patch+json")
    assert ask("PATCH", f"{NODES}/gpu-01", told)[0] == 200
    assert ask("PATCH", f"{NODES}/gpu-02", told)[0] == 403
    assert ask("GET", f"{NODES}/gpu-02")[0] == 403
