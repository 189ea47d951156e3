"""`gen bootstrap`."""

import os
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from generator.cli.live_options import CLUSTER, CONTEXT, KUBECONFIG, only, refuse_beside, running
from generator.cli.options import ROOT, TOLD, root_of
from generator.cli.output import mend_first
from generator.cli.terminal import bold, say, say_json, styled
from generator.errors import UsageError

if TYPE_CHECKING:
    from generator.live.bootstrap.bootstrap import Bootstrap
    from generator.live.bootstrap.secret_values import Values
    from generator.live.bootstrap.secrets_step import Keeping
    from generator.live.bootstrap.step import Step
    from generator.live.running import RunningCluster
    from generator.model.cluster import Cluster
    from generator.repository.cluster_files import Loaded

COLOURS = {"done": "green", "would do": "yellow", "waits for you": "red", "later": "cyan"}
WATCHING = "Argo CD installs the rest, wave by wave; Ctrl-C ends only this watching"
MINUTES = 120
"""Images come over slow lines, and GPU drivers are built on each node."""
UNTOLD = "its version may not be read"
WIDTH = max(map(len, COLOURS))


@click.command("bootstrap")
@CLUSTER
@ROOT
@KUBECONFIG
@CONTEXT
@click.option("--apply", "perform", is_flag=True, help="Perform the steps. Default: compare and tell.")
@click.option(
    "--secrets-dir",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder with values of Secrets, each in a file NAMESPACE/NAME/KEY. Default: none.",
)
@click.option(
    "--escrow",
    type=click.Path(path_type=Path),
    help="The file that keeps encrypted copies of Secrets with which data would be lost. Default: none.",
)
@click.option("--no-wait", is_flag=True, help="Do not watch the waves after the last step.")
@click.option(
    "--timeout",
    metavar="MINUTES",
    type=click.IntRange(min=1),
    help=f"How long to watch the waves. Default: {MINUTES}.",
)
@TOLD
def command(  # noqa: PLR0913 - the options of the verb
    names: tuple[str, ...],
    directory: Path,
    kubeconfig: Path | None,
    context: str | None,
    *,
    perform: bool,
    secrets_dir: Path | None,
    escrow: Path | None,
    no_wait: bool,
    timeout: int | None,
    output: str,
) -> int:
    """Bring a cluster of bare nodes to where Argo CD syncs it.

    Compares what comes before Argo CD with what the cluster has: its identity, labels and taints of nodes, namespaces,
    the pod network, Secrets, definitions of kinds, Argo CD, the root Application. With --apply it makes what is
    missing, in this order, and watches the waves to their end. Safe to repeat and to interrupt.

    Exit codes: 0 nothing is left to do, 1 something is, or time is up, 2 it cannot go on, which is told.
    """
    _refuse_idle(timed=timeout is not None, perform=perform, no_wait=no_wait)
    root = root_of(directory)
    loaded = only(root, names)
    if loaded.wrong or loaded.cluster is None:
        return mend_first([loaded])
    from generator.live.bootstrap.bootstrap import bootstrap  # noqa: PLC0415 - heavy

    there, beside = running(kubeconfig, context), output == "json"
    _tell_server(loaded.name, there, err=beside)
    keeping = _keeping(secrets_dir, escrow, ask=perform and asking())
    made = bootstrap(there, root, loaded.cluster, keeping, partial(_tell, err=beside))
    refusal = _unpublished(root, loaded, loaded.cluster)
    if not perform:
        return _plan(made, refusal, output)
    if refusal:
        raise UsageError(refusal)
    return _perform(made, patience=0 if no_wait else 60.0 * (timeout or MINUTES), output=output)


def _unpublished(root: Path, loaded: "Loaded", cluster: "Cluster") -> str:
    """Return why Argo CD would not find in Git what lies here, empty where it would; notes on that are told."""
    from generator.repository.published import published  # noqa: PLC0415 - heavy

    state = published(root, loaded, cluster)
    if state.note:
        say(f"note: {state.note}", err=True)
    return state.refusal


