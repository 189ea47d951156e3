"""Sick GPUs, step by step: real scripts with the rights that are rendered, against a real API server, scheduler and
Kueue; the nodes are KWOK's, and their exporters answer on loopback.
"""

import contextlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from auditing import executor, flags, unused
from caresite import ACCOUNTS, GPU, NAMES, Care, serve, serving
from exporteroutputs import Device, exporters, uuid
from nodesite import told_tokens
from nodesteps import ACCOUNT, NODES
from playedgangs import KINDS, running
from reference import ROOT

from generator.components.gpu_care.names import SICK, SUSPECT
from generator.components.node_operations.names import NAMESPACE
from generator.rehearsal.twin import plane as real

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Write down what the steps ask of the API server."""
    folder = tmp_path_factory.mktemp("audit")
    plain, more = real._server, flags(folder, *ACCOUNTS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(real, "_server", lambda *words: [*plain(*words), *more])
        yield folder


@pytest.fixture(scope="module")
def care(log: Path) -> Iterator[Care]:
    """The steps, after a first look."""
    from twin.fixtures import twin_of

    assert log.is_dir()
    with (
        tempfile.TemporaryDirectory(prefix="gpus-", ignore_cleanup_errors=True) as name,
        contextlib.ExitStack() as stack,
    ):
        folder = Path(name)
        (folder / "scripts").mkdir()
        twin = stack.enter_context(twin_of(ROOT, "ml50", folder, definitions=KINDS))
        made = Care(twin, folder / "scripts", twin.leave("gpu-training", 3))
        made.bring_all()
        made.port = stack.enter_context(exporters(made.answers))
        made.look()
        yield made


def test_from_the_first_xid_to_the_repair(care: Care) -> None:
    """One story: each step is killed once, and run again."""
    assert care.tainted() == []
    vision = care.twin.member("vision")
    vision.prepare("train", pods=2)
    sick, second = sorted(vision.nodes("train"))
    (third,) = {*care.names} - {sick, second}
    pools = care.node(sick)["spec"]["taints"]

    care.tells(sick, Device(0), Device(1, 79, pod="vision/train-0"))
    killed = care.begin("care", "look", "")
    care.api.wait("it is marked", lambda: care.tainted() == [sick])
    killed.kill()
    killed.communicate()
    assert f"sick: {sick}" in care.look()
    said = json.loads(care.node(sick)["metadata"]["annotations"][SICK])
    assert said["what"] == [f"{uuid(1)}: Xid 79 (GPU has fallen off the bus)"]
    where = quote(f"involvedObject.kind=Node,involvedObject.name={sick},reason=GpuSick")
    assert len(care.api.items(f"/api/v1/namespaces/node-operations/events?fieldSelector={where}")) == 1
    assert vision.running("train") == 2, "what runs there runs on until somebody lets it leave"

    assert care.which() == [sick]
    former = {pod["metadata"]["uid"] for pod in vision.pods("train")}
    pod = vision.pods("train")[0]
    at = f"/api/v1/namespaces/vision/pods/{pod['metadata']['name']}"
    care.patch(at, {"metadata": {"finalizers": [*pod["metadata"].get("finalizers", []), "twin.test/hold"]}})
    stopping = care.begin("drain", "gangs", sick)
    care.api.wait("it is stopped", lambda: vision.workload("train")["spec"].get("active") is False)  # type: ignore[index]
    stopping.kill()
    stopping.communicate()
    assert care.which() == [sick], "a gang that a killed run has stopped is not forgotten"
    with contextlib.suppress(AssertionError):
        care.patch(at, {"metadata": {"finalizers": None}})
    assert "is in its queue again" in care.good("drain", "gangs", sick)
    vision.runs("train", 2)
    assert not former & {one["metadata"]["uid"] for one in vision.pods("train")}, "a pod of the former gang was left"
    assert vision.nodes("train") == {second, third}
    assert "no pod holds nvidia.com/" in care.good("drain", "evict", sick)
    assert care.which() == []

    for name in (second, third):
        care.tells(name, Device(0, 119))
    care.look()
    assert len(care.tainted()) == 2, "a tenth of twelve nodes, rounded up"
    (reported,) = {second, third} - {*care.tainted()}
    assert "too many nodes of the pool got one today" in care.node(reported)["metadata"]["annotations"][SUSPECT]

    assert f"{uuid(1)} still tells Xid 79" in care.refused("cleared", "cleared", sick)
    assert sick in care.tainted()
    care.tells(sick, Device(0), Device(1))
    assert "all its GPUs are healthy" in care.good("cleared", "cleared", sick)
    assert "all its GPUs are healthy" in care.good("cleared", "cleared", sick)
    assert sick not in care.tainted()
    assert care.node(sick)["spec"]["taints"] == pools
    assert SICK not in care.node(sick)["metadata"]["annotations"]
    assert "is not sick any more" in care.good("drain", "gangs", sick), "who waited for hours stops nothing then"


def test_pods_without_gpus_stay_and_those_nobody_makes_again_are_named(care: Care) -> None:
    node = care.tainted()[0]
    care.twin.clean()
    care.deployment("default", "plain", node, tolerates=("nvidia.com/gpu", "gen.internal/training", SICK))
    pods = "/api/v1/namespaces/default/pods?labelSelector=one%3Dplain"
    care.api.wait("it runs", lambda: [one["status"].get("phase") for one in care.api.items(pods)] == ["Running"])
    care.good("drain", "evict", node)
    assert len(care.api.items(pods)) == 1
    spec = {"nodeName": node, "containers": [GPU], "tolerations": [{"operator": "Exists"}]}
    bare = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bare", "namespace": "default"}, "spec": spec}
    assert care.api.create(bare, dry=False)[0] == 201
    assert "nobody makes default/bare again" in care.refused("drain", "evict", node)
    care.api.request("DELETE", "/api/v1/namespaces/default/pods/bare?gracePeriodSeconds=0")
    care.undeploy("default", "plain")


def test_fewer_gpus_are_noted_first_and_taint_after_ten_minutes(care: Care) -> None:
    (node,) = [one for one in care.names if one not in care.tainted()][:1]
    path = f"{NODES}/{node}"
    serve(care, node)
    care.status(path, {"allocatable": {"nvidia.com/gpu": "7"}})
    before = care.tainted()
    care.look(PERCENT_PER_DAY="100")
    assert care.tainted() == before
    assert "short" in care.care_of(node)
    care.status(path, {"allocatable": {"nvidia.com/gpu": "8"}})
    care.look(PERCENT_PER_DAY="100")
    assert "short" not in care.care_of(node)
    care.status(path, {"allocatable": {"nvidia.com/gpu": "7"}})
    long_ago = json.dumps({**care.care_of(node), "short": "2026-01-01T00:00:00Z"})
    care.patch(path, {"metadata": {"annotations": {"gen.internal/gpu-care": long_ago}}})
    care.look(PERCENT_PER_DAY="100")
    assert {*care.tainted()} == {*before, node}
    assert "nvidia.com/gpu: 7 of 8 are healthy" in care.node(node)["metadata"]["annotations"][SICK]
    assert node in care.which()
    assert "no pod holds nvidia.com/" in care.good("drain", "evict", node)
    care.api.wait("it waits for another node", lambda: serving(care) == [(True, "")])
    care.undeploy("default", "serving")
    assert "7 of 8 are healthy" in care.refused("cleared", "cleared", node)
    care.status(path, {"allocatable": {"nvidia.com/gpu": "8"}})
    care.tells(node, Device(0))
    care.good("cleared", "cleared", node)
    assert care.tainted() == before


def test_an_xid_of_a_job_is_told_by_whose_it_is(care: Care) -> None:
    (node,) = [one for one in care.names if one not in care.tainted()][:1]
    vision = care.twin.member("vision")
    vision.prepare("debug", pods=1)
    pod = vision.pods("debug")[0]["metadata"]["name"]
    care.tells(node, Device(0, 31, pod=f"vision/{pod}"))
    care.look()
    assert node not in care.tainted()
    (job,) = care.care_of(node)["jobs"]
    workload = vision.workload("debug")
    assert workload
    assert job == f"vision/{workload['metadata']['name']}"
    care.twin.clean()


def test_gangs_are_found_by_what_operators_make_of_jobs(care: Care) -> None:
    (node,) = [one for one in care.names if one not in care.tainted()][:1]
    with running(care, node) as found:
        assert [one.runs_on() for one in found] == [{node}, {node}]
        care.tells(node, Device(0), Device(1, 79))
        care.look(PERCENT_PER_DAY="100")
        assert node in care.which()
        said = care.good("drain", "gangs", node)
        for one in found:
            assert f"stopping {one.kind} {one.name} of default" in said


def test_no_right_is_unused_and_none_is_missing(care: Care, log: Path) -> None:
    """After all others: what accounts asked is what they may, but for what only Argo's executor asks."""
    assert unused(care.api, log, *ACCOUNTS) == {one for account in ACCOUNTS for one in executor(account)}


def test_no_token_is_told(care: Care, log: Path) -> None:
    """After all others."""
    assert told_tokens(care, log) == []


def test_a_step_may_not_touch_other_nodes(care: Care) -> None:
    for name in NAMES:
        who = (f"{ACCOUNT}{name}", ("system:serviceaccounts", "system:authenticated"))
        change = {"spec": {"unschedulable": True}}
        assert care.api.request("PATCH", f"{NODES}/cp-1", change, patch="merge-patch+json", by=who)[0] == 403
        assert care.api.request("DELETE", f"{NODES}/gpu-01", by=who)[0] == 403
        assert care.api.request("GET", "/api/v1/secrets", by=who)[0] == 403
        assert care.api.request("GET", f"/api/v1/namespaces/{NAMESPACE}/secrets", by=who)[0] == 403
