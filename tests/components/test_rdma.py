import json

from jsonschema import Draft202012Validator
from msgspec import structs
from reference import with_hardware
from validation.schemas import shared, states

from generator.components.common import POOL
from generator.components.component import Manifest
from generator.components.network_operator import hosts
from generator.components.node_feature_discovery import INFINIBAND
from generator.components.rdma import DEFINITION as RDMA
from generator.components.rdma import rdma
from generator.components.static import read_text
from generator.model.cluster import Cluster
from generator.model.nodes import Fabric, Rdma
from generator.model.text import Taint

UPSTREAM = "network-operator/v26.4.1"


def policy(cluster: Cluster) -> Manifest:
    component = rdma(cluster)
    assert component is not None
    (manifest,) = component.objects
    return manifest


def expressions(cluster: Cluster) -> dict[str, list[str]]:
    (term,) = policy(cluster)["spec"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    return {expression["key"]: expression["values"] for expression in term["matchExpressions"]}


def test_only_with_a_fabric_that_gpu_nodes_are_on(ml50: Cluster, a30: Cluster) -> None:
    assert not RDMA.wanted(a30)
    assert not RDMA.wanted(structs.replace(ml50, fabric=None))
    unplugged = tuple(with_hardware(machine, hcas=()) for machine in ml50.machines)
    assert not RDMA.wanted(structs.replace(ml50, machines=unplugged))


def test_the_policy_has_the_only_name_that_the_operator_takes(ml50: Cluster) -> None:
    assert policy(ml50)["metadata"]["name"] == "nic-cluster-policy"


def test_the_plugin_s_configuration_is_valid_and_survives_single_quotes(ml50: Cluster) -> None:
    text = policy(ml50)["spec"]["rdmaSharedDevicePlugin"]["config"]
    schema = json.loads(shared(f"{UPSTREAM}/webhook-schemas/rdma_shared_device_plugin.json").read_text())
    assert list(Draft202012Validator(schema).iter_errors(json.loads(text))) == []
    assert "'" not in text


def test_the_resource_is_the_fabric_s(ml50: Cluster) -> None:
    fabric = Fabric(switches=(), rdma=Rdma(resource="hcas", max_pods=7))
    text = policy(structs.replace(ml50, fabric=fabric))["spec"]["rdmaSharedDevicePlugin"]["config"]
    (resource,) = json.loads(text)["configList"]
    assert (resource["resourcePrefix"], resource["resourceName"], resource["rdmaHcaMax"]) == ("rdma", "hcas", 7)
    assert resource["selectors"]["linkTypes"] == ["infiniband"]


def test_the_image_is_whole(ml50: Cluster) -> None:
    plugin = policy(ml50)["spec"]["rdmaSharedDevicePlugin"]
    assert plugin["repository"] == "nvcr.io/nvidia/mellanox"
    assert plugin["image"] == "k8s-rdma-shared-dev-plugin"
    assert plugin["version"] == "network-operator-v26.4.1"


def test_only_gpu_nodes_with_an_infiniband_link(ml50: Cluster) -> None:
    inference = {"gpu-13", "gpu-14", "gpu-15"}
    machines = tuple(
        with_hardware(machine, hcas=() if machine.name in inference else ("mlx5_0",)) for machine in ml50.machines
    )
    assert expressions(ml50) == {INFINIBAND: ["true"], POOL: ["gpu-inference", "gpu-training"]}
    assert expressions(structs.replace(ml50, machines=machines))[POOL] == ["gpu-training"]


def test_every_taint_of_its_nodes_is_tolerated_and_no_other(ml50: Cluster) -> None:
    machines = tuple(
        structs.replace(machine, taints=(*machine.taints, Taint("pool", machine.pool, "NoSchedule")))
        for machine in ml50.machines
    )
    cluster = structs.replace(ml50, machines=machines)
    tolerated = {(item["key"], item["effect"]) for item in policy(cluster)["spec"]["tolerations"]}
    assert tolerated == {(taint.key, taint.effect) for machine in hosts(cluster) for taint in machine.taints}
    assert ("pool", "NoSchedule") in tolerated


def test_every_final_state_has_a_health() -> None:
    for state in states(UPSTREAM, "mellanox.com", "NicClusterPolicy"):
        assert (f'"{state}"' in read_text("rdma/health.lua")) == (state != "notReady"), state
