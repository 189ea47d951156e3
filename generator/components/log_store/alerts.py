"""What Prometheus alerts of: Loki that takes no logs, a bucket that does, and one that soon will not."""

from collections.abc import Iterator
from typing import Any

from generator.components.component import Manifest
from generator.components.log_store.names import NAMESPACE, metadata
from generator.model.cluster import Cluster
from generator.model.log_room import COMPRESSED, copies, lokis
from generator.model.monitoring import Logs

# Metrics of Loki 3.7.6: pkg/ingester/metrics.go, pkg/compactor/metrics.go, pkg/loghttp/push/push.go, dskit's ring.
UP = f'up{{namespace="{NAMESPACE}",job="loki"}}'
PUSHED = 'loki_request_duration_seconds_count{route="loki_api_v1_push"'
FULL = 0.8
"""The part of the room from which on more is bought, or less kept."""


def rule_group(cluster: Cluster, logs: Logs, room: int | None) -> Manifest:
    """Return the rules. `room` is what the bucket may hold, in bytes, where it has a bound."""
    rules = [*_of_loki(cluster, logs), *_of_bucket(cluster, logs, room)]
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": metadata("loki"),
        "spec": {"groups": [{"name": "log-store", "rules": rules}]},
    }


def _of_loki(cluster: Cluster, logs: Logs) -> Iterator[dict[str, Any]]:
    wanted, each = lokis(cluster, logs), copies(cluster)
    yield _alert(
        "LokiDown",
        f"(sum({UP}) or vector(0)) < {wanted - each // 2}",
        "critical",
        "Too few Lokis answer: logs wait on their nodes, and what the kubelet rotates meanwhile is lost",
        wait="10m",
    )
    if each > 1:
        yield _alert(
            "LokiMemberMissing",
            f"(sum({UP}) or vector(0)) < {wanted}",
            "warning",
            "A Loki is away: one more, and no logs are taken",
            wait="30m",
        )
    yield _alert(
        "LokiRingUnhealthy",
        'max(loki_ring_members{name="ingester",state="Unhealthy"}) > 0',
        "warning",
        "Loki's ring has a member that nobody hears of: forget it on the page /ring if it is gone for good",
        wait="15m",
    )
    yield _alert(
        "LokiRefusesLogs",
        f'sum(rate({PUSHED},status_code=~"5.."}}[10m])) > 0.05 * sum(rate({PUSHED}}}[10m]))',
        "critical",
        "Loki fails to take more than every twentieth push",
        wait="15m",
    )
    yield _alert(
        "LogsRefusedForTenant",
        "sum by (tenant, reason) (increase(loki_discarded_samples_total[15m])) > 0",
        "warning",
        "Lines of {{ $labels.tenant }} are dropped: {{ $labels.reason }}",
        wait="15m",
    )


def _of_bucket(cluster: Cluster, logs: Logs, room: int | None) -> Iterator[dict[str, Any]]:
    yield _alert(
        "LogBucketTakesNothing",
        "sum(increase(loki_ingester_chunks_flush_failures_total[15m])) > 0",
        "critical",
        "Loki cannot write to its bucket, which is full or away: within a day its own volumes are full",
        wait="15m",
    )
    yield _alert(
        "LogsKeptTooLong",
        "time() - max(loki_compactor_apply_retention_last_successful_run_timestamp_seconds > 0) > 86400",
        "warning",
        f"No logs older than {logs.keep_days} days were deleted since yesterday: the bucket fills",
        wait="1h",
    )
    if room:
        days = f"{logs.keep_days} * {copies(cluster)} / {COMPRESSED}"
        yield _alert(
            "LogBucketTooSmall",
            f"sum(rate(loki_distributor_bytes_received_total[1d])) * 86400 * {days} > {FULL} * {room}",
            "warning",
            f"At yesterday's rate {logs.keep_days} days of logs take more than {FULL:.0%} of the bucket",
            wait="1h",
        )


def _alert(name: str, expr: str, severity: str, summary: str, *, wait: str) -> dict[str, Any]:
    told = {"labels": {"severity": severity}, "annotations": {"summary": summary}}
    return {"alert": name, "expr": expr, "for": wait, **told}
