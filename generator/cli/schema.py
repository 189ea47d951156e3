"""`gen schema`."""

import click

from generator.cli.terminal import say


@click.command("schema")
def command() -> None:
    """Print the JSON Schema of the cluster file, for editors and CI."""
    from generator.spec.schema import text  # noqa: PLC0415 - slow to build, needed here only

    say(text().decode(), nl=False)
