from pathlib import Path
from typing import Any

from msgspec import structs

from generator.components import JOBS, absent, compose
from generator.components.cluster_autoscaler import VERSIONS, cluster_autoscaler
from generator.components.cluster_autoscaler.groups import group_files
from generator.components.cluster_autoscaler.names import CLASS
from generator.components.kueue import values
from generator.components.parts import TO_API_SERVER
from generator.components.queues import queues
from generator.model.capacity import flavor_capacity, machines_of, made_capacity
from generator.model.cluster import Cluster
from generator.spec.decode import decode
from generator.spec.reader import read

FILE = Path(__file__).parents[1] / "wrong" / "valid" / "scaled-pool.yaml"


def lab() -> Cluster:
    cluster = decode(read(FILE.read_bytes(), FILE.name))
    assert isinstance(cluster, Cluster)
    return cluster


def here(cluster: Cluster) -> Cluster:
    assert cluster.autoscaler
    return structs.replace(cluster, autoscaler=structs.replace(cluster.autoscaler, management="here"))


def of_kind(cluster: Cluster, kind: str) -> list[dict[str, Any]]:
    return [one for made in compose(cluster) for one in made.objects if one["kind"] == kind]


def test_without_a_provider_nothing_of_it_is_there(ml50: Cluster) -> None:
    assert absent(ml50)["cluster-autoscaler"] == "there is no autoscaler"
    assert not of_kind(ml50, "AdmissionCheck")
    assert not any("admissionChecksStrategy" in one["spec"] for one in of_kind(ml50, "ClusterQueue"))
    assert "podAnnotations" not in values(ml50, "v0", JOBS)["controllerManager"]["manager"]


def test_its_release_is_the_one_for_the_minor() -> None:
    cluster = lab()
    for version, release in (("1.33.1", "1.33.6"), ("1.34.0", "1.34.5"), ("1.35.3", "1.35.2"), ("1.36.0", "1.36.1")):
        other = structs.replace(cluster, kubernetes=structs.replace(cluster.kubernetes, version=version))
        assert VERSIONS.of(other).version == release


def test_nobody_owns_what_may_never_be_made_and_all_may_borrow_it() -> None:
    cluster = lab()
    own, made = flavor_capacity(cluster, "gpu"), made_capacity(cluster, "gpu")
    assert made.devices
    assert (own.devices, made.devices) == ({"nvidia.com/gpu": 8}, {"nvidia.com/gpu": 32})
    assert len(machines_of(cluster, "gpu")) == 5
    (cohort,) = (one for one in queues(cluster).objects if one["kind"] == "Cohort")
    flavors = {one["name"]: one["resources"] for one in cohort["spec"]["resourceGroups"][0]["flavors"]}
    left = {one["name"]: one["nominalQuota"] for one in flavors["gpu"]}
    assert left["nvidia.com/gpu"] == "32"  # vision owns the eight that are there


def test_jobs_of_its_pools_alone_wait_for_machines() -> None:
    cluster = lab()
    (queue,) = of_kind(cluster, "ClusterQueue")
    checks = queue["spec"]["admissionChecksStrategy"]["admissionChecks"]
    assert checks == [{"name": "machines", "onFlavors": ["gpu"]}]
    (config,) = of_kind(cluster, "ProvisioningRequestConfig")
    assert config["spec"]["provisioningClassName"] == CLASS
    made = {one.name: one for one in compose(cluster)}
    assert "cluster-autoscaler" in made["kueue"].needs, "Kueue looks for the kind when it starts"


def test_it_evicts_nothing_and_takes_no_machine_on_which_something_runs() -> None:
    for cluster in (lab(), here(lab())):
        made = cluster_autoscaler(cluster)
        (deployment,) = (one for one in made.objects if one["kind"] == "Deployment")
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        assert "--max-drain-parallelism=0" in container["command"]
        rules = [rule for one in made.objects for rule in one.get("rules", [])]
        assert not any("pods/eviction" in rule["resources"] for rule in rules)
        assert not any("pods" in rule["resources"] and {*rule["verbs"]} - {"get", "list", "watch"} for rule in rules)


def test_it_scales_the_named_groups_alone_and_elsewhere_by_the_secret_alone() -> None:
    rules = [rule for one in cluster_autoscaler(here(lab())).objects for rule in one.get("rules", [])]
    (scale,) = (rule for rule in rules if "machinedeployments/scale" in rule["resources"])
    assert scale["resourceNames"] == ["gpu-workers"]
    elsewhere = cluster_autoscaler(lab())
    assert not any(
        "cluster.x-k8s.io" in rule["apiGroups"] for one in elsewhere.objects for rule in one.get("rules", [])
    )
    assert [secret.name for secret in elsewhere.secrets] == ["cluster-api-kubeconfig"]
    assert cluster_autoscaler(here(lab())).secrets == ()


def test_a_machine_that_is_not_there_yet_is_said_to_be_as_the_pool_is() -> None:
    files = {str(path): content for path, content in group_files(lab()).items()}
    marks = files["cluster-api/gpu-machine-deployment.yaml"]["metadata"]["annotations"]
    said = {key.rpartition("/")[2]: value for key, value in marks.items()}
    assert said == {
        "cluster-api-autoscaler-node-group-min-size": "1",
        "cluster-api-autoscaler-node-group-max-size": "4",
        "cpu": "62000m",
        "memory": str(504 * 2**30),
        "maxPods": "110",
        "labels": "gen.internal/pool=gpu,cluster-api/accelerator=H100",
        "taints": "nvidia.com/gpu=present:NoSchedule",
        "gpu-type": "nvidia.com/gpu",
        "gpu-count": "8",
    }
    joining = files["cluster-api/gpu-kubeadm-config.yaml"]["spec"]["template"]["spec"]["joinConfiguration"]
    taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
    assert joining["nodeRegistration"]["taints"] == [taint]


def test_its_pods_are_asked_by_nobody_and_reach_api_servers_alone() -> None:
    def rules(cluster: Cluster) -> list[dict[str, Any]]:
        (policy,) = (one for one in cluster_autoscaler(cluster).objects if one["kind"] == "NetworkPolicy")
        spec = policy["spec"]
        assert (spec["podSelector"], spec["policyTypes"], "ingress" in spec) == ({}, ["Ingress", "Egress"], False)
        return list(spec["egress"])

    cilium = lab()
    calico = structs.replace(cilium, networks=structs.replace(cilium.networks, cni="calico"))
    assert rules(here(cilium)) == []
    (named,) = (one for one in cluster_autoscaler(cilium).objects if one["kind"] == "CiliumNetworkPolicy")
    assert named["spec"]["egress"] == [TO_API_SERVER]
    (servers,) = rules(here(calico))
    assert [one["ipBlock"]["cidr"] for one in servers["to"]] == [f"10.10.0.1{number}/32" for number in (1, 2, 3)]
    assert not [one for one in cluster_autoscaler(calico).objects if one["kind"] == "CiliumNetworkPolicy"]
    *_, names, elsewhere = rules(calico)
    assert [one["port"] for one in names["ports"]] == [53, 53]
    assert elsewhere == {"to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": ["10.244.0.0/16", "10.96.0.0/16"]}}]}
