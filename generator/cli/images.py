"""`gen images`."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import count
from os import environ
from pathlib import Path

import click
from msgspec import Struct, to_builtins

from generator.build.applications import build
from generator.cli.image_table import lists, table, tell, tell_failed
from generator.cli.options import CLUSTER, ROOT, root_of
from generator.cli.output import show_findings, summary
from generator.errors import UsageError
from generator.layout.images import rewrite
from generator.layout.lock import LOCK, Lock
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Severity
from generator.model.plural import plural
from generator.repository.handedits import refusals
from generator.repository.project import load, names
from generator.repository.render import Fresh, render
from generator.repository.standing import locked, on_disk
from generator.rules import images as rules
from generator.upstream.images import (
    Image,
    Stray,
    Unclear,
    Use,
    answered,
    images,
    merged,
    stale,
    strays,
    unclear,
)
from generator.upstream.registry import Answer, ask
from generator.upstream.sbom import sbom


class _Listed(Struct, frozen=True):
    """One cluster with what is known of its images: `unseen` components are not vendored, `stale` from other inputs; of
    `remote` ones only what the user's own kustomizations want from the network is missing.
    """

    cluster: Cluster
    images: list[Image]
    strays: list[Stray]
    unclear: list[Unclear]
    unseen: tuple[str, ...]
    remote: tuple[str, ...]
    stale: list[str]
    problems: list[Finding]
    whole: bool


@click.command("images")
@CLUSTER
@ROOT
@click.option(
    "--output",
    type=click.Choice(["table", "json", "skopeo", "plain", "cyclonedx"]),
    default="table",
    show_default=True,
    help="skopeo: what `skopeo sync --src yaml` reads; plain: a reference on each line; cyclonedx: one cluster's SBOM.",
)
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
    offline but with --sizes and --lock; needs Kustomize.

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
        click.echo(summary(loaded), err=True)
        return 1
    if output == "cyclonedx" and len(loaded) > 1:
        raise UsageError(f"an SBOM is of one cluster: --cluster {loaded[0].name}")
    lock = locked(on_disk(root)).images
    listed = [_list(root, one.cluster, lock) for one in loaded if one.cluster]
    found = merged(each.images for each in listed)
    if lock_them:
        return _lock(root, found, listed, lock)
    found, failed = _asked(found, listed) if sizes else (found, {})
    if not only_check:
        _show(found, listed, output)
    tell_failed(failed)
    tell(found, sum(len(each.unclear) for each in listed), locked=bool(lock))
    return max([int(bool(failed)), *(_judge(each) for each in listed)])


def _list(root: Path, cluster: Cluster, lock: Mapping[str, str]) -> _Listed:
    built = build(root, cluster)
    found = images(built, lock)
    # What comes from elsewhere is told by `strays`, of what nodes run as well; what cannot be read by `unclear`.
    ours = {"GEN-IMG-003", "GEN-IMG-005"}
    problems = [problem for rule in rules.RULES if rule.code not in ours for problem in rule.findings(built)]
    old = stale(root, cluster)
    whole = not (built.unseen or built.findings or old)
    away = (built.unvendored, built.remote, old)
    return _Listed(cluster, found, list(strays(cluster, found)), unclear(built), *away, problems, whole)


def _places(found: Sequence[Image], listed: Sequence[_Listed], *, tags: bool) -> dict[str, str]:
    """Return where registries are to be asked, by reference; by the tag alone with `tags`."""
    mirrors = {each.cluster.name: each.cluster.site.images for each in listed}
    return {
        image.reference: rewrite(image.name if tags else image.reference, mirrors[image.uses[0].cluster], {})
        for image in found
        if not image.partial
    }


def _asked(found: Sequence[Image], listed: Sequence[_Listed]) -> tuple[list[Image], dict[str, Answer]]:
    """Return the images with what registries say of them, and the answers that failed, by image."""
    places = _places(found, listed, tags=False)
    answers = ask(places.values(), sizes=True, told=_progress(len(places)))
    by_name = {reference: answers[place] for reference, place in places.items()}
    known = [answered(image, by_name[image.reference]) if image.reference in places else image for image in found]
    failed = {image.name: by_name[image.reference] for image in known if image.error}
    return known, failed


def _progress(total: int) -> Callable[[str, Answer], None]:
    """Return what tells, on a terminal, how many have answered."""
    done = count(1)

    def told(_reference: str, _answer: Answer) -> None:
        number = next(done)
        if sys.stderr.isatty():
            click.echo(f"\r{number} of {total} asked", err=True, nl=number == total)

    return told


def _lock(root: Path, found: Sequence[Image], listed: Sequence[_Listed], lock: Mapping[str, str]) -> int:
    """Write the digests of what has a tag and no digest of its own, and render everything with them."""
    wanted = [image for image in found if image.tagged and (not image.digest or image.name in lock)]
    places = _places(wanted, listed, tags=True)
    answers = ask(places.values(), sizes=False, told=_progress(len(places)))
    by_name = {image.name: answers[places[image.reference]] for image in wanted if image.reference in places}
    new = {name: answer.digest for name, answer in by_name.items() if answer.digest}
    for name, digest in new.items():
        if lock.get(name, digest) != digest:
            click.echo(f"moved: {name} was {lock[name]} and is {digest}")
    failed = {name: answer for name, answer in by_name.items() if answer.error}
    tell_failed(failed)
    if any(answer.unreachable for answer in failed.values()):
        click.echo(f"{LOCK}: nothing was written: not every registry could be asked; try again", err=True)
        return 1
    gone = _unused(root, found, listed, lock)
    for name in gone:
        click.echo(f"forgotten: {name}: no cluster names it any more")
    code = _render(root, new, gone)
    click.echo(f"{plural(len(new), 'image')} locked by digest, {len(failed)} not")
    return max(code, int(bool(failed)))


def _unused(root: Path, found: Sequence[Image], listed: Sequence[_Listed], lock: Mapping[str, str]) -> list[str]:
    """Return the images that gen.lock has and no cluster names; none where not all of all clusters was seen."""
    seen = all(each.whole for each in listed) and {each.cluster.name for each in listed} >= set(names(root))
    return sorted({*lock} - {image.name for image in found}) if seen else []


def _render(root: Path, digests: Mapping[str, str], unused: Sequence[str]) -> int:
    loaded = load(root)
    if any(one.wrong for one in loaded):
        show_findings(loaded, "text")
        click.echo(f"{summary(loaded)}: nothing was written", err=True)
        return 1
    outcome = render(
        root,
        loaded,
        dry_run=False,
        waiting=lambda text: click.echo(text, err=True),
        fresh=Fresh(lock=Lock(images=digests), unused=frozenset(unused)),
    )
    for text in refusals(outcome.edits):
        click.secho(text, err=True)
    refused = "nothing was written; settle this with `gen render` first, which has --discard"
    written = refused if outcome.refused else f"{plural(len(outcome.plan.changes), 'file')} changed"
    click.echo(f"{LOCK}: {written}")
    return int(outcome.refused)


def _show(found: Sequence[Image], listed: Sequence[_Listed], output: str) -> None:
    if output == "table":
        table(found)
    elif output == "json":
        click.echo(json.dumps(_data(found, listed), indent=2))
    elif output == "cyclonedx":
        document = sbom(listed[0].cluster.name, found, timestamp=_time())
        click.echo(json.dumps(document, indent=2))
    else:
        lists(found, [each.cluster.site.images for each in listed], output)


def _time() -> str:
    """Return the time that reproducible builds are told, nothing where there is none."""
    seconds = environ.get("SOURCE_DATE_EPOCH", "")
    return datetime.fromtimestamp(int(seconds), UTC).isoformat() if seconds.isdigit() else ""


def _data(found: Sequence[Image], listed: Sequence[_Listed]) -> dict[str, object]:
    return {
        "images": [
            {
                **{key: value for key, value in to_builtins(image).items() if value not in ("", None, False)},
                "reference": image.reference,
                "pinned": image.pinned,
            }
            for image in found
        ],
        "elsewhere": [to_builtins(stray) for each in listed for stray in each.strays],
        "unreadable": [to_builtins(one) for each in listed for one in each.unclear],
        "unseen": {each.cluster.name: [*each.unseen, *each.remote] for each in listed},
        "stale": {each.cluster.name: each.stale for each in listed},
        "findings": [_told(problem) for each in listed for problem in each.problems],
    }


def _judge(each: _Listed) -> int:
    """Say what is wrong with one cluster's images. With a mirror, what is not seen counts as coming from elsewhere."""
    name, mirror = each.cluster.name, each.cluster.site.images
    for problem in each.problems:
        click.echo(_told(problem), err=True)
    for stray in each.strays:
        told = f"error GEN-IMG-003: {_where(stray.use)}: {stray.use.applied} is not from {mirror}"
        click.echo(f"{stray.use.file}: {told}; fix: {stray.fix}", err=True)
    for one in each.unclear:
        kind = f"error {one.code}" if one.code else "note"
        what = f"`{one.use.applied}` is not readable as an image"
        click.echo(f"{one.use.file}: {kind}: {_where(one.use)}: {what}; fix: {one.fix}", err=True)
    told = "so that their images may come from elsewhere" if mirror else "their images are not in the list"
    if each.unseen:
        click.echo(f"{name}: not vendored, {told}: {', '.join(each.unseen)}; `gen vendor` brings them", err=True)
    if each.remote:
        what = "what their custom/ wants from the network was not looked at"
        click.echo(f"{name}: {what}, {told}: {', '.join(each.remote)}; commit the files", err=True)
    if each.stale:
        told = "vendored from other inputs than today's, so that their images may become others"
        click.echo(f"{name}: {told}: {', '.join(each.stale)}; `gen vendor` brings them", err=True)
    wrong = any(problem.severity == Severity.ERROR for problem in each.problems)
    unknown = mirror and (each.unseen or each.remote or each.stale)
    return int(bool(wrong or each.strays or any(one.code for one in each.unclear) or unknown))


def _told(one: Finding) -> str:
    return f"{one.file}: {one.severity} {one.code}: {one.about}: {one.message}; fix: {one.fix}"


def _where(use: Use) -> str:
    return f"{use.object}, {use.field}" if use.field else use.object
