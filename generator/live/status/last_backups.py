"""The last good backup, and the last good drill of it, of each that the cluster file declares, as Workflows tell."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from msgspec import Struct

from generator.components.component import Manifest
from generator.components.workflows.scheduled import BACKUP, DRILL, label
from generator.live.messages import shortened
from generator.live.status.causes import Cause
from generator.live.status.etcd_drills import node_drill
from generator.live.times import moment
from generator.model.backup import AnyBackup, EtcdBackup, Tried
from generator.model.cluster import Cluster
from generator.model.fields import dig

WORKFLOWS, DRILLS = (f"/apis/argoproj.io/v1alpha1/workflows?labelSelector={label(of)}" for of in (BACKUP, DRILL))
KEPT = {BACKUP: "7 days", DRILL: "28 days"}
"""How long a Workflow that succeeded is kept: see the templates' ttlStrategy."""


class LastRun(Struct, frozen=True, kw_only=True):
    """When the last good run of a schedule began (RFC 3339); empty where there is none that is still kept. `running` is
    when the one began that is under way.
    """

    good: str
    running: str
    causes: tuple[Cause, ...] = ()


class LastBackup(Struct, frozen=True, kw_only=True):
    """A backup, whose last good run began when what it holds was there, and its drill."""

    name: str
    copy: LastRun
    drill: LastRun | None

    @property
    def causes(self) -> tuple[Cause, ...]:
        """What is wrong with either."""
        return (*self.copy.causes, *(self.drill.causes if self.drill else ()))


class _Schedule(Struct, frozen=True, kw_only=True):
    """What should run: `of` the backups or the drills; at which age its newest good run is too old, in seconds."""

    of: str
    name: str
    schedule: str
    too_old: int
    suspended: bool


def last_backups(
    cluster: Cluster, workflows: Sequence[Manifest], drills: Sequence[Manifest], now: datetime
) -> Iterator[LastBackup]:
    """Yield the backups of the cluster file, in its order."""
    for one in cluster.all_backups:
        copy = _last(cluster.name, _backup(one), workflows, now)
        if isinstance(one, EtcdBackup):
            drill = _drill_of_nodes(cluster, one, workflows, now)
        else:
            drill = last_drill(cluster, one, drills, now)
        yield LastBackup(name=one.name, copy=copy, drill=drill)


def last_drill(cluster: Cluster, one: Tried, drills: Sequence[Manifest], now: datetime) -> LastRun:
    """Return the last good drill of a backup."""
    return _last(cluster.name, _drill(one), drills, now)


def _drill_of_nodes(cluster: Cluster, one: EtcdBackup, workflows: Sequence[Manifest], now: datetime) -> LastRun | None:
    """Return how the control-plane nodes' own drills went; None where the run that tells of them rests. Good is when
    the node tried its own whose good one is the oldest.
    """
    if one.suspended:
        return None
    mine = [run for run in workflows if dig(run, "metadata", "labels", label(BACKUP)) == one.name]
    runs = sorted(mine, key=_began, reverse=True)
    found = [node_drill(machine, runs) for machine in cluster.control_plane]
    causes = (cause for each in found for cause in each.causes(one.drill_too_old, now))
    return LastRun(good=min((each.worked for each in found), default=""), running="", causes=tuple(causes))


def _backup(one: AnyBackup) -> _Schedule:
    return _Schedule(of=BACKUP, name=one.name, schedule=one.schedule, too_old=one.too_old, suspended=one.suspended)


def _drill(one: Tried) -> _Schedule:
    suspended = one.suspended or one.drill.suspended
    return _Schedule(
        of=DRILL, name=one.name, schedule=one.drill_schedule, too_old=one.drill_too_old, suspended=suspended
    )


def _last(cluster: str, of: _Schedule, workflows: Sequence[Manifest], now: datetime) -> LastRun:
    mine = [one for one in workflows if dig(one, "metadata", "labels", label(of.of)) == of.name]
    runs = sorted(mine, key=_began, reverse=True)
    good = next((_began(one) for one in runs if _phase(one) == "Succeeded"), "")
    running = next((_began(one) for one in runs if _phase(one) in {"", "Pending", "Running"}), "")
    return LastRun(good=good, running=running, causes=tuple(_causes(cluster, of, runs, good, now)))


def _phase(one: Manifest) -> str:
    return str(dig(one, "status", "phase") or "")


def _began(one: Manifest) -> str:
    return str(dig(one, "metadata", "creationTimestamp") or "")


def _causes(cluster: str, of: _Schedule, runs: Sequence[Manifest], good: str, now: datetime) -> Iterator[Cause]:
    named = (f"{of.of} {of.name}",)
    schedule = f"gen workflow list --cluster {cluster}"
    if runs and _phase(runs[0]) in {"Failed", "Error"}:
        name, said = runs[0]["metadata"]["name"], shortened(str(dig(runs[0], "status", "message") or ""))
        look = f"gen workflow logs {name} --cluster {cluster}"
        yield Cause(component="workflows", objects=named, why=f"its last run failed: {said}", command=look)
    by_hand = f"gen workflow submit {of.of}-{of.name} --cluster {cluster} --watch"
    if of.suspended:
        yield Cause(component="workflows", objects=named, why="it is suspended in the cluster file", command="")
    elif not good:
        why = f"no run of the last {KEPT[of.of]} was good"
        yield Cause(component="workflows", objects=named, why=why, command=schedule if of.of == BACKUP else by_hand)
    elif (age := (now - (moment(good) or now)).total_seconds()) > of.too_old:
        why = f"its last good run began {age / 3600:.0f} hours ago, and it should run by `{of.schedule}`"
        yield Cause(component="workflows", objects=named, why=why, command=schedule)
