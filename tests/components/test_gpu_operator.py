import re

import yaml
from msgspec import structs
from reference import with_hardware
from validation.schemas import states

from generator.components.component import Component, Manifest
from generator.components.gpu_operator import DEFINITION as GPU_OPERATOR
from generator.components.gpu_operator import gpu_operator
from generator.components.static import read_text
from generator.model.cluster import Cluster
from generator.model.nodes import Gpus, Machine, Mig
from generator.model.site import Proxy
from generator.model.text import Taint


def build(cluster: Cluster) -> Component:
    component = gpu_operator(cluster)
    assert component is not None
    return component


def rules(cluster: Cluster) -> list[Manifest]:
    return [one for one in build(cluster).objects if one["kind"] == "NodeFeatureRule"]


def values(cluster: Cluster) -> Manifest:
    return build(cluster).releases[0].values


def split(cluster: Cluster, **migs: Mig) -> Cluster:
    """Ask for MIG on the nodes of some pools."""

    def one(machine: Machine) -> Machine:
        mig = migs.get(machine.pool.replace("-", "_"))
        gpu = machine.hardware.gpu
        return with_hardware(machine, gpu=structs.replace(gpu, mig=mig)) if gpu else machine

    return structs.replace(cluster, machines=tuple(one(machine) for machine in cluster.machines))


def test_only_with_gpus(ml50: Cluster) -> None:
    plain = tuple(with_hardware(machine, gpu=None) for machine in ml50.machines)
    assert not GPU_OPERATOR.wanted(structs.replace(ml50, machines=plain))


def test_every_taint_of_gpu_nodes_is_tolerated(ml50: Cluster) -> None:
    machines = tuple(
        structs.replace(machine, taints=(*machine.taints, Taint("pool", "gpu", "NoExecute")))
        if machine.pool == "gpu-training"
        else machine
        for machine in ml50.machines
    )
    tolerated = values(structs.replace(ml50, machines=machines))["daemonsets"]["tolerations"]
    assert {(item["key"], item["effect"]) for item in tolerated} == {
        ("nvidia.com/gpu", "NoSchedule"),
        ("gen.internal/gpu-sick", "NoSchedule"),
        ("gen.internal/training", "NoSchedule"),
        ("gen.internal/inference", "NoSchedule"),
        ("pool", "NoExecute"),
    }


def test_no_driver_is_changed_under_running_jobs(ml50: Cluster) -> None:
    # The operator would evict pod by pod, and leave nodes cordoned where a pod has an emptyDir.
    assert values(ml50)["driver"]["upgradePolicy"] == {"autoUpgrade": False}
    variables = {one["name"]: one["value"] for one in values(ml50)["driver"]["manager"]["env"]}
    assert variables == {"ENABLE_GPU_POD_EVICTION": "false", "ENABLE_AUTO_DRAIN": "false"}, "it would uncordon nodes"


def test_the_toolkit_reads_containerds_file_and_not_its_newest_format(ml50: Cluster) -> None:
    assert {"name": "RUNTIME_CONFIG_SOURCE", "value": "file"} in values(ml50)["toolkit"]["env"]


def test_no_container_asks_for_devices_by_a_variable(ml50: Cluster, a30: Cluster) -> None:
    """With it any container sees all GPUs of its node, past every quota; a device plugin's pods get theirs by CDI."""
    for cluster in (ml50, a30):
        env = {one["name"]: one["value"] for one in values(cluster)["toolkit"]["env"]}
        assert env["ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED"] == "false"


def test_the_driver_downloads_through_the_proxy(ml50: Cluster) -> None:
    assert "env" not in values(ml50)["driver"]
    site = structs.replace(ml50.site, proxy=Proxy(http="http://proxy.example.org:3128"))
    env = {one["name"]: one["value"] for one in values(structs.replace(ml50, site=site))["driver"]["env"]}
    assert env["HTTPS_PROXY"] == "http://proxy.example.org:3128"
    assert ".svc" in env["NO_PROXY"]


def test_memory_is_shared_with_nics_without_peermem(ml50: Cluster) -> None:
    made = values(ml50)
    assert made["driver"]["kernelModuleType"] == "open"
    assert made["driver"]["rdma"]["enabled"] is False
    assert made["gds"] == {"enabled": False}


def test_monitors_only_with_prometheus(ml50: Cluster, a30: Cluster) -> None:
    for cluster, prometheus in ((ml50, False), (a30, True)):
        exporter = values(cluster)["dcgmExporter"]
        assert exporter["enabled"] is True
        assert exporter["serviceMonitor"]["enabled"] is prometheus
        assert ("prometheus-crds" in build(cluster).needs) == prometheus


def test_gpus_stay_whole_unless_asked(ml50: Cluster) -> None:
    assert values(ml50)["migManager"]["enabled"] is False
    assert rules(ml50) == []


def test_mig_is_a_label_on_each_node_that_asks(ml50: Cluster) -> None:
    cluster = split(ml50, gpu_inference=Mig(profile="all-1g.10gb"))
    (rule,) = rules(cluster)
    (only,) = rule["spec"]["rules"]
    assert only["labels"] == {"nvidia.com/mig.config": "all-1g.10gb"}
    nodes = only["matchFeatures"][0]["matchExpressions"]["nodename"]["value"]
    assert nodes == sorted(machine.name for machine in ml50.in_pools("gpu-inference"))
    assert values(cluster)["migManager"] == {"enabled": True, "config": {"default": "all-disabled"}}


