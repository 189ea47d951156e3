"""`gen workflow`."""

import functools
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from generator.cli.argo_options import OPTIONS, Meant, way
from generator.cli.live_options import CLUSTER, only, usable
from generator.cli.options import ROOT, TOLD, root_of, together
from generator.cli.parameters import PARAMETERS, given, refuse_unfit
from generator.cli.simulate import command as simulate
from generator.cli.terminal import say, say_all, say_json, tell
from generator.errors import UsageError
from generator.model.base import is_label

if TYPE_CHECKING:
    from generator.day2.workflows.logs import Logs
    from generator.day2.workflows.runs import Run
    from generator.day2.workflows.ways import Way
    from generator.model.cluster import Cluster

Found = TypeVar("Found")
PAUSE = 2.0
"""Seconds between two looks."""
CODES = {"Succeeded": 0, "Failed": 1, "Error": 1}

NAMESPACE = click.option(
    "--namespace", metavar="NAME", help="The namespace it runs in. Default: those of the operations that gen writes."
)
WATCH = click.option("--watch", is_flag=True, help="Wait until it ended, and tell each step. Default: only begin it.")


class Place(NamedTuple):
    """The way to a running cluster, and the namespaces that are looked at."""

    way: "Way"
    namespaces: list[str]


def _nothing(*_: object, **_more: object) -> None:
    """Refuse nothing."""


def placed(verb: Callable[..., int], refuse: Callable[..., None] = _nothing) -> Callable[..., int]:
    """Give a verb the options that say which cluster is meant, and the cluster itself as `place`. `refuse` is asked
    before any server, with the root, the cluster, the namespace and what the verb is told.
    """

    @functools.wraps(verb)
    def call(
        names: tuple[str, ...],
        directory: Path,
        namespace: str | None,
        **more: Any,
    ) -> int:
        from generator.day2.workflows.operations import namespaces  # noqa: PLC0415 - heavy

        meant = Meant(**{name: more.pop(name) for name in Meant._fields})
        if namespace is not None and not is_label(namespace):
            raise UsageError(f"`{namespace}` cannot be the name of a namespace")
        root = root_of(directory)
        cluster = usable(only(root, names))
        refuse(root, cluster, namespace, **more)
        there = way(meant, cluster)
        spaces = [namespace] if namespace else namespaces(cluster)
        if not spaces:
            raise UsageError(f"{cluster.name} has no operations: its cluster file has no backups; or say --namespace")
        return verb(place=Place(there, spaces), **more)

    return together(ROOT, CLUSTER, NAMESPACE, *OPTIONS)(call)


def _unfit(
    root: Path, cluster: "Cluster", namespace: str | None, *, name: str, parameters: tuple[str, ...], **_: object
) -> None:
    refuse_unfit(root, cluster, name, namespace, given(parameters))


def _unreadable(*_: object, parameters: tuple[str, ...], **_more: object) -> None:
    given(parameters)


@click.group("workflow")
def command() -> None:
    """Run the day-2 operations of a running cluster, and see how far they are.

    An operation is a template, or a schedule, which is a template with its values. Exit codes of what waits: 0 the run
    succeeded, 1 it failed, 2 that is unknown.
    """


@command.command("list", short_help="Tell what can be run, and what ran.")
@TOLD
@placed
def listing(place: Place, output: str) -> int:
    """Tell what can be run, what it does and must be told, and what runs or ran, the newest first."""
    from generator.day2.workflows.operations import operations  # noqa: PLC0415 - heavy
    from generator.day2.workflows.submitting import all_runs  # noqa: PLC0415 - heavy
    from generator.day2.workflows.text import listed  # noqa: PLC0415 - heavy

    known, found = operations(*place), all_runs(*place)
    if output == "json":
        from msgspec import to_builtins  # noqa: PLC0415 - only here

        say_json({"operations": to_builtins(known), "runs": [one.data() for one in found]})
        return 0
    say_all(listed(known, found, moment_now()))
    return 0


@command.command("show", short_help="Tell of one operation, or of one run with its steps.")
@click.argument("name")
@TOLD
@placed
def show(place: Place, name: str, output: str) -> int:
    """Tell of the run NAME with its steps, or what the operation NAME does and can be told."""
    from generator.day2.workflows.operations import chosen, operations  # noqa: PLC0415 - heavy
    from generator.day2.workflows.submitting import find_run  # noqa: PLC0415 - heavy
    from generator.day2.workflows.text import operation, tree  # noqa: PLC0415 - heavy

    if found := find_run(*place, name):
        say_json(found.data()) if output == "json" else say_all(tree(found, moment_now()))
        return 0
    meant = chosen(operations(*place), name)
    if output == "json":
        from msgspec import to_builtins  # noqa: PLC0415 - only here

        say_json(to_builtins(meant))
        return 0
    say_all(operation(meant))
    return 0


