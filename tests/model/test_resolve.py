"""Pools and nodes, put together."""

from typing import Any

import msgspec

from generator.model.cluster import ClusterFile
from generator.model.nodes import Machine
from generator.model.resolve import resolve
from generator.model.text import Taint
from generator.spec.decode import hook

POOL = {
    "hardware": {
        "cpu": 64,
        "memory": "512Gi",
        "gpu": {"model": "H100", "count": 8, "memory": "80Gi"},
        "hcas": ["mlx5_0"],
    },
    "labels": {"tier": "pool", "z": "1"},
    "taints": ["a=b:NoSchedule"],
    "networks": {"node": {"mtu": 1500}},
    "kernel": "6.8",
}
NODE = {"name": "n1", "pool": "gpu", "address": "10.10.0.11"}


def machines(
    *nodes: dict[str, Any], networks: Any = None, fabric: Any = None, **pools: dict[str, Any]
) -> tuple[Machine, ...]:
    value = {
        "apiVersion": "gen/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": "lab", "labels": {"a": "b"}},
        "spec": {
            "repository": {"url": "https://git.example.org/c.git"},
            "site": {"domain": "example.org"},
            "kubernetes": {
                "version": "1.35.3",
                "endpoint": {"address": "10.10.0.10:6443", "by": "external"},
                "podCIDR": "10.244.0.0/16",
                "serviceCIDR": "10.96.0.0/16",
            },
            "networks": networks
            or {
                "cni": "cilium",
                "node": {"cidr": "10.10.0.0/24", "interface": "eno1", "mtu": 9000},
                "storage": {"cidr": "10.20.0.0/24", "interface": "eno2"},
            },
            **({"fabric": fabric} if fabric else {}),
            "pools": {"gpu": POOL, **pools},
            "nodes": list(nodes),
        },
    }
    cluster = resolve(msgspec.convert(value, ClusterFile, dec_hook=hook))
    assert cluster.name == "lab"
    return cluster.machines


def test_a_node_has_what_its_pool_has() -> None:
    (found,) = machines(NODE)
    own = found.hardware
    assert (found.index, found.name, found.pool, found.role) == (0, "n1", "gpu", "worker")
    assert (own.cpu, str(own.memory), found.gpus, own.hcas) == (
        64,
        "512Gi",
        8,
        ("mlx5_0",),
    )
    assert (found.labels, found.kernel) == ({"tier": "pool", "z": "1"}, "6.8")
    assert found.taints == (Taint("a", "b", "NoSchedule"),)


def test_a_node_overrides_its_pool() -> None:
    said = {
        **NODE,
        "hardware": {"cpu": 32, "memory": "1Ti", "gpu": {"model": "A30", "count": 0, "memory": "24Gi"}, "hcas": []},
        "labels": {"tier": "node", "a": "2"},
        "taints": [],
        "kernel": "6.12",
        "addresses": {"storage": "10.20.0.11"},
    }
    (found,) = machines(said)
    own = found.hardware
    assert (own.cpu, str(own.memory), found.gpus, own.hcas) == (32, "1Ti", 0, ())
    assert (found.taints, found.kernel) == ((), "6.12")
    assert {name: str(each) for name, each in found.addresses.items()} == {"storage": "10.20.0.11"}


def test_labels_are_merged_and_in_order() -> None:
    (found,) = machines({**NODE, "labels": {"tier": "node", "a": "2"}})
    assert [*found.labels.items()] == [("a", "2"), ("tier", "node"), ("z", "1")]


def test_networks_are_overridden_key_by_key_by_pool_and_then_node() -> None:
    (found,) = machines(
        {**NODE, "networks": {"node": {"interface": "eth0"}, "storage": {"bond": ["a", "b"], "vlan": 7}}}
    )
    assert set(found.networks) == {"node", "storage"}
    node, storage = found.networks["node"], found.networks["storage"]
    assert (node.interface, node.mtu, str(node.cidr)) == ("eth0", 1500, "10.10.0.0/24")
    assert (storage.interface, storage.bond, storage.vlan, storage.mtu) == ("eno2", ("a", "b"), 7, None)


