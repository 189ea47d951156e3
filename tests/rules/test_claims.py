from typing import Any

import pytest
from manifests import built, manifest, ml50, reached, seen, workload
from msgspec import structs

from generator.build.objects import Built, Object
from generator.model.quantity import Quantity
from generator.rules.claims import classed, given_back, mountable, within_quota

MANY, ONE = ["ReadWriteMany"], ["ReadWriteOnce"]
RBD, FILES = "rook-ceph.rbd.csi.ceph.com", "rook-ceph.cephfs.csi.ceph.com"


def storage(name: str, provisioner: str, component: str, *, default: bool = False) -> Object:
    noted = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}} if default else {}
    one = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name, **noted}}
    return Object({**one, "provisioner": provisioner}, component, "class.yaml")


def cluster(*manifests: Any, default: bool) -> Built:
    """Return ml50 with its classes and some objects, with a default class or without."""
    classes = (
        storage("rbd", RBD, "ceph-cluster", default=default),
        storage("files", FILES, "ceph-cluster"),
        storage("local", "kubernetes.io/no-provisioner", "scratch"),
        storage("bucket", "rook-ceph.ceph.rook.io/bucket", "ceph-cluster"),
    )
    whole = built(*manifests, cluster=ml50())
    return structs.replace(whole, objects=(*classes, *whole.objects))


def claim(**spec: Any) -> Any:
    return manifest("PersistentVolumeClaim", spec={"accessModes": ONE, **spec})


def test_a_claim_without_a_class_is_told_where_none_is_the_default() -> None:
    (problem,) = seen(classed, cluster(claim(), default=False))
    assert "names no class, and the cluster has no default" in problem.message
    assert problem.fix == "storageClassName: files or rbd"
    assert reached(problem) == {"accessModes": ONE}


@pytest.mark.parametrize("spec", [{"storageClassName": "rbd"}, {"storageClassName": ""}, {"volumeName": "v"}])
def test_a_claim_that_names_its_class_or_volume_is_fine(spec: dict[str, str]) -> None:
    assert seen(classed, cluster(claim(**spec), default=False)) == []


def test_with_a_default_or_where_not_all_classes_are_seen_nothing_is_told() -> None:
    assert seen(classed, cluster(claim(), default=True)) == []
    remote = structs.replace(cluster(claim(), default=False), remote=("",))
    assert seen(classed, remote) == []
    assert seen(classed, built(claim())) == []


@pytest.mark.parametrize("name", ["rbd", "local"])
def test_what_one_node_mounts_is_not_for_many(name: str) -> None:
    (problem,) = seen(mountable, cluster(claim(storageClassName=name, accessModes=MANY), default=False))
    assert f"ReadWriteMany, and only one node at a time mounts a volume of class {name}" in problem.message
    assert problem.fix == "storageClassName: files"
    assert reached(problem) == name


def test_the_default_class_counts_where_none_is_named() -> None:
    (problem,) = seen(mountable, cluster(claim(accessModes=MANY), default=True))
    assert "of the default class rbd" in problem.message
    assert reached(problem) == MANY


@pytest.mark.parametrize(
    "spec",
    [
        {"storageClassName": "files", "accessModes": MANY},
        {"storageClassName": "rbd", "accessModes": MANY, "volumeMode": "Block"},
        {"storageClassName": "rbd"},
        {"storageClassName": "nobody-knows-it", "accessModes": MANY},
    ],
)
def test_what_can_be_mounted_is_fine(spec: dict[str, Any]) -> None:
    assert seen(mountable, cluster(claim(**spec), default=True)) == []


