"""Operations on nodes as rendered: their steps run as real pods on the one real node, driven by `gen workflow`. The
nodes that they act on are KWOK's, beside it.
"""

import contextlib
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from auditing import asked, audited, betrayed, executor, stored, written
from nodesteps import NODES, Machines, Steps
from onenode.site import Gen, await_template, lighter, run_of, shown
from reference import ROOT, load

from generator.components.ceph_csi_drivers import CEPHFS_DRIVER, RBD_DRIVER
from generator.components.node_operations import node_operations
from generator.components.node_operations.names import NAMESPACE
from generator.live.apiserver import tries
from generator.live.identity import record

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin

ACCOUNTS = tuple(f"{NAMESPACE}:{name}" for name in ("node-expansion", "node-removal", "node-replacement"))
NEW, BESIDE = "gpu-15", "gpu-14"
GPU, RDMA = "nvidia.com/gpu", "rdma/hca_shared_devices_a"
MOMENTS = ["-p", "answer-port=", "-p", "ready-seconds=900", "-p", "join-seconds=900", "-p", "burn-in-seconds=900"]
PATIENCE = 400.0
"""Seconds: a step is a pod, which takes five on an idle machine, and a minute on one with much else to do."""


class Site(Gen):
    """The cluster with the operations, and machines that can join it."""

    def __init__(self, api: Any, folder: Path, steps: Steps) -> None:
        super().__init__(api, folder)
        self.steps = steps

    def begin(self, operation: str, node: str, *words: str) -> str:
        """Submit an operation on a node; the name of its run."""
        done = self.gen("submit", operation, "-p", f"node={node}", *words)
        assert done.returncode == 0, done.stderr
        return run_of(done)

    def step(self, run: str, name: str) -> str:
        """Return the phase of a run's step."""
        return next((one["phase"] for one in _all(shown(self, run)["steps"]) if one["name"] == name), "")

    def reaches(self, run: str, step: str) -> None:
        """Wait until a step runs, and has said something."""
        self.until(
            f"{step} of {run} runs", lambda: self.step(run, step) == "Running" and step in self.gen("logs", run).stdout
        )

    def until(self, what: str, check: Callable[[], object]) -> None:
        if not any(check() for _ in tries(PATIENCE)):
            pytest.fail(f"{what}: not in time\n{self.gen('list').stdout}")

    def ended(self, run: str) -> str:
        """Wait for the end of a run; its phase."""
        self.gen("watch", run)
        return str(shown(self, run)["phase"])

    def said(self, run: str) -> str:
        """Return what the steps of a run said."""
        return self.gen("logs", run).stdout


