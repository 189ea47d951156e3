"""The pages in a real browser: no text lies on another, and nothing is wider than the page."""

from pathlib import Path
from typing import Any

import pytest
from browser import draw
from msgspec import structs
from reference import load
from rehearsed import eventful
from reviewed import WHEN, cluster, made, unbuilt, whole

from generator.components import compose
from generator.model.cluster import Cluster
from generator.model.finding import Finding
from generator.model.nodes import Switch
from generator.model.text import Port
from generator.rehearsal.html import rehearsed
from generator.review.html_diff import diff_page
from generator.review.html_report import report_page
from generator.review.state import State, UsedImage

pytestmark = pytest.mark.real

WIDTHS = [1280, 400]
MANY = [0, 50, 400]
LONG = "a-name-as-long-as-kubernetes-takes-it-which-is-sixty-three-mmmm"
PORTS = 24


def with_gpu_nodes(many: int, *, racks: bool = True) -> Cluster:
    """Return the reference cluster with so many GPU nodes, each with both its HCAs plugged in."""
    ml50 = load("ml50")
    assert ml50.fabric
    (first, *_), others = ml50.gpu_nodes, [machine for machine in ml50.machines if not machine.gpus]
    machines = [
        structs.replace(
            first,
            name=LONG if number == 3 else f"gpu-{number:03}",
            rack=f"r{number // 8}" if racks else None,
            fabric={
                hca: Port(f"ib-leaf-{number // PORTS}-{rail}", number % PORTS + 1)
                for rail, hca in enumerate(first.hardware.hcas)
            },
        )
        for number in range(many)
    ]
    leaves = [
        Switch(name=f"ib-leaf-{at}-{rail}", ports=40, uplinks=16) for at in range(-(-many // PORTS)) for rail in (0, 1)
    ]
    every = (*others, *machines)
    fabric = structs.replace(ml50.fabric, switches=tuple(leaves)) if many else None
    return structs.replace(ml50, machines=every, nodes=every, fabric=fabric)


def state(many: int, *, racks: bool = True) -> State:
    found = with_gpu_nodes(many, racks=racks)
    digest = f"sha256:{'0' * 64}"
    return State(
        cluster=found,
        components=compose(found),
        findings=(Finding(message=f"a message about {LONG} " * 5, code="GEN-NODE-001", at=("nodes", 3), fix="a fix"),),
        images=tuple(UsedImage(f"registry.example.org/{LONG}/{number}:1", digest, (LONG,)) for number in range(40)),
        unseen=("cilium", LONG),
    )


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("many", MANY)
def test_a_report_can_be_read(many: int, width: int, tmp_path: Path) -> None:
    drawn = draw(report_page(state(many)), width, tmp_path)
    assert drawn.overlapping() == []
    assert [one.text for one in drawn.texts if one.leaves_its_picture] == []
    assert drawn.wide <= drawn.width == width
    assert [one.text for one in drawn.texts if one.box[2] > width or one.box[0] < 0] == []
    assert drawn.scale == 1, "a picture made smaller has words that nobody can read"
    assert min(one.size for one in drawn.texts) >= 11
    assert sum(one.text == "8 GPUs" for one in drawn.texts) == many
    assert drawn.pictures >= many // 8


def test_nodes_without_racks_are_drawn_by_pool(tmp_path: Path) -> None:
    drawn = draw(report_page(state(50, racks=False)), 400, tmp_path)
    assert drawn.overlapping() == []
    assert sum(one.text == "8 GPUs" for one in drawn.texts) == 50


def sides(many: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return what a change of so many objects changes, each in its own way, with long names and long values."""
    old, new = (
        [
            made(f"{'x' * 40}.example.org/v1/Kind{number}", f"{LONG}-{number}", LONG, spec={LONG: f"{value}{LONG * 9}"})
            for number in range(many)
        ]
        for value in "ab"
    )
    return [made("v1/PersistentVolumeClaim", LONG, LONG), *old], new


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("many", MANY)
def test_a_change_can_be_read(many: int, width: int, tmp_path: Path) -> None:
    one = cluster(*sides(many), name="lab", application=LONG, unseen=(LONG,), findings=(unbuilt(),))
    page = diff_page(whole(one, unapproved=(f"GEN-CHG-030:lab/PersistentVolumeClaim/{LONG}/{LONG}",)), WHEN)
    drawn = draw(page, width, tmp_path)
    assert drawn.overlapping() == []
    assert drawn.wide <= drawn.width == width
    assert [one.text for one in drawn.texts if one.leaves_its_picture or one.box[2] > width] == []
    assert drawn.scale == 1
    assert len(drawn.texts) > many


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("text", ["short", LONG * 3])
def test_a_rehearsal_can_be_read(text: str, width: int, tmp_path: Path) -> None:
    one = cluster(*sides(3), name="lab", application=LONG)
    drawn = draw(diff_page(whole(one), WHEN, [rehearsed(eventful(text, many=4))]), width, tmp_path)
    assert drawn.overlapping() == []
    assert drawn.wide <= drawn.width == width
    assert [one.text for one in drawn.texts if one.box[2] > width or one.box[0] < 0] == []
    assert min(one.size for one in drawn.texts) >= 11
    assert sum(one.text == "job stopped" for one in drawn.texts) == 4


def test_what_overlaps_is_seen(tmp_path: Path) -> None:
    """The measure itself: a page on which one text lies on another, and one text is wider than the page."""
    wrong = "<p>under</p><p style='margin-top:-30px'>over</p><p style='white-space:nowrap'>" + "wide " * 100
    drawn = draw(f"<!doctype html><body>{wrong}", 400, tmp_path)
    assert drawn.overlapping() == [("under", "over")]
    assert drawn.wide > drawn.width
