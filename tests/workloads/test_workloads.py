"""Jobs for teams: what a manifest says on the reference clusters, and what is refused."""

from typing import Any

import pytest
from msgspec import structs
from reference import load, with_hardware

from generator.components.component import Tier
from generator.components.definition import Definition
from generator.components.jobs import JobKind
from generator.components.queues import flavors
from generator.components.queues.install import cluster_queue
from generator.components.queues.reach import reach
from generator.components.queues.volumes import claimable
from generator.errors import UsageError
from generator.model.capacity import allocatable
from generator.model.cluster import Cluster
from generator.model.nodes import Mig
from generator.model.quantity import Quantity
from generator.model.storage import Storage
from generator.workloads import KINDS, Workload, workload
from generator.workloads.wanted import Wanted

Object = dict[str, Any]
GPU, RDMA = "nvidia.com/gpu", "rdma/hca_shared_devices_a"

INDEXED = [name for name, kind in KINDS.items() if not (kind.operated or kind.serves or kind.stepwise)]
OPERATORS = [
    Definition(
        name=f"some-{kind}",
        tier=Tier.SCHEDULING,
        jobs=(JobKind(group="x", kind=kind, framework=f"x/{kind}"),),
        absence="a setting is missing",
    )
    for kind in ("RayJob", "MPIJob")
]
"""Operators that are there, whatever components gen has."""

each_indexed = pytest.mark.parametrize("kind", INDEXED)


@pytest.fixture(scope="module")
def ml50() -> Cluster:
    return load("ml50")


@pytest.fixture(scope="module")
def bench() -> Cluster:
    return load("a30-bench")


def made(cluster: Cluster, kind: str = "pytorch", team: str = "vision", gpus: int = 16, **more: Any) -> Workload:
    return workload(cluster, kind, Wanted(name="bert", team=team, gpus=gpus, image="example.org/train:1", **more))


def operated(cluster: Cluster, kind: str, gpus: int = 16, team: str = "vision") -> Object:
    """Return what an operator of the cluster runs."""
    wanted = Wanted(name="bert", team=team, gpus=gpus, image="example.org/train:1")
    (*_, found) = workload(cluster, kind, wanted, OPERATORS).manifests
    assert found["kind"] == KINDS[kind].operated
    return found


def of_kind(one: Workload, kind: str) -> Object:
    (found,) = (manifest for manifest in one.manifests if manifest["kind"] == kind)
    return found


def pod(one: Workload) -> Object:
    spec: Object = of_kind(one, "Job")["spec"]["template"]["spec"]
    return spec


def container(one: Workload) -> Object:
    (found,) = pod(one)["containers"]
    assert isinstance(found, dict)
    return found


def environment(one: Workload) -> dict[str, str]:
    return {each["name"]: each["value"] for each in container(one)["env"]}


def volume(one: Workload, name: str) -> Object:
    (found,) = (each for each in pod(one)["volumes"] if each["name"] == name)
    assert isinstance(found, dict)
    return found


def split(cluster: Cluster, strategy: str) -> Cluster:
    """Return the cluster with its GPUs split in halves, counted as the strategy says."""
    mig = Mig(profile="all-2g.12gb")
    machines = tuple(
        with_hardware(one, gpu=structs.replace(one.hardware.gpu, mig=mig)) if one.hardware.gpu else one
        for one in cluster.machines
    )
    found = structs.replace(cluster, machines=machines, gpus=structs.replace(cluster.gpus, mig_strategy=strategy))
    quota = {"gpus": 4} if strategy == "single" else {"gpus": None, "instances": {"2g.12gb": 4}}
    team = cluster.teams[0]
    quotas = {"bench": structs.replace(team.quotas["bench"], **quota)}
    return structs.replace(found, teams=(structs.replace(team, quotas=quotas),))


def refused(cluster: Cluster, **more: Any) -> str:
    with pytest.raises(UsageError) as raised:
        made(cluster, **more)
    return str(raised.value)


# What a job says


