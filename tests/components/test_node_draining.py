"""What is emptied from a node, whose its pods are, and what is waited for before: the scripts, without a cluster."""

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nodeshelf import Object, Shelf, imported

NODE, SPACE = "gpu-01", "vision"
WORKLOADS = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{SPACE}/workloads"


@pytest.fixture(autouse=True)
def _scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield from imported(tmp_path, monkeypatch)


def reference(kind: str, name: str, group: str = "batch/v1") -> Object:
    """Return who makes something again."""
    return {"apiVersion": group, "kind": kind, "name": name, "uid": f"{kind}-{name}", "controller": True}


class Cluster(Shelf):
    """A cluster with queues, one node of which is emptied."""

    def __init__(self) -> None:
        super().__init__()
        facts = {"metadata": {"name": "nodes-gpu"}, "data": {"_pool": '{"queues": true, "ceph": true}'}}
        self.put("/api/v1/namespaces/node-operations/configmaps/nodes-gpu", facts)
        self.put("/apis/kueue.x-k8s.io/v1beta2", {})

    def pod(self, name: str, *made_by: Object, says: str = "", space: str = SPACE, **metadata: Any) -> Object:
        """Let a pod run on the node. `says` is the Workload that it names."""
        noted = {"kueue.x-k8s.io/workload": says} if says else {}
        told = {"name": name, "namespace": space, "uid": f"Pod-{name}", "ownerReferences": list(made_by)}
        one = {"metadata": told | {"annotations": noted} | metadata, "spec": {"nodeName": NODE}, "status": {}}
        return self.put(f"/api/v1/namespaces/{space}/pods/{name}", one)

    def workload(self, name: str, *owners: Object, **status: Any) -> Object:
        """Let Kueue have let something in."""
        metadata = {"name": name, "namespace": SPACE, "ownerReferences": list(owners)}
        return self.put(f"{WORKLOADS}/{name}", {"metadata": metadata, "spec": {}, "status": status})

    def part(self, one: Object, made_by: Object, uid: str = "") -> None:
        """Let a part of a job be there, which an operator made."""
        path = f"/apis/{one['apiVersion']}/namespaces/{SPACE}/{one['kind'].lower()}s/{one['name']}"
        self.put(path, {"metadata": {"uid": uid or one["uid"], "ownerReferences": [made_by]}})


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


JOB = reference("Job", "train")


def test_pods_of_a_job_are_its_gang_and_all_others_go_one_by_one(cluster: Cluster) -> None:
    import draining  # type: ignore[import-not-found]

    cluster.workload("job-train", JOB)
    cluster.pod("train-0", JOB, says="job-train")
    cluster.pod("web", reference("ReplicaSet", "web", "apps/v1"))
    assert draining.gangs_here(cluster, NODE) == {(SPACE, "job-train"): "Job train"}
    assert [one["metadata"]["name"] for one in draining.single(cluster, NODE)] == ["web"]


@pytest.mark.parametrize(
    "made_by",
    [(), (reference("ReplicaSet", "web", "apps/v1"),), (reference("Job", "another"),)],
    ids=["nobody", "a service", "another job"],
)
def test_a_pod_that_only_says_whose_it_is_holds_up_nothing(cluster: Cluster, made_by: tuple[Object, ...]) -> None:
    import draining

    cluster.workload("job-train", JOB)
    cluster.pod("fake", *made_by, says="job-train")
    cluster.pod("lost", *made_by, says="job-of-nobody")
    draining.gangs(cluster, NODE)
    assert cluster.changes == [], "nobody's job is stopped for it"
    draining.evict(cluster, NODE)
    assert sorted(cluster.asked("POST")) == ["fake", "lost"]


OPERATOR = [{"effect": "NoExecute", "operator": "Exists"}, {"effect": "NoSchedule", "operator": "Exists"}]
"""What Calico's operator tolerates, and the chart's default of others."""


