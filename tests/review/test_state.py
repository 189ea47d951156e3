"""A cluster as it is: what is counted, and how it is told."""

import re

import pytest
from msgspec import structs
from reference import load

from generator.components import compose
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Position
from generator.model.teams import Department
from generator.model.text import Port
from generator.review.html_report import report_page, waves_of
from generator.review.pictures.bars import KINDS, Bar, bar
from generator.review.pictures.leaves import leaf
from generator.review.pictures.racks import rack
from generator.review.pictures.svg import WIDTH, cut, length
from generator.review.pictures.waves import Step, waves
from generator.review.state import RACK, State, UsedImage, place_of
from generator.review.state_text import lines

TIB = 2**40


@pytest.fixture(scope="module")
def ml50() -> Cluster:
    return load("ml50")


def state(cluster: Cluster, *findings: Finding) -> State:
    image = UsedImage("quay.io/a/b:1", "sha256:" + "0" * 64, ("minio",))
    return State(cluster=cluster, components=compose(cluster), findings=findings, images=(image,), unseen=("cilium",))


def test_ports_are_used_free_or_kept_for_uplinks(ml50: Cluster) -> None:
    first, second = state(ml50).leaves
    assert (first.name, first.ports, first.uplinks, len(first.used), first.free) == ("ib-leaf-1", 40, 16, 15, 9)
    assert first.used[1] == "gpu-01 mlx5_0"
    assert (first.rail, second.rail) == ("mlx5_0", "mlx5_1")


def test_a_leaf_is_drawn_port_by_port(ml50: Cluster) -> None:
    (first, _) = state(ml50).leaves
    drawn = leaf(first)
    assert [drawn.count(kind) for kind in ("fill-gpu", "fill-mild", "fill-free")] == [15, 16, 9]
    assert "<title>15: gpu-15 mlx5_0</title>" in drawn


def test_a_leaf_with_more_cables_than_room_has_no_free_port(ml50: Cluster) -> None:
    moved = [
        structs.replace(machine, fabric={"mlx5_0": Port("ib-leaf-1", number)})
        for number, machine in enumerate(ml50.machines, 1)
    ]
    first = state(structs.replace(ml50, nodes=tuple(moved))).leaves[0]
    assert first.free == 0
    assert leaf(first).count("fill-gpu") == 40


def test_racks_are_those_of_the_file_and_nodes_without_one_go_by_pool(ml50: Cluster) -> None:
    found = state(ml50).racks
    assert [(one.name, len(one.machines)) for one in found][:4] == [
        ("rack r1", 6), ("rack r2", 6), ("rack r3", 6), ("rack r4", 4),
    ]  # fmt: skip
    loose = structs.replace(ml50, machines=tuple(structs.replace(one, rack=None) for one in ml50.machines))
    pools = [(one.name, len(one.machines)) for one in state(loose).racks]
    assert pools.count(("pool cpu", RACK)) == 1
    assert ("pool cpu", 28 - RACK) in pools
    assert sum(number for _, number in pools) == len(ml50.machines)


def test_a_rack_says_what_its_nodes_are_for(ml50: Cluster) -> None:
    drawn = rack(state(ml50).racks[0])
    assert (drawn.count("8 GPUs"), drawn.count("control<"), drawn.count("fill-gpu")) == (5, 1, 5)
    assert "40 GPUs" in drawn


