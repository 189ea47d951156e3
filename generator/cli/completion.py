"""`gen completion`."""

import click
from click.shell_completion import get_completion_class

from generator.cli.terminal import say


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script for a shell.

    \b
    bash    gen completion bash > ~/.local/share/bash-completion/completions/gen
    zsh     gen completion zsh > ~/.zfunc/_gen    with ~/.zfunc in your fpath
    fish    gen completion fish > ~/.config/fish/completions/gen.fish
    """  # noqa: D301 - click's own mark for lines that must not be wrapped
    from generator.cli import cli  # noqa: PLC0415 - it imports this module

    kind = get_completion_class(shell)
    assert kind  # noqa: S101 - the choice above names known shells
    say(kind(cli, {}, "gen", "_GEN_COMPLETE").source())
