"""A cluster that was typed as a bare word: many programs take it so."""

import shlex
from contextlib import suppress

import click

from generator.cli.completing import of_option, root_meant
from generator.errors import UsageError
from generator.repository.places import names


def with_option(group: click.Group, typed: list[str]) -> str | None:
    """Return what was typed, with `--cluster` before each bare word that is a cluster of the repository; None where no
    word is, or the verb has no such option.
    """
    verb = next((word for index, word in enumerate(typed) if not of_option(typed, index)), "")
    command = group.get_command(click.Context(group), verb)
    if command is None or all(each.name != "clusters" for each in command.params):
        return None
    known: list[str] = []
    with suppress(UsageError):
        known = names(root_meant(typed))
    words = [
        ["--cluster", word] if word in known and not of_option(typed, index) else [word]
        for index, word in enumerate(typed)
    ]
    meant = [word for each in words for word in each]
    return shlex.join(["gen", *meant]) if len(meant) > len(typed) else None
