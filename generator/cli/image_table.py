"""Images as people and the tools that copy them read them."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from shutil import get_terminal_size

import click

from generator.layout.emit import emit
from generator.model.plural import plural
from generator.upstream.images import Image, skopeo
from generator.upstream.registry import Answer


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
    return image.name, digest, size, f"{', '.join(image.components)}{' (on the mirror already)' if image.own else ''}"


def lists(found: Sequence[Image], mirrors: Iterable[str | None], output: str) -> None:
    """Print what is to be copied to the mirrors: for skopeo, or plain; what lies there already is named apart."""
    own = [image.name for image in found if image.own]
    whole = [image for image in found if not image.partial and not image.own]
    if own:
        click.echo(f"left out, the site's own and on the mirror already: {', '.join(own)}", err=True)
    if output == "plain":
        click.echo("".join(f"{image.reference}\n" for image in whole), nl=False)
        return
    click.echo(emit(skopeo(whole)), nl=False)
    for mirror in sorted({mirror or "REGISTRY/PATH" for mirror in mirrors}):
        command = f"skopeo sync --all --preserve-digests --scoped --src yaml --dest docker images.yaml {mirror}"
        click.echo(f"save this as images.yaml, then: {command}", err=True)


def tell(found: Sequence[Image], unclear: int, *, locked: bool) -> None:
    """Say totals and what no list can hold."""
    for image in found:
        if image.partial:
            words = "the operator adds the node's system to the tag (-ubuntu24.04): copy those that your nodes need"
            click.echo(f"note: {image.name}: {words}", err=True)
    pinned = sum(image.pinned for image in found)
    if locked:
        _tell_by_tag(found)
    sized = [image.size for image in found if image.size is not None]
    size = f", {sum(sized) / 1e9:.2f} GB in {len(sized)} of them, layers that they share counted each time"
    more = f"{size if sized else ''}{f', {unclear} not readable' if unclear else ''}"
    click.echo(f"{plural(len(found), 'image')}, {pinned} pinned by digest{more}", err=True)


def _tell_by_tag(found: Sequence[Image]) -> None:
    """Say what keeps images from being pinned where others are."""
    by_reason: dict[str, list[str]] = {}
    for image in found:
        if image.by_tag:
            by_reason.setdefault(image.by_tag, []).append(image.name)
    for reason, those in by_reason.items():
        click.echo(f"by tag: {reason}: {', '.join(those)}", err=True)


def tell_failed(failed: Mapping[str, Answer]) -> None:
    """Say why images are not known: once for what they have in common."""
    by_error: dict[str, list[str]] = {}
    for name, answer in failed.items():
        by_error.setdefault(answer.error, []).append(name)
    for error, those in by_error.items():
        away = failed[those[0]].unreachable
        many = plural(len(those), "image")
        lines = [f"{error} ({many})"] if away else [f"{name}: {error}" for name in those]
        click.echo("\n".join(lines), err=True)
