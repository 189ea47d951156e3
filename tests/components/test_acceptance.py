"""Acceptance: which pools and tests there are, what is held against them, what its steps and jobs may."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from validation.schemas import refused

from generator.components.acceptance import DEFINITION, acceptance
from generator.components.acceptance.facts import config_maps, facts
from generator.components.acceptance.names import JOBS, NAMESPACE
from generator.components.acceptance.pools import BY_JOBS, TESTS, tried
from generator.components.acceptance.queue import queue
from generator.components.acceptance.rights import rights
from generator.components.acceptance.stores import LINK, least, stores
from generator.components.acceptance.templates import FILES, programs
from generator.components.acceptance.templates import acceptance as template
from generator.components.acceptance.thresholds import NAMES, NVME
from generator.components.argo_workflows import DEFINITION as ARGO_WORKFLOWS
from generator.components.minio import trial
from generator.components.python_steps import IMAGE as PYTHON
from generator.components.static import read_text
from generator.model.acceptance import Acceptance
from generator.model.cluster import Cluster
from generator.model.gpus import GPU

CRDS = ("argo-workflows/v4.0.2", "kueue/v0.18.3", "mpi-operator/v0.8.2", "cert-manager/v1.21.1", "rook/v1.20.6")
IMAGE = "registry.ml50.example.org/platform/acceptance:2026.11"


@pytest.fixture
def cluster(ml50: Cluster) -> Cluster:
    return structs.replace(ml50, acceptance=Acceptance(image=IMAGE))


def with_(cluster: Cluster, **changes: Any) -> Cluster:
    """Return the cluster with changes, and nothing remembered of what it was."""
    return structs.replace(cluster, **changes)


def jobs(cluster: Cluster, pool: str) -> dict[str, Any]:
    """Return the jobs of a pool, by test."""
    (data,) = [one["data"] for one in config_maps(cluster) if one["metadata"]["name"] == f"pool-{pool}"]
    return {name: json.loads(text) for name, text in data.items() if name != "facts"}


def of_pool(cluster: Cluster, pool: str) -> dict[str, Any]:
    (one,) = [one for one in tried(cluster) if one.pool == pool]
    return facts(cluster, one)


def specs(job: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the pods of a job."""
    if job["kind"] == "MPIJob":
        return [one["template"]["spec"] for one in job["spec"]["mpiReplicaSpecs"].values()]
    return [job["spec"]["template"]["spec"]]


def test_it_is_there_where_an_image_is_named_and_brings_argo_workflows(cluster: Cluster) -> None:
    assert DEFINITION.wanted(cluster)
    assert not DEFINITION.wanted(with_(cluster, acceptance=None))
    assert not DEFINITION.wanted(with_(cluster, teams=()))
    assert ARGO_WORKFLOWS.wanted(with_(cluster, backups=()))


def test_objects_are_accepted(cluster: Cluster) -> None:
    made = acceptance(cluster)
    templates = [one for each in made.operations for one in each.templates]
    found = [job for one in tried(cluster) for job in jobs(cluster, one.pool).values()]
    named = [{**job, "metadata": job["metadata"] | {"name": "one"}} for job in found]
    assert len(found) == 16
    assert [each for one in (*made.base, *made.objects, *templates, *named) for each in refused(one, CRDS)] == []


def test_pools_with_whole_gpus_that_a_queue_leads_to_are_tried(cluster: Cluster) -> None:
    assert [one.pool for one in tried(cluster)] == ["gpu-training", "gpu-inference"]
    training = tuple(team for team in cluster.teams if "gpu-inference" not in team.quotas)
    assert [one.pool for one in tried(with_(cluster, teams=training))] == ["gpu-training"]


def test_thresholds_follow_links_and_disks(cluster: Cluster) -> None:
    found = of_pool(cluster, "gpu-training")
    gpus = {"burn-tflops": 378.0, "training-samples": 111.5, "inference-samples": 334.5}
    assert found["thresholds"] == {"nccl-gbytes": 80.0, "link-gbits": 380.0, **gpus, **NVME}
    assert set(found["thresholds"]) <= set(NAMES)
    assert cluster.fabric
    slower = with_(cluster, fabric=structs.replace(cluster.fabric, speed=200))
    assert of_pool(slower, "gpu-training")["thresholds"]["nccl-gbytes"] == 40.0
    assert of_pool(slower, "gpu-training")["thresholds"]["link-gbits"] == 190.0


