"""Nodes that come, go and change."""

from collections import Counter
from ipaddress import IPv4Address

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from nodelab import errors, lab, source, written
from ruamel.yaml import YAML

from generator.checks import check
from generator.edits.nodes import Replacement, Wanted, add_nodes, remove_nodes, replace_node
from generator.errors import UsageError
from generator.model.cluster import Cluster
from generator.model.node_sets import names_of

LAB = lab()
LIKE = "gpu-001"


def added(text: str, names: str, like: str = LIKE, **more: object) -> str:
    return add_nodes(source(text), like, Wanted(names=names_of(names), **more))  # type: ignore[arg-type]


def removed(text: str, names: str) -> str:
    return remove_nodes(source(text), names_of(names))


def new_lines(old: str, new: str) -> list[str]:
    """Return the lines of `new` that `old` has not; all others stand as they stood."""
    before, after = old.split("\n"), new.split("\n")
    fresh = [line for line in after if line not in before]
    assert [line for line in after if line not in fresh] == before
    return [line.strip() for line in fresh]


def cluster_of(text: str) -> Cluster:
    return source(text).cluster


def test_a_node_gets_the_next_address_and_port() -> None:
    line = "- {name: gpu-002, pool: gpu, address: 10.10.0.102, rack: r1, port: 2}"
    assert new_lines(LAB, added(LAB, "gpu-002")) == [line]


def test_what_is_taken_is_left_out_in_every_network() -> None:
    taken = LAB.replace("rack: r2}", "rack: r2, addresses: {bmc: 10.40.0.102}}")
    assert "name: gpu-002, pool: gpu, address: 10.10.0.103, rack: r1, port: 2}" in added(taken, "gpu-002")
    apart = LAB.replace("bmc: {cidr: 10.40.0.0/22, follow: node}", "bmc: {cidr: 10.40.0.0/22}")
    apart = apart.replace("port: 1}", "port: 1, addresses: {bmc: 10.40.0.103}}")
    apart = apart.replace("rack: r2}", "rack: r2, addresses: {bmc: 10.40.0.104}}")
    line = "name: gpu-002, pool: gpu, address: 10.10.0.103, rack: r1, port: 2, addresses: {bmc: 10.40.0.105}}"
    assert line in added(apart, "gpu-002")
    cabled = LAB.replace("rack: r2}", "rack: r2, fabric: {mlx5_9: leaf-01-2/2}}")
    assert "name: gpu-002, pool: gpu, address: 10.10.0.102, rack: r1, port: 3}" in added(cabled, "gpu-002")
    follow = LAB.replace("address: 10.10.0.12,", "address: 10.10.0.12, addresses: {storage: 10.20.0.102},")
    assert "name: gpu-002, pool: gpu, address: 10.10.0.103" in added(follow, "gpu-002")


def test_the_load_balancers_range_and_the_edges_are_nobodys() -> None:
    text = LAB.replace("10.10.0.101", "10.10.3.223")
    assert "name: gpu-002, pool: gpu, address: 10.10.0.2," in added(text, "gpu-002")


def test_a_unit_that_is_full_is_followed_by_the_next() -> None:
    text = added(LAB, "gpu-[002-034]")
    assert "name: gpu-032, pool: gpu, address: 10.10.0.132, rack: r1, port: 32}" in text
    assert "name: gpu-033, pool: gpu, address: 10.10.0.133, rack: r1, unit: su-02, port: 1}" in text
    assert errors(text) == []
    with pytest.raises(UsageError, match=r"no port left for gpu-065.*leaf-01-1 .64 ports.*describe another unit"):
        added(LAB, "gpu-[002-065]")


def test_cables_that_a_line_says_itself_go_to_the_leaf_of_their_rail() -> None:
    own = LAB.replace("port: 1}", "fabric: {mlx5_0: leaf-02-1/7, mlx5_1: leaf-02-2/7}}")
    assert "fabric: {mlx5_0: leaf-02-1/8, mlx5_1: leaf-02-2/8}" in added(own, "gpu-002")
    crossed = own.replace("leaf-02-2/7", "leaf-02-2/9")
    assert "fabric: {mlx5_0: leaf-02-1/10, mlx5_1: leaf-02-2/10}" in added(crossed, "gpu-002")


def test_what_is_one_machines_alone_is_not_copied() -> None:
    own = LAB.replace("rack: r1, port", "mac: 'aa:00:00:00:00:01', rack: r1, port")
    assert "mac" not in new_lines(own, added(own, "gpu-002"))[0]
    odd = LAB.replace("port: 1}", "port: 1, fabric: {mlx5_1: leaf-02-2/9}, addresses: {bmc: 10.40.0.99}}")
    assert new_lines(odd, added(odd, "gpu-002")) == new_lines(LAB, added(LAB, "gpu-002"))
    line = new_lines(own, added(own, "gpu-002", mac="aa:00:00:00:00:02", racks=["r7"]))[0]
    assert 'rack: r7, port: 2, mac: "aa:00:00:00:00:02"}' in line


