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


def machines(*nodes: dict[str, Any], **pools: dict[str, Any]) -> tuple[Machine, ...]:
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
            "networks": {
                "cni": "cilium",
                "node": {"cidr": "10.10.0.0/24", "interface": "eno1", "mtu": 9000},
                "storage": {"cidr": "10.20.0.0/24", "interface": "eno2"},
            },
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


UNIT = {"hardware": {"cpu": 8, "memory": "32Gi", "hcas": ["mlx5_0", "mlx5_1"]}, "unit": "su-1"}
