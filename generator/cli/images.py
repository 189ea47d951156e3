"""`gen images`."""

import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from os import environ
from pathlib import Path

import click

from generator.cli.image_output import image_data, lists, show_answers, show_clusters, show_totals, table
from generator.cli.options import CLUSTER, ROOT, output_as, root_of
from generator.cli.output import show_findings, summary
from generator.cli.terminal import say, say_all, say_json, tell
from generator.errors import UsageError
from generator.layout.lock import LOCK, LockFile
from generator.model.plural import plural
from generator.repository.cluster_files import Loaded, load
from generator.repository.hand_edits import refusals
from generator.repository.places import names
from generator.repository.render import VendoredChange, render
from generator.repository.vendored import locked, on_disk
from generator.upstream.cluster_images import ClusterImages, cluster_images
from generator.upstream.image_digests import forgotten, new_digests, with_sizes
from generator.upstream.image_exports import sbom
from generator.upstream.image_list import Image, merged


@click.command("images")
@CLUSTER
@ROOT
@output_as(
    "table", "json", "skopeo", "plain", "cyclonedx",
    help="skopeo: what `skopeo sync --src yaml` reads; plain: a reference on each line; cyclonedx: one cluster's SBOM.",
)  # fmt: skip
@click.option("--sizes", is_flag=True, help="Ask the registries for digests and sizes (linux/amd64, compressed).")
@click.option(
    "--lock",
    "lock_them",
    is_flag=True,
    help="Ask the registries for digests, write gen.lock and pin what is rendered; nothing, if one is out of reach.",
)
@click.option("--check", "only_check", is_flag=True, help="List nothing, only tell what is wrong.")
def command(  # noqa: PLR0913 - the verb's options
    clusters: tuple[str, ...], directory: Path, output: str, *, sizes: bool, lock_them: bool, only_check: bool
) -> int:
    """List every image of the clusters, with digests; check that all come from the mirror.

    The images are those of the built objects, wherever these name one, and of what nodes run before Argo CD. Works
    offline but with --sizes and --lock; needs Kustomize (`gen doctor`).

    Exit code 1 when an image has no tag, or `latest`, or cannot be read (`${IMG}`); and, when `site.images` names a
    mirror, when an image would still come from elsewhere, or nobody can tell: a component is not vendored, or from
    other inputs than today's, or a template, an argument or a variable has something in it to be filled in.

    The lists for copying leave out what lies on the mirror already, under a name of the site's own.

    Registries are asked through `site.images` where it is set. Credentials: config.json in $DOCKER_CONFIG or ~/.docker,
    as `docker login` writes it, and the helpers named there. GEN_REGISTRY_CA: a file with the CA of the registry.
    Proxies: as usual.
    """
    if lock_them and (only_check or output != "table"):
        raise UsageError("--lock lists and checks nothing: give it without --check and --output")
    root = root_of(directory)
    loaded = load(root, clusters)
    if any(one.wrong for one in loaded):
        show_findings(loaded, "text")
        say(summary(loaded), err=True)
        return 1
    if output == "cyclonedx" and len(loaded) > 1:
        raise UsageError(f"an SBOM is of one cluster: --cluster {loaded[0].name}")
    lock = locked(on_disk(root)).images
    listed = [cluster_images(root, one.cluster, lock) for one in loaded if one.cluster]
    found = merged(each.images for each in listed)
    if lock_them:
        return _lock(root, found, listed, lock)
    found, failed = with_sizes(found, listed, _progress) if sizes else (found, {})
    if not only_check:
        _show(found, listed, output, loaded, root)
    show_answers(failed)
    show_totals(found, sum(each.unreadable for each in listed), locked=bool(lock))
    show_clusters(listed)
    return int(bool(failed) or any(each.wrong for each in listed))


def _progress(number: int, total: int) -> None:
    """Say on a terminal how many registries have answered."""
    if sys.stderr.isatty():
        say(f"\r{number} of {total} asked", err=True, nl=number == total)


def _lock(root: Path, found: Sequence[Image], listed: Sequence[ClusterImages], lock: Mapping[str, str]) -> int:
    """Write the digests of what has a tag and no digest of its own, and render everything with them."""
    new = new_digests(found, listed, lock, _progress)
    for name, old in new.moved.items():
        say(f"moved: {name} was {old} and is {new.digests[name]}")
    show_answers(new.failed)
    if new.unreachable:
        say(f"{LOCK}: nothing was written: not every registry could be asked; try again", err=True)
        return 1
    unused = forgotten(found, listed, names(root), lock)
    for name in unused:
        say(f"forgotten: {name}: no cluster names it any more")
    code = _render(root, new.digests, unused)
    say(f"{plural(len(new.digests), 'image')} locked by digest, {len(new.failed)} not")
    return max(code, int(bool(new.failed)))


def _render(root: Path, digests: Mapping[str, str], unused: Sequence[str]) -> int:
    loaded = load(root)
    if any(one.wrong for one in loaded):
        show_findings(loaded, "text")
        say(f"{summary(loaded)}: nothing was written", err=True)
        return 1
    outcome = render(
        root,
        loaded,
        dry_run=False,
        waiting=tell,
        fresh=VendoredChange(lock=LockFile(images=digests), unused=frozenset(unused)),
    )
    say_all(refusals(outcome.edits), err=True)
    refused = "nothing was written; settle this with `gen render` first, which has --discard"
    written = refused if outcome.refused else f"{plural(len(outcome.plan.changes), 'file')} changed"
    say(f"{LOCK}: {written}")
    return int(outcome.refused)


def _show(
    found: Sequence[Image], listed: Sequence[ClusterImages], output: str, loaded: Sequence[Loaded], root: Path
) -> None:
    if output == "table":
        table(found)
    elif output == "json":
        say_json(image_data(found, listed, loaded, root))
    elif output == "cyclonedx":
        say_json(sbom(listed[0].cluster.name, found, timestamp=_time()))
    else:
        lists(found, [each.cluster.site.images for each in listed], output)


def _time() -> str:
    """Return the time that reproducible builds are told, nothing where there is none."""
    seconds = environ.get("SOURCE_DATE_EPOCH", "")
    return datetime.fromtimestamp(int(seconds), UTC).isoformat() if seconds.isdigit() else ""
