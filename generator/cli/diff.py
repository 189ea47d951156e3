"""`gen diff`."""

from datetime import UTC, datetime
from pathlib import Path

import click

from generator.cli.options import CLUSTER, ROOT, output_as, root_of
from generator.cli.output import show_findings
from generator.cli.terminal import say, say_all, say_json, styled
from generator.errors import UsageError
from generator.model.change import Effect
from generator.review.report import Report, report
from generator.review.sides import Wanted, both_sides
from generator.review.text import lines

APPROVAL = 3


@click.command("diff")
@click.argument("base", required=False)
@click.argument("head", required=False)
@CLUSTER
@ROOT
@output_as("text", "json", "markdown", "html", help="How to tell it: markdown for a pull request, html as a page.")
@click.option(
    "--since",
    metavar="BASE",
    help="Compare what is committed with where it left BASE, as a pull request does. Default: see above.",
)
@click.option(
    "--allow",
    metavar="CODE:OBJECT",
    multiple=True,
    help="Approve one effect on one object, for this run; may be repeated.",
)
def command(  # noqa: PLR0913, PLR0917 - the options of the verb
    base: str | None,
    head: str | None,
    clusters: tuple[str, ...],
    directory: Path,
    output: str,
    since: str | None,
    allow: tuple[str, ...],
) -> int:
    """Tell what a change does to the running clusters.

    Compares the objects that BASE has Argo CD apply with those of HEAD, or of the working tree as `gen render` would
    leave it. Default for BASE: where the branch left the main branch. What loses data or is refused ends with exit code
    3, unless it is approved: with --allow, or by a trailer in a commit, `Gen-Allow: CODE:OBJECT reason`.

    Works offline; needs Kustomize (`gen doctor`).
    """
    root = root_of(directory)
    if since is not None and base is not None:
        raise UsageError("give BASE or --since BASE: both say what is compared with")
    wanted = Wanted(base=since or base, head="HEAD" if since else head, clusters=clusters, left=since is not None)
    with both_sides(root, wanted) as sides:
        if sides.wrong:
            show_findings(list(sides.wrong), "text")
            say("nothing was compared: mend the cluster file first", err=True)
            return 1
        found = report(sides, allow)
    if sides.note:
        say(f"note: {sides.note}", err=True)
    _show(found, output)
    return APPROVAL if found.unapproved else int(any(one.found.findings for one in found.clusters))


def _show(found: Report, output: str) -> None:
    if output == "json":
        say_json(found.data())
        return
    if output == "markdown":
        from generator.review.markdown import markdown  # noqa: PLC0415 - only when it is asked for

        say(markdown(found), nl=False)
        return
    if output == "html":
        from generator.review.html_diff import diff_page  # noqa: PLC0415 - only when it is asked for

        say(diff_page(found, datetime.now(UTC)), nl=False)
        return
    say_all(lines(found, _painted))


def _painted(effect: Effect, word: str) -> str:
    if effect.loudness > Effect.UNKNOWN.loudness:
        return styled(word, "red")
    return styled(word, "yellow") if effect is not Effect.NONE else word
