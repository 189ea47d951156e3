"""`gen check`."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from generator.cli.options import CLUSTER, ROOT, SINCE, narrowed, root_of
from generator.cli.output import REPORTED, show_findings, summary
from generator.cli.terminal import say
from generator.errors import UsageError
from generator.model.cluster import Waiver
from generator.model.plural import plural
from generator.repository.cluster_files import Loaded, load
from generator.repository.head_files import MOST, clusters_at_head, differing_from_head
from generator.repository.idle_values import with_idle_values
from generator.repository.places import without_file

_FOLDER = click.Path(path_type=Path, allow_dash=True)


@click.command("check")
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=_FOLDER)
@CLUSTER
@REPORTED
@ROOT
@SINCE
@click.option("--strict", is_flag=True, help="Let warnings fail as errors do (exit code 1).")
@click.option("--rendered", is_flag=True, help="Build the objects with Kustomize and judge them.")
@click.option("--server", is_flag=True, help="Ask an API server as well: a throw-away one, or that of --kubeconfig.")
@click.option(
    "--schemas",
    metavar="DIR",
    multiple=True,
    type=_FOLDER,
    help="A folder or file of CRDs that are not among the objects; may be repeated. Default: none.",
)
@click.option(
    "--kubeconfig",
    metavar="FILE",
    type=_FOLDER,
    help="With --server: the cluster to ask. Default: a throw-away API server.",
)
@click.option("--context", metavar="NAME", help="With --kubeconfig: one of its contexts. Default: its current one.")
def command(  # noqa: PLR0913 - the options of the verb
    clusters: tuple[str, ...],
    output: str,
    directory: Path,
    *,
    since: str | None,
    rendered: bool,
    server: bool,
    **more: Any,
) -> int:
    """Check cluster files and report everything that is wrong with them, all at once: those of the repository, or each
    PATH, which may also lie outside a repository.

    A file that differs from HEAD is held against the cluster that HEAD describes: warnings tell what that one refuses,
    what loses data, and what is left behind.

    With --rendered also the objects, as Kustomize builds them from the repository as it stands; a PATH that is no
    cluster file is then any folder, kustomization or file, or standard input (-). It is judged as part of the cluster
    that --cluster names, with that cluster's waivers; without --cluster as part of none. What could not be judged is
    always told.

    Works offline, unless --kubeconfig names a cluster. --rendered and --server need Kustomize (`gen doctor`). Exit code
    1 when there is an error; with --strict also when there is a warning that no waiver accepts.
    """
    if since is not None and more["paths"]:
        raise UsageError("give PATH or --since: both say which cluster files are checked")
    wanted = clusters if since is None else narrowed(root_of(directory), clusters, since)
    if wanted is None:
        return _untouched(since, output)
    if rendered or server:
        return _check_rendered(
            clusters=wanted, output=output, directory=directory, rendered=rendered, server=server, **more
        )
    paths, strict = more.pop("paths"), more.pop("strict")
    _refuse_unused(paths, wanted, more.values())
    return _check_files(paths, wanted, directory, output, strict=strict, committed=since is not None)


def _check_rendered(**given: Any) -> int:
    from generator.cli.rendered import CheckOptions, check_rendered  # noqa: PLC0415 - heavy, and for this way only

    return check_rendered(CheckOptions(**given))


def _refuse_unused(paths: Sequence[Path], clusters: Sequence[str], of_others: Iterable[object]) -> None:
    """Raise UsageError for options that say nothing of cluster files; `of_others` is what those for objects say."""
    if any(of_others):
        raise UsageError("--schemas needs --rendered or --server; --kubeconfig and --context need --server")
    if paths and clusters:
        raise UsageError("give PATH or --cluster: both say which cluster files are checked")


def _check_files(  # noqa: PLR0913 - the verb's options
    paths: Sequence[Path], clusters: Sequence[str], directory: Path, output: str, *, strict: bool, committed: bool
) -> int:
    """Check cluster files, and nothing that is rendered of them. Of what is `committed` HEAD says the same."""
    root = None if paths else root_of(directory)
    read = [with_idle_values(root, one) for one in load(root, clusters)] if root else _given(paths)
    accepted, waived = zip(*map(_accepted, read), strict=True)
    loaded = _foreseen(root, accepted, whole=not clusters) if root and not committed else accepted
    show_findings(loaded, output)
    for text in without_file(root) if root else ():
        say(f"warning: {text}", err=True)
    failed = any(one.wrong or (strict and one.findings) for one in loaded)
    if output == "text":
        _end(loaded, waived, failed=failed, rendering=not paths)
    return int(failed)


def _foreseen(root: Path, loaded: Sequence[Loaded], *, whole: bool) -> Sequence[Loaded]:
    """Add warnings for what the clusters that HEAD describes would refuse, lose or keep."""
    mine = {one.document.file: one.cluster for one in loaded}
    paths = [path for path in differing_from_head(root) if whole or path in mine]
    if len(paths) > MOST:
        say(f"{len(paths)} cluster files differ from HEAD: told is what {MOST} do; `gen diff` tells all", err=True)
    known = clusters_at_head(root, paths[:MOST])
    if before := {path: one for path, one in known.items() if mine.get(path) != one.cluster}:
        from generator.review.since_head import foresee  # noqa: PLC0415 - only where a cluster is being edited

        return foresee(root, loaded, before)
    return loaded


def _untouched(since: str | None, output: str) -> int:
    show_findings((), output)
    if output == "text":
        say(f"no cluster differs since {since}")
    return 0


def _given(paths: Iterable[Path]) -> list[Loaded]:
    from generator.repository.given_files import load_files  # noqa: PLC0415 - for this way only

    return load_files(paths)


def _accepted(one: Loaded) -> tuple[Loaded, Sequence[tuple[Waiver, int]]]:
    """Take out warnings that are accepted: that depends on the day, so that only `check` does it."""
    if not one.cluster or not one.cluster.waivers:
        return one, ()
    from generator.cli.accepted import accept  # noqa: PLC0415 - for the few clusters with waivers

    return accept(one)


def _end(
    loaded: Sequence[Loaded], waived: Iterable[Sequence[tuple[Waiver, int]]], *, failed: bool, rendering: bool
) -> None:
    for waiver, number in (each for one in waived for each in one):
        say(f"{number} accepted until {waiver.expires} by {waiver.owner}: {waiver.code}, {waiver.reason}")
    if held := sum(one.held for one in loaded):
        say(f"{plural(held, 'finding')} of rules {'waits' if held == 1 else 'wait'} until these are settled")
    say(summary(loaded))
    if rendering and not failed:
        say("next: gen render")
