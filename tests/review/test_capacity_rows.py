"""What a cluster has room for, on both sides of a change."""

import re
from collections.abc import Callable
from functools import cache

import pytest
from reference import ROOT
from reviewed import cluster, whole

from generator.model.cluster import Cluster
from generator.repository.sides import Side, identity
from generator.review.capacity import CapacityRow, capacity
from generator.review.report import ClusterReport, room_on
from generator.review.sides import Sides
from generator.review.text import lines
from generator.spec.decode import decode
from generator.spec.reader import read

FILE = "clusters/ml50/cluster.yaml"


@cache
def text() -> str:
    return (ROOT / FILE).read_text()


def edited(*edits: tuple[str, str]) -> Cluster:
    """Return the reference cluster with some lines changed."""
    changed = text()
    for old, new in edits:
        changed, count = re.subn(old, new, changed, count=1, flags=re.MULTILINE)
        assert count, old
    found = decode(read(changed.encode(), FILE))
    assert isinstance(found, Cluster)
    return found


def differing(*edits: tuple[str, str]) -> dict[str, str]:
    """Return what differs from the reference cluster, as people read it."""
    rows = capacity(edited(), edited(*edits))
    return {row.name: row.text.removeprefix(f"{row.name} ") for row in rows if row.old != row.new}


@pytest.mark.parametrize(
    ("edit", "rows"),
    [
        (
            (r"^    - \{name: gpu-12.*\n", ""),
            {
                "GPUs H100": "120 -> 112",
                "InfiniBand ports in use": "30 -> 28",
                "InfiniBand ports free": "18 -> 20",
                "GPUs in gpu-training that nobody owns": "8 -> 0",
            },
        ),
        ((r"(name: rbd-nvme.*replicas: )3", r"\g<1>2"), {"Ceph usable for rbd-nvme": "190 TiB -> 285 TiB"}),
        (
            (r"^    - \{name: cpu-28.*\n", ""),
            {
                "Ceph usable for rbd-nvme, shared-fast": "190 TiB -> 182 TiB",
                "Ceph usable for shared-bulk, datasets": "1.93 PiB -> 1.85 PiB",
                "CPUs in cpu that nobody owns": "72 -> 23",
            },
        ),
        ((r"count: 16, size: 24T", "count: 12, size: 24T"), {"MinIO usable": "698 TiB -> 524 TiB"}),
        (
            (r"gpu-training: \{gpus: 40, borrow: 16\}", "gpu-training: {gpus: 32}"),
            {"GPUs in gpu-training that nobody owns": "8 -> 16"},
        ),
        ((r"mds: 2", "mds: 1"), {}),
    ],
)
def test_what_there_is_room_for_is_told_on_both_sides(edit: tuple[str, str], rows: dict[str, str]) -> None:
    assert differing(edit) == rows


def test_what_comes_or_goes_is_none_on_the_other_side() -> None:
    rows = capacity(
        edited((r"(?s)^    objects:.*?^  #", "  #"), (r"(?s)^  backups:.*?^  gitops:", "  gitops:")), edited()
    )
    assert ("MinIO usable", None) in [(row.name, row.old) for row in rows]
    assert next(row.text for row in rows if row.name == "MinIO usable") == "MinIO usable none -> 698 TiB"


def side(label: str, content: str) -> Side:
    """Return a state of a repository with nothing but the cluster file."""
    return Side(label, lambda _: {FILE: identity(content.encode())}, lambda _: content.encode())


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        (lambda: text().replace("replicas: 3", "replicas: 2"), 10),
        (text, 0),
        (lambda: text().replace("replicas: 3", "replicas: many"), 0),
        (lambda: "", 0),
    ],
    ids=["another", "the same", "wrong", "nothing"],
)
def test_both_files_are_read_where_they_can_be(content: Callable[[], str], rows: int) -> None:
    sides = Sides(old=side("old", text()), new=side("new", content()), differing=frozenset({FILE}))
    assert len(room_on(sides, "ml50")) == rows


def test_it_is_one_line_of_the_report_and_a_list_of_its_data() -> None:
    rows = (
        CapacityRow(name="GPUs H100", unit="", old=16, new=8),
        CapacityRow(name="MinIO usable", unit="bytes", old=2**40, new=2**41),
        CapacityRow(name="InfiniBand ports free", unit="", old=3, new=3),
    )
    one = cluster([], [])
    report = whole(ClusterReport(one.found, one.judged, rows))
    assert "  capacity: GPUs H100 16 -> 8; MinIO usable 1 TiB -> 2 TiB" in list(lines(report))
    assert report.data()["clusters"][0]["capacity"][2] == {
        "name": "InfiniBand ports free",
        "unit": "",
        "old": 3,
        "new": 3,
    }
