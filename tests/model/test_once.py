"""What is asked of a cluster is computed once for each."""

from msgspec import structs

from generator.model.cluster import Cluster
from generator.model.once import once


def test_each_cluster_is_asked_once_and_one_that_was_changed_anew(ml50: Cluster) -> None:
    asked = []

    @once
    def name(cluster: Cluster) -> str:
        asked.append(cluster.name)
        return cluster.name

    other = structs.replace(ml50, name="other")
    assert [name(one) for one in (ml50, other, ml50, other)] == ["ml50", "other", "ml50", "other"]
    assert asked == ["ml50", "other"]
