"""The room that Ceph has left, as Rook tells it."""

from datetime import UTC, datetime
from typing import Any, cast

import pytest
from msgspec import structs

from generator.day2.workflows.operations import Operation, Parameter
from generator.day2.workflows.restoring import plan, restore, with_room
from generator.day2.workflows.room import Left, left
from generator.live.api import Answer, ApiConnection
from generator.live.running import RunningCluster
from generator.model.cluster import Cluster
from generator.model.storage import CephPool, Erasure

NOW = datetime(2026, 11, 23, 4, 0, tzinfo=UTC)
TIB = 2**40
REPLICATED = CephPool(name="data", device_class="hdd", replicas=3)
CODED = CephPool(name="data", device_class="hdd", erasure=Erasure(data=4, coding=2))


class Answers:
    """An API server that gives one answer."""

    def __init__(self, status: int, body: dict[str, Any]) -> None:
        self.answer = Answer(status, body)

    def ask_all(self, requests: list[object], *, busy: bool) -> list[Answer]:
        assert busy
        return [self.answer for _ in requests]


def cluster_that(*told: object, status: int = 200, message: str = "") -> RunningCluster:
    """Return a cluster whose Rook tells these capacities, of one CephCluster each."""
    items = [{"metadata": {"name": str(n)}, "status": {"ceph": {"capacity": one}}} for n, one in enumerate(told)]
    body = {"items": items, "metadata": {}, "message": message}
    return RunningCluster(cast("ApiConnection", Answers(status, body)))


@pytest.mark.parametrize(
    ("pool", "available", "expected"),
    [
        (REPLICATED, 75, 20),
        (CODED, 75, 40),
        (CODED, 15, 0),
        (CODED, 3, 0),
    ],
)
def test_it_is_what_is_left_before_ceph_is_nearly_full(pool: CephPool, available: int, expected: int) -> None:
    capacity = {"bytesTotal": 100 * TIB, "bytesAvailable": available * TIB, "bytesUsed": (100 - available) * TIB}
    assert left(cluster_that(capacity), pool).bytes == expected * TIB


@pytest.mark.parametrize(
    ("running", "why"),
    [
        (cluster_that(), "Rook has told none yet"),
        (cluster_that(None), "Rook has told none yet"),
        (cluster_that({"bytesTotal": 0, "bytesAvailable": 0}), "Rook has told none yet"),
        (cluster_that(status=403, message="cephclusters is forbidden"), "cephclusters is forbidden"),
        (cluster_that(status=404), "Rook has told none yet"),
    ],
)
def test_what_nobody_tells_is_unknown_and_stops_nothing(ml50: Cluster, running: RunningCluster, why: str) -> None:
    assert left(running, REPLICATED) == Left(None, why)
    asked = with_room(running, ml50, restore(ml50, "datasets", NOW, at=None, into=None, switch="none"))
    assert "free" not in asked.parameters
    assert f"note: how much room Ceph has left is unknown: {why}" in plan(ml50, asked, NOW)


def test_the_run_is_told_it_where_its_template_knows_it(ml50: Cluster) -> None:
    capacity = {"bytesTotal": 100 * TIB, "bytesAvailable": 75 * TIB}
    asked = restore(ml50, "datasets", NOW, at=None, into=None, switch="none")
    asked = with_room(cluster_that(capacity), ml50, asked)
    operation = Operation(name="r", namespace="n", template="r", parameters=(), labels={})
    knows = structs.replace(operation, parameters=(Parameter("free", ""),))
    assert asked.known_to(knows) == asked.parameters
    assert asked.parameters["free"] == str(40 * TIB)
    assert asked.known_to(operation).keys() == {"into", "at", "switch"}
    assert "  room  Ceph takes 40 TiB more, at most, before it is nearly full" in plan(ml50, asked, NOW)
