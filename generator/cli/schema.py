"""`gen schema`."""

import click


@click.command("schema")
def command() -> None:
    """Print the JSON Schema of the cluster file, for editors and CI."""
    from generator.spec.schema import text  # noqa: PLC0415 - slow to build, needed here only

    click.echo(text(), nl=False)
