"""A cluster with the operations of ml50 on nodes and their disks: their steps run as real pods on the one real node,
driven by `gen workflow`. The nodes that they act on are KWOK's, beside it.
"""

import contextlib
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from auditing import audited, written
from caresite import ACCOUNTS as CARE
from nodesteps import OPERATIONS, Machines, Steps
from onenode.site import Gen, await_template, every, lighter, run_of, shown
from reference import ROOT, load

from generator.components.acceptance.names import NAMESPACE as ACCEPTANCE
from generator.components.ceph_csi_drivers import CEPHFS_DRIVER, RBD_DRIVER
from generator.components.component import Component
from generator.components.node_operations import node_operations
from generator.components.node_operations.names import NAMESPACE
from generator.live.apiserver import tries
from generator.live.identity import record

if TYPE_CHECKING:
    from cephserved import Served
    from onenode.node import Node

BESIDE = "gpu-14"
"""A node that has joined, and takes pods."""
ALONE = "test/alone"
"""A taint that keeps what really runs off a node that KWOK plays."""
ACCOUNTS = (*(f"{NAMESPACE}:{name}" for name in OPERATIONS.values()), *CARE, f"{ACCEPTANCE}:{ACCEPTANCE}")
"""Those that are audited."""
PATIENCE = 400.0
"""Seconds: a step is a pod, which takes five on an idle machine, and a minute on one with much else to do."""


class Site(Gen):
    """The cluster with the operations, and machines that can join it."""

    def __init__(self, real: "Node", steps: Steps, ceph: "Served") -> None:
        super().__init__(steps.api, real.folder)
        self.real, self.steps, self.ceph = real, steps, ceph

    def bring(self, component: Component) -> None:
        """Apply the operations of a component, but for their schedules, and wait until the controller knows them."""
        brought = [one for operation in component.operations for one in operation.templates]
        for one in brought:
            self.api.apply(lighter(json.loads(json.dumps(one))))
        (*_, last) = [one["metadata"] for one in brought if one["kind"] == "WorkflowTemplate"]
        await_template(self.api, last["namespace"], last["name"])

    def begin(self, operation: str, node: str = "", *words: str) -> str:
        """Submit an operation, on a node where it has one; the name of its run."""
        done = self.gen("submit", operation, *(["-p", f"node={node}"] if node else ()), *words)
        assert done.returncode == 0, done.stderr
        return run_of(done)

    def step(self, run: str, name: str) -> str:
        """Return the phase of a run's step."""
        return next((one["phase"] for one in every(shown(self, run)["steps"]) if one["name"] == name), "")

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

    def good(self, run: str) -> str:
        """Wait until a run has succeeded; what its steps said."""
        phase = self.ended(run)
        said = self.said(run)
        assert phase == "Succeeded", said
        return said

    def well(self, run: str) -> str:
        """Wait until a run has succeeded whose pods go with that; what they said, as the machine has it."""
        phase = self.ended(run)
        assert phase == "Succeeded", self.said(run)
        return "".join(text for place, text in written(self.folder) if f"_{run}" in place)

    def killed(self, run: str) -> str:
        """Stop a run at once, and go on with it; the name of the run that does."""
        assert self.gen("stop", run, "--now").returncode == 0
        assert self.ended(run) == "Failed", self.said(run)
        again = self.gen("retry", run)
        assert again.returncode == 0, again.stderr
        return run_of(again)

    def refused(self, runs: dict[str, str]) -> None:
        """Wait for the end of runs, each of which must have ended with a verdict, told once: words of it, and a run."""
        for words, run in runs.items():
            assert self.ended(run) == "Failed", words
            assert self.said(run).count(f"FAILED: {words}") == 1, self.said(run)


@contextlib.contextmanager
def live_site() -> Iterator[Site]:
    """Run the cluster until the block ends."""
    from cephserved import serving
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
        ceph = stack.enter_context(serving(real))
        stack.enter_context(argo(api, real, cluster))
        stack.enter_context(nodes_beside(api))
        api.install("kueue/v0.18.3/crds")
        steps = Steps(Machines(api, machines), folder / "scripts")  # type: ignore[arg-type]
        steps.install(cluster, security="privileged")  # they are in the machine's own network
        steps.ceph("HEALTH_OK")
        steps.join(BESIDE)
        steps.register(BESIDE, RBD_DRIVER, CEPHFS_DRIVER)
        api.apply(record(cluster))
        made = Site(real, steps, ceph)
        made.bring(node_operations(cluster))
        yield made
