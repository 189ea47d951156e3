"""`gen check --rendered` and `--server`: built objects, judged and shown."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct, structs

from generator.build.objects import Built
from generator.cli.accepted import ACCEPTABLE, accept_idle
from generator.cli.explain import explanations
from generator.cli.options import root_of
from generator.cli.output import data, located, show, summary, tally
from generator.cli.terminal import annotate, bold, say, say_json
from generator.errors import UsageError
from generator.live.dry_run import refusals
from generator.model.finding import Severity
from generator.model.plural import plural
from generator.model.rule import explained
from generator.model.waiver import Waiver
from generator.repository.cluster_files import Loaded, load
from generator.repository.given_files import is_cluster_file, place
from generator.repository.idle_values import with_idle_values
from generator.repository.locate import Located
from generator.repository.places import names
from generator.rules.engine import RULES
from generator.rules.judging import Answers, Judged, Judges, judge_clusters, judge_paths
from generator.rules.waivers import Codes


class CheckOptions(Struct, frozen=True, kw_only=True):
    """What is to be judged, and by whom; `rendered` by the rules, `server` by an API server. With `within_only` paths
    are judged within the repository's only cluster where no cluster is named. What names no namespace goes to
    `namespace`.
    """

    paths: tuple[Path, ...]
    clusters: tuple[str, ...]
    directory: Path
    schemas: tuple[Path, ...]
    output: str
    strict: bool
    rendered: bool
    server: bool
    kubeconfig: Path | None
    context: str | None
    namespace: str | None = None
    within_only: bool = False


def check_rendered(options: CheckOptions) -> int:
    """Judge the objects of clusters, or of folders and files, and print what is found. Raises UsageError for what is
    not there, and where Kustomize or a server fails.
    """
    options = _within_only(_by_name(options))
    if options.namespace and not options.paths:
        raise UsageError("--namespace needs a PATH of manifests: all that is rendered names its own")
    in_repository = not options.paths or bool(options.clusters)
    root = root_of(options.directory) if in_repository else Path()
    read = load(root, options.clusters) if in_repository else []
    loaded = [accept_idle(with_idle_values(root, one)) for one in read]
    if options.kubeconfig and len(loaded) > 1:
        listed = ", ".join(one.name for one in loaded)
        raise UsageError(f"--kubeconfig leads to one cluster, and here are {listed}: choose one with --cluster")
    judged = [] if any(one.wrong for one in loaded) else [*_judged(options, root, loaded)]
    found = [*located(loaded), *(each for one in judged for each in one.found)]
    _SHOW[options.output](found, judged)
    if loaded and not judged:
        say(f"{summary(loaded)}: nothing was built", err=True)
    return int(any(options.strict or one.finding.severity == Severity.ERROR for one in found))


def _by_name(options: CheckOptions) -> CheckOptions:
    """Take a cluster file for the cluster that it is. Raises UsageError for one that nothing is rendered of."""
    given = [path for path in options.paths if is_cluster_file(path)]
    places = [place(path) for path in given]
    for path, found in zip(given, places, strict=True):
        if found is None:
            raise UsageError(
                f"{path}: nothing is rendered of a cluster file outside clusters/NAME/cluster.yaml; "
                f"check the file alone: gen check {path}"
            )
    inside = [found for found in places if found]
    if not inside:
        return options
    if len(given) < len(options.paths) or options.clusters or len({root for root, _ in inside}) > 1:
        raise UsageError("cluster files are judged by themselves, those of one repository at once")
    return structs.replace(options, paths=(), clusters=tuple(name for _, name in inside), directory=inside[0][0])


def _within_only(options: CheckOptions) -> CheckOptions:
    """Name the repository's cluster where there is one alone, and somebody asks for that."""
    if not options.within_only or options.clusters:
        return options
    try:
        found = names(root_of(options.directory))
    except UsageError:
        return options
    return structs.replace(options, clusters=tuple(found)) if len(found) == 1 else options


def _judged(options: CheckOptions, root: Path, loaded: list[Loaded]) -> Iterable[Judged]:
    if not options.paths:
        return judge_clusters(root, loaded, _judges(options))
    if len(loaded) > 1:
        raise UsageError("PATH is judged within one cluster: give --cluster once")
    around = loaded[0].cluster if loaded else None
    return judge_paths(root, options.paths, around, _judges(options), options.namespace or "")


def _judges(options: CheckOptions) -> Judges:
    return Judges(
        rules=options.rendered,
        server=_server(options) if options.server else None,
        schemas=options.schemas,
        codes=_codes(rendered=options.rendered, server=options.server),
        today=datetime.now(UTC).date(),
    )


def _codes(*, rendered: bool, server: bool) -> Codes:
    """Return all codes, and which of them are looked for: those of rules on built objects, those of an API server."""
    of_server = explained([refusals])
    looked_for = {*(RULES if rendered else ()), *(of_server if server else ())}
    return Codes(explained=explanations(), waivable=ACCEPTABLE, looked_for=looked_for)


def _server(options: CheckOptions) -> Callable[[Built], Answers]:
    from generator.cli.server import check_server  # noqa: PLC0415 - heavy, and for this way only

    return lambda built: check_server(built, options.kubeconfig, options.context)


def _show_text(found: list[Located], judged: list[Judged]) -> None:
    show(found, "text")
    for one in judged:
        notes = f", {plural(len(one.notes), 'note')}" if one.notes else ""
        say(f"{bold(one.name)}: {plural(one.objects, 'object')}, {tally(one.findings)}{notes}")
        for waiver, number in one.waived:
            say(f"  {_waived(waiver, number)}")
        for text in one.unjudged:
            say(f"  not judged: {text}")


def _show_github(found: list[Located], judged: list[Judged]) -> None:
    show(found, "github")
    for one in judged:
        for waiver, number in one.waived:
            annotate("notice", f"{one.name}: {_waived(waiver, number)}")
        for text in one.unjudged:
            annotate("notice", f"{one.name}: not judged: {' '.join(text.split())}")


def _show_json(found: list[Located], judged: list[Judged]) -> None:
    by_name = {
        one.name: {
            "objects": one.objects,
            "errors": _count(one, Severity.ERROR),
            "warnings": _count(one, Severity.WARNING),
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
    say_json({"findings": [data(one) for one in found], "judged": by_name})


def _count(one: Judged, severity: Severity) -> int:
    return sum(finding.severity == severity for finding in one.findings)


def _waived(waiver: Waiver, number: int) -> str:
    return f"{number} waived until {waiver.expires} by {waiver.owner}: {waiver.code}, {waiver.reason}"


def _show_gitlab(found: list[Located], judged: list[Judged]) -> None:
    from generator.cli.gitlab import entries, show_report  # noqa: PLC0415 - only when it is asked for

    show_report(entries(found))
    for one in judged:
        for text in one.unjudged:
            say(f"{one.name}: not judged: {text}", err=True)


_SHOW = {"text": _show_text, "github": _show_github, "json": _show_json, "gitlab": _show_gitlab}