@each_indexed
def test_all_pods_are_one_gang_of_whole_nodes(ml50: Cluster, kind: str) -> None:
    job = of_kind(made(ml50, kind), "Job")
    assert job["metadata"]["annotations"] == {"scheduling.volcano.sh/group-min-member": "2"}
    assert [job["spec"][key] for key in ("parallelism", "completions", "completionMode")] == [2, 2, "Indexed"]
    limits = job["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]
    assert (limits[GPU], limits[RDMA]) == ("8", "1")


def test_pods_ask_for_no_more_than_a_node_and_the_quota_have(ml50: Cluster) -> None:
    """All that a team may use: 56 GPUs are seven pods, which must fit into its CPU and memory as well."""
    one = made(ml50, gpus=56)
    limits = container(one)["resources"]["limits"]
    room = reach(ml50, one.place.team, "gpu-training")
    node = min((allocatable(each, ml50) for each in one.place.machines), key=lambda share: share.memory)
    assert one.place.pods == 7
    assert 7 * Quantity.parse(limits["cpu"]).milli <= room.milli_cpu
    assert 7 * Quantity.parse(limits["memory"]).value <= room.memory
    assert Quantity.parse(limits["memory"]).value <= node.memory * 7 // 8
    assert Quantity.parse(limits["cpu"]).milli >= node.milli_cpu * 3 // 4


def test_few_gpus_are_one_pod_with_its_part_of_a_node(ml50: Cluster) -> None:
    one, whole = made(ml50, gpus=2), made(ml50, gpus=8)
    limits, all_of_it = (container(each)["resources"]["limits"] for each in (one, whole))
    assert (one.place.pods, limits[GPU]) == (1, "2")
    assert abs(4 * int(limits["cpu"]) - int(all_of_it["cpu"])) < 4
    assert RDMA not in limits, "GPUs of one node need no InfiniBand"
    assert environment(one)["NCCL_IB_DISABLE"] == "1"
    assert "emptyDir" in volume(one, "scratch"), "pods side by side would wait for disks"


def test_nccl_takes_the_pool_s_adapters_and_the_pod_s_interface(ml50: Cluster) -> None:
    said = environment(made(ml50))
    assert (said["NCCL_IB_HCA"], said["NCCL_SOCKET_IFNAME"]) == ("=mlx5_0,mlx5_1", "=eth0")
    assert "NCCL_IB_DISABLE" not in said


def test_no_adapter_is_named_where_nodes_differ(ml50: Cluster) -> None:
    first, *others = ml50.in_pools("gpu-training")
    other = with_hardware(first, hcas=("mlx5_4", "mlx5_5"))
    rest = [each for each in ml50.machines if each.pool != "gpu-training"]
    one = made(structs.replace(ml50, machines=(*rest, other, *others)))
    assert "NCCL_IB_HCA" not in environment(one)
    assert one.place.rdma == RDMA


def test_a_cluster_without_infiniband_asks_for_none(bench: Cluster) -> None:
    one = made(bench, team="mlperf", gpus=2)
    assert (one.place.pods, [*container(one)["resources"]["limits"]]) == (2, ["cpu", "memory", GPU])
    assert environment(one)["NCCL_IB_DISABLE"] == "1"


def test_pods_go_to_their_pool_and_tolerate_all_its_taints(ml50: Cluster) -> None:
    spec = pod(made(ml50, team="serving", gpus=8))
    assert spec["nodeSelector"] == {"gen.internal/pool": "gpu-inference"}
    assert [each["key"] for each in spec["tolerations"]] == ["nvidia.com/gpu", "gen.internal/inference"]
    assert spec["schedulerName"] == "volcano"


def test_shared_memory_counts_within_the_pod_s_memory(ml50: Cluster, bench: Cluster) -> None:
    for one in (made(ml50), made(ml50, gpus=1), made(bench, team="mlperf", gpus=1)):
        shm = volume(one, "shm")["emptyDir"]
        memory = Quantity.parse(container(one)["resources"]["limits"]["memory"]).value
        assert shm["medium"] == "Memory"
        assert 2**30 <= Quantity.parse(shm["sizeLimit"]).value <= memory // 4


def test_checkpoints_go_to_what_all_pods_share_and_outlives_them(ml50: Cluster) -> None:
    one = made(ml50, checkpoints=Quantity.parse("2Ti"))
    claim = of_kind(one, "PersistentVolumeClaim")["spec"]
    assert (claim["accessModes"], claim["storageClassName"]) == (["ReadWriteMany"], "shared-fast")
    assert claim["resources"]["requests"]["storage"] == "2Ti"
    assert volume(one, "checkpoints")["persistentVolumeClaim"]["claimName"] == "bert-checkpoints"
    assert environment(one)["CHECKPOINTS"] == "/checkpoints"
    assert not [note for note in one.notes if "end with their pod" in note]


def test_one_pod_keeps_them_on_a_block_device_where_nothing_is_shared(ml50: Cluster) -> None:
    assert ml50.storage.ceph
    ceph = structs.replace(ml50.storage.ceph, filesystems=())
    cluster = structs.replace(ml50, storage=structs.replace(ml50.storage, ceph=ceph))
    claim = of_kind(made(cluster, gpus=8), "PersistentVolumeClaim")["spec"]
    assert (claim["accessModes"], claim["storageClassName"]) == (["ReadWriteOnce"], "rbd-nvme")
    several = made(cluster, gpus=16)
    assert "PersistentVolumeClaim" not in {each["kind"] for each in several.manifests}


def test_a_cluster_without_shared_storage_says_that_checkpoints_end_with_pods(bench: Cluster) -> None:
    one = made(structs.replace(bench, storage=Storage(scratch=bench.storage.scratch)), team="mlperf", gpus=2)
    assert environment(one)["CHECKPOINTS"] == "/scratch"
    assert len([note for note in one.notes if "end with their pod" in note]) == 1


def test_scratch_is_a_disk_of_the_node_and_within_what_the_team_may_claim(ml50: Cluster) -> None:
    spec = volume(made(ml50), "scratch")["ephemeral"]["volumeClaimTemplate"]["spec"]
    assert spec["storageClassName"] == "scratch-nvme"
    assert 2 * 10**12 < Quantity.parse(spec["resources"]["requests"]["storage"]).value < 3840 * 10**9
    few = {"scratch-nvme": Quantity.parse("6Ti")}
    for bound, kind in (({"storage": Quantity.parse("1Ti")}, "ephemeral"), ({"storage_classes": few}, "emptyDir")):
        team = structs.replace(ml50.teams[0], **bound)
        assert kind in volume(made(structs.replace(ml50, teams=(team, *ml50.teams[1:]))), "scratch")


@pytest.mark.parametrize("name", ["gpu-serving", "ml50"])
def test_as_many_jobs_as_a_teams_gpus_let_in_have_their_volumes(name: str) -> None:
    """One whose claim were refused would hold its GPUs and never start."""
    cluster = load(name)
    for team in cluster.teams:
        for pool in team.quotas:
            nodes = [one for one in cluster.in_pools(pool) if one.disks_for("scratch") and one.gpus]
            if not nodes:
                continue
            jobs = reach(cluster, team, pool).devices[GPU] // nodes[0].gpus
            one = made(cluster, team=team.name, gpus=nodes[0].gpus, pool=pool, checkpoints=Quantity.parse("100Gi"))
            spec = volume(one, "scratch")["ephemeral"]["volumeClaimTemplate"]["spec"]
            scratch = jobs * Quantity.parse(spec["resources"]["requests"]["storage"]).value
            bounds = claimable(cluster, team)
            assert bounds.total
            assert jobs > 1
            assert scratch <= bounds.classes["scratch-nvme"].value
            assert scratch + jobs * 100 * 2**30 <= bounds.total.value


def test_the_class_is_the_middle_one_or_the_one_that_is_named(ml50: Cluster) -> None:
    job = of_kind(made(ml50), "Job")
    labels = {"kueue.x-k8s.io/queue-name": "default", "kueue.x-k8s.io/priority-class": "normal"}
    assert (job["metadata"]["labels"], job["metadata"]["namespace"]) == (labels, "vision")
    urgent = made(ml50, priority="urgent")
    assert of_kind(urgent, "Job")["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] == "urgent"
    assert pod(urgent)["priorityClassName"] == "batch-urgent"


def test_what_is_borrowed_is_told(ml50: Cluster) -> None:
    borrowed = [[note for note in made(ml50, gpus=gpus).notes if "are borrowed" in note] for gpus in (40, 48)]
    assert [len(notes) for notes in borrowed] == [0, 1]
    assert borrowed[1][0].startswith("8 of nvidia.com/gpu")


def test_pods_find_the_first_one_by_the_service_s_names(ml50: Cluster) -> None:
    one = made(ml50)
    service = of_kind(one, "Service")
    assert (service["metadata"]["name"], pod(one)["subdomain"]) == ("bert", "bert")
    assert service["spec"]["selector"] == {"batch.kubernetes.io/job-name": "bert"}
    assert service["spec"]["publishNotReadyAddresses"], "they wait for each other before any is ready"
    assert environment(one)["MEET"] == "bert-0.bert"


# What operators run


def test_a_ray_cluster_s_head_is_one_of_its_gpu_pods(ml50: Cluster) -> None:
    spec = operated(ml50, "ray", gpus=24)["spec"]
    head, (group,) = spec["rayClusterSpec"]["headGroupSpec"], spec["rayClusterSpec"]["workerGroupSpecs"]
    assert [group[key] for key in ("replicas", "minReplicas", "maxReplicas")] == [2, 2, 2]
    for one in (head, group):
        (container,) = one["template"]["spec"]["containers"]
        assert (container["resources"]["limits"][GPU], one["rayStartParams"]["num-gpus"]) == ("8", "8")
    assert {"name": "WORKERS", "value": "24"} in head["template"]["spec"]["containers"][0]["env"]
    alone = operated(ml50, "ray", gpus=8)["spec"]["rayClusterSpec"]
    assert alone["workerGroupSpecs"] == []


def test_kueue_and_the_rules_take_a_ray_job(ml50: Cluster) -> None:
    """It ends its cluster, makes it itself, and its submitter uses no more memory than it requests."""
    spec = operated(ml50, "ray")["spec"]
    assert (spec["shutdownAfterJobFinishes"], "clusterSelector" in spec) == (True, False)
    (submitter,) = spec["submitterPodTemplate"]["spec"]["containers"]
    assert submitter["resources"] == {"limits": {"cpu": "1", "memory": "2Gi"}}


def test_an_mpi_job_has_a_slot_for_each_gpu_and_its_launcher_none(ml50: Cluster) -> None:
    spec = operated(ml50, "mpi", gpus=24)["spec"]
    launcher, worker = (spec["mpiReplicaSpecs"][name] for name in ("Launcher", "Worker"))
    assert (spec["slotsPerWorker"], launcher["replicas"], worker["replicas"]) == (8, 1, 3)
    (container,) = launcher["template"]["spec"]["containers"]
    assert [*container["resources"]["limits"]] == ["cpu", "memory"]
    assert worker["template"]["spec"]["containers"][0]["resources"]["limits"][GPU] == "8"
    assert "launcherCreationPolicy" not in spec


def test_an_mpi_worker_whose_processes_all_ended_is_there_for_the_next_launcher(ml50: Cluster) -> None:
    """The operator makes a worker anew that is gone, and none that has failed."""
    spec = operated(ml50, "mpi")["spec"]
    assert [spec["mpiReplicaSpecs"][name]["restartPolicy"] for name in ("Launcher", "Worker")] == ["Never", "OnFailure"]


@pytest.mark.parametrize("kind", ["ray", "mpi"])
def test_what_starts_others_takes_no_gpu_node_where_there_is_another(ml50: Cluster, bench: Cluster, kind: str) -> None:
    def helper(cluster: Cluster, team: str) -> Object:
        spec = operated(cluster, kind, gpus=1, team=team)["spec"]
        found = spec["submitterPodTemplate"] if kind == "ray" else spec["mpiReplicaSpecs"]["Launcher"]["template"]
        pod: Object = found["spec"]
        return pod

    there, nowhere_else = helper(ml50, "vision"), helper(bench, "mlperf")
    assert (there["nodeSelector"], "tolerations" in there) == ({"gen.internal/pool": "cpu"}, False)
    assert nowhere_else["nodeSelector"] == {"gen.internal/pool": "bench"}
    assert [one["key"] for one in nowhere_else["tolerations"]] == [GPU]


@pytest.mark.parametrize("kind", ["ray", "mpi"])
def test_what_starts_others_is_where_the_team_has_the_most_and_refused_where_it_fits_nowhere(
    ml50: Cluster, kind: str
) -> None:
    team = ml50.teams[0]
    little = structs.replace(team.quotas["cpu"], cpus=1, memory=Quantity.parse("1Gi"), borrow=0)

    def asked(quotas: Object) -> Object:
        first = structs.replace(team, quotas=team.quotas | quotas)
        return operated(structs.replace(ml50, teams=(first, *ml50.teams[1:])), kind, gpus=8)

    assert "gen.internal/pool': 'nas'" not in str(asked({"nas": little}))
    with pytest.raises(UsageError, match="a pod of team vision can never have 2 GiB of memory on pool cpu: 1 at most"):
        asked({"cpu": little})


def test_without_the_operator_it_says_what_would_bring_it(ml50: Cluster) -> None:
    absent = [structs.replace(one, wanted=lambda _: False) for one in OPERATORS]
    wanted = Wanted(name="bert", team="vision", gpus=8, image="x")
    for catalogue, told in ((absent, "component some-RayJob: a setting is missing"), ((), "no component of gen does")):
        with pytest.raises(UsageError, match=f"ml50 has nothing that runs a RayJob .{told}"):
            workload(ml50, "ray", wanted, catalogue)
    assert workload(ml50, "jax", wanted, ()).manifests


def test_an_operator_s_job_needs_a_class(ml50: Cluster) -> None:
    """The rules refuse one without, of operators; a plain Job may have none."""
    team = structs.replace(ml50.teams[0], priorities=())
    cluster = structs.replace(ml50, teams=(team, *ml50.teams[1:]))
    with pytest.raises(UsageError, match="may use no priority class, and one has to be named on a MPIJob"):
        operated(cluster, "mpi")
    labels = of_kind(made(cluster), "Job")["metadata"]["labels"]
    assert labels == {"kueue.x-k8s.io/queue-name": "default"}


# Parts of GPUs


def test_an_instance_by_its_name_is_one_pod_s(bench: Cluster) -> None:
    one = made(split(bench, "mixed"), team="mlperf", gpus=1)
    limits = container(one)["resources"]["limits"]
    assert (one.place.pods, limits["nvidia.com/mig-2g.12gb"], GPU in limits) == (1, "1", False)
    node = allocatable(one.place.machines[0], one.place.cluster)
    assert Quantity.parse(limits["memory"]).value <= node.memory // 2


@pytest.mark.parametrize("strategy", ["single", "mixed"])
def test_a_job_gets_one_part_of_a_gpu(bench: Cluster, strategy: str) -> None:
    assert "--gpus 1" in refused(split(bench, strategy), team="mlperf", gpus=2)


# What is refused


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"team": "visoin"}, "ml50 has no team visoin; did you mean vision?"),
        ({"pool": "gpu-trainin"}, "did you mean gpu-training?"),
        ({"pool": "gpu-inference"}, "no quota on pool gpu-inference: pools with GPUs on which vision has a quota: gpu"),
        ({"pool": "cpu"}, "the nodes of pool cpu have no GPUs"),
        ({"gpus": 12}, "12 GPUs are not whole nodes of 8, and the pods of one job have as many each; take 8 or 16"),
        ({"gpus": 55}, "take 48 or 56"),
        ({"gpus": 57}, "can never have 57 of nvidia.com/gpu on pool gpu-training: 56 are all"),
        ({"gpus": 64}, "take 56 at most"),
        ({"team": "serving", "gpus": 32}, "24 are all"),
        ({"device": "nvidia.com/mig-1g.10gb"}, "gpu-training offers no nvidia.com/mig-1g.10gb; did you mean nvidia"),
        ({"team": "language", "priority": "urgent"}, "team language may not use the priority class urgent"),
        ({"priority": "nomal"}, "did you mean normal?"),
        ({"checkpoints": Quantity.parse("21Ti")}, "may claim 20Ti of shared-fast: --checkpoints 21Ti is more"),
    ],
)  # fmt: skip
def test_what_could_never_run_is_refused(ml50: Cluster, asked: Object, told: str) -> None:
    assert told in refused(ml50, **asked)