def _refuse_idle(*, timed: bool, perform: bool, no_wait: bool) -> None:
    """Refuse what says how long to wait where nothing is waited for."""
    if not perform:
        given = {"--no-wait": no_wait, "--timeout": timed}
        refuse_beside("no --apply", given, "nothing is waited for without it; give --apply as well")
    if no_wait:
        refuse_beside("--no-wait", {"--timeout": timed}, "it waits for nothing; leave one of them")


def _tell_server(name: str, there: "RunningCluster", *, err: bool) -> None:
    from generator.live.server import server  # noqa: PLC0415 - heavy

    found = server(there.api)
    say(f"{bold(name)} at {there.host} ({found.version or UNTOLD}) as {found.user}", err=err)


def _keeping(secrets_dir: Path | None, escrow: Path | None, *, ask: bool) -> "Keeping":
    from generator.live.bootstrap.secrets_step import Keeping  # noqa: PLC0415 - heavy

    return Keeping(values=secrets_values(secrets_dir, ask=ask), escrow=escrow)


def secrets_values(secrets_dir: Path | None, *, ask: bool) -> "Values":
    """Return where values of Secrets come from: a folder, the environment, with `ask` the person at the terminal."""
    from generator.live.bootstrap.secret_values import Values  # noqa: PLC0415 - heavy

    return Values(secrets_dir, os.environ, _ask if ask else None)


def asking() -> bool:
    """Tell whether there is a person who can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _ask(what: str) -> str:
    """Ask a person for a value, which is not shown."""
    from generator.cli.hidden import ask_hidden  # noqa: PLC0415 - for systems with terminals only

    return ask_hidden(f"{what} (not shown; @FILE reads a file; nothing: stop)")


def _tell(step: str, what: str, *, err: bool) -> None:
    from generator.live.messages import printed  # noqa: PLC0415 - heavy

    say(printed(f"{step:{WIDTH}}  {what}"), err=err)


def _plan(made: "Bootstrap", unpublished: str, output: str) -> int:
    steps = made.plan()
    waiting = [*([f"repository: {unpublished}"] if unpublished else []), *_blocked(steps)]
    if output == "json":
        say_json({"steps": [_data(step) for step in steps], "waiting": waiting})
    else:
        if unpublished:
            _say("waits for you", "repository", unpublished)
        for step in steps:
            for item in step.items:
                _say(item.state, step.name, item.what)
        _say_next(steps, waiting)
    return int(bool(waiting) or any(step.pending for step in steps))


def _blocked(steps: Iterable["Step"]) -> list[str]:
    return [f"{step.name}: {why}" for step in steps for why in step.blocked]


def _say(state: str, step: str, what: str) -> None:
    from generator.live.messages import printed  # noqa: PLC0415 - heavy

    say(f"{styled(f'{state:{WIDTH}}', COLOURS[state])}  {printed(f'{step:12}  {what}')}")


def _say_next(steps: Iterable["Step"], waiting: list[str]) -> None:
    if waiting:
        say("next: settle what waits for you, then gen bootstrap --apply")
    elif any(step.pending for step in steps):
        say("next: gen bootstrap --apply")
    else:
        say("all is there")


def _data(step: "Step") -> dict[str, object]:
    return {"step": step.name, "items": [{"state": item.state, "what": item.what} for item in step.items]}


def _perform(made: "Bootstrap", *, patience: float, output: str) -> int:
    try:
        made.perform()
        if patience:
            say(WATCHING, err=output == "json")
            made.watch(patience)
    except KeyboardInterrupt:
        say("stopped; what is done stays, and the same command goes on", err=True)
        raise
    if output == "json":
        say_json({"steps": [_data(step) for step in made.plan()], "waiting": []})
    return 0
