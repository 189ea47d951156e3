"""Options that several verbs share."""

from collections.abc import Callable, Iterable
from os.path import normpath, sep
from pathlib import Path
from typing import Any, TypeAlias

import click

from generator.errors import UsageError
from generator.repository.git_folder import locate, unborn
from generator.repository.places import find_root, names

Option: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]
"""Gives a verb an option, or several."""
CLUSTER = click.option(
    "--cluster", "clusters", metavar="NAME", multiple=True, help="Only this cluster; may be repeated. Default: all."
)
FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


def together(*options: Option) -> Option:
    """Return options as one, which help shows in this order."""

    def given(verb: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            verb = option(verb)
        return verb

    return given


def output_as(*forms: str, help: str) -> Option:  # noqa: A002 - as click names it
    """Return the option that says in which form something is told: the first one unless it is given."""
    return click.option("--output", type=click.Choice(forms), default=forms[0], show_default=True, help=help)


def here() -> str:
    """Return the folder of a verb that names none: that of a -C before the verb, or the current one."""
    return click.get_current_context().find_root().params.get("directory") or "."


ROOT = click.option(
    "-C", "--directory", type=FOLDER, default=here, help="The repository, or a folder in it. Default: here."
)


TOLD = output_as("text", "json", help="How to tell it.")


SINCE = click.option(
    "--since",
    metavar="BASE",
    help="Only clusters that commits after the one at which this branch left BASE can have changed. Default: all.",
)


SHARD = click.option(
    "--shard",
    metavar="I/N",
    help="Only part I of N of the clusters: each cluster is in one part, by its name alone. Default: all.",
)


DISCARD = click.option(
    "--discard",
    metavar="PATH",
    multiple=True,
    help="Overwrite this file or folder even if it was edited by hand; may be repeated. Default: none.",
)


TO = click.option(
    "--to",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="With --shard: keep there what that part comes to, and write nothing else. Default: nowhere.",
)


def narrowed(
    root: Path, clusters: tuple[str, ...], since: str | None, shard: str | None = None
) -> tuple[str, ...] | None:
    """Return the clusters that somebody asks about, none for all of them; None where nothing of theirs differs since
    a commit, or none of them is in that part. Raises UsageError.
    """
    wanted = _differing(root, clusters, since)
    if shard is None or wanted is None:
        return wanted
    from generator.repository.shards import Shard  # noqa: PLC0415 - few runs are divided

    return tuple(Shard.parse(shard).mine(wanted or names(root))) or None


def _differing(root: Path, clusters: tuple[str, ...], since: str | None) -> tuple[str, ...] | None:
    if since is None:
        return clusters
    from generator.repository.since import affected  # noqa: PLC0415 - it imports Git

    found = affected(root, since)
    if found is None:
        return clusters
    return tuple(name for name in found if not clusters or name in clusters) or None


def nobody(since: str | None, shard: str | None) -> str:
    """Return the sentence for a choice that no cluster meets."""
    return " ".join(
        (
            "no cluster",
            *((f"of part {shard}",) if shard else ()),
            *((f"differs since {since}",) if since else ("is there",)),
        )
    )


def root_of(directory: Path) -> Path:
    """Return the root of the repository that holds `directory`."""
    return find_root(directory.absolute())


def after_writing(root: Path) -> str:
    """Return the line that says what comes after files were written: Argo CD reads what is committed."""
    place = locate(root)
    if not place:
        return "next: git init, git add --all, then git commit: Argo CD reads Git"
    return "next: git add --all, then git commit" if unborn(place) else "next: gen diff, then gen commit"


def discarded(root: Path, paths: Iterable[str]) -> set[str]:
    """Return the paths of `--discard` from the root. Raises UsageError for what is not in the repository."""
    return {_within(root, path) for path in paths}


def _within(root: Path, path: str) -> str:
    top, found = normpath(root), normpath(root / path)
    if not found.startswith(f"{top}{sep}"):
        raise UsageError(f"--discard {path}: this is no file or folder below {root}")
    if not Path(found).exists():
        raise UsageError(f"--discard {path}: there is no such file or folder in {root}")
    return Path(found).relative_to(top).as_posix()