@pytest.mark.parametrize(
    ("tolerations", "only", "left"),
    [
        (OPERATOR, "", True),
        ([{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}], "", True),
        ([{"key": "nvidia.com/gpu", "operator": "Exists"}, *OPERATOR[:1]], "", False),
        (OPERATOR, "nvidia.com/", False),
    ],
    ids=["all", "cordons", "gpus", "it holds what must be free"],
)
def test_what_comes_back_to_a_cordoned_node_is_evicted_once(
    tolerations: list[Object], only: str, *, left: bool, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    import draining

    count = iter(range(1000))
    asks = {"limits": {"nvidia.com/gpu": 1}}

    def make(gone: Object | None = None) -> None:
        if gone:
            evicted(gone)
        one = cluster.pod(f"tigera-{next(count)}", reference("ReplicaSet", "tigera", "apps/v1"))
        one["spec"] |= {"tolerations": tolerations, "containers": [{"resources": asks}]}

    evicted = cluster.evict
    monkeypatch.setattr(draining, "ONLY", only)
    monkeypatch.setattr(cluster, "evict", make)
    make()
    if left:
        draining.evict(cluster, NODE)
        assert cluster.asked("POST") == ["tigera-0"]
    else:
        with pytest.raises(draining.Verdict, match="there are still"):
            draining.evict(cluster, NODE)


def test_a_gang_is_gone_when_its_own_pods_are(cluster: Cluster) -> None:
    import draining

    cluster.workload("job-train", JOB)
    cluster.pod("fake", reference("ReplicaSet", "web", "apps/v1"), says="job-train")
    draining.gone(cluster, (SPACE, "job-train"))
    cluster.pod("train-0", JOB, says="job-train")
    with pytest.raises(draining.Verdict, match=r"not gone after 0\.2 s: vision/train-0$"):
        draining.gone(cluster, (SPACE, "job-train"))


def test_a_gang_that_was_stopped_for_a_node_is_stopped_once(cluster: Cluster) -> None:
    """Pods of a machine that is off stay until it is declared so: a run that was killed meets them again."""
    import draining

    cluster.workload("job-train", JOB)
    cluster.pod("train-0", JOB, says="job-train")
    for _ in range(2):
        draining.stop_gangs(cluster, NODE)
    assert cluster.asked("PATCH") == ["job-train"]
    cluster.objects[f"{WORKLOADS}/job-train"]["spec"]["active"] = True
    draining.stop_gangs(cluster, NODE)
    assert cluster.asked("PATCH") == ["job-train", "job-train"], "somebody let it go on"


def test_a_gang_that_its_team_has_stopped_is_not_begun_again(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nor one that a limit of Kueue deactivated. Its last pods may be there still when a node is emptied."""
    import draining

    workload = cluster.workload("job-train", JOB)
    workload["spec"]["active"] = False
    cluster.pod("train-0", JOB, says="job-train", deletionTimestamp="2026-11-23T12:00:00Z")
    draining.gangs(cluster, NODE)
    assert cluster.changes == []
    assert "Job train of vision was stopped by somebody else, and stays so" in capsys.readouterr().out
    assert draining.gangs_here(cluster, NODE) == {}, "nobody is told that it would be queued again"
    with pytest.raises(draining.Verdict, match=r"still: vision/train-0 \(of a gang\)$"):
        draining.evict(cluster, NODE)
    del cluster.objects[f"/api/v1/namespaces/{SPACE}/pods/train-0"]
    draining.evict(cluster, NODE)
    draining.let_all_in(cluster, NODE)
    assert (workload["spec"], cluster.changes) == ({"active": False}, [])


def test_parts_of_a_job_lead_to_it(cluster: Cluster) -> None:
    import draining

    job, sets = reference("Job", "t-0"), reference("JobSet", "t", "jobset.x-k8s.io/v1alpha2")
    top = reference("TrainJob", "t", "trainer.kubeflow.org/v1alpha1")
    cluster.part(job, sets)
    cluster.part(sets, top)
    cluster.workload("trainjob-t", top)
    cluster.pod("t-0-0", job, says="trainjob-t")
    assert draining.gangs_here(cluster, NODE) == {(SPACE, "trainjob-t"): "TrainJob t"}
    ray = reference("RayCluster", "r-x", "ray.io/v1")
    cluster.part(ray, reference("RayJob", "r", "ray.io/v1"))
    cluster.workload("rayjob-r", reference("RayJob", "r", "ray.io/v1"))
    cluster.pod("r-head", ray, says="rayjob-r")
    assert draining.gangs_here(cluster, NODE)[SPACE, "rayjob-r"] == "RayJob r"


def test_a_part_that_was_made_anew_under_its_name_leads_nowhere(cluster: Cluster) -> None:
    import draining

    job, top = reference("Job", "t-0"), reference("MPIJob", "t", "kubeflow.org/v2beta1")
    cluster.part(job, top, uid="made-anew")
    cluster.workload("mpijob-t", top)
    cluster.pod("t-0-0", job, says="mpijob-t")
    assert draining.gangs_here(cluster, NODE) == {}


def test_a_group_of_pods_is_a_gang(cluster: Cluster) -> None:
    import draining

    pods = [reference("Pod", "a", "v1"), reference("Pod", "b", "v1")]
    cluster.workload("both", *pods)
    cluster.pod("a", says="both")
    cluster.pod("late", says="both", labels={"kueue.x-k8s.io/pod-group-name": "both"})
    assert list(draining.gangs_here(cluster, NODE)) == [(SPACE, "both")]
    assert draining.single(cluster, NODE) == []


def test_who_says_to_be_of_a_group_is_of_no_job(cluster: Cluster) -> None:
    import draining

    cluster.workload("job-train", JOB)
    cluster.pod("fake", says="job-train", labels={"kueue.x-k8s.io/pod-group-name": "job-train"})
    assert draining.gangs_here(cluster, NODE) == {}


def test_only_the_run_itself_stays_and_not_who_bears_its_label(cluster: Cluster) -> None:
    import draining

    label = {"workflows.argoproj.io/workflow": "kubernetes-upgrade-x7k2p"}
    cluster.pod("step", space="node-operations", labels=label)
    cluster.pod("other-step", space="node-operations", labels={"workflows.argoproj.io/workflow": "other"})
    cluster.pod("pretends", labels=label)
    assert {one["metadata"]["name"] for one in draining.pods_here(cluster, NODE)} == {"other-step", "pretends"}


def test_what_cannot_be_emptied_says_nothing_of_cordons(cluster: Cluster) -> None:
    """Of a removal the node stays cordoned, of an upgrade it does not: who called it tells that."""
    import draining

    cluster.workload("job-train", JOB)
    cluster.pod("train-0", JOB, says="job-train")
    with pytest.raises(draining.Verdict) as refused:
        draining.evict(cluster, NODE)
    assert str(refused.value) == "after 0.2 s there are still: vision/train-0 (of a gang)"


def assigned(*slices: Object, count: int = 2, level: str = "kubernetes.io/hostname") -> Object:
    """Return what Kueue says of a Workload that it has let in for nodes."""
    one = {"count": count, "topologyAssignment": {"levels": [level], "slices": list(slices)}}
    conditions = [{"type": "Admitted", "status": "True"}, {"type": "PodsReady", "status": "False"}]
    return {"admission": {"podSetAssignments": [one]}, "conditions": conditions}


def names(*roots: str, prefix: str = "") -> Object:
    """Return a slice of nodes, as Kueue writes them."""
    return {"valuesPerLevel": [{"individual": {"prefix": prefix, "roots": list(roots)}}]}


@pytest.mark.parametrize(
    "slices", [(names("01", "02", prefix="gpu-"),), (names("gpu-09"), {"valuesPerLevel": [{"universal": NODE}]})]
)
def test_a_gang_that_waits_for_its_pods_on_a_node_is_waited_for(cluster: Cluster, slices: tuple[Object, ...]) -> None:
    import placing  # type: ignore[import-not-found]

    workload = cluster.workload("job-train", JOB, **assigned(*slices))
    cluster.pod("train-0", JOB, says="job-train")
    cluster.pod("fake", says="job-train")
    assert placing.unplaced(cluster, NODE) == ["Job train"]
    assert placing.unplaced(cluster, "gpu-03") == []
    cluster.pod("train-1", JOB, says="job-train")
    assert placing.unplaced(cluster, NODE) == [], "both have a node"
    del cluster.objects[f"/api/v1/namespaces/{SPACE}/pods/train-1"]
    workload["status"]["conditions"][1]["status"] = "True"
    assert placing.unplaced(cluster, NODE) == [], "all have run: one that ended comes no more"


def test_what_is_no_more_let_in_or_for_no_node_is_not_waited_for(cluster: Cluster) -> None:
    import placing

    cluster.workload("by-rack", JOB, **assigned(names(NODE), level="topology.rook.io/rack"))
    cluster.workload("plain", JOB, admission={"podSetAssignments": [{"count": 2}]}, conditions=[])
    stopped = assigned(names(NODE))
    stopped["conditions"].append({"type": "Evicted", "status": "True"})
    cluster.workload("stopped", JOB, **stopped)
    cluster.workload("new", JOB)
    assert placing.unplaced(cluster, NODE) == []


def test_who_finds_no_place_is_told_and_holds_up_nothing_for_ever(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    import placing

    cluster.workload("job-train", JOB, **assigned(names(NODE)))
    placing.placed(cluster, NODE)
    said = capsys.readouterr().out
    assert "waiting until Job train has its pods on gpu-01" in said
    assert "Job train has no place after 0.2 s: pods that wait for gpu-01 may be ended" in said


def ceph(cluster: Cluster, health: str, checked: str | None, **details: str) -> None:
    """Let Rook say of Ceph."""
    told: Object = {"health": health, "details": {name: {"message": words} for name, words in details.items()}}
    path = "/apis/ceph.rook.io/v1/namespaces/rook-ceph/cephclusters/rook-ceph"
    cluster.put(path, {"status": {"ceph": told | ({"lastChecked": checked} if checked else {})}})


def at(minutes: float) -> str:
    """Return a time as Rook writes it."""
    return (dt.datetime.now(dt.UTC) - dt.timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_health_that_nobody_looked_at_lately_is_none(cluster: Cluster) -> None:
    import ceph as script  # type: ignore[import-not-found]

    ceph(cluster, "HEALTH_OK", at(2))
    assert script.hindrances(cluster) == []
    for checked, seen in ((at(6), at(6)), (None, "no time"), ("yesterday", "yesterday")):
        ceph(cluster, "HEALTH_OK", checked)
        assert script.hindrances(cluster) == [f"HEALTH_OK, as Rook's operator saw it at {seen}, and not since"]
    with pytest.raises(script.Verdict, match=r"^Ceph is not whole before .*HEALTH_OK, as Rook's operator saw it at"):
        script.whole(cluster, "before gpu-01 may be away")
