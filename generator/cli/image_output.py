"""Images as people and the tools that copy them read them."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from shutil import get_terminal_size

from msgspec import to_builtins

from generator.cli.output import data
from generator.cli.terminal import say, say_all
from generator.layout.emit import emit
from generator.model.finding import Finding, Position, dotted
from generator.model.plural import plural
from generator.repository.cluster_files import Loaded
from generator.repository.locate import Locator
from generator.upstream.cluster_images import ClusterImages
from generator.upstream.image_exports import skopeo
from generator.upstream.image_list import Image, Use
from generator.upstream.registry import ImageAnswer


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
            say(row[0])
            cells[0] = " " * widths[0]
        say("  ".join(cells).rstrip())
    if any(row[1].endswith("*") for row in rows):
        say("* known, not pinned; `gen images --lock` pins it", err=True)


def _row(image: Image) -> tuple[str, str, str, str]:
    mark = "" if image.pinned or not image.digest else " by tag" if image.by_tag else "*"
    digest = f"{image.digest.removeprefix('sha256:')[:12]}{mark}"
    size = "" if image.size is None else f"{image.size / 1e6:.1f} MB"
    there = " (on the mirror already)" if image.of_site else ""
    return image.name, digest, size, f"{', '.join(image.components)}{there}"


def lists(found: Sequence[Image], mirrors: Iterable[str | None], output: str) -> None:
    """Print what is to be copied to the mirrors: for skopeo, or plain; what lies there already is named apart."""
    left_out = [image.name for image in found if image.of_site]
    whole = [image for image in found if not image.system_added and not image.of_site]
    if left_out:
        say(f"left out, the site's own and on the mirror already: {', '.join(left_out)}", err=True)
    if output == "plain":
        say("".join(f"{image.reference}\n" for image in whole), nl=False)
        return
    say(emit(skopeo(whole)), nl=False)
    for mirror in sorted({mirror or "REGISTRY/PATH" for mirror in mirrors}):
        command = f"skopeo sync --all --preserve-digests --scoped --src yaml --dest docker images.yaml {mirror}"
        say(f"save this as images.yaml, then: {command}", err=True)


def show_totals(found: Sequence[Image], unreadable: int, *, locked: bool) -> None:
    """Say totals and what no list can hold."""
    for image in found:
        if image.system_added:
            words = "the operator adds the node's system to the tag (-ubuntu24.04): copy those that your nodes need"
            say(f"note: {image.name}: {words}", err=True)
    pinned = sum(image.pinned for image in found)
    if locked:
        _show_by_tag(found)
    sized = [image.size for image in found if image.size is not None]
    size = f", {sum(sized) / 1e9:.2f} GB in {len(sized)} of them, layers that they share counted each time"
    more = f"{size if sized else ''}{f', {unreadable} not readable' if unreadable else ''}"
    say(f"{plural(len(found), 'image')}, {pinned} pinned by digest{more}", err=True)


def _show_by_tag(found: Sequence[Image]) -> None:
    """Say what keeps images from being pinned where others are."""
    by_reason: dict[str, list[str]] = {}
    for image in found:
        if image.by_tag:
            by_reason.setdefault(image.by_tag, []).append(image.name)
    for reason, those in by_reason.items():
        say(f"by tag: {reason}: {', '.join(those)}", err=True)


def show_answers(failed: Mapping[str, ImageAnswer]) -> None:
    """Say why images are not known: once for what they have in common."""
    by_error: dict[str, list[str]] = {}
    for name, answer in failed.items():
        by_error.setdefault(answer.error, []).append(name)
    for error, those in by_error.items():
        away = failed[those[0]].unreachable
        many = plural(len(those), "image")
        lines = [f"{error} ({many})"] if away else [f"{name}: {error}" for name in those]
        say("\n".join(lines), err=True)


def show_clusters(listed: Iterable[ClusterImages]) -> None:
    """Say what is wrong with the images of each cluster, and what was not seen."""
    for each in listed:
        lines = [*map(_line, (*each.findings, *each.notes)), *_unseen(each)]
        say_all(lines, err=True)


def _unseen(each: ClusterImages) -> Iterator[str]:
    name, mirror = each.cluster.name, each.cluster.site.images
    so = "so that their images may come from elsewhere" if mirror else "their images are not in the list"
    if each.unvendored and not mirror:
        # With a mirror a rule tells it.
        yield f"{name}: not vendored, {so}: {', '.join(each.unvendored)}; `gen vendor` brings them"
    if each.remote:
        what = "what their custom/ wants from the network was not looked at"
        yield f"{name}: {what}, {so}: {', '.join(each.remote)}; commit the files"
    if each.stale:
        what = "vendored from other inputs than today's, so that their images may become others"
        yield f"{name}: {what}: {', '.join(each.stale)}; `gen vendor` brings them"


def _line(one: Finding) -> str:
    kind = f"{one.severity} {one.code}" if one.code else "note"
    path = "" if isinstance(one.at, Position) else dotted(one.at)
    place = ", ".join(filter(None, (one.about, path)))
    return ": ".join(filter(None, (one.file, kind, place, f"{one.message}; fix: {one.fix}")))


def image_data(
    found: Iterable[Image], listed: Sequence[ClusterImages], loaded: Iterable[Loaded], root: Path
) -> dict[str, object]:
    """Return everything that is known of the images, as `--output json` has it. Findings are those of `gen check`."""
    locator = Locator(loaded, root)
    return {
        "images": [_image(image) for image in found],
        "unseen": {each.cluster.name: [*each.unvendored, *each.remote] for each in listed},
        "stale": {each.cluster.name: each.stale for each in listed},
        "findings": [data(one) for one in locator.locate(one for each in listed for one in each.findings)],
        "notes": [data(one) for one in locator.locate(one for each in listed for one in each.notes)],
    }


def _image(image: Image) -> dict[str, object]:
    told = {key: value for key, value in to_builtins(image).items() if value not in ("", None, False)}
    return {**told, "uses": [_use(use) for use in image.uses], "reference": image.reference, "pinned": image.pinned}


def _use(use: Use) -> dict[str, str]:
    return {
        "cluster": use.cluster,
        "component": use.component,
        "object": use.wanted_by,
        "field": dotted(use.at),
        "file": use.file,
        "applied": use.applied,
        **({"byTag": use.by_tag} if use.by_tag else {}),
    }