def test_claims_of_stateful_sets_and_pods_are_judged_too() -> None:
    spec = {"accessModes": MANY, "storageClassName": "rbd"}
    made = workload("StatefulSet")
    made["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": spec}]
    volume = {"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}
    for one in (made, workload(volumes=[volume])):
        (problem,) = seen(mountable, cluster(one, default=False))
        assert reached(problem) == "rbd"


def test_a_claim_beyond_the_quota_of_its_team_is_told() -> None:
    def of_team(size: str, **spec: Any) -> Any:
        resources = {"requests": {"storage": size}}
        return manifest("PersistentVolumeClaim", namespace="vision", spec={"resources": resources, **spec})

    lasting = of_team("201Ti", storageClassName="shared-bulk")
    (all_of_it,) = seen(within_quota, cluster(lasting, default=False))
    assert (reached(all_of_it), all_of_it.message) == ("201Ti", "claims 201Ti, and the quota of team vision is 200Ti")
    (of_a_class,) = seen(within_quota, cluster(of_team("31Ti", storageClassName="rbd-nvme"), default=False))
    assert "is 30Ti" in of_a_class.message
    elsewhere = manifest("PersistentVolumeClaim", spec=lasting["spec"])
    fine = (of_team("200Ti"), of_team("30Ti", storageClassName="rbd-nvme"), elsewhere)
    assert seen(within_quota, cluster(*fine, default=False)) == []


def test_scratch_is_beside_the_storage_of_a_team() -> None:
    """As the API server has it: a claim of the class of scratch is bounded by the disks alone."""
    team = structs.replace(ml50().teams[0], storage=Quantity.parse("1Ti"), storage_classes={})
    whole = structs.replace(ml50(), teams=(team, *ml50().teams[1:]))
    for size, name, findings in (("7Ti", "scratch-nvme", 0), ("7Pi", "scratch-nvme", 1), ("7Ti", "rbd-nvme", 1)):
        spec = {"storageClassName": name, "resources": {"requests": {"storage": size}}}
        one = manifest("PersistentVolumeClaim", namespace=team.name, spec=spec)
        assert len(seen(within_quota, built(one, cluster=whole))) == findings, (size, name)


def job(kind: str, api_version: str, way: tuple[str, ...], volume: Any, **spec: Any) -> Any:
    """Return a job whose pods are at a way below its spec, and have a volume."""
    container = {"name": "main", "image": "example.org/x:1.0.0"}
    below: Any = {"template": {"spec": {"containers": [container], "volumes": [{"name": "scratch", **volume}]}}}
    for key in reversed(way):
        below = [below] if key == "*" else {key: below}
    return manifest(kind, api_version, spec={**below, **spec})


OWN = {"ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ONE}}}}
ENDED = {"ttlSecondsAfterFinished": 600}
JOBS: list[tuple[str, str, tuple[str, ...], tuple[str, ...]]] = [
    ("Job", "batch/v1", (), ()),
    ("CronJob", "batch/v1", ("jobTemplate", "spec"), ("jobTemplate", "spec")),
    ("JobSet", "jobset.x-k8s.io/v1alpha2", ("replicatedJobs", "*", "template", "spec"), ()),
    ("TFJob", "kubeflow.org/v1", ("tfReplicaSpecs", "Worker"), ("runPolicy",)),
]


@pytest.mark.parametrize(("kind", "version", "way", "policy"), JOBS)
def test_what_a_job_s_pods_claim_is_given_back(
    kind: str, version: str, way: tuple[str, ...], policy: tuple[str, ...]
) -> None:
    (problem,) = seen(given_back, built(job(kind, version, way, OWN)))
    assert "keep claims of their own after they have ended" in problem.message
    assert problem.fix == "ttlSecondsAfterFinished: 600"
    assert seen(given_back, built(job(kind, version, way, {"emptyDir": {}}))) == []
    ended = job(kind, version, way, OWN)
    at = ended["spec"]
    for key in policy:
        at = at.setdefault(key, {})
    at.update(ENDED)
    assert seen(given_back, built(ended)) == []


def test_a_cron_job_that_keeps_no_job_gives_it_back() -> None:
    for failed, findings in ((0, 0), (1, 1)):
        limits = {"successfulJobsHistoryLimit": 0, "failedJobsHistoryLimit": failed}
        one = job("CronJob", "batch/v1", ("jobTemplate", "spec"), OWN, **limits)
        assert len(seen(given_back, built(one))) == findings


def test_pods_that_go_when_their_job_ends_give_it_back() -> None:
    worker = ("tfReplicaSpecs", "Worker")
    for policy, findings in (("All", 0), ("Running", 1)):
        one = job("TFJob", "kubeflow.org/v1", worker, OWN, runPolicy={"cleanPodPolicy": policy})
        assert len(seen(given_back, built(one))) == findings
    mpi = job("MPIJob", "kubeflow.org/v2beta1", ("mpiReplicaSpecs", "Worker"), OWN)
    assert seen(given_back, built(mpi)) == []
