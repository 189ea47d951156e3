"""Pods of teams, whose metrics Prometheus reads beside those of the platform."""

import re
from collections.abc import Iterator

import pytest
from msgspec import structs
from reference import load

from generator.components import compose
from generator.components.kube_prometheus_stack.team_services import OF_THE_PLATFORM
from generator.model.cluster import Cluster
from generator.model.monitoring import Prometheus

STRINGS_AND_LABELS = r'"[^"]*"|\{[^}]*\}|\[[^]]*\]|\b(?:by|on|ignoring|group_left) \([^)]*\)'


def watched(name: str) -> Cluster:
    """Return a reference cluster with Prometheus alone."""
    cluster = load(name)
    settings = cluster.monitoring.prometheus or Prometheus()
    return structs.replace(cluster, monitoring=structs.replace(cluster.monitoring, prometheus=settings, zabbix=None))


def expressions(cluster: Cluster) -> Iterator[str]:
    """Yield those of all rules of a cluster."""
    for one in (item for part in compose(cluster) for item in part.objects if item["kind"] == "PrometheusRule"):
        yield from (rule["expr"] for group in one["spec"]["groups"] for rule in group["rules"])


@pytest.mark.parametrize("name", ["ml50", "a30-bench", "gpu-serving"])
def test_they_raise_and_end_no_alert_of_the_platform(name: str) -> None:
    plain = re.sub(STRINGS_AND_LABELS, " ", "\n".join(expressions(watched(name))))
    functions = set(re.findall(r"\w+(?=\s*\()", plain))
    read = set(re.findall(r"\b[A-Za-z][\w:]*[_:][\w:]+", plain)) - functions
    assert len(read) > 20
    assert {one for one in {*read, "up"} if not re.fullmatch(OF_THE_PLATFORM, one)} == set()
