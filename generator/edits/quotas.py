"""Quotas that grow with a pool, as exact edits of the file's text."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from generator.edits.source import Source
from generator.errors import UsageError
from generator.model.capacity import flavor_capacity
from generator.model.cluster import Cluster
from generator.model.finding import Path
from generator.model.quantity import Quantity
from generator.model.teams import Quota
from generator.spec.edit_keys import put_value
from generator.spec.near import suggest, there_are

TEAMS: Path = ("spec", "teams")
GIB = 2**30


def raise_quotas(source: Source, text: str, pool: str, more: Iterable[tuple[str, int]]) -> str:
    """Give teams so much more of a pool: GPUs, or CPUs with memory as the pool's nodes have it to each. `text` may be
    that of the source with other edits in it, but for its teams. Whether there is so much is for the rules to say.
    """
    source.refuse_pool(pool)
    total = Counter[str]()
    for name, count in more:
        total[name] += count
    names = [team.name for team in source.cluster.teams]
    for name, count in total.items():
        if name not in names:
            known = there_are(names) if names else "it has no teams"
            raise UsageError(f"there is no team {name} in {source.document.file}; {suggest(name, names, known)}")
        index = names.index(name)
        quota = source.cluster.teams[index].quotas.get(pool)
        _refuse_named(name, pool, quota)
        for key, value in _raised(source.cluster, pool, quota or Quota(), count):
            text = put_value(text, (*TEAMS, index, "quotas", pool, key), value)
    return text


def _refuse_named(team: str, pool: str, quota: Quota | None) -> None:
    """Raise UsageError for a quota that one number does not tell."""
    if quota and (quota.instances or (quota.gpus is not None and (quota.cpus is not None or quota.memory is not None))):
        raise UsageError(
            f"the quota of team {team} on pool {pool} names more than GPUs: raise teams[].quotas.{pool} by hand"
        )


def _raised(cluster: Cluster, pool: str, quota: Quota, count: int) -> Iterator[tuple[str, Any]]:
    """Yield the keys of a quota that grow, with their new values."""
    there = flavor_capacity(cluster, pool)
    if there.devices:
        yield "gpus", (quota.gpus or 0) + count
        return
    yield "cpus", (quota.cpus or 0) + count
    if quota.cpus is not None and quota.memory is None:
        return  # it follows the CPUs
    each = there.memory * 1000 // there.milli_cpu if there.milli_cpu else 0
    had = quota.memory.value if quota.memory else 0
    yield "memory", str(Quantity.of((had + count * each) // GIB * GIB, binary=True))
