"""Operators of training jobs: a set that goes together, by Volcano's gangs and Kueue's queues."""

import pytest
from manifests import built
from msgspec import structs
from reference import load
from validation.schemas import refused, schema
from validation.values import unknown_values

from generator.build.pods import pods
from generator.components import CATALOGUE, JOBS, compose
from generator.components.component import Component, Manifest
from generator.components.queues import nominal
from generator.components.tenants import tenants
from generator.components.trainer import CLUSTER_RUNTIME, GROUP
from generator.components.training_runtimes import training_runtimes
from generator.model.cluster import Cluster
from generator.model.frameworks import Framework
from generator.model.nodes import Machine
from generator.model.quantity import Quantity
from generator.rules.security import baseline, restricted

TRAINER = "kubeflow-trainer/v2.2.1"
CHARTS = {
    "jobset": "jobset/v0.12.0/values.yaml",
    "trainer": f"{TRAINER}/values.yaml",
    "kuberay": "kuberay/v1.7.0/kuberay-operator.values.yaml",
}
OPERATORS = {"jobset", "trainer", "training-runtimes", "mpi-operator", "training-operator", "kuberay"}


def made(cluster: Cluster, *names: Framework) -> dict[str, Component]:
    asked = structs.replace(cluster, frameworks=names)
    return {one.name: one for one in compose(asked) if one.name in OPERATORS}


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        ((), set()),
        (("jobset",), {"jobset"}),
        (("trainer",), {"jobset", "trainer", "training-runtimes"}),
        (("mpi-operator",), {"mpi-operator"}),
        (("training-operator",), {"training-operator"}),
        (("kuberay",), {"kuberay"}),
    ],
)
def test_there_is_what_was_asked_for(ml50: Cluster, names: tuple[Framework, ...], wanted: set[str]) -> None:
    assert made(ml50, *names).keys() == wanted


def test_volcano_s_definitions_are_there_before_who_looks_for_them_once(ml50: Cluster) -> None:
    components = made(ml50, "trainer", "mpi-operator", "training-operator", "kuberay")
    for name in ("trainer", "mpi-operator", "training-operator", "kuberay"):
        assert {"volcano", "kueue"} <= set(components[name].needs), name
    assert "jobset" in components["trainer"].needs
    # The webhook of Trainer judges runtimes.
    assert "trainer" in components["training-runtimes"].needs


def test_each_operator_makes_gangs_of_volcano(ml50: Cluster) -> None:
    components = made(ml50, "mpi-operator", "training-operator", "kuberay")
    assert components["kuberay"].releases[0].values["batchScheduler"] == {"name": "volcano"}
    patch, _ = components["mpi-operator"].patches
    assert "--gang-scheduling=volcano" in [one["value"] for one in patch.operations]
    args = arguments(components["training-operator"])
    assert "--gang-scheduler-name=volcano" in args


def test_the_mpi_operator_may_start_launchers_again(ml50: Cluster) -> None:
    _, patch = made(ml50, "mpi-operator")["mpi-operator"].patches
    assert (patch.target["kind"], patch.target["name"]) == ("ClusterRole", "mpi-operator")
    rules = [one["value"] for one in patch.operations]
    assert {"apiGroups": ["batch"], "resources": ["jobs/status"], "verbs": ["update"]} in rules


def arguments(component: Component) -> list[str]:
    (found,) = (
        one["value"] for patch in component.patches for one in patch.operations if one["path"].endswith("/args")
    )
    return list(found)


def test_of_two_operators_with_an_mpi_job_one_brings_it(ml50: Cluster) -> None:
    component = made(ml50, "training-operator")["training-operator"]
    assert not any("mpijobs" in address for address in component.manifests)
    assert [one for one in arguments(component) if "scheme" in one] == ["--enable-scheme=tfjob"]


def test_jobset_is_installed_once(ml50: Cluster) -> None:
    values = made(ml50, "trainer")["trainer"].releases[0].values
    assert values["jobset"] == {"install": False}


@pytest.mark.parametrize("name", CHARTS)
def test_every_value_exists_in_the_chart(ml50: Cluster, name: str) -> None:
    for release in made(ml50, "trainer", "kuberay")[name].releases:
        assert unknown_values(release.values, CHARTS[name]) == []


