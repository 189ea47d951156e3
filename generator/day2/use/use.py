"""What teams used of a cluster's GPUs in a month."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from generator.components.kube_prometheus_stack.use import ALLOCATED, BUSY, CAPACITY, IDLE, PER_HOUR, QUOTA, WAIT
from generator.day2.use.month import Month
from generator.day2.use.prometheus import Ask
from generator.model.cluster import Cluster

LONGEST_WAIT = 40960.0
"""Seconds of the highest bucket of Kueue's histogram: a longer wait is told as this (pkg/metrics/metrics.go,
generateExponentialBuckets(16): 1, then 2.5 doubled up to 2.5 * 2^14)."""
NEARLY_ALL = 0.99
"""The part of a month that counts as all of it: Prometheus is restarted now and then."""


@dataclass(frozen=True, kw_only=True)
class TeamUse:
    """The use of one team, or of a namespace that is no team's: GPU-hours, and seconds that its jobs waited; None
    where nothing was recorded. `jobs` are those that were admitted.
    """

    name: str
    team: bool
    allocated: float
    busy: float | None
    idle: float
    quota: float | None
    jobs: float
    median_wait: float | None
    long_wait: float | None

    @property
    def of_quota(self) -> float | None:
        """The part of its quota that it had; more than 1 is borrowed."""
        return self.allocated / self.quota if self.quota else None


@dataclass(frozen=True, kw_only=True)
class Use:
    """The use of a cluster in a month, up to `until`. `recorded` is the part of that time that Prometheus has, from 0
    to 1; GPU-hours are of that part alone. `retention` is how long the cluster file has it keep samples.
    """

    cluster: str
    month: Month
    until: datetime
    recorded: float
    capacity: float
    retention: str
    teams: tuple[TeamUse, ...]

    def data(self) -> dict[str, Any]:
        """Return it for JSON: hours of GPUs, seconds of waiting, shares from 0 to 1."""
        teams = [{**asdict(one), "of_quota": one.of_quota} for one in self.teams]
        return {
            "cluster": self.cluster,
            "month": str(self.month),
            "until": self.until.isoformat(),
            "recorded": self.recorded,
            "capacity": self.capacity,
            "teams": teams,
        }


def use_of(cluster: Cluster, month: Month, now: datetime, ask: Ask) -> Use:
    """Ask Prometheus for a month: of one that goes on, for what has passed. Raises PrometheusError."""
    until = min(month.end, now)
    seconds = int((until - month.start).total_seconds())
    # A range is closed at both ends, and a sample at the first second of a month is the last of the one before.
    window = f"[{max(1, seconds - 1)}s]"

    def total(series: str) -> dict[str, float]:
        return {name: sum_ / PER_HOUR for name, sum_ in ask(f"sum_over_time({series}{window})", until).items()}

    measured = ask(f"count_over_time({CAPACITY}{window})", until).get("", 0.0)
    settings = cluster.monitoring.prometheus
    return Use(
        cluster=cluster.name,
        month=month,
        until=until,
        recorded=min(1.0, measured * 3600 / PER_HOUR / max(1, seconds)),
        capacity=total(CAPACITY).get("", 0.0),
        retention=settings.retention if settings else "",
        teams=_teams(cluster, total, lambda query: ask(query.replace("$window", window), until)),
    )


def _teams(
    cluster: Cluster, total: Callable[[str], dict[str, float]], ask: Callable[[str], dict[str, float]]
) -> tuple[TeamUse, ...]:
    """Return the use of each team, then of other namespaces. `total` gives the hours of a series, `ask` answers a query
    with `$window` in the place of the month.
    """
    allocated, busy, idle, quota = total(ALLOCATED), total(BUSY), total(IDLE), total(QUOTA)
    jobs = ask(f"sum by (cluster_queue) (increase({WAIT}_count$window))")
    increase = f"sum by (cluster_queue, le) (increase({WAIT}_bucket$window))"
    median, long = (ask(f"histogram_quantile({quantile}, {increase})") for quantile in (0.5, 0.95))
    teams = {team.name for team in cluster.teams}
    return tuple(
        TeamUse(
            name=name,
            team=name in teams,
            allocated=allocated.get(name, 0.0),
            busy=busy.get(name, None if allocated.get(name) else 0.0),
            idle=idle.get(name, 0.0),
            quota=quota.get(name),
            jobs=jobs.get(name, 0.0),
            median_wait=median.get(name),
            long_wait=long.get(name),
        )
        for name in sorted(teams | set(allocated), key=lambda name: (name not in teams, name))
    )
