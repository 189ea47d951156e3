"""What a run of an operation is told."""

from collections.abc import Mapping, Sequence

import click

from generator.errors import UsageError

PARAMETERS = click.option(
    "-p", "--parameter", "parameters", metavar="NAME=VALUE", multiple=True,
    help="What the run is told; may be repeated. Default: what its template or schedule says.",
)  # fmt: skip


def given(words: Sequence[str]) -> Mapping[str, str]:
    """Return what somebody said of parameters. Raises UsageError."""
    pairs = [word.partition("=") for word in words]
    if wrong := [name for name, equals, _ in pairs if not equals or not name]:
        raise UsageError(f"-p {wrong[0]}: say NAME=VALUE")
    names = [name for name, _, _ in pairs]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"-p {twice[0]} is said twice")
    return {name: value for name, _, value in pairs}