def _all(steps: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for one in steps:
        yield one
        yield from _all(one["steps"])


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    from onenode.argo import argo
    from onenode.node import node
    from onenode.simulated import MARK, load_python, nodes_beside
    from twin.nodes import nodes
    from twin.plane import plane

    cluster = load("ml50")
    machines = nodes(ROOT, "ml50")
    for one in machines:
        one["metadata"]["annotations"] = {MARK: "fake"}
    with (
        tempfile.TemporaryDirectory(prefix="live-", ignore_cleanup_errors=True) as name,
        contextlib.ExitStack() as stack,
    ):
        folder = Path(name)
        (folder / "scripts").mkdir()
        stack.enter_context(audited(folder, *ACCOUNTS))
        api = stack.enter_context(plane(folder, simulated=False))
        real = stack.enter_context(node(api))
        load_python(real)
        stack.enter_context(argo(api, real, cluster))
        stack.enter_context(nodes_beside(api))
        api.install("kueue/v0.18.3/crds")
        steps = Steps(Machines(api, machines), folder / "scripts")  # type: ignore[arg-type]
        steps.install(cluster, security="privileged")  # they are in the machine's own network
        steps.ceph("HEALTH_OK")
        steps.join(BESIDE)
        steps.register(BESIDE, RBD_DRIVER, CEPHFS_DRIVER)
        api.apply(record(cluster))
        operations = [one for operation in node_operations(cluster).operations for one in operation.templates]
        templates = [one for one in operations if one["kind"] == "WorkflowTemplate"]
        for one in templates:
            api.apply(lighter(json.loads(json.dumps(one))))
        await_template(api, NAMESPACE, templates[-1]["metadata"]["name"])
        yield Site(api, folder, steps)


@pytest.fixture
def machine(site: Site) -> Iterator[str]:
    """A machine that has not joined; it is none of the cluster's again when the test ends."""
    yield NEW
    if site.api.get(f"{NODES}/{NEW}"):
        site.steps.leave(NEW)
    jobs = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
    site.api.request("DELETE", f"{jobs}?propagationPolicy=Background")
    site.until("its jobs have gone", lambda: site.api.items(jobs) == [])


def devices(site: Site, name: str) -> None:
    """Let the plugins and drivers of a node have come."""
    site.steps.status(f"{NODES}/{name}", {"capacity": {GPU: "8", RDMA: "63"}, "allocatable": {GPU: "8", RDMA: "63"}})
    site.steps.register(name, RBD_DRIVER, CEPHFS_DRIVER)
    for number in range(2):
        site.steps.disk(name, number)


def passes(site: Site, *jobs: str) -> None:
    """Let the Jobs of a burn-in on simulated nodes end well, one after the other: all of them, or these."""
    for job in jobs or ("", "nccl-1-", "nccl-2-"):
        at = f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector=batch.kubernetes.io/job-name%3Dburn-in-{job}{NEW}"
        phases = ["Running"] * (2 if job == "nccl-2-" else 1)
        site.until(f"{job} runs", lambda at=at, phases=phases: phases == [  # type: ignore[misc]
            one["status"].get("phase") for one in site.api.items(at)
        ])  # fmt: skip
        pods = site.api.items(at)
        assert NEW in [pod["spec"]["nodeName"] for pod in pods]
        for pod in pods:
            mark = {"metadata": {"annotations": {"twin.test/complete": "1"}}}
            site.steps.patch(f"/api/v1/namespaces/{NAMESPACE}/pods/{pod['metadata']['name']}", mark)


def test_a_node_joins_while_the_operation_waits_and_is_let_in(site: Site, machine: str) -> None:
    run = site.begin("node-expansion", machine, *MOMENTS)
    site.reaches(run, "join")
    site.steps.join(machine, without=[GPU, RDMA])
    devices(site, machine)
    passes(site)
    assert site.ended(run) == "Succeeded", site.said(run)
    said = site.said(run)
    assert f"{machine} takes no pods now" in said
    assert f"the neighbour of {machine} is {BESIDE}, which nobody uses" in said
    assert f"{machine} takes pods of pool gpu-inference" in said
    assert f"node-expansion of {machine}: Succeeded" in said
    assert not site.steps.node(machine)["spec"].get("unschedulable")


def test_an_expansion_that_is_killed_at_each_step_goes_on(site: Site, machine: str) -> None:
    run = site.begin("node-expansion", machine, *MOMENTS)
    for step in ("join", "ready", "burn-in"):
        site.reaches(run, step)
        assert site.gen("stop", run, "--now").returncode == 0
        assert site.ended(run) == "Failed"
        again = site.gen("retry", run)
        assert again.returncode == 0, again.stderr
        run = run_of(again)
        if step == "join":
            site.reaches(run, step)
            site.steps.join(machine, without=[GPU, RDMA])
        elif step == "ready":
            devices(site, machine)
    passes(site)
    assert site.ended(run) == "Succeeded", site.said(run)
    assert not site.steps.node(machine)["spec"].get("unschedulable")


def test_what_preflight_refuses_is_reported_and_not_tried_again(site: Site) -> None:
    run = site.begin("node-expansion", "gpu-99", *MOMENTS)
    assert site.ended(run) == "Failed"
    said = site.said(run)
    assert said.count("FAILED: the cluster file that was synced last has no node gpu-99") == 1, said
    assert "node-expansion of gpu-99: Failed" in said


def test_what_would_harm_a_node_that_runs_is_refused(site: Site) -> None:
    runs = {
        f"{BESIDE} has joined and takes pods already": site.begin("node-expansion", BESIDE, *MOMENTS),
        f"{BESIDE} is Ready: it is not off": site.begin("node-replacement", BESIDE, *MOMENTS, "-p", "off=yes"),
    }
    for words, run in runs.items():
        assert site.ended(run) == "Failed"
        assert site.said(run).count(f"FAILED: {words}") == 1, site.said(run)
    assert not site.steps.node(BESIDE)["spec"].get("unschedulable")


def test_a_node_is_emptied(site: Site, machine: str) -> None:
    site.steps.join(machine)
    tolerates = (GPU, "gen.internal/inference")
    site.steps.deployment("default", "service", machine, tolerates=tolerates)
    pods = "/api/v1/namespaces/default/pods?labelSelector=one%3Dservice"
    site.until("it runs", lambda: [one["status"].get("phase") for one in site.api.items(pods)] == ["Running"])
    run = site.begin("node-removal", machine)
    assert site.ended(run) == "Succeeded", site.said(run)
    assert f"{machine} is empty" in site.said(run)
    assert f"`kubectl delete node {machine}`" in site.said(run)
    assert site.steps.node(machine)["spec"]["unschedulable"] is True
    assert not [one for one in site.api.items(pods) if one["spec"].get("nodeName")]
    site.steps.undeploy("default", "service")


def test_a_machine_is_replaced_though_the_run_is_killed_while_its_pods_leave(site: Site, machine: str) -> None:
    site.steps.join(machine)
    devices(site, machine)
    former = site.steps.node(machine)["metadata"]["uid"]
    site.steps.deployment("default", "held", machine, tolerates=(GPU, "gen.internal/inference"))
    pods = "/api/v1/namespaces/default/pods?labelSelector=one%3Dheld"
    site.until("it runs", lambda: [one["status"].get("phase") for one in site.api.items(pods)] == ["Running"])
    metadata = {"name": "held", "namespace": "default"}
    budget = {"minAvailable": 1, "selector": {"matchLabels": {"one": "held"}}}
    site.api.apply({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": budget})
    run = site.begin("node-replacement", machine, *MOMENTS)
    site.reaches(run, "evict")
    assert site.gen("stop", run, "--now").returncode == 0
    assert site.ended(run) == "Failed"
    assert [one["spec"]["nodeName"] for one in site.api.items(pods)] == [machine]
    again = site.gen("retry", run)
    assert again.returncode == 0, again.stderr
    run = run_of(again)
    site.api.request("DELETE", "/apis/policy/v1/namespaces/default/poddisruptionbudgets/held")
    site.reaches(run, "join")
    assert site.api.get(f"{NODES}/{machine}") is None
    site.steps.join(machine)
    devices(site, machine)
    passes(site, "", "nccl-1-")
    assert site.ended(run) == "Succeeded", site.said(run)
    assert f"{machine} is another machine now" in site.said(run)
    assert site.steps.node(machine)["metadata"]["uid"] != former
    assert not site.steps.node(machine)["spec"].get("unschedulable")
    site.steps.undeploy("default", "held")


def test_what_the_executor_may_is_used_and_nothing_is_missing(site: Site) -> None:
    """After all others. What the steps themselves may is held against all that they can do in test_twin_nodes.py."""
    found = list(asked(site.folder))
    assert [one for one in found if not one.allowed] == []
    for account in ACCOUNTS:
        assert [right for right in executor(account) if not any(map(right.covers, found))] == []


def test_no_token_is_told(site: Site) -> None:
    """After all others. The runs have no Secret."""
    assert betrayed([*stored(site.api), *written(site.folder)], ()) == []
