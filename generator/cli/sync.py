"""`gen sync`."""

import sys
import time
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from generator.cli.live_options import Where, at_cluster, refuse_beside
from generator.cli.options import TOLD
from generator.cli.terminal import say, say_all, say_json, styled, tell
from generator.errors import UsageError
from generator.model.plural import plural

if TYPE_CHECKING:
    from generator.live.running import RunningCluster
    from generator.live.sync.plan import Step
    from generator.live.sync.progress import Progress
    from generator.live.sync.syncing import Syncing, Target
    from generator.model.cluster import Cluster

INTERRUPTED = 130
NAME = 48
"""Characters of a name that are shown in a column."""


@click.command("sync")
@click.argument("components", metavar="[COMPONENT]...", nargs=-1)
@click.option(
    "--tier", metavar="TIER", default="", help="All of a tier: network, storage, gpu, ... Default: everything."
)
@click.option(
    "--revision",
    metavar="COMMIT",
    default="",
    help="The commit, which the branch must have at its remote. Default: the newest that Argo CD sees there.",
)
@click.option("--dry-run", is_flag=True, help="Only tell what would move, in which order, and what that means.")
@click.option("--now", is_flag=True, help="Sync outside of a maintenance window too, where the window lets people.")
@click.option(
    "--timeout",
    metavar="MINUTES",
    type=click.IntRange(min=1),
    default=60,
    show_default=True,
    help="How long to wait for all of it.",
)
@TOLD
@at_cluster
def command(  # noqa: PLR0913 - the options of the verb
    where: Where,
    components: tuple[str, ...],
    tier: str,
    revision: str,
    *,
    timeout: int,
    output: str,
    dry_run: bool,
    now: bool,
) -> int:
    """Bring the running cluster to one commit, wave by wave, and wait for it.

    Without names everything is synced, the Applications themselves (root) included. It stops at the first Application
    that fails or is degraded and says why; later waves are not begun then. What Argo CD deletes only with a person's
    word goes where a commit approves it (`Gen-Allow: CODE:OBJECT reason`); without, the exit code is 3. Tiers of
    `gitops.ordered` move in no other way. An API server that is away for some minutes, as while it is restarted, is
    waited for.

    Argo CD does the work: when this command is interrupted, what was begun goes on, and nothing more begins.
    """
    from generator.live.away import answered  # noqa: PLC0415 - heavy
    from generator.live.sync.plan import Asked, target  # noqa: PLC0415 - heavy

    if dry_run:
        refuse_beside("--dry-run", {"--now": now}, "a dry run begins nothing; leave one of them")
    wishes = _Wishes(output=output, by_hand=now, minutes=timeout)
    root, cluster = where.root, where.described()
    there = where.confirmed(cluster)
    asked = Asked(names=components, tier=tier, revision=revision, patience=wishes.left())
    goal = answered(there, partial(target, root, there, cluster, asked, dry=dry_run), tell)
    if dry_run:
        return _foretell(root, there, cluster, goal, output)
    return _sync(root, there, cluster, goal, wishes)


class _Wishes:
    """How the user wants it."""

    def __init__(self, *, output: str, by_hand: bool, minutes: int) -> None:
        self.output, self.by_hand = output, by_hand
        self._ends = time.monotonic() + 60.0 * minutes

    def left(self) -> float:
        """Return how many seconds of the time for all of it are left."""
        return max(0.0, self._ends - time.monotonic())


def _foretell(root: Path, there: "RunningCluster", cluster: "Cluster", goal: "Target", output: str) -> int:
    from generator.live.sync.plan import differing, meanings, steps  # noqa: PLC0415 - heavy
    from generator.review.text import lines  # noqa: PLC0415 - heavy

    moving = steps(there, goal)
    reports = list(meanings(root, cluster, goal, moving))
    differ = differing(reports) | {one.name for one in moving if not one.old}
    if output == "json":
        rows = [
            {"name": one.name, "wave": one.wave, "from": one.old or None, "automated": one.automated}
            | {"differs": one.name in differ}
            for one in moving
        ]
        changes = [one.data() for one in reports]
        say_json({"cluster": cluster.name, "commit": goal.commit, "applications": rows, "changes": changes})
        return 0
    if not moving:
        say(f"{cluster.name}: everything is at {goal.commit}")
    for one in (one for one in moving if one.name in differ):
        say(f"wave {one.wave:>2}  {one.name:<24} {one.old[:9] or 'new':<9} -> {goal.commit[:9]}  {_by(one)}")
    if same := [one.name for one in moving if one.name not in differ]:
        say(f"{plural(len(same), 'Application')} only note the new commit, nothing of them differs")
    for report in reports:
        say()
        say_all(lines(report))
    return 0