def test_quotas_take_raw_room_by_how_their_pools_are_kept(ml50: Cluster) -> None:
    nvme, hdd, objects, scratch = state(ml50).stores
    assert nvme.name == "Ceph nvme"
    assert [room.taken // TIB for room in nvme.rooms] == [330, 0, 225, 0], "three replicas of 110 and 75 TiB"
    assert [room.taken // TIB for room in hdd.rooms] == [1800, 1050], "4+2 of 1200 and 700 TiB"
    assert sum(room.taken for room in nvme.rooms) < nvme.fillable < nvme.raw
    assert objects.fillable * 2 == objects.raw
    assert [room.quota for room in objects.rooms] == [n * 10**12 for n in (300, 200, 1, 5, 20)]
    assert scratch.fillable == scratch.raw == 15 * 2 * 3840 * 10**9


def test_quotas_of_teams_with_what_they_borrow_and_lend(ml50: Cluster) -> None:
    found = {one.pool: one for one in state(ml50).shared}
    training, serving = found["gpu-training"], found["gpu-inference"].teams[0]
    assert (training.capacity, training.free) == (96, 8)
    assert [(one.team, one.amount, one.borrow) for one in training.teams][:2] == [
        ("vision", 40, 16),
        ("language", 40, 32),
    ]
    assert (serving.amount, serving.lend) == (24, 8)
    assert found["cpu"].what == "cpus"


def test_a_component_waits_only_for_what_others_do_not_wait_for(ml50: Cluster) -> None:
    found = state(ml50)
    assert found.needs["ceph-cluster"] == ["ceph-csi-drivers", "issuers"], "for cilium they wait already"
    assert found.waves["namespaces"] == 0
    assert all(found.waves[need] < found.waves[name] for name, needs in found.needs.items() for need in needs)


def test_waves_are_drawn_from_above_with_a_line_for_each_need() -> None:
    steps = [Step(name=name, wave=wave) for name, wave in (("b", 2), ("a", 1), ("c", 2), ("d", 2))]
    drawn = waves(steps, {"b": ["a"], "c": ["a", "elsewhere"]}, "waves")
    assert drawn.count("<circle") == 2
    assert drawn.index(">a<") < drawn.index(">b<") < drawn.index(">d<")


def test_what_a_whole_wave_needs_is_told_by_its_place() -> None:
    steps = [Step(name=name, wave=wave) for name, wave in (("a", 1), ("b", 2), ("c", 2), ("d", 3))]
    assert waves(steps, {"b": ["a"], "c": ["a"], "d": ["a"]}, "waves").count("<path") == 0


def many_waves(number: int) -> tuple[list[Step], dict[str, list[str]]]:
    """Applications of which each waits for two of the wave before, and the last for the first."""
    steps = [Step(name=f"component-number-{i}", wave=i // 5) for i in range(number)]
    names = [step.name for step in steps]
    needs = {name: [names[i - 5], names[i - 4 - i % 3]] for i, name in enumerate(names) if i > 5}
    needs[names[-1]].append(names[0])
    return steps, needs


@pytest.mark.parametrize("number", [15, 25, 40])
def test_lines_between_waves_never_lie_on_each_other(number: int) -> None:
    steps, needs = many_waves(number)
    drawn = waves(steps, needs, "waves")
    assert all(f">{step.name}<" in drawn for step in steps), "no name is cut"
    lines = [tuple(map(float, one)) for one in re.findall(r"M([\d.]+) ([\d.]+) H([\d.]+) V([\d.]+)", drawn)]
    assert len(lines) == len({need for each in needs.values() for need in each})
    for one, (edge, start, x, end) in enumerate(lines):
        assert edge < x < WIDTH
        for _, above, other, below in lines[one + 1 :]:
            assert x != other or end < above or below < start
        assert [other[1] for other in lines].count(start) == 1
    leaving = {start for _, start, _, _ in lines}
    assert leaving.isdisjoint(float(y) for y in re.findall(r'cy="([\d.]+)"', drawn)), "what leaves is not what comes in"


def test_the_waves_of_a_large_cluster_are_whole(ml50: Cluster) -> None:
    found = state(ml50)
    drawn = waves_of(found)
    assert all(f">{name}<" in drawn for name in found.waves)


def test_a_bar_with_more_than_there_is_says_where_the_whole_ends() -> None:
    one = Bar(name="x", caption="y", whole=10, parts=(("a", 8), ("b", 8)))
    assert "all there is" in bar(one)
    assert "all there is" not in bar(structs.replace(one, whole=16))
    assert "<rect" in bar(Bar(name="x", caption="y", whole=0))


def test_a_legend_names_every_part_of_a_bar_and_what_is_left() -> None:
    one = Bar(
        name="x", caption="y", whole=100, parts=(("a", 98), ("b", 1), ("c", 0)), rest="nobody has", told="{} GiB".format
    )
    assert re.findall(r'class="spot ([\w-]+)"></span>(.*?)</li>', bar(one)) == [
        ("fill-mild", "a: 98 GiB"),
        ("fill-gpu", "b: 1 GiB"),
        ("fill-free", "nobody has: 1 GiB"),
    ]
    assert "nobody has" not in bar(structs.replace(one, whole=90))


def test_colours_of_legends_are_those_of_the_pictures(ml50: Cluster) -> None:
    page = report_page(state(ml50))
    style, _, body = page.partition("</style>")
    for kind in set(re.findall(r'class="spot ([\w-]+)"', body)) | {*KINDS}:
        drawn = re.search(rf"svg \.{kind} {{ fill: (var\(--\w+\))", style)
        spot = re.search(rf"\.spot\.{kind} {{ background: (var\(--\w+\))", style)
        assert drawn
        assert spot
        assert drawn[1] == spot[1]


def test_the_secrets_that_somebody_must_make_are_told_by_where_they_come_from(ml50: Cluster) -> None:
    found = state(ml50)
    sources = [secret.source for one in found.components for secret in one.secrets]
    given, generated = sources.count("given"), sources.count("generated")
    assert min(given, generated) > 1
    said = f"{given + generated} Secrets to make: {given} given, {generated} generated"
    told = [*lines(found)]
    assert said in told[0]
    (first, second) = (line.strip() for line in told[told.index("  Secrets to make") + 1 :][:2])
    assert (first[:7], first.count(", ") + 1) == ("given: ", given)
    assert (second[:11], second.count(", ") + 1) == ("generated: ", generated)
    page = report_page(found)
    assert page.count(said) == 2
    shown = re.findall(r'data-head="source">(given|generated)', page)
    assert shown == ["given"] * given + ["generated"] * generated


def test_a_text_is_cut_to_its_room() -> None:
    assert cut("gpu-01", 92) == "gpu-01"
    assert cut("m" * 30, 60) == "mmmm.."
    assert length(cut("W" * 30, 92)) <= 92


def test_it_is_told_in_few_lines(ml50: Cluster) -> None:
    found = list(lines(state(ml50, Finding(message="odd", code="GEN-X-001", at=("nodes", 3)))))
    assert len(found) < 60
    assert "    ib-leaf-1: r1, 15 used, 9 free, 16 uplinks, rail mlx5_0" in found
    assert "      serving owns 24, may borrow whatever is idle, lends 8" in found
    assert "    error GEN-X-001 nodes[3]: odd" in found
    assert "    1: cilium" in found


def test_departments_and_weights_are_told_where_they_count(ml50: Cluster) -> None:
    vision, *others = ml50.teams
    teams = (structs.replace(vision, department="research", weight=2), *others)
    scheduling = structs.replace(ml50.scheduling, departments={"research": Department()})
    plain = structs.replace(ml50, teams=teams, scheduling=scheduling)
    fair = structs.replace(plain, scheduling=structs.replace(scheduling, fair_sharing=True))
    assert "      vision (department research) owns 40, may borrow 16, lends all" in lines(state(plain))
    assert "      vision (department research, weight 2) owns 40, may borrow 16, lends all" in lines(state(fair))
    assert "      serving (weight 1) owns 24, may borrow whatever is idle, lends 8" in lines(state(fair))
    first = state(fair).data()["quotas"][0]["teams"][0]
    assert (first["department"], first["weight"]) == ("research", 2)


def test_the_data_says_the_same(ml50: Cluster) -> None:
    found = state(ml50).data()
    assert len(found["nodes"]) == 50
    assert found["leafSwitches"][0]["used"]["1"] == "gpu-01 mlx5_0"
    assert {one["name"]: one["wave"] for one in found["components"]} == {
        name: wave for name, wave in state(ml50).waves.items() if name != "namespaces"
    }
    (vision, *_) = found["quotas"][0]["teams"]
    shares = {"department": None, "weight": None}
    assert vision == {"team": "vision", "owns": 40, "borrows": 16, "lends": None, **shares}
    assert "cert-manager/site-ca" in {f"{one['namespace']}/{one['name']}" for one in found["secrets"]}


def test_the_page_has_all_of_it(ml50: Cluster) -> None:
    page = report_page(state(ml50))
    titles = (
        "Racks and nodes",
        "Leaf switches",
        "Storage",
        "Quotas of teams",
        "Waves",
        "Secrets",
        "Images",
        "Findings",
    )
    assert [title for title in titles if f"<h2>{title}</h2>" not in page] == []
    assert "Not vendored, so that their images are not listed: cilium." in page
    assert "<script" not in page


def test_a_small_cluster_has_no_empty_parts() -> None:
    page = report_page(state(load("a30-bench")))
    assert "<h2>Leaf switches</h2>" not in page
    assert "<h2>Waivers</h2>" not in page


def test_a_finding_of_the_text_has_no_place() -> None:
    assert place_of(Finding(message="x", at=Position(1, 2, 3))) == ""