def test_control_plane_nodes_get_the_taint_of_kubeadm_unless_told_otherwise() -> None:
    hardware = {"cpu": 8, "memory": "32Gi"}
    system = {"role": "control-plane", "hardware": hardware}
    bare, told = (machines({**NODE, "pool": "system"}, system=each)[0] for each in (system, {**system, "taints": []}))
    assert bare.taints == (Taint("node-role.kubernetes.io/control-plane", "", "NoSchedule"),)
    assert told.taints == ()
    assert (bare.hardware.gpu, bare.gpus, bare.disks_for("ceph")) == (None, 0, ())


def test_workers_without_taints_have_none() -> None:
    (found,) = machines({**NODE, "pool": "cpu"}, cpu={"hardware": {"cpu": 8, "memory": "32Gi"}})
    assert found.taints == ()


def test_a_node_of_an_unknown_pool_is_left_out_and_others_keep_their_place() -> None:
    assert [each.index for each in machines({**NODE, "pool": "x"}, {**NODE, "name": "n2"})] == [1]


# What a line leaves to networks and to a unit


UNIT = {"hardware": {"cpu": 8, "memory": "32Gi", "hcas": ["mlx5_0", "mlx5_1", "mlx5_9"]}, "unit": "su-1"}
FOLLOWING = {"storage": {"cidr": "10.20.0.0/16", "follow": "node"}, "ipoib": {"cidr": "10.30.0.0/24", "follow": "node"}}
UNITS = {"su-1": {"mlx5_0": "leaf-1", "mlx5_1": "leaf-2"}, "su-2": {"mlx5_0": "leaf-3"}}


def placed(node: dict[str, Any], **networks: Any) -> Machine:
    (found,) = machines(
        {"name": "n1", "pool": "unit", "address": "10.10.0.11", **node},
        networks={"cni": "cilium", "node": {"cidr": "10.10.0.0/24"}, **FOLLOWING, **networks},
        fabric={"switches": [], "units": UNITS},
        unit=UNIT,
        plain={"hardware": {"cpu": 8, "memory": "32Gi"}},
    )
    return found


def addresses(node: dict[str, Any], **networks: Any) -> dict[str, str]:
    return {str(network): str(address) for network, address in placed(node, **networks).addresses.items()}


def cables(node: dict[str, Any]) -> dict[str, str]:
    return {hca: str(port) for hca, port in placed(node).fabric.items()}


def test_a_network_that_follows_has_the_nodes_number_unless_the_line_says_another() -> None:
    assert addresses({}) == {"storage": "10.20.0.11", "ipoib": "10.30.0.11"}
    assert addresses({"addresses": {"ipoib": "10.30.0.99"}}) == {"storage": "10.20.0.11", "ipoib": "10.30.0.99"}
    assert addresses({}, bmc={"cidr": "10.40.0.0/24"}) == addresses({})
    half = addresses({"address": "10.10.0.200"}, storage={"cidr": "10.20.1.128/25", "follow": "node"})
    assert half["storage"] == "10.20.2.72"


def test_only_nodes_with_hcas_have_an_address_over_infiniband() -> None:
    assert addresses({"pool": "plain"}) == {"storage": "10.20.0.11"}


def test_nothing_follows_an_address_that_is_not_the_node_networks_and_no_network_itself() -> None:
    assert addresses({"address": "10.11.0.11"}) == {}
    assert "bmc" not in addresses({}, bmc={"cidr": "10.10.0.0/24", "follow": "node"})
    assert addresses({}, bmc={"cidr": "255.255.255.248/29", "follow": "node"})["bmc"] == "0.0.0.3"


def test_a_port_is_that_of_every_rail_of_the_unit_unless_the_line_says_another() -> None:
    assert cables({}) == {}
    assert cables({"port": 7}) == {"mlx5_0": "leaf-1/7", "mlx5_1": "leaf-2/7"}
    assert cables({"port": 7, "unit": "su-2"}) == {"mlx5_0": "leaf-3/7"}
    assert cables({"port": 7, "fabric": {"mlx5_1": "leaf-9/1"}}) == {"mlx5_0": "leaf-1/7", "mlx5_1": "leaf-9/1"}
    assert cables({"port": 7, "unit": "unknown"}) == {}
    assert cables({"port": 7, "pool": "plain"}) == {}
