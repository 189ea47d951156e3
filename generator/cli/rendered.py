"""`gen check --rendered` and `--server`: built objects, judged and shown."""

import json
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import click
from msgspec import Struct, structs

from generator.build.applications import build
from generator.build.crds import with_definitions
from generator.build.faults import untrue
from generator.build.folder import read_manifests
from generator.build.objects import Built, Problem
from generator.cli.options import root_of
from generator.cli.output import Shown, data, of_fault, of_finding, of_loaded, of_problem, show, summary, tally
from generator.errors import UsageError
from generator.live.refusals import EXPLAINED
from generator.model.cluster import Cluster, Waiver
from generator.model.finding import Severity
from generator.model.plural import plural
from generator.repository.project import Loaded, load
from generator.rules.check import RULES, examine, unjudged
from generator.rules.places import Places
from generator.rules.waivers import Settled, settle

_ASKED = {one.code for one in EXPLAINED}


class Request(Struct, frozen=True, kw_only=True):
    """What is to be judged, and by whom; `rendered` by the rules, `server` by an API server."""

    paths: tuple[Path, ...]
    clusters: tuple[str, ...]
    directory: Path
    schemas: tuple[Path, ...]
    output: str
    rendered: bool
    server: bool
    kubeconfig: Path | None
    context: str | None


class _Judged(Struct, frozen=True, kw_only=True):
    """A cluster or folder and what was found in it. `notes` and `unseen` are those of what was built; `unasked` is what
    the server could not judge, which is on standard error already.
    """

    name: str
    objects: int
    found: tuple[Shown, ...]
    waived: tuple[tuple[Waiver, int], ...] = ()
    unjudged: tuple[str, ...]
    unasked: tuple[str, ...]
    notes: tuple[str, ...]
    unseen: tuple[str, ...]


def check_rendered(request: Request) -> int:
    """Judge the objects of clusters, or of folders and files, and print what is found. Raises UsageError for what is
    not there, and where Kustomize or a server fails.
    """
    in_repository = not request.paths or bool(request.clusters)
    root = root_of(request.directory) if in_repository else Path()
    loaded = load(root, request.clusters) if in_repository else []
    if request.kubeconfig and len(loaded) > 1:
        listed = ", ".join(one.name for one in loaded)
        raise UsageError(f"--kubeconfig leads to one cluster, and here are {listed}: choose one with --cluster")
    judged = [] if any(one.wrong for one in loaded) else list(_judge(request, root, loaded))
    found = [*of_loaded(loaded), *(shown for one in judged for shown in one.found)]
    _SHOW[request.output](found, judged)
    if loaded and not judged:
        click.echo(f"{summary(loaded)}: nothing was built", err=True)
    return int(any(one.severity == Severity.ERROR for one in found))


def _judge(request: Request, root: Path, loaded: list[Loaded]) -> Iterator[_Judged]:
    """Judge each cluster, or what the paths lead to: alone, or together with the one cluster that is named."""
    clusters = [(one, one.cluster) for one in loaded if one.cluster]
    if not request.paths:
        places = Places(root)
        for one, cluster in clusters:
            built = _built(request, root, cluster, tolerant=True)
            whole = structs.replace(built, faults=(*built.faults, *untrue(root, cluster)))
            yield _of_cluster(request, one, cluster, whole, places)
        return
    if len(loaded) > 1:
        raise UsageError("PATH is judged within one cluster: give --cluster once")
    around = _built(request, root, clusters[0][1], tolerant=False) if clusters else None
    for path in request.paths:
        yield _of_folder(request, read_manifests(path), around)


def _built(request: Request, root: Path, cluster: Cluster, *, tolerant: bool) -> Built:
    return with_definitions(build(root, cluster, tolerant=tolerant), request.schemas)


