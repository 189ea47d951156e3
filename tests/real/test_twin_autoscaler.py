"""The real Cluster Autoscaler, with the rights and the command that are rendered, against a real API server, Kueue and
scheduler; Cluster API and its machines are played (`machineprovider`).

Nothing here can build the autoscaler (CONTRIBUTING.md says why): GEN_CLUSTER_AUTOSCALER names its program, built by `go
build -tags clusterapi` in the folder `cluster-autoscaler` of its repository, and lies in there. CI has none.
"""

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from machineprovider import DEFINITIONS, SPACE, Provider, group

from generator.cli import run
from generator.components.cluster_autoscaler.names import NAME, NAMESPACE
from generator.live.apiserver import free_ports
from generator.rehearsal.twin.running import listens, program, running

if TYPE_CHECKING:
    from twin.fixtures import Twin
    from twin.team import Member

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.autoscaler

Object = dict[str, Any]
DEFINITION = "apis/config/crd/autoscaling.x-k8s.io_provisioningrequests.yaml"
GROUP, OTHERS = "gpu-workers", "of-others"
SOON = ("--scan-interval=1s", "--scale-down-unneeded-time=3s", "--scale-down-delay-after-add=1s")
HOST = {"key": "kubernetes.io/hostname", "operator": "In"}
QUIET = 12.0
"""Seconds in which it would have acted several times."""


@pytest.fixture(scope="module")
def site() -> Iterator["Site"]:
    """A cluster of which one pool is scaled, between one machine of its own and two of Cluster API's."""
    with tempfile.TemporaryDirectory(prefix="scaled-", ignore_cleanup_errors=True) as name, started(Path(name)) as made:
        yield made


class Site:
    """The twin, and who makes machines."""

    def __init__(self, twin: "Twin") -> None:
        self.twin, self.provider = twin, Provider(twin.api, GROUP)

    def eventually(self, what: str, check: Callable[[], object], patience: float = 60) -> None:
        from twin.team import eventually

        eventually(what, lambda: self.provider.round() and check(), patience)

    def most(self, seconds: float = QUIET) -> int:
        from twin.team import most

        return most(lambda: self.provider.round() and self.provider.replicas, seconds)


def repository(folder: Path) -> Path:
    """Render the valid file of the same name with Cluster API in the cluster itself, and no machine kept idle."""
    file = folder / "clusters" / "lab" / "cluster.yaml"
    file.parent.mkdir(parents=True)
    text = (Path(__file__).parents[1] / "wrong" / "valid" / "scaled-pool.yaml").read_text()
    for old, new in (("management: kubeconfig", "management: here"), ("minimum: 1, maximum: 4", "maximum: 2")):
        assert old in text, old
        text = text.replace(old, new)
    file.write_text(text)
    assert run(["render", "-C", str(folder)]) == 0
    return folder


@contextlib.contextmanager
def started(folder: Path) -> Iterator[Site]:
    """Run it all. The kinds are there before Kueue starts, as waves have it."""
    from twin.fixtures import FIRST, LATER, Twin
    from twin.nodes import nodes
    from twin.plane import plane
    from twin.rendered import Rendered

    built = Path(program("cluster-autoscaler")).parent
    root = repository(folder / "repository")
    overlay = root / "overlays" / "lab" / NAME
    shutil.copyfile(built / DEFINITION, overlay / "releases" / "definition.yaml")
    made = yaml.load((overlay / "releases" / "kustomization.yaml").read_text(), yaml.CSafeLoader)
    made["resources"] = [one if "://" not in one else "definition.yaml" for one in made["resources"]]
    (overlay / "releases" / "kustomization.yaml").write_text(yaml.safe_dump(made))
    rendered = Rendered(root, "lab", folder / "rendered", (*FIRST, NAME, *LATER))
    machines = nodes(root, "lab")
    with contextlib.ExitStack() as stack:
        stack.callback(rendered.stop)
        api = stack.enter_context(plane(folder))
        for one in machines:
            assert api.create(one, dry=False) == (201, "")
        twin = Twin(api, rendered, machines)
        api.install("cilium/1.20.0/crds")
        twin.bring([*DEFINITIONS])
        for component in (*FIRST, NAME):
            twin.install(component, NAMESPACE if component == NAME else "")
        api.namespace(SPACE)
        marks = yaml.load(
            (root / "clusters/lab/bootstrap/cluster-api/gpu-machine-deployment.yaml").read_text(), yaml.CSafeLoader
        )
        marks = marks["metadata"]["annotations"]
        twin.bring([*group(GROUP, marks), *group(OTHERS, marks, "other"), *group("unmarked", {})])
        for running_one in (twin.kueue, twin.volcano):
            stack.callback(running_one.stop)
            running_one.start()
        for component in LATER:
            twin.install(component)
        stack.enter_context(autoscaler(twin))
        made_here = Site(twin)
        # A server that has just learnt of kinds begins to keep them anew.
        machines_there = f"{made_here.provider.place}/machines"
        api.wait("machines are told", lambda: api.request("GET", machines_there)[0] == 200)
        yield made_here


