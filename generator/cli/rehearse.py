"""`gen rehearse`."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from generator.cli.options import CLUSTER, ROOT, output_as, root_of
from generator.cli.output import show_findings
from generator.cli.terminal import say, say_all, say_json
from generator.review.sides import Sides, Wanted, both_sides

if TYPE_CHECKING:
    from generator.rehearsal.rehearsal import Rehearsal
    from generator.review.report import Report

FOUND = 1


@click.command("rehearse")
@click.argument("base", required=False)
@CLUSTER
@ROOT
@click.option(
    "--watch",
    metavar="SECONDS",
    type=click.FloatRange(1, 3600),
    default=40.0,
    show_default=True,
    help="How long the twin is watched after the change, unless it is quiet before.",
)
@output_as("text", "json", "html", help="How to tell it; html: a page, with what `gen diff` says.")
@click.option(
    "--argocd", is_flag=True, help="Have Argo CD itself sync BASE and the change, from a Git server on loopback."
)
@click.option("--promises", is_flag=True, help="Try the promises of the queues as well, after the change.")
def command(  # noqa: PLR0913 - the options of the verb
    base: str | None,
    clusters: tuple[str, ...],
    directory: Path,
    watch: float,
    output: str,
    *,
    argocd: bool,
    promises: bool,
) -> int:
    """Try a change on a twin of the cluster: a real control plane with simulated nodes, Kueue and Volcano, on loopback.

    BASE is applied there, in the order of its waves; jobs of the teams' shapes fill the queues; then comes the working
    tree, as `gen render` would leave it. Told is what really happened, beside what `gen diff` says of it. Default for
    BASE: where the branch left the main branch.

    With --argocd the real Argo CD syncs both, with the Applications, settings and rights of the cluster: its waves,
    retries and refusals, what waits for a person and what differs for ever.

    Needs the programs of `python tools/real.py`, and the right to listen on port 443 of loopback addresses. Exit code 1
    when something happened that somebody should look at before the merge.
    """
    root = root_of(directory)
    with both_sides(root, Wanted(base=base, clusters=clusters)) as sides:
        if sides.wrong:
            show_findings(list(sides.wrong), "text")
            say("nothing was rehearsed: mend the cluster file first", err=True)
            return FOUND
        told, found = _rehearse(sides, watch, argocd=argocd, promised=promises)
    _show(told, found, output)
    return FOUND if any(one.loud for one in found) else 0


def _rehearse(sides: Sides, watch: float, *, argocd: bool, promised: bool) -> "tuple[Report, list[Rehearsal]]":
    from generator.rehearsal.rehearse import Wish, rehearse  # noqa: PLC0415 - heavy
    from generator.review.report import report  # noqa: PLC0415 - heavy

    told = report(sides, ())
    if sides.note:
        say(f"note: {sides.note}", err=True)
    wish = Wish(watch=watch, promised=promised, argocd=argocd, tell=lambda text: say(f"{text} ...", err=True))
    return told, [rehearse(sides, one, one.found.cluster, wish) for one in told.clusters]


def _show(told: "Report", found: "list[Rehearsal]", output: str) -> None:
    if output == "json":
        say_json({"clusters": [one.data() for one in found]})
        return
    if output == "html":
        from generator.rehearsal.html import rehearsed  # noqa: PLC0415 - only when it is asked for
        from generator.review.html_diff import diff_page  # noqa: PLC0415 - only when it is asked for

        say(diff_page(told, datetime.now(UTC), [*map(rehearsed, found)]), nl=False)
        return
    from generator.rehearsal.text import lines  # noqa: PLC0415 - only when it is asked for

    if not found:
        say("nothing differs in what is applied: there is nothing to rehearse")
    for one in found:
        say_all(lines(one))