def _of_cluster(request: Request, one: Loaded, cluster: Cluster, built: Built, places: Places) -> _Judged:
    problems, unasked = _problems(request, built)
    judged = {*(RULES if request.rendered else ()), *(_ASKED if request.server else ())}
    # What is not vendored, or was not built, may well have what a waiver is for.
    settled = _settled(cluster, problems, judged=judged if not (built.unseen or built.faults) else ())
    return _Judged(
        name=one.name,
        objects=len(built.objects),
        found=(
            *(of_finding(one.document, finding) for finding in settled.findings),
            *(of_fault(fault) for fault in built.faults),
            *(of_problem(problem, places.of(problem)) for problem in settled.kept),
        ),
        waived=settled.waived,
        unjudged=tuple(unjudged(built)) if request.rendered else built.notes,
        unasked=unasked,
        notes=built.notes,
        unseen=built.unseen,
    )


def _of_folder(request: Request, folder: Built, around: Built | None) -> _Judged:
    """Judge a folder; within a cluster, what its objects name and select may be the cluster's, whose waivers hold."""
    whole = with_definitions(folder, request.schemas)
    if around:
        both = (*around.objects, *folder.objects)
        notes = (*folder.notes, *around.notes)
        remote = (*around.remote, *folder.remote)
        together = structs.replace(around, objects=both, notes=notes, remote=remote)
        whole = with_definitions(together, request.schemas)
    places = Places(Path())
    problems, unasked = _problems(request, whole)
    own = tuple(one for one in problems if not one.object.component)
    settled = _settled(whole.cluster, own, judged=()) if whole.cluster else Settled(own, (), ())
    return _Judged(
        name=folder.name if not around else f"{folder.name} within {around.name}",
        objects=len(folder.objects),
        found=(
            *(of_fault(fault) for fault in folder.faults),
            *(of_problem(problem, places.of(problem)) for problem in settled.kept),
        ),
        waived=settled.waived,
        unjudged=tuple(unjudged(whole)) if request.rendered else whole.notes,
        unasked=unasked,
        notes=folder.notes,
        unseen=whole.unseen,
    )


def _settled(cluster: Cluster, problems: Sequence[Problem], *, judged: Collection[str]) -> Settled:
    return settle(cluster, problems, datetime.now(UTC).date(), known={*RULES, *_ASKED}, judged=judged)


def _problems(request: Request, built: Built) -> tuple[list[Problem], tuple[str, ...]]:
    """Return what is wrong, and what the server could not judge."""
    found = examine(built) if request.rendered else []
    if not request.server:
        return found, ()
    from generator.cli.server import check_server  # noqa: PLC0415 - heavy, and for this way only

    answered = check_server(built, request.kubeconfig, request.context)
    return [*found, *answered.problems], answered.unjudged


def _show_text(found: list[Shown], judged: list[_Judged]) -> None:
    show(found, "text")
    for one in judged:
        notes = f", {plural(len(one.notes), 'note')}" if one.notes else ""
        click.echo(f"{click.style(one.name, bold=True)}: {plural(one.objects, 'object')}, {tally(one.found)}{notes}")
        for waiver, number in one.waived:
            click.echo(f"  {_waived(waiver, number)}")
        for text in one.unjudged:
            click.echo(f"  not judged: {text}")


def _show_github(found: list[Shown], judged: list[_Judged]) -> None:
    show(found, "github")
    for one in judged:
        for waiver, number in one.waived:
            click.echo(f"::notice::{one.name}: {_waived(waiver, number)}")
        for text in one.unjudged:
            click.echo(f"::notice::{one.name}: not judged: {' '.join(text.split())}")


def _show_json(found: list[Shown], judged: list[_Judged]) -> None:
    told = {
        one.name: {
            "objects": one.objects,
            "errors": sum(shown.severity == Severity.ERROR for shown in one.found),
            "warnings": sum(shown.severity == Severity.WARNING for shown in one.found),
            "waived": [
                {"code": waiver.code, "count": number, "until": waiver.expires, "owner": waiver.owner}
                for waiver, number in one.waived
            ],
            "notJudged": [*one.unjudged, *one.unasked],
            "notes": list(one.notes),
            "unseen": list(one.unseen),
        }
        for one in judged
    }
    click.echo(json.dumps({"findings": [data(one) for one in found], "judged": told}, indent=2, ensure_ascii=False))


def _waived(waiver: Waiver, number: int) -> str:
    return f"{number} waived until {waiver.expires} by {waiver.owner}: {waiver.code}, {waiver.reason}"


_SHOW = {"text": _show_text, "github": _show_github, "json": _show_json}