def test_so_many_nodes_are_tried_as_teams_lend(cluster: Cluster) -> None:
    assert of_pool(cluster, "gpu-training")["most"] == 12
    assert of_pool(cluster, "gpu-inference")["most"] == 1, "serving has 24 GPUs there, and lends 8"
    (serving,) = [team for team in cluster.teams if team.name == "serving"]
    quota = structs.replace(serving.quotas["gpu-inference"], lend=0)
    stingy = structs.replace(serving, quotas={"gpu-inference": quota})
    assert of_pool(with_(cluster, teams=(stingy,)), "gpu-inference")["most"] == 0


def test_what_a_pool_cannot_have_is_told_with_the_reason(cluster: Cluster) -> None:
    plain = with_(
        cluster,
        fabric=None,
        frameworks=(),
        storage=structs.replace(cluster.storage, scratch=None, ceph=None, objects=None),
    )
    found = of_pool(plain, "gpu-training")
    assert set(found["absent"]) == set(BY_JOBS) - {"nccl", "burn", "training", "inference"}
    assert not found["infiniband"]
    assert set(found["thresholds"]) == {"burn-tflops", "inference-samples"}, (
        "nobody knows how training waits for others"
    )
    assert set(jobs(plain, "gpu-training")) == {"nccl", "burn", "training", "inference"}


def test_without_mpi_the_all_reduce_is_a_gang_that_torchrun_starts(cluster: Cluster) -> None:
    classless = with_(cluster, scheduling=structs.replace(cluster.scheduling, priorities={}))
    for other in (with_(cluster, frameworks=()), classless):
        job = jobs(other, "gpu-training")["nccl"]
        assert refused({**job, "metadata": job["metadata"] | {"name": "one"}}, CRDS) == []
        spec, (pod,) = job["spec"], specs(job)
        assert (job["kind"], spec["completionMode"], spec["backoffLimit"]) == ("Job", "Indexed", 0)
        assert job["metadata"]["annotations"]["scheduling.volcano.sh/group-min-member"] == "12"
        assert "kueue.x-k8s.io/queue-name" in job["metadata"]["labels"]
        (container,) = pod["containers"]
        env = {one["name"]: one.get("value") for one in container["env"]}
        assert (env["GPUS"], container["resources"]["limits"][GPU]) == ("8", "8")
        assert (env["NCCL_IB_HCA"], env["NCCL_DEBUG"], env["SIZE"]) == ("=mlx5_0,mlx5_1", "INFO", "8G")
        assert pod["subdomain"] == "", "the steps put in the Service by which the pods meet"
        read = set(re.findall(r"\$\{?([A-Z][A-Z_]+)", programs()["data"]["torch.sh"]))
        read |= set(re.findall(r'environ\["(\w+)"', programs()["data"]["torch_reduce.py"]))
        by_others = {"OWN_NAME", "SAID", "MEET", "SUBDOMAIN", "PODS", "JOB_COMPLETION_INDEX", "LOCAL_RANK", "RANK"}
        assert read - by_others <= set(env)
        assert container["command"][1:] == ["/program/torch.sh", "torch_reduce.py"]


def test_its_queue_owns_nothing_and_stops_nobody(cluster: Cluster) -> None:
    of_cluster, local = queue(cluster)
    spec = of_cluster["spec"]
    (group,) = spec["resourceGroups"]
    assert {each["nominalQuota"] for one in group["flavors"] for each in one["resources"]} == {"0"}
    assert {key for one in group["flavors"] for each in one["resources"] for key in each} == {"name", "nominalQuota"}
    assert set(spec["preemption"].values()) == {"Never"}
    assert (local["metadata"]["namespace"], local["spec"]["clusterQueue"]) == (JOBS, of_cluster["metadata"]["name"])


