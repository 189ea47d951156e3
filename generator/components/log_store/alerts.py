"""What Prometheus alerts of: Loki that takes no logs, a bucket that does, and one that soon will not."""

from collections.abc import Iterator

from generator.components.alerting import LOGS, Rule, alert, prometheus_rule
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
    return prometheus_rule(metadata("loki"), "log-store", rules)


def _of_loki(cluster: Cluster, logs: Logs) -> Iterator[Rule]:
    wanted, each = lokis(cluster, logs), copies(cluster)
    yield alert(
        "LokiDown",
        "critical",
        f"Too few Lokis answer: logs wait on their nodes, and what the kubelet rotates meanwhile is lost; {LOGS}",
        f"(sum({UP}) or vector(0)) < {wanted - each // 2}",
        "10m",
    )
    if each > 1:
        yield alert(
            "LokiMemberMissing",
            "warning",
            f"A Loki is away, and with one more no logs are taken: {LOGS}",
            f"(sum({UP}) or vector(0)) < {wanted}",
            "30m",
        )
    yield alert(
        "LokiRingUnhealthy",
        "warning",
        "Loki's ring has a member that nobody hears of: forget it on the page /ring if it is gone for good",
        'max(loki_ring_members{name="ingester",state="Unhealthy"}) > 0',
        "15m",
    )
    yield alert(
        "LokiRefusesLogs",
        "critical",
        f"Loki fails to take more than every twentieth push: {LOGS}",
        f'sum(rate({PUSHED},status_code=~"5.."}}[10m])) > 0.05 * sum(rate({PUSHED}}}[10m]))',
        "15m",
    )
    yield alert(
        "LogsRefusedForTenant",
        "warning",
        f"Lines of {{{{ $labels.tenant }}}} are dropped ({{{{ $labels.reason }}}}): {LOGS}",
        "sum by (tenant, reason) (increase(loki_discarded_samples_total[15m])) > 0",
        "15m",
    )


def _of_bucket(cluster: Cluster, logs: Logs, room: int | None) -> Iterator[Rule]:
    yield alert(
        "LogBucketTakesNothing",
        "critical",
        f"Loki cannot write to its bucket, which is full or away, and within a day its own volumes are full: {LOGS}",
        "sum(increase(loki_ingester_chunks_flush_failures_total[15m])) > 0",
        "15m",
    )
    # 0 until a process has deleted for the first time, which for all but one of them never comes. Of a day, so that a
    # restart forgets nothing.
    deleted = "loki_compactor_apply_retention_last_successful_run_timestamp_seconds"
    yield alert(
        "LogsKeptTooLong",
        "warning",
        f"No logs older than {logs.keep_days} days were deleted since yesterday, and the bucket fills: {LOGS}",
        f"time() - max(max_over_time({deleted}[1d])) > 86400",
        "1h",
    )
    if room:
        days = f"{logs.keep_days} * {copies(cluster)} / {COMPRESSED}"
        yield alert(
            "LogBucketTooSmall",
            "warning",
            f"At yesterday's rate {logs.keep_days} days of logs take more than {FULL:.0%} of the bucket: {LOGS}",
            f"sum(rate(loki_distributor_bytes_received_total[1d])) * 86400 * {days} > {FULL} * {room}",
            "1h",
        )