def _by(one: "Step") -> str:
    return "by itself, too" if one.automated else "only by a sync"


def _sync(root: Path, there: "RunningCluster", cluster: "Cluster", goal: "Target", wishes: _Wishes) -> int:
    from generator.live.lease import SYNC, held  # noqa: PLC0415 - heavy
    from generator.live.sync.plan import asking  # noqa: PLC0415 - heavy
    from generator.live.sync.progress import Patience  # noqa: PLC0415 - heavy
    from generator.live.sync.syncing import Syncing  # noqa: PLC0415 - heavy

    say(f"{cluster.name} to {goal.commit}", err=True)
    with held(there, SYNC, tell) as lease:
        work = Syncing(
            there,
            goal,
            lease=lease,
            ask=asking(root, cluster, goal.commit),
            tell=_Shower(watched=sys.stderr.isatty()),
            note=tell,
            patience=Patience(limit=wishes.left()),
            by_hand=wishes.by_hand,
        )
        stopped, code = "", 0
        try:
            work.run()
        except KeyboardInterrupt:
            stopped, code = "interrupted", INTERRUPTED
        except UsageError as error:
            stopped, code = str(error), error.exit_code
    _tell(cluster.name, goal, work, stopped, wishes.output)
    return code


class _Shower:
    """Prints how it goes: one line for each Application and each stage, with the reasons in between where a terminal
    watches.
    """

    def __init__(self, *, watched: bool) -> None:
        self._watched = watched
        self._told: dict[str, str] = {}

    def __call__(self, one: "Progress") -> None:
        """Tell what changed."""
        from generator.live.messages import printed, shortened  # noqa: PLC0415 - heavy

        text = printed(f"{one.stage}{f': {one.said}' if one.said else ''}")
        short = f"{one.stage} {one.confirmed}"
        if self._told.get(one.name) == (text if self._watched else short):
            return
        self._told[one.name] = text if self._watched else short
        now = datetime.now().astimezone()
        say(
            f"{now:%H:%M:%S}  wave {one.wave:>2}  {printed(shortened(one.name, NAME)):<24} {_painted(one, text)}",
            err=True,
        )


def _painted(one: "Progress", text: str) -> str:
    style = {"done": "green", "failed": "red", "degraded": "red"}.get(str(one.stage))
    return styled(text, style) if style else text


def _tell(name: str, goal: "Target", work: "Syncing", stopped: str, output: str) -> None:
    moved = work.moved()
    if output == "json":
        rows = [
            {"name": one.name, "wave": one.wave, "from": one.old or None, "at": one.new or None, "done": one.done}
            | {"reason": one.said or None}
            for one in moved
        ]
        said = {"cluster": name, "commit": goal.commit, "done": not stopped, "stopped": stopped or None}
        say_json({**said, "applications": rows, "underWay": work.under_way()})
        return
    if not stopped:
        say(f"{name}: {plural(len(moved), 'Application')} at {goal.commit}")
        _note_newer(goal, [one.name for one in moved if one.new not in {goal.commit, ""} and goal.newest])
        return
    say(f"gen: {stopped}", err=True)
    busy = work.under_way()
    rest = len(goal.names) - sum(one.done for one in moved)
    goes_on = f"Argo CD goes on with {', '.join(busy)} by itself; " if busy else ""
    say(f"{goes_on}{rest} of {len(goal.names)} not there yet; `gen sync` goes on from here", err=True)


def _note_newer(goal: "Target", names: Sequence[str]) -> None:
    if names:
        say(f"note: somebody pushed meanwhile: {', '.join(names)} went on past {goal.commit[:9]}; sync again", err=True)
