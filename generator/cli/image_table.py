"""Images as people read them."""

import sys
from collections.abc import Sequence
from shutil import get_terminal_size

import click

from generator.upstream.images import Image

__all__ = ["table", "tell_by_tag"]


def table(found: Sequence[Image]) -> None:
    """Print a line for each image; on a terminal, a long name stands on a line of its own."""
    rows = [("IMAGE", "DIGEST", "SIZE", "FOR"), *(_row(image) for image in found)]
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
        click.echo("* known, not pinned; `gen images --lock` pins it", err=True)


def _row(image: Image) -> tuple[str, str, str, str]:
    mark = "" if image.pinned or not image.digest else " by tag" if image.by_tag else "*"
    digest = f"{image.digest.removeprefix('sha256:')[:12]}{mark}"
    size = "" if image.size is None else f"{image.size / 1e6:.1f} MB"
    return image.name, digest, size, ", ".join(image.components)


def tell_by_tag(found: Sequence[Image]) -> None:
    """Say what keeps images from being pinned where others are."""
    by_reason: dict[str, list[str]] = {}
    for image in found:
        if image.by_tag:
            by_reason.setdefault(image.by_tag, []).append(image.name)
    for reason, those in by_reason.items():
        click.echo(f"by tag: {reason}: {', '.join(those)}", err=True)
