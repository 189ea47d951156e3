"""`gen init`."""

import re
from contextlib import suppress
from pathlib import Path

import click

from generator.cli.terminal import say
from generator.errors import UsageError
from generator.model.base import DNS_LABEL
from generator.model.cluster import cluster_file
from generator.repository.plan import Owned, plan
from generator.repository.scaffold import SCHEMA, published_schema, scaffold, starter
from generator.repository.write_lock import exclusive
from generator.repository.writer import write
from generator.spec.reader import SIZE


@click.command("init")
@click.argument("name")
@click.option(
    "-C", "--directory", type=click.Path(exists=True, file_okay=False, path_type=Path), default=Path(),
    help="The repository to begin or to add to. Default: here.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Only tell what would be written.")
def command(name: str, directory: Path, *, dry_run: bool) -> None:
    """Begin a repository with a first cluster NAME, or add a cluster to it.

    Writes a commented cluster file that is valid as it stands, and files that keep formatters and line endings
    away from what gen generates. Files that are there already are left alone.
    """
    if not re.search(DNS_LABEL, name) or len(name) > 32:
        raise UsageError(f"`{name}` cannot be a cluster's name: up to 32 small letters, digits and hyphens, as in ml50")
    if (directory / cluster_file(name)).exists():
        raise UsageError(f"{cluster_file(name)}: exists already; edit it, or choose another name")
    once = {cluster_file(name): starter(name, _others(directory)), SCHEMA: published_schema(), **scaffold()}
    with exclusive(directory, lambda text: say(text, err=True)) as lock:
        found = plan(lock.root, {}, once, Owned())
        if not dry_run:
            write(lock, found)
    for change in found.changes:
        say(f"{'would write' if dry_run else 'wrote'} {change.path}")
    say(f"next: edit {cluster_file(name)}, then gen check")


def _others(directory: Path) -> str:
    return "\n".join(map(_text, sorted(directory.glob("clusters/*/cluster.yaml"))))


def _text(file: Path) -> str:
    """Return what a cluster file says; nothing where it cannot be read: whoever checks it is told why."""
    with suppress(OSError):
        if file.is_file():
            with file.open("rb") as opened:
                return opened.read(SIZE + 1).decode(errors="replace")
    return ""
