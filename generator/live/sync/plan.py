"""What a sync is to do: from which commit to which, in which order, and what that means."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

from msgspec import Struct, structs

from generator.build.objects import ROOT
from generator.errors import UsageError
from generator.live.applications import APPLICATIONS, Application, application, applications
from generator.live.running import RunningCluster
from generator.live.sync.going import going, judged, refuse, word
from generator.live.sync.operations import LOOK, look_again
from generator.live.sync.syncing import Target
from generator.live.sync.wanted import bring, chosen, newest_at_remote, pushed, wanted
from generator.live.why import why
from generator.model.cluster import Cluster
from generator.review.report import Report


class Asked(Struct, frozen=True, kw_only=True):
    """What the user wants synced: named Applications, those of a tier, or all; `revision` where it is not the newest
    commit; `patience` are the seconds that all of it may take.
    """

    names: tuple[str, ...] = ()
    tier: str = ""
    revision: str = ""
    patience: float = LOOK


class Step(Struct, frozen=True, kw_only=True):
    """An Application that would move: from a commit (empty: it is new) to the one that is wanted."""

    name: str
    wave: int
    old: str
    automated: bool


def target(root: Path, running: RunningCluster, cluster: Cluster, asked: Asked, *, dry: bool = False) -> Target:
    """Return where a sync goes. The newest commit is the one that Argo CD sees; with `dry` it is not asked to look,
    since what syncs by itself would move. Raises UsageError.
    """
    if running.get(f"{APPLICATIONS}/{ROOT}") is None:
        raise UsageError(f"{running.host} has no Application {ROOT}: it was not bootstrapped to its end")
    tip = (newest_at_remote(root, cluster) if dry else "") or _seen_by_argo_cd(running, asked.patience, look=not dry)
    bring(root, tip, cluster)
    commit = pushed(root, asked.revision, tip, cluster) if asked.revision else tip
    found = wanted(root, commit, cluster)
    names = frozenset(chosen(found.values(), asked.names, asked.tier))
    if commit != tip:
        _refuse_automated([name for name in sorted(names) if name == ROOT or found[name].automated], commit, tip)
    return Target(commit=commit, newest=commit == tip, wanted=found, names=names)


def _seen_by_argo_cd(running: RunningCluster, patience: float, *, look: bool) -> str:
    found = running.get(f"{APPLICATIONS}/{ROOT}") or {"metadata": {"name": ROOT}}
    seen = look_again(running, ROOT, min(patience, LOOK)) if look else application(found)
    if not seen.revision or seen.sync == "Unknown":
        raise UsageError(f"Argo CD cannot read the repository, so there is nothing to sync to: {why(seen)}")
    return seen.revision


def _refuse_automated(names: Sequence[str], commit: str, tip: str) -> None:
    if names:
        raise UsageError(
            f"{', '.join(names)}: syncs by itself to the newest commit of its branch, {tip[:9]}, and would not stay at "
            f"{commit[:9]}; `gen rollback` makes an older state the newest one; or name only what people sync"
        )


def steps(running: RunningCluster, found: Target) -> list[Step]:
    """Return what would move, in its order."""
    there = {one.name: one for one in applications(running)}
    rows = [(ROOT, 0)] if ROOT in found.names else []
    rows += [(name, wave) for wave, names in found.waves for name in names]
    made = [_step(name, wave, there.get(name), found) for name, wave in rows]
    return [one for one in made if one.old != found.commit]


def _step(name: str, wave: int, there: Application | None, found: Target) -> Step:
    automated = name == ROOT or found.wanted[name].automated
    return Step(name=name, wave=wave, old=there.commit if there else "", automated=automated)


def meanings(root: Path, cluster: Cluster, found: Target, moving: Sequence[Step]) -> Iterator[Report]:
    """Yield what `gen diff` says of what moves, for each commit that something moves from. Raises UsageError."""
    for base in dict.fromkeys(one.old for one in moving if one.old):
        names = {one.name for one in moving if one.old == base}
        bring(root, base, cluster)
        yield _only(judged(root, cluster.name, base, found.commit), names)


def differing(reports: Sequence[Report]) -> set[str]:
    """Return the names of the Applications of which something differs."""
    return {each.change.application for found in reports for one in found.clusters for each in one.judged}


def _only(found: Report, names: set[str]) -> Report:
    clusters = tuple(
        structs.replace(one, judged=tuple(each for each in one.judged if each.change.application in names))
        for one in found.clusters
    )
    return structs.replace(found, clusters=tuple(one for one in clusters if one.judged))


def asking(root: Path, cluster: Cluster, commit: str) -> Callable[[Application], str]:
    """Return what asks the commits after the one that is deployed who approved all that an Application is to delete,
    and raises UnapprovedError where nobody did; it returns "" where nothing goes.
    """

    @cache
    def since(base: str) -> Report:
        bring(root, base, cluster)
        return judged(root, cluster.name, base, commit)

    # What a sync finds deployed: an operation that waits, and that Argo CD begins anew, counts as applied by then.
    deployed: dict[str, str] = {}

    def ask(one: Application) -> str:
        leaving = going(one)
        if not leaving:
            return ""
        base = deployed.setdefault(one.name, _last_applied(one))
        said = word(since(base), cluster.name, leaving)
        refuse(said, one.name, commit)
        return "; ".join(f"{each.text.partition(':')[2]} ({each.where}: {each.reason})" for each in said.approved)

    return ask


def _last_applied(one: Application) -> str:
    if not one.commit:
        raise UsageError(f"{one.name}: Argo CD does not say which commit it was last synced to; confirm by hand")
    return one.commit