@pytest.mark.parametrize("name", ["jobset", "trainer", "training-operator"])
def test_what_makes_its_certificate_is_left_alone(ml50: Cluster, name: str) -> None:
    component = made(ml50, "trainer", "training-operator")[name]
    (secret,) = component.secrets
    if component.releases:
        assert component.releases[0].secrets == {secret.name: "placeholder"}
    else:
        assert [one["metadata"]["name"] for one in component.base if "data" not in one] == [secret.name]
    assert any(one.kind == "Secret" and one.name == secret.name for one in component.ignore)
    assert any(one.kind == "ValidatingWebhookConfiguration" for one in component.ignore)


def runtimes(cluster: Cluster) -> dict[str, Manifest]:
    asked = structs.replace(cluster, frameworks=("trainer",))
    return {one["metadata"]["name"]: one for one in training_runtimes(asked).objects}


def pod(manifest: Manifest) -> Manifest:
    (job,) = manifest["spec"]["template"]["spec"]["replicatedJobs"]
    found: Manifest = job["template"]["spec"]["template"]["spec"]
    return found


def test_runtimes_are_valid_and_leave_nothing_to_be_filled_in(ml50: Cluster) -> None:
    known = schema(TRAINER, GROUP, CLUSTER_RUNTIME)
    for manifest in runtimes(ml50).values():
        assert refused(manifest, [TRAINER]) == []
        assert filled(known, manifest) == manifest


def filled(schema: Manifest, value: object) -> object:
    """Return a value with the defaults of its schema, as the API server stores it."""
    if isinstance(value, dict):
        known = schema.get("properties", {})
        given = {key: filled(known.get(key, {}), each) for key, each in value.items()}
        return {**{key: one["default"] for key, one in known.items() if "default" in one}, **given}
    if isinstance(value, list):
        return [filled(schema.get("items", {}), each) for each in value]
    return value


def test_a_runtime_for_each_framework_and_pool_of_gpus_that_a_team_has(ml50: Cluster) -> None:
    assert list(runtimes(ml50)) == [
        "torch-gpu-training",
        "jax-gpu-training",
        "torch-gpu-inference",
        "jax-gpu-inference",
    ]


def test_all_pods_of_a_trainjob_are_one_gang_that_volcano_places(ml50: Cluster) -> None:
    """Trainer names the gang and no scheduler: without one Kubernetes' own would place the pods one by one."""
    for manifest in runtimes(ml50).values():
        assert manifest["spec"]["podGroupPolicy"] == {"volcano": {}}
        assert pod(manifest)["schedulerName"] == "volcano"
        # A step that waits for another would wait for the gang, which waits for it.
        assert "dependsOn" not in str(manifest)


def test_a_team_that_may_do_the_least_runs_its_jobs(ml50: Cluster) -> None:
    """Trainer makes the pods once Kueue has let the job in: one that Pod Security refused would hold its quota."""
    levels = {"pod-security.kubernetes.io/enforce": "restricted"}
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "vision", "labels": levels}}
    for name, runtime in runtimes(ml50).items():
        trainer = {"image": "registry.example.org/train:1", "numNodes": 2}
        job: Manifest = {
            "apiVersion": f"{GROUP}/v1alpha1",
            "kind": "TrainJob",
            "metadata": {"name": "x", "namespace": "vision"},
        }
        job["spec"] = {"runtimeRef": {"name": name}, "trainer": trainer}
        whole = built(space, runtime, job, cluster=ml50)
        assert [one.maker.kind for one in pods(whole) if one.namespace == "vision"] == ["TrainJob"]
        assert [one.message for rule in (baseline, restricted) for one in rule.findings(whole)] == []
        # Its image may have no such user, whose home and caches go where anybody may write.
        said = {one["name"]: one["value"] for one in pod(runtime)["containers"][0]["env"]}
        assert (said["HOME"], said["USER"]) == ("/tmp", "job")


def test_a_pod_of_a_runtime_may_have_its_node(ml50: Cluster) -> None:
    """It stays on its pool, with room for what firmware and kernel keep, and sees the HCAs of its node alone."""
    made = pod(runtimes(ml50)["torch-gpu-training"])
    assert made["nodeSelector"] == {"gen.internal/pool": "gpu-training"}
    assert [each["key"] for each in made["tolerations"]] == ["nvidia.com/gpu", "gen.internal/training"]
    (container,) = made["containers"]
    asked = container["resources"]["requests"]
    assert container["resources"]["limits"] == asked
    assert asked["nvidia.com/gpu"] == "8"
    assert asked["rdma/hca_shared_devices_a"] == "1"
    assert Quantity.parse(asked["memory"]).value < 0.95 * 2**40
    assert {"name": "NCCL_IB_HCA", "value": "=mlx5_0,mlx5_1"} in container["env"]
    (volume,) = made["volumes"]
    assert volume["emptyDir"]["medium"] == "Memory"
    assert container["volumeMounts"] == [{"name": volume["name"], "mountPath": "/dev/shm"}]