def test_profiles_have_rules_of_their_own(ml50: Cluster) -> None:
    cluster = split(
        ml50,
        gpu_inference=Mig(profile="all-1g.10gb"),
        gpu_training=Mig(profile="all-balanced"),
    )
    found = rules(cluster)
    assert [rule["metadata"]["name"] for rule in found] == ["mig-all-1g.10gb", "mig-all-balanced"]
    assert values(cluster)["mig"] == {"strategy": "single"}


def test_the_strategy_is_the_cluster_s(ml50: Cluster) -> None:
    assert values(structs.replace(ml50, gpus=Gpus(mig_strategy="mixed")))["mig"] == {"strategy": "mixed"}


def sharing(cluster: Cluster, **slices: int) -> Cluster:
    """Let pods take turns on the GPUs of some pools."""

    def one(machine: Machine) -> Machine:
        turns, gpu = slices.get(machine.pool.replace("-", "_")), machine.hardware.gpu
        return with_hardware(machine, gpu=structs.replace(gpu, time_slices=turns)) if gpu and turns else machine

    return structs.replace(cluster, machines=tuple(one(machine) for machine in cluster.machines))


def test_turns_on_gpus_are_a_configuration_and_a_label_of_their_nodes(ml50: Cluster) -> None:
    cluster = sharing(ml50, gpu_inference=4)
    (rule,) = rules(cluster)
    (only,) = rule["spec"]["rules"]
    assert only["labels"] == {"nvidia.com/device-plugin.config": "time-slices-4"}
    nodes = only["matchFeatures"][0]["matchExpressions"]["nodename"]["value"]
    assert nodes == sorted(machine.name for machine in ml50.in_pools("gpu-inference"))
    config = values(cluster)["devicePlugin"]["config"]
    assert yaml.load(config["data"]["time-slices-4"], yaml.CSafeLoader)["sharing"] == {
        "timeSlicing": {"resources": [{"name": "nvidia.com/gpu", "replicas": 4}]}
    }
    # Nodes without the label: all others have no turns.
    assert "sharing" not in yaml.load(config["data"][config["default"]], yaml.CSafeLoader)
    assert config["create"] is True
    assert "devicePlugin" not in values(ml50)


def test_another_number_of_turns_starts_the_device_plugin_anew(ml50: Cluster) -> None:
    names = {values(sharing(ml50, gpu_inference=turns))["devicePlugin"]["config"]["name"] for turns in (2, 3)}
    assert len(names) == 2


def test_instances_are_shared_by_their_names(ml50: Cluster) -> None:
    halves = split(ml50, gpu_inference=Mig(profile="all-3g.40gb"), gpu_training=Mig(profile="all-disabled"))
    cluster = sharing(structs.replace(halves, gpus=Gpus(mig_strategy="mixed")), gpu_inference=2, gpu_training=2)
    shared = yaml.load(values(cluster)["devicePlugin"]["config"]["data"]["time-slices-2"], yaml.CSafeLoader)
    assert shared["flags"] == {"migStrategy": "mixed"}
    assert [one["name"] for one in shared["sharing"]["timeSlicing"]["resources"]] == [
        "nvidia.com/gpu",
        "nvidia.com/mig-3g.40gb",
    ]


def test_there_is_one_nfd_and_no_hook(ml50: Cluster) -> None:
    (release,) = build(ml50).releases
    assert release.values["nfd"] == {"enabled": False}
    assert release.values["operator"]["upgradeCRD"] is False
    assert release.values["operator"]["cleanupCRD"] is False
    assert set(release.hooks.values()) == {"drop"}


def test_defaults_of_the_api_server_are_ignored(ml50: Cluster) -> None:
    (ignore,) = build(ml50).ignore
    assert ignore.pointers == ("/spec/cdi/default", "/spec/hostPaths/kubeletRootDir")


def test_every_final_state_has_a_health() -> None:
    for state in states("gpu-operator/v26.7.0", "nvidia.com", "ClusterPolicy"):
        assert (f'"{state}"' in read_text("gpu_operator/health.lua")) == (state != "notReady"), state


def test_metrics_say_whose_job_holds_a_gpu(ml50: Cluster) -> None:
    (release,) = gpu_operator(ml50).releases
    patterns = release.values["dcgmExporter"]["podLabelAllowlistRegex"]
    for label in ("batch.kubernetes.io/job-name", "training.kubeflow.org/job-name", "ray.io/cluster"):
        assert any(re.search(pattern, label) for pattern in patterns), label
    assert not any(re.search(pattern, "batchXkubernetes.io/job-name") for pattern in patterns)


def test_each_pod_on_a_shared_gpu_is_measured_where_only_prometheus_reads(a30: Cluster, ml50: Cluster) -> None:
    shared = [{"name": "KUBERNETES_VIRTUAL_GPUS", "value": "true"}]
    turned = sharing(a30, **{machine.pool.replace("-", "_"): 4 for machine in a30.gpu_nodes})
    assert values(turned)["dcgmExporter"]["env"] == shared
    assert "env" not in values(a30)["dcgmExporter"]
    beside = structs.replace(turned.monitoring, zabbix=ml50.monitoring.zabbix)
    assert "env" not in values(structs.replace(turned, monitoring=beside))["dcgmExporter"]