def test_no_number_is_named_that_the_quota_could_not_give(ml50: Cluster) -> None:
    team = ml50.teams[0]
    quotas = team.quotas | {"gpu-training": structs.replace(team.quotas["gpu-training"], borrow=12)}
    cluster = structs.replace(ml50, teams=(structs.replace(team, quotas=quotas), *ml50.teams[1:]))
    assert refused(cluster, gpus=50).endswith("as many each; take 48")


@pytest.mark.parametrize("name", ["Bert", "8b", "a_b", "x" * 41, "-a", ""])
def test_a_name_that_pods_cannot_have_is_refused(ml50: Cluster, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be the name of a job"):
        workload(ml50, "jax", Wanted(name=name, team="vision", gpus=8, image="x"))


def test_what_a_team_can_have_at_most_is_what_its_queue_says(ml50: Cluster) -> None:
    """In GPUs: what it owns, and what it may borrow of what others lend and nobody owns."""
    for team in ml50.teams:
        for entry in cluster_queue(ml50, team, flavors(ml50))["spec"]["resourceGroups"][0]["flavors"]:
            (gpus,) = (each for each in entry["resources"] if each["name"] == GPU)
            bound = int(gpus["nominalQuota"]) + int(gpus.get("borrowingLimit", 10**6))
            assert reach(ml50, team, entry["name"]).devices.get(GPU, 0) <= bound
    vision, language, recommender, serving = ml50.teams
    found = [reach(ml50, team, "gpu-training").devices[GPU] for team in (vision, language, recommender)]
    assert found == [56, 72, 96]
    assert reach(ml50, serving, "gpu-inference").devices[GPU] == 24
    assert reach(ml50, vision, "gpu-inference").devices[GPU] == 8, "what serving lends"
