"""`gen explain`."""

from pathlib import Path

import click

from generator.cli.options import ROOT, root_of
from generator.errors import UsageError
from generator.spec.codes import Explained
from generator.spec.near import nearest


@click.command("explain")
@click.argument("code")
@click.argument("path", required=False)
@ROOT
def command(code: str, path: str | None, directory: Path) -> None:
    """Explain a finding's CODE, or where a value of a cluster comes from.

    \b
    gen explain GEN-NET-004                why the rule exists, a wrong and a right example
    gen explain ml50 kubernetes.maxPods    the value, and the line that gives it or gen's default
    """  # noqa: D301 - click's own mark for lines that must not be wrapped
    if path is None:
        if not code.upper().startswith("GEN-"):
            raise UsageError(f"`{code}` is not a code; for a value say where: gen explain {code} kubernetes.podCIDR")
        _show(_known(code.upper()))
        return
    from generator.repository.origin import origin  # noqa: PLC0415 - the other half of this verb

    click.echo(origin(root_of(directory), code, path))


def _known(code: str) -> Explained:
    known = everything()
    if code in known:
        return known[code]
    meant = nearest(code, known, 3)
    raise UsageError(f"`{code}` is not a code" + (f"; did you mean {', '.join(meant)}?" if meant else ""))


def everything() -> dict[str, Explained]:
    """Return what every code means, of findings on cluster files and on built objects."""
    from generator.checks.explain import explanations as of_files  # noqa: PLC0415 - all rules: needed here only
    from generator.live.refusals import EXPLAINED  # noqa: PLC0415 - as above
    from generator.rules.check import explanations as of_objects  # noqa: PLC0415 - as above

    return {**of_files(), **of_objects(), **{one.code: one for one in EXPLAINED}}


def _show(explained: Explained) -> None:
    click.secho(f"{explained.code}: {explained.title}", bold=True)
    click.echo(f"\n{click.wrap_text(explained.why, 100)}\n")
    for title, example, colour in (("wrong", explained.wrong, "red"), ("right", explained.right, "green")):
        if example:
            click.secho(f"{title}:", fg=colour)
            click.echo("".join(f"    {line}\n" for line in example.splitlines()))
