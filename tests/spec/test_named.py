"""Places as people name them."""

from generator.spec.named import named, steps

NODES = {"nodes": [{"name": "a", "address": 1}, {"rack": "r"}, 3], "pools": {"gpu": {}}}


def test_items_are_called_by_their_names() -> None:
    assert named(NODES, ("nodes", 0, "address")) == "nodes.a.address"
    assert named(NODES, ("nodes", 1, "rack")) == "nodes[1].rack"
    assert named(NODES, ("nodes", 7, "rack")) == "nodes[7].rack"
    assert named(NODES, ("pools", "gpu", "taints")) == "pools.gpu.taints"


def test_a_name_is_found() -> None:
    assert steps("nodes.gpu-01.links[2]") == ["nodes", "gpu-01", "links", 2]
