"""What a team may claim: what lasts as its file says, and disks for scratch of the pools that it owns a part of."""

from msgspec import structs
from reference import load

from generator.components.queues.volumes import claimable, scratch_room
from generator.model.cluster import Cluster
from generator.model.quantity import Quantity
from generator.model.teams import Quota, Team

TIB = Quantity.parse("1Ti")
DISKS = 2 * 3840 * 10**9
"""What a node of these clusters has for scratch."""


def alone(cluster: Cluster, quota: Quota, **more: object) -> tuple[Cluster, Team]:
    """Return the cluster with one team that has this quota of A100s."""
    team = structs.replace(Team(name="one", quotas={"a100": quota}), **more)
    return structs.replace(cluster, teams=(team,)), team


def nodes_of_scratch(cluster: Cluster, quota: Quota) -> int:
    return round(scratch_room(*alone(cluster, quota)).value / DISKS)


def test_scratch_is_all_disks_of_the_pools_of_which_a_team_owns_a_part() -> None:
    cluster = load("gpu-serving")
    assert nodes_of_scratch(cluster, Quota(gpus=16, borrow=0)) == 4
    assert nodes_of_scratch(cluster, Quota(gpus=0)) == 0, "a claim may stay when what was borrowed is taken back"


def test_scratch_is_beside_what_lasts_and_never_room_for_it() -> None:
    cluster, team = alone(load("gpu-serving"), Quota(gpus=16, borrow=0), storage=TIB)
    bounds = claimable(cluster, team)
    assert bounds.total
    assert bounds.total.value == TIB.value + scratch_room(cluster, team).value
    assert {name for name, size in bounds.classes.items() if size == TIB} == {"rbd-nvme", "shared-data", "nfs"}


def test_what_a_file_says_of_a_class_is_its_bound() -> None:
    few, many = Quantity.parse("100Gi"), Quantity.parse("9Ti")
    stated = {"rbd-nvme": few, "nfs": many, "scratch-nvme": many}
    bounds = claimable(*alone(load("gpu-serving"), Quota(gpus=16), storage=TIB, storage_classes=stated))
    assert bounds.classes == {"rbd-nvme": few, "shared-data": TIB, "nfs": TIB, "scratch-nvme": many}
    assert bounds.total
    assert bounds.total == Quantity.parse("10Ti")


def test_nothing_is_bound_that_the_file_does_not_bind() -> None:
    cluster = load("gpu-serving")
    free = claimable(*alone(cluster, Quota(gpus=16)))
    assert (free.total, free.classes) == (None, {})
    without = structs.replace(cluster, storage=structs.replace(cluster.storage, scratch=None))
    bounds = claimable(*alone(without, Quota(gpus=16), storage=TIB))
    assert (bounds.total, bounds.classes) == (TIB, {}), "where there is no scratch, one bound says it"
