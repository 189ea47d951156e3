"""Which ports are free, on one switch and alike on several."""

from pathlib import Path

from generator.checks.cables import FreePorts, cables
from generator.model.cluster import Cluster
from generator.spec.decode import decode
from generator.spec.reader import read

TEXT = (Path(__file__).parent.parent / "wrong/valid/units.yaml").read_text()
LEAFS = ["ib-leaf-1", "ib-leaf-2"]


def cluster(text: str = TEXT) -> Cluster:
    found = decode(read(text, "f"))
    assert isinstance(found, Cluster), found
    return found


def alike(text: str = TEXT, leafs: list[str] = LEAFS) -> list[int]:
    ports = FreePorts(cluster(text))
    return [*iter(lambda: ports.alike(leafs), None)]


def test_a_number_is_free_on_all_leaves_and_offered_once() -> None:
    assert alike() == [3, 4]
    assert alike(TEXT.replace("port: 2}", "fabric: {mlx5_0: ib-leaf-1/3, mlx5_1: ib-leaf-2/4}}")) == [2, 5]
    assert alike(leafs=["ib-leaf-1", "none"]) == alike(leafs=[]) == []


def test_uplinks_have_their_ports_and_a_switch_however_large_is_no_list() -> None:
    assert alike(TEXT.replace("uplinks: 4", "uplinks: 6")) == []
    assert FreePorts(cluster(TEXT.replace("ports: 8", "ports: 2000000000"))).alike(LEAFS, 7) == 8


def test_what_is_behind_comes_first_and_then_what_is_before() -> None:
    ports = FreePorts(cluster(TEXT.replace("port: 2}", "port: 6}")))
    assert [ports.alike(LEAFS, 6), ports.alike(LEAFS, 8), ports.alike(LEAFS)] == [7, 2, None]


def test_what_is_offered_in_one_way_is_not_in_another() -> None:
    ports = FreePorts(cluster())
    assert ports.rooms() == {"ib-leaf-1": 2, "ib-leaf-2": 2}
    assert [ports.alike(LEAFS), ports.on("ib-leaf-1"), ports.on("ib-leaf-1")] == [3, "ib-leaf-1/4", ""]
    assert ports.rooms() == {"ib-leaf-1": 0, "ib-leaf-2": 1}


def test_a_cable_stands_at_the_port_of_the_node_or_at_its_own() -> None:
    one, *_, other = cables(cluster(TEXT.replace("port: 2}", "port: 2, fabric: {mlx5_1: ib-leaf-2/7}}")))
    assert (one.at, one.own) == (("nodes", 4, "port"), ("nodes", 4, "fabric", "mlx5_0"))
    assert (str(other.port), other.at) == ("ib-leaf-2/7", ("nodes", 5, "fabric", "mlx5_1"))
    assert other.at == other.own
