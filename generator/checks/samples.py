"""Rules about how long Prometheus keeps its samples."""

from collections.abc import Iterator

from generator.checks.monitoring import PROMETHEUS
from generator.model.cluster import Cluster
from generator.model.finding import Finding, in_words, put
from generator.model.monitoring import seconds
from generator.model.rule import warning

_DAY = 86400
_MONTH = 28
"""Days from which on a retention is meant for months: the shortest one."""
_WHOLE = 62
"""Days for which a month is there as a whole on any day of the next one: two of 31."""


@warning("GEN-MON-007", "samples are kept for a while")
def retention(cluster: Cluster) -> Iterator[Finding]:
    """Prometheus writes blocks of two hours: less than a day is mostly a wrong unit (`m` is minutes).

    Wrong:
        prometheus: {retention: 30m}
    Right:
        prometheus: {retention: 30d}
    """
    prometheus = cluster.monitoring.prometheus
    if prometheus and seconds(prometheus.retention) < _DAY:
        message = f"samples are kept for {prometheus.retention} only"
        edits = put((*PROMETHEUS, "retention"), f"{max(1, int(prometheus.retention[:-1][:4]))}d")
        yield Finding(at=(*PROMETHEUS, "retention"), message=message, edits=edits)


@warning("GEN-MON-024", "a month's use of GPUs is there until the month after ends")
def month_whole(cluster: Cluster) -> Iterator[Finding]:
    """`gen use` tells the use of a whole month, and does so in the next one: with samples of 30 days the first days are
    gone on the second of it, and the report is of a part. Said of who keeps samples for a month, and has GPUs; fewer
    days are not meant for it.

    Wrong:
        prometheus: {retention: 30d, storage: 500Gi}
    Right:
        prometheus: {retention: 62d, storage: 1100Gi}
    """
    prometheus = cluster.monitoring.prometheus
    if prometheus and cluster.gpu_nodes and _MONTH * _DAY <= (kept := seconds(prometheus.retention)) < _WHOLE * _DAY:
        message = f"with samples of {prometheus.retention} `gen use` tells only a part of the last month's use of GPUs"
        room = f"{-(-prometheus.storage.value * _WHOLE * _DAY // (kept * 2**30))}Gi"
        edits = (*put((*PROMETHEUS, "retention"), f"{_WHOLE}d"), *put((*PROMETHEUS, "storage"), room))
        fix = f"{in_words(edits)}; or less than {_MONTH}d, where nobody asks for months"
        yield Finding(at=(*PROMETHEUS, "retention"), message=message, fix=fix, edits=edits)
