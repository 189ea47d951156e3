"""A cluster that was typed as a bare word: many programs take it so."""

import shlex
from contextlib import suppress
from itertools import pairwise

import click

from generator.cli.completing import of_option, root_meant
from generator.errors import UsageError
from generator.repository.places import names


def with_option(group: click.Group, typed: list[str]) -> str | None:
    """Return what was typed, with `--cluster` before each bare word that is a cluster of the repository; None where no
    word is, where the verb has no such option, or takes none beside what else was typed.
    """
    at = next((index for index in range(len(typed)) if not of_option(typed, index)), 0)
    command = group.get_command(click.Context(group), "".join(typed[at : at + 1]))
    if command is None or all(each.name != "clusters" for each in command.params) or "--" in typed:
        return None
    known: list[str] = []
    with suppress(UsageError):
        known = names(root_meant(typed))
    bare = [index for index in _bare(command, typed) if index != at]
    meant = [index for index in bare if typed[index] in known]
    if not meant or (len(meant) < len(bare) and any(each.name == "paths" for each in command.params)):
        return None
    words = (["--cluster", word] if index in meant else [word] for index, word in enumerate(typed))
    return shlex.join(["gen", *(word for each in words for word in each)])


def _bare(command: click.Command, typed: list[str]) -> list[int]:
    """Return which words are neither an option of a verb nor the value of one."""
    options = [each for each in command.params if isinstance(each, click.Option) and not each.is_flag]
    valued = {name for each in options for name in each.opts}
    return [
        index
        for index, (before, word) in enumerate(pairwise(["", *typed]))
        if not word.startswith("-") and before not in valued
    ]
