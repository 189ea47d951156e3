"""`gen check`."""

from pathlib import Path

import click

from generator.cli.options import CLUSTER, ROOT, root_of
from generator.cli.output import OUTPUT, show_findings, summary
from generator.repository.project import load

__all__ = ["command"]


@click.command("check")
@CLUSTER
@OUTPUT
@ROOT
def command(clusters: tuple[str, ...], output: str, directory: Path) -> int:
    """Check cluster files and report everything that is wrong with them, all at once.

    Works offline: no cluster is contacted. Exit code 1 when there is an error.
    """
    loaded = load(root_of(directory), clusters)
    show_findings(loaded, output)
    wrong = any(one.wrong for one in loaded)
    if output == "text":
        click.echo(summary(loaded))
        if not wrong:
            click.echo("next: gen render")
    return int(wrong)
