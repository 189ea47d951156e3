"""Dashboards: for each part that is there, in a form that Grafana takes."""

import json
import re
from itertools import combinations
from typing import Any

import pytest
from msgspec import structs
from reference import without_operations
from volumebackups import NIGHTLY

from generator.components.common import POOL
from generator.components.kube_prometheus_stack import kube_prometheus_stack
from generator.components.kube_prometheus_stack.boards import boards, shown
from generator.components.reports.metrics import FAILED, SUCCEEDED
from generator.components.workflows import backup, drill
from generator.model.backup import VolumeBackup
from generator.model.cluster import Cluster
from generator.model.monitoring import Prometheus


def seen(cluster: Cluster) -> Cluster:
    """Return the cluster with Prometheus, and nothing else that watches."""
    return structs.replace(
        cluster, monitoring=structs.replace(cluster.monitoring, prometheus=Prometheus(), zabbix=None)
    )


def models(cluster: Cluster) -> dict[str, Any]:
    made = list(boards(cluster, "monitoring"))
    assert all(one["metadata"]["labels"] == {"grafana_dashboard": "1"} for one in made)
    return {file.removesuffix(".json"): json.loads(text) for one in made for file, text in one["data"].items()}


def test_a_dashboard_is_there_with_what_it_shows(ml50: Cluster) -> None:
    every = set(shown(seen(ml50)))
    assert every >= {"gpus", "rdma", "ceph", "minio", "kueue", "volcano", "argo-cd", "argo-workflows", "backups"}
    bare = without_operations(seen(ml50))
    storage = structs.replace(ml50.storage, ceph=None, objects=None)
    without = structs.replace(bare, teams=(), fabric=None, storage=storage, volume_backups=())
    assert set(shown(without)) == {"gpus", "argo-cd"}


def test_volumes_that_nobody_backs_up_for_now_are_not_shown(ml50: Cluster) -> None:
    nightly = structs.replace(NIGHTLY, name="home")

    def names(*backups: VolumeBackup) -> set[str]:
        return set(shown(structs.replace(seen(ml50), volume_backups=backups)))

    assert names(nightly) - names(structs.replace(nightly, suspended=True)) == {"volume-backups"}


def test_each_leads_to_the_logs_of_the_same_time(ml50: Cluster) -> None:
    for model in models(seen(ml50)).values():
        (link,) = model["links"]
        assert (link["tags"], link["keepTime"], link["includeVars"]) == (["logs"], True, True)


def test_no_two_have_a_name_and_no_panels_lie_on_each_other(ml50: Cluster) -> None:
    every = models(seen(ml50))
    assert (
        len({model["uid"] for model in every.values()}) == len({one["title"] for one in every.values()}) == len(every)
    )
    for model in every.values():
        places = [panel["gridPos"] for panel in model["panels"]]
        assert all(place["x"] + place["w"] <= 24 for place in places)
        assert not [pair for pair in combinations(places, 2) if overlap(*pair)]


def overlap(one: dict[str, int], other: dict[str, int]) -> bool:
    return all(one[at] < other[at] + other[size] and other[at] < one[at] + one[size] for at, size in ("xw", "yh"))


def test_a_variable_that_is_asked_for_is_there(ml50: Cluster) -> None:
    for model in models(seen(ml50)).values():
        known = {one["name"] for one in model["templating"]["list"]} | {"__all", "__range", "__rate_interval"}
        assert set(re.findall(r"\$\{?(\w+)", json.dumps([model["panels"], model["templating"]]))) <= known


def test_a_pool_is_a_label_of_nodes_that_is_told_of(ml50: Cluster) -> None:
    (release,) = kube_prometheus_stack(seen(ml50)).releases
    assert release.values["kube-state-metrics"]["metricLabelsAllowlist"] == [f"nodes=[{POOL}]"]
    for board in ("gpus", "rdma"):
        known = {one["name"]: one["query"] for one in models(seen(ml50))[board]["templating"]["list"]}
        assert known["pool"] == f"label_values(kube_node_labels, label_{POOL.replace('.', '_').replace('/', '_')})"
        assert known["node"].endswith('=~"$pool"}, node)')


def test_a_node_more_changes_no_dashboard(ml50: Cluster) -> None:
    fewer = structs.replace(ml50, nodes=ml50.nodes[:-1])
    assert models(seen(fewer)) == models(seen(ml50))


@pytest.mark.parametrize(
    ("board", "metrics"),
    [("backups", (backup.NEWEST, drill.NEWEST, drill.GOOD)), ("argo-workflows", (SUCCEEDED, FAILED))],
)
def test_metrics_of_operations_have_the_names_that_these_tell(
    ml50: Cluster, board: str, metrics: tuple[str, ...]
) -> None:
    text = json.dumps(models(seen(ml50))[board])
    assert set(re.findall(r"argo_workflows_(?:backup|drill|operation_last)_?\w+", text)) == set(metrics)