def test_racks_are_dealt_in_turn_and_the_first_address_may_be_said() -> None:
    text = added(LAB, "gpu-[002-004]", racks=["a", "b"], address=cluster_of(LAB).networks.node.cidr[40])
    nodes = {node.name: (str(node.address), node.rack) for node in cluster_of(text).nodes}
    assert nodes["gpu-002"] == ("10.10.0.40", "a")
    assert nodes["gpu-003"] == ("10.10.0.41", "b")
    assert nodes["gpu-004"] == ("10.10.0.42", "a")


def test_a_second_family_goes_on_too() -> None:
    dual = LAB.replace("address: 10.10.0.101,", "address: 10.10.0.101, address6: 'fd00::9',")
    dual = dual.replace("gateway: 10.10.0.1}", "gateway: 10.10.0.1, cidr6: 'fd00::/64'}")
    dual = dual.replace("address: 10.10.0.11,", "address: 10.10.0.11, address6: 'fd00::a',")
    assert 'address6: "fd00::b"' in added(dual, "gpu-002")


@pytest.mark.parametrize(
    ("names", "like", "more", "words"),
    [
        ("gpu-001", LIKE, {}, "gpu-001 is there already, in line [0-9]+: .*`gen node set gpu-001`"),
        ("gpu-[002-003],gpu-002", LIKE, {}, "gpu-002 is given twice"),
        ("GPU_2", LIKE, {}, "`GPU_2` cannot be a node's name"),
        ("gpu-002", "gpu-01", {}, "there is no node gpu-01 in clusters/lab/cluster.yaml; did you mean gpu-001"),
        (
            "gpu-002",
            "cp-1",
            {"address": IPv4Address("255.255.255.255")},
            "no node can have .*: take one of 10.10.0.0/22",
        ),
        ("gpu-[002-003]", LIKE, {"mac": "aa:00:00:00:00:02"}, "--mac is one node's: .*gen node replace NAME --mac"),
    ],
)
def test_wrong_uses_are_one_sentence_with_what_helps(
    names: str, like: str, more: dict[str, object], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        added(LAB, names, like, **more)


def test_a_node_that_is_named_elsewhere_stays() -> None:
    waiver = "{code: GEN-NODE-003, on: nodes.gpu-001.rack, reason: it is for now, owner: me, expires: '2027-01-01'}"
    for text, words in (
        (f"{LAB}  waivers:\n    - {waiver}\n", "gpu-001 is named in line 49 .waivers.0..on."),
        (LAB.replace("domain: lab.example.org}", "domain: lab.example.org, dns: [10.20.0.101]}"), "line 7 .site.dns"),
        (LAB.replace("domain: lab.example.org}", "domain: lab.example.org, ntp: [gpu-001]}"), "line 7 .site.ntp"),
    ):
        with pytest.raises(UsageError, match=words):
            removed(text, "gpu-001")
    dual = LAB.replace("address: 10.10.0.101,", "address: 10.10.0.101, address6: 'fd00::9',")
    dual = dual.replace("address: 10.10.0.11,", "address: 10.10.0.11, address6: 'fd00::a',")
    dual = dual.replace("gateway: 10.10.0.1}", "gateway: 10.10.0.1, cidr6: 'fd00::/64'}")
    about = waiver.replace("gpu-001", "x").replace("it is for now", "'%s is on the old switch'")
    with pytest.raises(UsageError, match=r"gpu-001's address fd00::9 is named in line 49 .waivers.0..reason"):
        removed(f"{dual}  waivers:\n    - {about % 'fd00::9'}\n", "gpu-001")
    assert "gpu-001," not in removed(f"{dual}  waivers:\n    - {about % 'fd00::9:1, 1:fd00::9'}\n", "gpu-001")
    near = LAB.replace("domain: lab.example.org}", "domain: lab.example.org, ntp: [gpu-0012, x-gpu-001]}")
    assert "gpu-001," not in removed(near, "gpu-001")


def test_servers_of_minio_keep_their_number_and_their_places() -> None:
    nas = LAB.replace("    gpu:   #", "    nas: {hardware: {cpu: 16, memory: 64Gi}}\n    gpu:   #")
    nas = nas.replace("    # GPUs", "    - {name: nas-1, pool: nas, address: 10.10.0.21, rack: r1}\n    # GPUs")
    nas += "  storage: {objects: {pool: nas, host: m.lab.example.org}}\n"
    with pytest.raises(UsageError, match=r"nas-1 is one of MinIO's servers.*`gen node replace nas-1 NEW`"):
        removed(nas, "nas-1")
    with pytest.raises(UsageError, match=r"MinIO takes no node more in a pool.*`gen pool add NAME --like nas"):
        added(nas, "nas-2", "nas-1")
    assert "name: nas-9, pool: nas, address: 10.10.0.21" in replace_node(
        source(nas), "nas-1", Replacement(name="nas-9")
    )


DISKS = "port: 1, hardware: {disks: [{use: scratch, id: wwn-1, size: 8T}, {use: scratch, id: wwn-2, size: 8T}]}}"


def test_another_machine_takes_the_place() -> None:
    text = LAB.replace("port: 1}", DISKS).replace("rack: r1, port", "mac: 'aa:00:00:00:00:01', rack: r1, port")
    new = Replacement(name="gpu-901", mac="aa:00:00:00:00:09", disks={"wwn-1": "wwn-8", "wwn-2": "wwn-2"})
    replaced = replace_node(source(text), "gpu-001", new)
    assert replaced == text.replace("gpu-001", "gpu-901").replace("00:01", "00:09").replace("wwn-1", "wwn-8")
    only = replace_node(source(text), "gpu-001", Replacement(disks={"wwn-1": "wwn-8"}))
    assert only == text.replace("wwn-1", "wwn-8")
    bmc = replace_node(source(text), "gpu-001", Replacement(bmc=cluster_of(LAB).networks.node.cidr[99]))
    assert bmc == text.replace("8T}]}}", "8T}]}, addresses: {bmc: 10.10.0.99}}")


@pytest.mark.parametrize(
    ("new", "words"),
    [
        (Replacement(), "say what is new: gen node replace gpu-001 NEW, or --mac"),
        (Replacement(name="cp-1"), "cp-1 is there already, in line"),
        (Replacement(name="gpu-9", mac="aa:00:00:00:00:02"), "names its disk wwn-1: .*--disk wwn-1=NEW"),
        (Replacement(name="gpu-9", disks={"wwn-1": "a", "wwn-2": "b"}), "network card aa:00:00:00:00:01 .*--mac"),
        (Replacement(disks={"wwn-3": "a"}), "names no disk wwn-3: it names wwn-1, wwn-2"),
    ],
)
def test_what_a_new_machine_brings_must_be_said(new: Replacement, words: str) -> None:
    text = LAB.replace("port: 1}", DISKS).replace("rack: r1, port", "mac: 'aa:00:00:00:00:01', rack: r1, port")
    with pytest.raises(UsageError, match=words):
        replace_node(source(text), "gpu-001", new)


# Properties


@settings(max_examples=60, deadline=None)
@given(written(LAB), st.integers(1, 40), st.sampled_from(["gpu-001", "cp-2"]), st.data())
def test_nodes_that_come_and_go_leave_nothing_behind(text: str, count: int, like: str, data: st.DataObject) -> None:
    names = [f"new-{number}" for number in range(count)]
    longer = add_nodes(source(text), like, Wanted(names=names))
    assert errors(longer) == []
    assert longer.count("여기") == text.count("여기")
    assert independent(longer) == sorted([*independent(text), *names])
    shorter = longer
    for part in parts(data.draw(st.permutations(names)), data.draw(st.integers(1, count))):
        shorter = remove_nodes(source(shorter), part)
    assert shorter == text


def independent(text: str) -> list[str]:
    """Return the names of the nodes as another reader reads them."""
    nodes = YAML(typ="safe", pure=True).load(text.removeprefix("\ufeff"))["spec"]["nodes"]
    return sorted(node["name"] for node in nodes)


def parts(names: list[str], size: int) -> list[list[str]]:
    return [names[start : start + size] for start in range(0, len(names), size)]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(1, 25), st.integers(0, 10**6)), min_size=1, max_size=6))