@pytest.mark.parametrize("test", BY_JOBS)
def test_each_pod_has_a_node_to_itself_and_waits_in_the_queue(cluster: Cluster, test: str) -> None:
    job = jobs(cluster, "gpu-training")[test]
    labels = job["metadata"]["labels"]
    assert (labels["kueue.x-k8s.io/queue-name"], labels["kueue.x-k8s.io/priority-class"]) == ("default", "low")
    *_, pod = specs(job)
    (container,) = pod["containers"]
    assert container["resources"]["limits"][GPU] == "8"
    assert container["resources"]["limits"]["rdma/hca_shared_devices_a"] == "1"
    assert container["image"] == (PYTHON if test == "objects" else IMAGE)
    assert pod["schedulerName"] == "volcano"
    assert {one["key"] for one in pod["tolerations"]} == {"nvidia.com/gpu", "gen.internal/training"}
    volumes = {one["name"] for one in pod["volumes"]}
    assert {one["name"] for one in container["volumeMounts"]} == volumes
    if job["kind"] == "Job":
        assert job["metadata"]["annotations"]["scheduling.volcano.sh/group-min-member"] == str(
            job["spec"]["completions"]
        )


def test_disks_are_those_of_the_node_and_of_every_shared_class(cluster: Cluster) -> None:
    found = jobs(cluster, "gpu-training")

    def classes(test: str) -> list[str]:
        (pod,) = specs(found[test])
        claims = [one["ephemeral"]["volumeClaimTemplate"]["spec"] for one in pod["volumes"] if "ephemeral" in one]
        return [one["storageClassName"] for one in claims]

    assert classes("scratch") == ["scratch-nvme", "scratch-nvme"]
    assert classes("shared") == ["rbd-nvme", "shared-fast", "shared-bulk"]
    assert found["shared"]["spec"]["completions"] == 3


def test_each_store_has_a_bucket_and_keys_that_reach_nothing_else(cluster: Cluster) -> None:
    from generator.components.minio.settings import settings

    assert cluster.storage.objects
    assert [one.name for one in stores(cluster)] == ["minio", "ceph-datasets"]
    said = settings(cluster, cluster.storage.objects)["data"]
    assert f"{trial.NAME} - off 68719476736\n" in said["buckets"]
    assert said["users"].endswith(f"{trial.NAME}\n")
    (listed, used) = json.loads(said[f"policy-{trial.NAME}.json"])["Statement"]
    assert (listed["Resource"], used["Resource"]) == ([f"arn:aws:s3:::{trial.NAME}"], [f"arn:aws:s3:::{trial.NAME}/*"])
    assert set(used["Action"]) == {"s3:DeleteObject", "s3:GetObject", "s3:PutObject"}
    without = settings(with_(cluster, acceptance=None), cluster.storage.objects)["data"]
    assert not [name for name, text in without.items() if trial.NAME in name + text]
    made = acceptance(cluster)
    (claim,) = [one for one in made.objects if one["kind"] == "ObjectBucketClaim"]
    assert (claim["metadata"]["namespace"], claim["spec"]["additionalConfig"]) == (JOBS, {"maxSize": "64Gi"})
    mounted = jobs(cluster, "gpu-training")["objects"]["spec"]["template"]
    (keys,) = [one["projected"]["sources"] for one in mounted["spec"]["volumes"] if one["name"] == "keys"]
    declared = {secret.name: set(secret.keys) for secret in made.secrets if secret.namespace == JOBS}
    assert {one["secret"]["name"] for one in keys} == set(declared)
    for one in keys:
        assert {item["key"] for item in one["secret"]["items"]} <= declared[one["secret"]["name"]]


def test_only_pods_that_try_stores_reach_them(cluster: Cluster) -> None:
    (way,) = [one for one in acceptance(cluster).objects if one["kind"] == "NetworkPolicy"]
    chosen = way["spec"]["podSelector"]["matchLabels"].items()
    found = jobs(cluster, "gpu-training")
    alike = [
        name
        for name, job in found.items()
        if job["kind"] == "Job" and chosen <= job["spec"]["template"]["metadata"]["labels"].items()
    ]
    assert alike == ["objects"]
    assert {port["port"] for one in way["spec"]["egress"] for port in one["ports"]} == {9000, 8080, 8443}