@command.command("submit", short_help="Run an operation.")
@click.argument("name", metavar="OPERATION")
@PARAMETERS
@click.option("--dry-run", is_flag=True, help="Only let the server judge it. Default: run it.")
@WATCH
@functools.partial(placed, refuse=_unfit)
def submit(place: Place, name: str, parameters: tuple[str, ...], dry_run: bool, watch: bool) -> int:  # noqa: FBT001 - options of the verb
    """Run OPERATION now: a template with what it must be told, or a schedule (its values are known). What runs already
    is not disturbed: operations that must not run twice wait for each other.
    """
    from generator.day2.workflows.operations import chosen, operations, run_of  # noqa: PLC0415 - heavy
    from generator.day2.workflows.submitting import begin  # noqa: PLC0415 - heavy
    from generator.day2.workflows.text import seldom_given  # noqa: PLC0415 - heavy

    meant, told = chosen(operations(*place), name), given(parameters)
    workflow = run_of(meant, told)
    for note in seldom_given(meant, told):
        say(note, err=True)
    begun = begin(place.way, workflow, dry_run=dry_run)
    if dry_run:
        say(f"{name} would run with this; nothing was begun")
        return 0
    return _begun(place, begun, watch=watch)


@command.command("watch", short_help="Wait for a run, and tell each step.")
@click.argument("name", metavar="RUN")
@click.option(
    "--timeout", metavar="MINUTES", type=click.IntRange(min=1), default=24 * 60, show_default=True,
    help="How long to wait.",
)  # fmt: skip
@placed
def watch_run(place: Place, name: str, timeout: int) -> int:
    """Wait until RUN ended, and tell each step as it begins and ends. Ctrl-C ends the waiting, not the run."""
    return follow(place, name, timeout * 60)


@command.command("logs", short_help="Print what the steps of a run print.")
@click.argument("name", metavar="RUN")
@click.option("--follow", is_flag=True, help="Go on until the run ended. Default: what is there now.")
@placed
def logs(place: Place, name: str, follow: bool) -> int:  # noqa: FBT001 - an option of the verb
    """Print what the steps of RUN print, each line with its step before it."""
    from generator.day2.workflows.logs import Logs, unread  # noqa: PLC0415 - heavy

    found = _look(place, name)
    read = Logs(place.way, found.namespace, found.name)
    while True:
        _answered(place, functools.partial(_print_new, read, found))
        if not follow or found.ended:
            break
        time.sleep(PAUSE)
        found = _look(place, name)
    for step, why in unread(found, read).items():
        say(f"{step}: {why}", err=True)
    return 2 if read.away else 0


@command.command("stop", short_help="Stop a run.")
@click.argument("name", metavar="RUN")
@click.option("--now", is_flag=True, help="Without its exit handler, which cleans up. Default: with it.")
@placed
def stop(place: Place, name: str, now: bool) -> int:  # noqa: FBT001 - an option of the verb
    """Stop RUN: its steps are asked to end, then its exit handler runs."""
    from generator.day2.workflows.submitting import halt, the_run  # noqa: PLC0415 - heavy

    found = the_run(*place, name)
    if found.ended:
        say(f"{name} ended already: {found.phase}")
        return 0
    halt(place.way, found, terminate=now)
    say(f"{name} is asked to stop; next: gen workflow watch {name}")
    return 0


@command.command("retry", short_help="Do once more what a run did.")
@click.argument("name", metavar="RUN")
@PARAMETERS
@WATCH
@functools.partial(placed, refuse=_unreadable)
def retry(place: Place, name: str, parameters: tuple[str, ...], watch: bool) -> int:  # noqa: FBT001 - an option of the verb
    """Run once more, as a new run and from its first step, what the failed RUN did, with its parameters. Steps of gen's
    operations find what is done already.
    """
    from generator.day2.workflows.submitting import again, the_run  # noqa: PLC0415 - heavy

    return _begun(place, again(place.way, the_run(*place, name), given(parameters)), watch=watch)


def _print_new(read: "Logs", found: "Run") -> None:
    for one in read.new(found):
        say(f"{one.step} | {one.line}")


def _answered(place: Place, ask: Callable[[], Found]) -> Found:
    """Wait for a server that goes away meanwhile: what runs goes on without it."""
    from generator.live.away import answered  # noqa: PLC0415 - heavy

    return answered(place.way, ask, tell)


def _look(place: Place, name: str) -> "Run":
    from generator.day2.workflows.submitting import the_run  # noqa: PLC0415 - heavy

    return _answered(place, functools.partial(the_run, *place, name))


def _begun(place: Place, begun: "Run", *, watch: bool) -> int:
    if watch:
        say(f"{begun.name} begins")
        return follow(place, begun.name, 24 * 60 * 60)
    say(f"{begun.name} begins; next: gen workflow watch {begun.name}")
    return 0


def follow(place: Place, name: str, patience: float) -> int:
    """Tell each step of a run until it ended, for no more than so many seconds; return the exit code."""
    from generator.day2.workflows.text import changes, headline  # noqa: PLC0415 - heavy

    end, before = time.monotonic() + patience, None
    while True:
        found = _look(place, name)
        say_all(changes(before, found))
        if found.ended:
            say(headline(found, moment_now()))
            return CODES[found.phase]
        if time.monotonic() > end:
            say(f"{headline(found, moment_now())}: it goes on; next: gen workflow watch {name}")
            return 2
        before = found
        time.sleep(PAUSE)


def moment_now() -> datetime:
    """Return the time now."""
    return datetime.now(UTC)


command.add_command(simulate)
