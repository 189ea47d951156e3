"""`gen secret`."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from generator.cli.bootstrap import secrets_values
from generator.cli.live_options import Where, at_cluster, refuse_beside
from generator.cli.options import TOLD
from generator.cli.terminal import bold, say, say_json, tell
from generator.errors import UsageError

if TYPE_CHECKING:
    from generator.components.component import Secret
    from generator.day2.rotation.ages import Aged
    from generator.day2.rotation.family import Family
    from generator.day2.rotation.plan import Plan
    from generator.day2.rotation.rotating import Rotating
    from generator.live.running import RunningCluster
    from generator.model.cluster import Cluster

MINUTES = 60
STEP = 8
"""Characters of the longest name of a step."""


@click.group("secret")
def command() -> None:
    """See how old the values of a running cluster's Secrets are, and give them others."""


@command.command("list", short_help="List the declared Secrets with the age of their values.")
@at_cluster
@TOLD
def list_(where: Where, output: str) -> int:
    """List the Secrets that a cluster's components declare, the oldest values first: their age in days, who makes them,
    what is lost with them, and who rotates them. Copies are rotated with what they are copies of. Values are never read
    aloud. Only reads.
    """
    from generator.day2.rotation.ages import ages  # noqa: PLC0415 - heavy

    cluster = where.described()
    there = where.confirmed(cluster)
    found = list(ages(there, _declared(cluster)))
    if output == "json":
        say_json({"cluster": cluster.name, "secrets": [_row(one) for one in found]})
        return 0
    width = max((len(one.name) for one in found), default=0)
    for one in found:
        days = "not there" if one.days is None else f"{one.days} d"
        say(f"{one.name:{width}}  {days:>9}  {one.source:10}  {one.loss:8}  {_rotated(one)}")
    return 0


def _row(one: "Aged") -> dict[str, object]:
    return {
        "name": one.name,
        "source": one.source,
        "loss": one.loss,
        "days": one.days,
        "underWay": one.step or None,
        "byHand": one.by_hand or None,
        "rotate": one.rotate,
    }


def _rotated(one: "Aged") -> str:
    if one.step:
        return f"under way: gen secret rotate {one.name} --apply goes on"
    return f"by hand: {one.rotate}" if one.by_hand else f"gen secret rotate {one.name}"


@command.command("rotate", short_help="Give a Secret and its copies another value, while what reads it goes on.")
@click.argument("name", metavar="[NAMESPACE/]NAME")
@click.option("--apply", "perform", is_flag=True, help="Do it. Default: tell what would be done.")
@click.option(
    "--stolen", is_flag=True, help="The former value ends at once, whoever uses it. Default: once nobody does."
)
@click.option(
    "--secrets-dir",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder with new values, each in a file NAMESPACE/NAME/KEY. Default: random, or you are asked.",
)
@click.option(
    "--timeout",
    metavar="MINUTES",
    type=click.IntRange(min=1),
    help=f"How long to wait for syncs and for pods. Default: {MINUTES}.",
)
@at_cluster
@TOLD
def rotate(  # noqa: PLR0913 - the options of the verb
    where: Where,
    name: str,
    *,
    perform: bool,
    stolen: bool,
    secrets_dir: Path | None,
    timeout: int | None,
    output: str,
) -> int:
    """Give a Secret another value, and its copies the same: of a copy, what it is a copy of.

    Tells first what changes, who reads it, what restarts and what stands still. With --apply each step is done and
    proven, and noted on the Secret: called again after it was ended, it goes on where it was, and makes no second new
    value before the first one is everywhere. No value is shown.

    Exit codes: 0 done, or the plan can be done, 1 something is in its way or time is up, 2 it cannot be done so.
    """
    if not perform:
        refuse_beside("no --apply", {"--timeout": timeout is not None}, "nothing is waited for without it")
    cluster = where.described()
    there = where.confirmed(cluster)
    from generator.day2.rotation.family import family  # noqa: PLC0415 - heavy

    meant = family(_declared(cluster), name, stolen=stolen)
    work = partial(_work, there, meant, secrets_dir, ends=time.monotonic() + 60.0 * (timeout or MINUTES))
    if not perform:
        return _foretell(cluster, work(ask=False, confirm=lambda: None, beside=False), output)
    return _perform(cluster, there, work, output)


def _declared(cluster: "Cluster") -> "list[Secret]":
    from generator.components import compose  # noqa: PLC0415 - heavy

    return [secret for component in compose(cluster) for secret in component.secrets]


def _work(  # noqa: PLR0913 - what a rotation needs of its surroundings
    there: "RunningCluster",
    meant: "Family",
    secrets_dir: Path | None,
    *,
    ends: float,
    ask: bool,
    confirm: Callable[[], None],
    beside: bool,
) -> "Rotating":
    from generator.day2.rotation.rotating import Rotating, as_begun  # noqa: PLC0415 - heavy
    from generator.day2.rotation.syncs import Waiting  # noqa: PLC0415 - heavy

    tell = partial(_tell, err=beside)
    return Rotating(
        running=there,
        family=as_begun(there, meant),
        values=secrets_values(secrets_dir, ask=ask),
        waiting=Waiting(ends=ends, tell=partial(tell, ""), confirm=confirm),
        tell=tell,
    )


def _tell(step: str, what: str, *, err: bool) -> None:
    from generator.live.messages import printed  # noqa: PLC0415 - heavy

    say(printed(f"{step:{STEP}}  {what}"), err=err)


def _foretell(cluster: "Cluster", work: "Rotating", output: str) -> int:
    from generator.day2.rotation.plan import plan  # noqa: PLC0415 - heavy

    found = plan(work, cluster)
    if output == "json":
        say_json(_data(cluster, found))
    else:
        _say_plan(found)
    return int(bool(found.waiting))


def _data(cluster: "Cluster", found: "Plan") -> dict[str, object]:
    steps = [{"step": one.step, "done": one.done, "what": one.what} for one in found.steps]
    head = {"cluster": cluster.name, "secret": found.name, "days": found.days, "loss": found.loss}
    return {**head, "standsStill": found.still or None, "steps": steps, "waiting": list(found.waiting)}


def _say_plan(found: "Plan") -> None:
    since = "of unknown age" if found.days is None else f"{found.days} days old"
    say(f"{bold(found.name)}: its values are {since}; what is lost with them: {found.loss}")
    for one in found.steps:
        _tell(one.step, f"{'done already: ' if one.done else ''}{one.what}", err=False)
    say(f"meanwhile {found.still} does not go on" if found.still else "meanwhile nothing stands still")
    for why in found.waiting:
        say(f"in its way: {why}")
    say("next: settle that" if found.waiting else f"next: gen secret rotate {found.name} --apply")


def _perform(cluster: "Cluster", there: "RunningCluster", work: "Callable[..., Rotating]", output: str) -> int:
    from generator.cli.bootstrap import asking  # noqa: PLC0415
    from generator.day2.rotation.plan import plan  # noqa: PLC0415 - heavy
    from generator.live.lease import ROTATION, held  # noqa: PLC0415 - heavy

    beside = output == "json"
    with held(there, ROTATION, tell) as lease:
        rotating = work(ask=asking(), confirm=lease.confirm, beside=beside)
        if waiting := plan(rotating, cluster).waiting:
            raise UsageError("nothing was done, as this is in its way:\n  " + "\n  ".join(waiting))
        rotating.run()
    name = rotating.family.origin.full_name
    if beside:
        say_json({"cluster": cluster.name, "secret": name, "done": True})
    else:
        say(f"{name}: rotated")
    return 0
