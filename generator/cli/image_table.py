"""Images as a table for people."""

import sys
from collections.abc import Sequence
from shutil import get_terminal_size

import click

from generator.upstream.images import Image

__all__ = ["table"]


def table(found: Sequence[Image]) -> None:
    """Print a line for each image; on a terminal, a long name stands on a line of its own."""
    rows = [("IMAGE", "DIGEST", "SIZE", "FOR"), *map(_row, found)]
    shown = [0, *(column for column in (1, 2) if any(row[column] for row in rows[1:])), 3]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    if sys.stdout.isatty():
        others = sum(widths[column] + 2 for column in shown[1:])
        widths[0] = min(widths[0], max(get_terminal_size().columns - others, 20))
    for row in rows:
        cells = [row[column].rjust(widths[2]) if column == 2 else row[column].ljust(widths[column]) for column in shown]
        if len(row[0]) > widths[0]:
            click.echo(row[0])
            cells[0] = " " * widths[0]
        click.echo("  ".join(cells).rstrip())
    if any(row[1].endswith("*") for row in rows):
        click.echo("* known, not pinned; `gen images --lock` pins it where the object has room for a digest", err=True)


def _row(image: Image) -> tuple[str, str, str, str]:
    digest = image.digest.removeprefix("sha256:")[:12] + ("" if image.pinned or not image.digest else "*")
    size = "" if image.size is None else f"{image.size / 1e6:.1f} MB"
    return image.name, digest, size, ", ".join(image.components)