def test_no_two_nodes_ever_have_one_address_or_port(steps: list[tuple[bool, int, int]]) -> None:
    text = lab(3)
    for number, (adding, count, pick) in enumerate(steps):
        gpus = [node.name for node in cluster_of(text).nodes if node.pool == "gpu"]
        like = gpus[pick % len(gpus)]
        try:
            names = [f"n{number}-{each}" for each in range(count)]
            text = add_nodes(source(text), like, Wanted(names=names)) if adding else text
        except UsageError as error:
            event(str(error)[:20])
        if not adding and len(gpus) > 1:
            text = remove_nodes(source(text), gpus[pick % len(gpus) :][:count][: len(gpus) - 1])
        cluster = cluster_of(text)
        addresses = Counter(str(each) for node in cluster.nodes for each in (node.address, *node.addresses.values()))
        ports = Counter(str(port) for node in cluster.nodes for port in node.fabric.values())
        assert {*addresses.values(), *ports.values()} == {1}
        assert [each for each in check(cluster) if each.code.startswith(("GEN-FAB", "GEN-NODE"))] == []


def test_four_hundred_nodes_are_four_hundred_short_lines() -> None:
    text = added(lab(14), "gpu-[002-397]", racks=[f"rack-{number:02}" for number in range(1, 51)])
    nodes = [line for line in text.split("\n") if line.startswith("    - {name:")]
    assert len([line for line in nodes if "pool:" in line]) == 400
    assert max(map(len, nodes)) <= 110
    cluster = cluster_of(text)
    assert errors(text) == []
    last = cluster.nodes[-1]
    assert (last.name, len(last.addresses), len(last.fabric)) == ("gpu-397", 3, 2)
    assert len({port for node in cluster.nodes for port in map(str, node.fabric.values())}) == 2 * 397
