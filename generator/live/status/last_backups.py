"""The last good backup of each that the cluster file declares, as its Workflows tell."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from msgspec import Struct

from generator.components.common import OWN_LABELS
from generator.components.component import Manifest
from generator.live.messages import shortened
from generator.live.status.causes import Cause
from generator.live.times import moment
from generator.model.backup import Backup, EtcdBackup
from generator.model.cluster import Cluster
from generator.model.fields import dig

LABEL = f"{OWN_LABELS}/backup"
WORKFLOWS = f"/apis/argoproj.io/v1alpha1/workflows?labelSelector={LABEL}"
KEPT = "7 days"
"""How long a Workflow that succeeded is kept: see the template's ttlStrategy."""


class LastBackup(Struct, frozen=True, kw_only=True):
    """A backup: when the last good run began (RFC 3339), which is what it holds; empty where there is none that is
    still kept. `running` is when the one began that is under way.
    """

    name: str
    good: str
    running: str
    causes: tuple[Cause, ...] = ()


def last_backups(cluster: Cluster, workflows: Sequence[Manifest], now: datetime) -> Iterator[LastBackup]:
    """Yield the backups of the cluster file, in its order."""
    for backup in cluster.all_backups:
        mine = [one for one in workflows if dig(one, "metadata", "labels", LABEL) == backup.name]
        runs = sorted(mine, key=_began, reverse=True)
        good = next((_began(one) for one in runs if _phase(one) == "Succeeded"), "")
        running = next((_began(one) for one in runs if _phase(one) in {"", "Pending", "Running"}), "")
        causes = tuple(_causes(cluster.name, backup, runs, good, now))
        yield LastBackup(name=backup.name, good=good, running=running, causes=causes)


def _phase(one: Manifest) -> str:
    return str(dig(one, "status", "phase") or "")


def _began(one: Manifest) -> str:
    return str(dig(one, "metadata", "creationTimestamp") or "")


def _causes(
    cluster: str, backup: Backup | EtcdBackup, runs: Sequence[Manifest], good: str, now: datetime
) -> Iterator[Cause]:
    named = (f"backup {backup.name}",)
    schedule = f"gen workflow list --cluster {cluster}"
    if runs and _phase(runs[0]) in {"Failed", "Error"}:
        name, said = runs[0]["metadata"]["name"], shortened(str(dig(runs[0], "status", "message") or ""))
        look = f"gen workflow logs {name} --cluster {cluster}"
        yield Cause(component="workflows", objects=named, why=f"its last run failed: {said}", command=look)
    if backup.suspended:
        yield Cause(component="workflows", objects=named, why="it is suspended in the cluster file", command="")
    elif not good:
        why = f"no run of the last {KEPT} was good"
        yield Cause(component="workflows", objects=named, why=why, command=schedule)
    elif (age := (now - (moment(good) or now)).total_seconds()) > backup.too_old:
        why = f"its last good run began {age / 3600:.0f} hours ago, and it should run by `{backup.schedule}`"
        yield Cause(component="workflows", objects=named, why=why, command=schedule)
