"""Options that several verbs share."""

from pathlib import Path

import click

from generator.repository.project import find_root

__all__ = ["CLUSTER", "ROOT", "root_of"]

CLUSTER = click.option(
    "--cluster", "clusters", metavar="NAME", multiple=True, help="Only this cluster; may be repeated. Default: all."
)
ROOT = click.option(
    "-C",
    "--directory",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path(),
    help="The repository, or a folder in it. Default: here.",
)


def root_of(directory: Path) -> Path:
    """Return the root of the repository that holds `directory`."""
    return find_root(directory.absolute())