def test_a_store_must_reach_a_part_of_what_its_drives_do(cluster: Cluster) -> None:
    found = of_pool(cluster, "gpu-training")["stores"]
    # 64 drives of 100 MB/s, half of them for parity: a tenth for three clients. Those of Ceph could do more.
    assert found["minio"] == {"put-mbytes": 106.7, "get-mbytes": 106.7}
    assert found["ceph-datasets"] == {"put-mbytes": LINK, "get-mbytes": LINK}
    assert least(cluster, 6)["minio"]["put-mbytes"] == 53.3


def test_the_launcher_is_on_a_node_without_gpus(cluster: Cluster) -> None:
    launcher, worker = specs(jobs(cluster, "gpu-training")["nccl"])
    assert launcher["nodeSelector"] == {"gen.internal/pool": "cpu"}
    assert worker["nodeSelector"] == {"gen.internal/pool": "gpu-training"}
    assert GPU not in launcher["containers"][0]["resources"]["limits"]


def test_steps_may_do_nothing_outside(cluster: Cluster) -> None:
    made = acceptance(cluster)
    roles = [one for one in (*made.base, *made.objects) if one["kind"].endswith("Role")]
    (of_cluster,) = [one for one in roles if one["kind"] == "ClusterRole"]
    assert of_cluster["rules"] == [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch"]}]
    roles.remove(of_cluster)
    assert {(one["kind"], one["metadata"]["namespace"]) for one in roles} == {("Role", NAMESPACE), ("Role", JOBS)}
    writes = [rule for one in roles for rule in one["rules"] if not set(rule["verbs"]) <= {"get", "list"}]
    assert {each for rule in writes for each in rule["resources"]} == {
        "workflowtaskresults", "configmaps", "jobs", "mpijobs", "services",
    }  # fmt: skip
    without = with_(cluster, frameworks=())
    assert not [rule for one in rights(without) for rule in one.get("rules", ()) if "mpijobs" in rule["resources"]]


def test_the_address_is_tried_where_nodes_of_the_control_plane_hold_it_and_only_when_asked(cluster: Cluster) -> None:
    found = of_pool(cluster, "gpu-training")
    assert "vip" not in found["absent"]
    names = [one.name for one in cluster.control_plane]
    assert found["vip"] == {"host": "10.10.0.10", "port": 6443, "nodes": names, "seconds": 30}
    endpoint = structs.replace(cluster.kubernetes.endpoint, by="external")
    outside = with_(cluster, kubernetes=structs.replace(cluster.kubernetes, endpoint=endpoint))
    assert "outside" in of_pool(outside, "gpu-training")["absent"]["vip"]
    assert not [one for one in rights(outside) if one["kind"] == "ClusterRole"]
    made = template()["spec"]
    (tests,) = [one["value"] for one in made["arguments"]["parameters"] if one["name"] == "tests"]
    assert tests.split(",") == list(BY_JOBS)
    (step,) = [one for one in made["templates"] if one["name"] == "vip"]
    assert "control-plane" in json.dumps(step["affinity"]), "it must not go away with the address"


def test_every_step_is_one_of_the_script_and_told_every_parameter() -> None:
    made = template()["spec"]
    steps = {one["name"]: one["container"] for one in made["templates"] if "container" in one}
    assert set(steps) == {"preflight", *TESTS, "verdict", "report"}
    said = {one["name"].upper().replace("-", "_") for one in made["arguments"]["parameters"]}
    texts = "".join(read_text(f"acceptance/{name}.txt") for name in FILES)
    read = set(re.findall(r'os\.environ(?:\.get\(|\[)"(\w+)"', texts))
    for name, container in steps.items():
        given = {one["name"] for one in container["env"]}
        assert said | read - {"STATUS"} <= given
        assert ("STATUS" in given) == (name == "report")
    (order,) = [one["steps"] for one in made["templates"] if one["name"] == made["entrypoint"]]
    going_on = [one[0]["name"] for one in order if one[0].get("continueOn") == {"failed": True}]
    assert going_on == list(TESTS), "one test that fails stops no other, and the verdict counts"


def test_times_of_all_tests_fit_into_the_deadline() -> None:
    made = template()["spec"]
    given = {one["name"]: one.get("value", "") for one in made["arguments"]["parameters"]}
    longest = len(TESTS) * (int(given["wait-seconds"]) + int(given["try-seconds"]))
    assert made["activeDeadlineSeconds"] >= longest + 3600


class Pod:
    """Where a program of a job runs: with stand-ins for what the image has."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, text in programs()["data"].items():
            (folder / name).write_text(text)

    def has(self, name: str, text: str) -> None:
        (self.folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (self.folder / name).chmod(0o755)

    def run(self, program: str, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        whole = {"PATH": f"{self.folder}:/usr/bin:/bin", "OUT": str(self.folder)} | env
        path = self.folder / program
        return subprocess.run(["sh", path, *words], env=whole, capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture
def pod(tmp_path: Path) -> Pod:
    return Pod(tmp_path)


def test_neighbours_meet_in_two_rounds_each_on_a_port_of_its_own(pod: Pod) -> None:
    pod.has("ib_write_bw", 'echo "$JOB_COMPLETION_INDEX $*" >>"$OUT/calls"; echo said')
    pod.has("nvidia-smi", "exit 1")
    for index in range(3):
        env = {"JOB_COMPLETION_INDEX": str(index), "PODS": "3", "HCAS": "mlx5_0 mlx5_1", "MEMORIES": "host"}
        more = {"SECONDS_EACH": "1", "PATIENCE": "1", "OWN_NAME": f"run-pairs-{index}", "SUBDOMAIN": "jobs"}
        assert pod.run("pairs.sh", **env, **more).returncode == 0
    calls = [line.split() for line in (pod.folder / "calls").read_text().splitlines()]
    ports = [(one[0], one[2], one[4], one[-1] if "run" in one[-1] else "") for one in calls]
    assert sorted(ports) == [
        ("0", "mlx5_0", "18516", ""), ("0", "mlx5_1", "18517", ""),
        ("1", "mlx5_0", "18516", "run-pairs-0.jobs"), ("1", "mlx5_0", "18518", ""),
        ("1", "mlx5_1", "18517", "run-pairs-0.jobs"), ("1", "mlx5_1", "18519", ""),
        ("2", "mlx5_0", "18518", "run-pairs-1.jobs"), ("2", "mlx5_1", "18519", "run-pairs-1.jobs"),
    ]  # fmt: skip


def test_memory_is_that_of_the_gpu_next_to_the_link(pod: Pod) -> None:
    bridges = {"0": "pci0000:15/0000:15:01.0", "1": "pci0000:55/0000:55:01.0"}
    sys_ = pod.folder / "sys"
    for index, bus in (("0", "0000:17:00.0"), ("1", "0000:57:00.0")):
        device = sys_ / "devices" / bridges[index] / bus
        device.mkdir(parents=True)
        (sys_ / "bus/pci/devices").mkdir(parents=True, exist_ok=True)
        (sys_ / "bus/pci/devices" / bus).symlink_to(device)
    hca = sys_ / "devices" / bridges["0"] / "0000:18:00.0"
    hca.mkdir()
    (sys_ / "class/infiniband/mlx5_0").mkdir(parents=True)
    (sys_ / "class/infiniband/mlx5_0/device").symlink_to(hca)
    pod.has("nvidia-smi", "echo '0, 00000000:17:00.0'; echo '1, 00000000:57:00.0'")
    pod.has("ib_write_bw", 'echo "$*" >>"$OUT/calls"')
    env = {"JOB_COMPLETION_INDEX": "1", "PODS": "2", "HCAS": "mlx5_0", "MEMORIES": "cuda", "SYS": str(sys_)}
    pod.run("pairs.sh", **env, SECONDS_EACH="10", PATIENCE="1", OWN_NAME="run-1", SUBDOMAIN="jobs")
    assert (pod.folder / "calls").read_text().strip() == (
        "-d mlx5_0 -p 18516 -F -s 8388608 --report_gbits -D 10 --use_cuda=0 --use_cuda_dmabuf run-0.jobs"
    )


def test_who_waits_for_a_neighbour_asks_again_until_it_is_there(pod: Pod) -> None:
    pod.has(
        "ib_write_bw", '[ -e "$OUT/once" ] && echo fine && exit 0; touch "$OUT/once"; echo "Couldn\'t connect"; exit 1'
    )
    env = {"JOB_COMPLETION_INDEX": "1", "PODS": "2", "HCAS": "mlx5_0", "MEMORIES": "host"}
    done = pod.run("pairs.sh", **env, SECONDS_EACH="1", PATIENCE="30", OWN_NAME="run-1", SUBDOMAIN="jobs")
    assert done.stdout.splitlines() == ["== pair 0 0 1 mlx5_0 host", "fine", "== end"]


def test_an_image_without_the_programs_says_so(pod: Pod) -> None:
    (pod.folder / "sh").symlink_to("/bin/sh")  # and nothing else, whatever this machine has
    for program, told in (
        ("pairs.sh", "no ib_write_bw"),
        ("disks.sh", "no fio"),
        ("all_reduce.sh", "no all_reduce_perf"),
        ("torch.sh", "no torchrun"),
    ):
        done = pod.run(program, PATH=str(pod.folder))
        assert (done.returncode, told in done.stderr) == (127, True), done


TOLD = {"OWN_NAME": "run-nccl-1", "SUBDOMAIN": "run-nccl", "JOB_COMPLETION_INDEX": "1", "PODS": "2", "GPUS": "8"}


def test_torchrun_meets_at_the_first_pod_as_soon_as_it_has_a_name(pod: Pod) -> None:
    pod.has("torchrun", 'echo "$@"')
    # Knows the name when it is asked for the second time.
    pod.has("python3", 'echo "$3" >>"$OUT/asked"; [ "$(wc -l <"$OUT/asked")" = 2 ]')
    done = pod.run("torch.sh", "torch_reduce.py", **TOLD, PATIENCE="20", PORT="29500")
    assert done.stdout.split() == [
        "--nnodes=2", "--nproc_per_node=8", "--node_rank=1", "--max_restarts=0",
        "--master_addr=run-nccl-0.run-nccl", "--master_port=29500", "--rdzv_conf=timeout=20",
        f"{pod.folder}/torch_reduce.py",
    ]  # fmt: skip
    assert (pod.folder / "asked").read_text().split() == ["run-nccl-0.run-nccl"] * 2
    pod.has("python3", "exit 1")
    done = pod.run("torch.sh", "torch_reduce.py", **TOLD, PATIENCE="1", PORT="29500")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "run-nccl-0.run-nccl has had no address for 1 s\n"


@pytest.mark.parametrize(
    ("does", "last"),
    [
        ('echo "process 9: RuntimeError: CUDA out of memory" >"$SAID"', "process 9: RuntimeError: CUDA out of memory"),
        (":", "a process was killed or ended without a word, torchrun with 3: see what stands above"),
    ],
)
def test_why_a_process_ended_is_the_last_that_is_said(pod: Pod, does: str, last: str) -> None:
    pod.has("python3", "exit 0")
    pod.has("torchrun", f"{does}; echo =====; exit 3")
    done = pod.run("torch.sh", "torch_reduce.py", **TOLD, PATIENCE="1", PORT="29500")
    assert (done.returncode, done.stdout.splitlines()) == (3, ["=====", last])


def test_each_volume_is_tried_and_left_as_it_was(pod: Pod) -> None:
    for name in ("disk-0", "rbd"):
        (pod.folder / "disks" / name).mkdir(parents=True)
    pod.has("fio", 'touch "$FOLDER/acceptance"; echo "$*"')
    done = pod.run("disks.sh", DISKS=str(pod.folder / "disks"), PROGRAM=str(pod.folder), SIZE="1", SECONDS_EACH="1")
    said = f"--output-format=json {pod.folder}/disks.conf"
    assert done.stdout.splitlines() == ["== disk disk-0", said, "== end", "== disk rbd", said, "== end"]
    assert not list((pod.folder / "disks").glob("*/*"))