def test_what_a_runtime_asks_for_is_in_the_quota_of_its_gpus(ml50: Cluster) -> None:
    """Kueue takes CPU and memory in proportion to GPUs: who owns a node's GPUs has its runtime's CPU and memory."""
    asked = pod(runtimes(ml50)["torch-gpu-training"])["containers"][0]["resources"]["requests"]
    team = next(team for team in ml50.teams if team.name == "recommender")
    own = nominal(ml50, team, "gpu-training")
    assert own.devices["nvidia.com/gpu"] == 8
    assert Quantity.parse(asked["cpu"]).milli <= own.milli_cpu
    assert Quantity.parse(asked["memory"]).value <= own.memory


def test_a_node_of_the_pool_without_gpus_or_hcas_is_none_of_a_runtimes(ml50: Cluster) -> None:
    def spared(machine: Machine) -> Machine:
        assert machine.hardware.gpu
        gpu = structs.replace(machine.hardware.gpu, count=0)
        return structs.replace(machine, hardware=structs.replace(machine.hardware, gpu=gpu, hcas=()))

    machines = tuple(spared(one) if one.name == "gpu-07" else one for one in ml50.machines)
    assert runtimes(structs.replace(ml50, machines=machines)) == runtimes(ml50)


def test_split_gpus_have_no_runtime(ml50: Cluster) -> None:
    machines = tuple(shared(machine) if machine.pool == "gpu-training" else machine for machine in ml50.machines)
    assert list(runtimes(structs.replace(ml50, machines=machines))) == ["torch-gpu-inference", "jax-gpu-inference"]


def shared(machine: Machine) -> Machine:
    assert machine.hardware.gpu
    gpu = structs.replace(machine.hardware.gpu, time_slices=4)
    return structs.replace(machine, hardware=structs.replace(machine.hardware, gpu=gpu))


def test_without_hcas_no_pod_asks_for_them(ml50: Cluster) -> None:
    asked = pod(runtimes(structs.replace(ml50, fabric=None))["torch-gpu-training"])
    assert not any(name.startswith("rdma/") for name in asked["containers"][0]["resources"]["requests"])


def openings(cluster: Cluster) -> list[Manifest]:
    policies = [one for one in tenants(cluster, JOBS).objects if one["kind"] == "NetworkPolicy"]
    return [rule for one in policies for rule in one["spec"].get("ingress", ())]


def test_kuberay_reaches_the_heads_of_ray_clusters(ml50: Cluster) -> None:
    """It asks the dashboard how a job is: closed out, it would wait for every job for ever."""
    (reached,) = {
        str(rule) for rule in openings(structs.replace(ml50, frameworks=("kuberay",))) if "kuberay" in str(rule)
    }
    assert "8265" in reached
    assert "app.kubernetes.io/component" in reached
    assert not any("kuberay" in str(rule) for rule in openings(structs.replace(ml50, frameworks=("trainer",))))


def test_no_definition_has_two_owners_on_one_cluster() -> None:
    owners: dict[tuple[str, str], set[str]] = {}
    for one in CATALOGUE.values():
        for api in one.apis:
            for kind in api.kinds or ("*",):
                owners.setdefault((api.group, kind), set()).add(one.name)
    # A cluster has one pod network, and Envoy Gateway is for those that bring no Gateway of their own.
    assert {tuple(sorted(names)) for names in owners.values() if len(names) > 1} == {("cilium", "envoy-gateway")}


def test_the_versions_of_the_catalogue_go_together() -> None:
    for one in CATALOGUE.values():
        for pair in one.pairs:
            others = [each for each in one.pairs if each.other == pair.other]
            mine, theirs = one.known[0].version, CATALOGUE[pair.other].known[0].version
            assert any(each.says(mine, theirs) for each in others), (one.name, pair.other)


def test_everything_asked_for_in_ml50_is_there() -> None:
    names = {one.name for one in compose(load("ml50"))}
    assert names >= OPERATORS
