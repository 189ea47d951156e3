"""Rules about what runs training jobs."""

from collections.abc import Iterator

from generator.checks.places import entries, listed_twice
from generator.model.cluster import Cluster
from generator.model.finding import Finding
from generator.model.rule import rule, warning


@rule("GEN-FRM-001", "frameworks where teams are")
def frameworks_have_teams(cluster: Cluster) -> Iterator[Finding]:
    """Operators of jobs leave it to Kueue which of them start, and to Volcano where: both come with the first team, and
    without Volcano's definitions the operators do not start.

    Wrong:
        frameworks: [trainer, kuberay]
        # and no teams
    Right:
        frameworks: [trainer, kuberay]
        teams:
          - {name: vision, quotas: {gpu: {gpus: 8}}}
    """
    if cluster.frameworks and not cluster.teams:
        message = f"{', '.join(cluster.frameworks)} would run jobs, and there is no team that has any"
        yield Finding(at=("frameworks",), key=True, message=message, fix="add `teams`, or remove it")


@warning("GEN-FRM-002", "a framework is listed once")
def frameworks_once(cluster: Cluster) -> Iterator[Finding]:
    """It is installed once.

    Wrong:
        frameworks: [trainer, kuberay, trainer]
    Right:
        frameworks: [trainer, kuberay]
    """
    items = ((name, at) for at, name in entries(cluster.frameworks, "frameworks"))
    yield from listed_twice(items, "{} is listed twice")
