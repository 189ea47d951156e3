"""What is left of jobs that have ended: no disk or quota for longer than the next job can wait."""

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import structs
from reference import load
from test_workloads import OPERATORS

from generator.components.queues.volumes import claimable
from generator.model.cluster import Cluster
from generator.model.quantity import Quantity
from generator.workloads import KINDS, workload
from generator.workloads.ended import DAY
from generator.workloads.ingest import Ingest, ingest
from generator.workloads.place import place
from generator.workloads.storage import scratch_size
from generator.workloads.wanted import Wanted

Object = dict[str, Any]
CLUSTERS = ("a30-bench", "gpu-serving", "ml50")
CLAIMED, FOLDER = "ephemeral", "emptyDir"


def wanted(team: str, gpus: int, pool: str | None = None) -> Wanted:
    return Wanted(
        name="bert", team=team, gpus=gpus, pool=pool, image="example.org/x:1", checkpoints=Quantity.parse("1Gi")
    )


def made(cluster: Cluster, kind: str, team: str, gpus: int, pool: str | None = None) -> Object:
    (*_, job) = workload(cluster, kind, wanted(team, gpus, pool), OPERATORS).manifests
    return job


def scratch(job: Object) -> str:
    (volume,) = (one for one in job["spec"]["template"]["spec"]["volumes"] if one["name"] == "scratch")
    return CLAIMED if CLAIMED in volume else FOLDER


def trained() -> Iterator[tuple[str, str, str]]:
    """Yield each team's pools of GPUs that are not split, which have what a whole node has."""
    for name in CLUSTERS:
        cluster = load(name)
        for team in cluster.teams:
            for pool in team.quotas:
                nodes = [one for one in cluster.in_pools(pool) if one.gpus]
                if nodes and not any(
                    gpu and (gpu.mig or gpu.time_slices) for gpu in (one.hardware.gpu for one in nodes)
                ):
                    yield name, team.name, pool


each = pytest.mark.parametrize(("name", "team", "pool"), [*trained()])


@each
@pytest.mark.parametrize("kind", ["pytorch", "tensorflow", "jax"])
def test_a_disk_is_free_again_before_kueue_gives_up_who_waits_for_it(
    name: str, team: str, pool: str, kind: str
) -> None:
    cluster = load(name)
    for gpus in (1, max(one.gpus for one in cluster.in_pools(pool))):
        job = made(cluster, kind, team, gpus, pool)
        seconds = job["spec"]["ttlSecondsAfterFinished"]
        if scratch(job) == CLAIMED:
            assert 60 <= seconds <= cluster.scheduling.start_minutes * 60 / 2
        else:
            assert seconds == DAY


def test_some_jobs_have_a_disk_of_their_own_and_others_a_folder() -> None:
    found = {
        scratch(made(load(name), "jax", team, 8)) for name, team in (("ml50", "vision"), ("gpu-serving", "speech"))
    }
    assert found == {CLAIMED}
    assert scratch(made(load("ml50"), "jax", "vision", 1)) == FOLDER


def test_a_pod_is_made_again_if_there_is_a_disk_for_it() -> None:
    """One that failed keeps its claim, and Kueue has chosen the node. Each index, which is one node's, has its own."""

    def again(cluster: Cluster, team: str, gpus: int) -> tuple[int, int]:
        spec = made(cluster, "jax", team, gpus)["spec"]
        assert "backoffLimit" not in spec
        return spec["backoffLimitPerIndex"], spec["maxFailedIndexes"]

    ml50 = load("ml50")
    assert again(ml50, "vision", 16) == again(ml50, "vision", 2) == (1, 0), "two disks, and none"
    assert again(load("a30-bench"), "mlperf", 2) == (0, 0), "one disk"
    size = scratch_size(place(ml50, wanted("vision", 16)))
    assert size
    for claims, limit in ((3, 0), (4, 1)):
        few = {"scratch-nvme": Quantity.of(claims * size, binary=True)}
        team = structs.replace(ml50.teams[0], storage_classes=few)
        bounded = structs.replace(ml50, teams=(team, *ml50.teams[1:]))
        assert claimable(bounded, team).classes["scratch-nvme"].value == claims * size
        assert again(bounded, "vision", 16) == (limit, 0)


def test_nothing_of_an_mpi_job_keeps_a_disk() -> None:
    ml50 = load("ml50")
    for gpus, policy in ((16, "All"), (2, "Running")):
        assert made(ml50, "mpi", "vision", gpus)["spec"]["runPolicy"]["cleanPodPolicy"] == policy


def test_a_ray_cluster_goes_with_its_job() -> None:
    spec = made(load("ml50"), "ray", "vision", 16)["spec"]
    assert (spec["shutdownAfterJobFinishes"], spec.get("ttlSecondsAfterFinished", 0)) == (True, 0)


def test_a_step_that_has_ended_keeps_its_disk_as_long_as_a_job_and_others_their_logs() -> None:
    whole = load("ml50")
    teams = tuple(structs.replace(one, pipelines=one.name == "vision") for one in whole.teams)
    for gpus, cleaned in ((8, True), (1, False)):
        asked = wanted("vision", gpus)
        template = workload(structs.replace(whole, teams=teams), "pipeline", asked).manifests[-2]["spec"]
        assert ("podGC" in template) == cleaned
        if cleaned:
            policy = template["podGC"]
            assert (policy["strategy"], policy["deleteDelayDuration"]) == ("OnPodCompletion", "900s")
            labels = {one["name"]: one["metadata"]["labels"] for one in template["templates"] if "container" in one}
            chosen = policy["labelSelector"]["matchLabels"].items()
            with_scratch = [one["name"] for one in template["templates"] if "scratch" in str(one.get("volumes"))]
            assert [name for name, found in labels.items() if chosen <= found.items()] == with_scratch == ["train"]


@pytest.mark.parametrize(
    ("size", "seconds", "tries"), [(None, DAY, 6), ("100Gi", 600, 6), ("1Ti", 600, 2), ("2Ti", 600, 0)]
)
def test_scratch_of_what_brings_data_is_within_the_team_s_quota_however_often_it_fails(
    size: str | None, seconds: int, tries: int
) -> None:
    given = Quantity.parse(size) if size else None
    asked = Ingest(name="bring", team="speech", source="pvc://old", target="pvc://mine", scratch=given)
    (_, job) = ingest(load("gpu-serving"), asked)
    assert (job["spec"]["ttlSecondsAfterFinished"], job["spec"]["backoffLimit"]) == (seconds, tries)


@pytest.mark.parametrize("kind", [name for name, one in KINDS.items() if not one.serves and not one.stepwise])
def test_how_long_it_is_kept_and_how_it_is_run_again_are_told(kind: str) -> None:
    ml50 = load("ml50")
    told = " ".join(workload(ml50, kind, wanted("vision", 16), OPERATORS).notes)
    job = KINDS[kind].operated or "Job"
    kept = "deleted 15 minutes after its end" if job == "Job" else f"the {job} stays until it is deleted"
    assert kept in told
    assert f"kubectl delete {job.lower()} bert --ignore-not-found" in told
    assert "goes on from its checkpoints" in told
    small = " ".join(workload(ml50, "jax", wanted("vision", 1)).notes)
    assert "deleted a day after its end" in small