@contextlib.contextmanager
def autoscaler(twin: "Twin") -> Iterator[None]:
    """Run the autoscaler by its own account."""
    folder = twin.api.address.folder / NAME
    (port,) = free_ports(1)
    place = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{NAME}"
    command = twin.api.get(place)["spec"]["template"]["spec"]["containers"][0]["command"]
    here = (f"--kubeconfig={twin.api.account(NAMESPACE, NAME)}", f"--address=127.0.0.1:{port}", *SOON, "--v=4")
    with running(folder, [program(NAME), *command[1:], *here], lambda: listens(port)):
        yield


def work(name: str, pods: int) -> Object:
    """Return a gang of pods that each need a whole node."""
    from twin.team import job

    made = job(name, pods, gpus=8)
    del made["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["rdma/hca_shared_devices_a"]
    return made


def test_machines_are_made_for_a_whole_job_and_go_when_nothing_runs_on_them(site: Site) -> None:
    """One story, in which nothing but the pool's own group is ever touched."""
    vision: Member = site.twin.member("vision")
    assert site.most(5) == 0
    # Three nodes: its own one, and two that are yet to be made.
    assert vision.submit(work("train", 3)) == (201, "")
    site.eventually("two machines", lambda: site.provider.replicas == 2)
    site.eventually("the gang runs", lambda: vision.running("train") == 3)
    assert vision.nodes("train") == {"gpu-1", *site.provider.nodes}
    # More than there may ever be: it waits, and nobody is stopped for it.
    assert vision.submit(work("more", 3)) == (201, "")
    assert site.most() == 2
    assert vision.running("train") == 3
    # A pod that could well run elsewhere holds its machine; the other one goes with what ran there.
    held, _other = site.provider.nodes
    site.twin.api.apply(stray(held))
    for name in ("more", "train"):
        vision.delete(name)
    site.eventually("one machine goes", lambda: site.provider.replicas == 1)
    assert site.provider.nodes == [held]
    assert site.most() == 1
    path = site.twin.api.path(stray(held), named=True)
    assert site.twin.api.request("DELETE", f"{path}?propagationPolicy=Background")[0] == 200
    site.eventually("the other one goes", lambda: site.provider.replicas == 0)
    left = {one["metadata"]["name"] for one in site.twin.api.items("/api/v1/nodes")}
    assert left == {one["metadata"]["name"] for one in site.twin.machines}
    assert [site.provider.deployment(name)["spec"]["replicas"] for name in (OTHERS, "unmarked")] == [0, 0]


def stray(node: str) -> Object:
    """Return a Deployment of one small pod, which begins at a node."""
    labels = {"app": "stray"}
    affinity = {"weight": 100, "preference": {"matchFields": [], "matchExpressions": [HOST | {"values": [node]}]}}
    spec = {
        "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [affinity]}},
        "tolerations": [{"operator": "Exists"}],
        "containers": [{"name": "main", "image": "registry.example.org/main:1"}],
    }
    template = {"metadata": {"labels": labels}, "spec": spec}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "stray", "namespace": "default"},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
    }
