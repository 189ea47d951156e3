"""`gen help`."""

import click


@click.command("help")
@click.argument("words", metavar="[COMMAND]...", nargs=-1)
def command(words: tuple[str, ...]) -> None:
    """Tell more of a command; without one, of all."""
    whole = click.get_current_context().find_root().command
    whole.main([*words, "--help"], prog_name="gen", standalone_mode=False)
