"""Operations on nodes, disks and GPUs played one after the other on one twin, with jobs of the teams' shapes: their own
steps on real Kueue, Volcano, scheduler and API server.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from playedsite import Plays, played, racked
from rehearsing import Repository, refuse_without_programs

pytestmark = pytest.mark.twin

Object = dict[str, Any]


@pytest.fixture(scope="module")
def plays(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plays]:
    refuse_without_programs()
    repository = Repository(tmp_path_factory.mktemp("played"))
    racked(repository)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(repository.cache.parent))
        with played(repository, tmp_path_factory.mktemp("twin")) as made:
            yield made


def order(found: Object, *what: str) -> list[tuple[str, str]]:
    return [(one["what"], one["node"]) for one in found["events"] if one["what"] in what]


def test_an_osd_that_copies_need_is_refused_and_goes_where_somebody_knows_it(plays: Plays) -> None:
    found, text = plays.play("osd-replacement", node="store1", osd="0")
    assert found["refused"] == ["preflight"]
    assert "REFUSED by step preflight: pool rbd needs 4 of type host for its 4 copies or chunks, and 3 with" in text
    assert "played up to" not in text, "it is refused before"
    found, text = plays.play("osd-replacement", node="store1", osd="0", room="short")
    assert order(found, "OSDs out at once", "OSD purged") == [("OSDs out at once", "store1"), ("OSD purged", "store1")]
    assert "store1       OSDs out at once: 0" in text
    assert "played up to the step purge: what comes then needs the new machine or disk" in text


def test_a_drive_is_looked_at_and_no_more_can_be_played(plays: Plays) -> None:
    found, text = plays.play("drive-replacement", node="nas1", drive="3")
    assert [one["name"] for one in found["steps"]] == ["preflight"]
    assert "no pod had to leave its node for it, and no gang was stopped" in text
    found, text = plays.play("drive-replacement", node="nas1", drive="4")
    assert "REFUSED by step preflight: nas1 has 4 drives of MinIO, and none with the number 4" in text


def test_a_new_machine_joins_is_tried_and_takes_pods_and_nobody_else_must_leave(plays: Plays) -> None:
    found, text = plays.play("node-expansion", node="store4")
    assert found["refused"] == [], text
    ways = ("joined", "cordoned", "its devices were tried, and are good", "takes pods")
    assert order(found, *ways) == [(what, "store4") for what in ways]
    assert "joined: labels gen.internal/ceph=true, gen.internal/pool=store, topology.rook.io/rack=" in text
    assert [one["name"] for one in found["steps"]][-2:] == ["storage", "report"], "its OSD runs"
    assert not order(found, "evicted a pod", "gang stopped")


def test_a_node_leaves_with_its_osds_where_that_is_told(plays: Plays) -> None:
    _, text = plays.play("node-removal", node="store4")
    assert "REFUSED by step preflight: store4 holds " in text
    assert "take them out by -p osds=out" in text
    found, text = plays.play("node-removal", node="store4", osds="out", room="short")
    assert found["refused"] == [], text
    ways = ("cordoned", "OSDs out at once", "OSD purged")
    assert [*dict.fromkeys(order(found, *ways))] == [(what, "store4") for what in ways]


def test_only_gangs_on_the_sick_node_are_stopped_and_it_is_not_cordoned(plays: Plays) -> None:
    found, text = plays.play("gpu-drain")
    assert [one["name"] for one in found["steps"]] == ["which", "gangs of gpu1", "evict of gpu1"], text
    assert order(found, "gang stopped", "cordoned") == [("gang stopped", "gpu1")]


def test_drivers_go_rack_by_rack_with_gangs_stopped_whole(plays: Plays) -> None:
    found, text = plays.play("driver-upgrade", leave="gpu3,gpu4")
    assert found["refused"] == [], text
    assert "| 1. pool bench, rack r1: gpu2" in text
    assert order(found, "cordoned") == [("cordoned", "gpu2"), ("cordoned", "gpu1")], "r1 is before r2"
    assert [node for _, node in order(found, "its driver is made anew")] == ["gpu2", "gpu1"]


def test_a_machine_with_data_leaves_its_osds_and_monitor_first(plays: Plays) -> None:
    """The last one: its node does not come back."""
    found, text = plays.play("node-replacement", node="store2", room="short")
    assert found["refused"] == [], text
    ways = (
        "cordoned",
        "OSDs out at once",
        "OSD purged",
        "Rook makes another monitor of Ceph elsewhere",
        "node deleted",
    )
    assert order(found, *ways) == [(what, "store2") for what in ways]
    assert "played up to the step forget" in text
