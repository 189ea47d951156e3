"""`gen check`."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from generator.cli.options import CLUSTER, ROOT, SHARD, SINCE, narrowed, nobody, root_of
from generator.cli.output import REPORTED, show_findings, summary
from generator.cli.terminal import say, say_all
from generator.errors import UsageError
from generator.model.plural import plural
from generator.model.waiver import Waiver
from generator.repository.cluster_files import Loaded, load
from generator.repository.head_files import MOST, clusters_at_head, differing_from_head
from generator.repository.idle_values import unproven, with_idle_values
from generator.repository.places import without_file
from generator.repository.unchanged import Look

RENDER = "next: gen render"
NOTHING = "nothing to render: all is as the last render left it"
_FOLDER = click.Path(path_type=Path, allow_dash=True)


@click.command("check")
@click.argument(
    "paths",
    metavar="[PATH]...",
    nargs=-1,
    type=_FOLDER,
    callback=lambda _context, _option, given: _cluster_files(given),
)
@CLUSTER
@REPORTED
@ROOT
@SINCE
@SHARD
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
@click.option(
    "--namespace",
    metavar="NAME",
    help="With a PATH of manifests: where those go that name no namespace, as with kubectl. Default: nowhere.",
)
def command(  # noqa: PLR0913 - the options of the verb
    clusters: tuple[str, ...],
    output: str,
    directory: Path,
    *,
    since: str | None,
    shard: str | None,
    rendered: bool,
    server: bool,
    **more: Any,
) -> int:
    """Check cluster files and report everything that is wrong with them, all at once: those of the repository, or each
    PATH, which may also lie outside a repository.

    A file that differs from HEAD is held against the cluster that HEAD describes: warnings tell what that one refuses,
    what loses data, and what is left behind.

    A PATH that is no cluster file, and no folder with one, holds manifests: a folder, a kustomization, a file, or
    standard input (-). They are judged as part of the cluster that --cluster names, with that cluster's waivers, files
    together and each folder by itself; without it of the only one of the repository. Where there are several, or none,
    or with --rendered, they are judged as part of no cluster, each by itself. What could not be judged is always told.
    What gen itself makes of a cluster file is refused here, but for `custom/`.

    With --rendered also the objects of clusters, as Kustomize builds them from the repository as it stands.

    Works offline, unless --kubeconfig names a cluster. What builds objects needs Kustomize (`gen doctor`). Exit code
    1 when there is an error; with --strict also when there is a warning that no waiver accepts.
    """
    if (since or shard) and more["paths"]:
        raise UsageError(f"give PATH or {'--since' if since else '--shard'}: both say which cluster files are checked")
    wanted = narrowed(root_of(directory), clusters, since, shard) if since or shard else clusters
    if wanted is None:
        return _untouched(nobody(since, shard), output)
    brought = not (rendered or server) and _are_brought(more["paths"])
    if rendered or server or brought:
        judging = {"rendered": rendered or brought, "server": server, "within_only": brought}
        return _check_rendered(clusters=wanted, output=output, directory=directory, **judging, **more)
    paths, strict = more.pop("paths"), more.pop("strict")
    _refuse_unused(paths, wanted, more.values())
    return _check_files(paths, wanted, directory, output, strict=strict, committed=since is not None)


def _check_rendered(**given: Any) -> int:
    from generator.cli.rendered import CheckOptions, check_rendered  # noqa: PLC0415 - heavy, and for this way only

    return check_rendered(CheckOptions(**given))


def _cluster_files(paths: Sequence[Path]) -> tuple[Path, ...]:
    """Take a folder that holds a cluster file for that file, and what is named twice once."""
    if not paths:
        return ()
    from generator.repository.given_files import as_cluster_file  # noqa: PLC0415 - for this way only

    return tuple(dict.fromkeys(map(as_cluster_file, paths)))


def _are_brought(paths: Sequence[Path]) -> bool:
    """Tell whether all that is named holds manifests. A folder of cluster files is a repository, and does not. Raises
    UsageError for what gen makes itself.
    """
    if not paths:
        return False
    from generator.repository.given_files import generated, is_cluster_file  # noqa: PLC0415 - for this way only

    if any(is_cluster_file(path) or any(path.glob("clusters/*/cluster.yaml")) for path in paths):
        return False
    if made := next(((path, why) for path in paths if (why := generated(path))), None):
        raise UsageError(f"{made[0]}: {made[1]}")
    return True


def _refuse_unused(paths: Sequence[Path], clusters: Sequence[str], of_others: Iterable[object]) -> None:
    """Raise UsageError for options that say nothing of cluster files; `of_others` is what those for objects say."""
    if any(of_others):
        raise UsageError(
            "--schemas needs --rendered or --server; --kubeconfig and --context need --server; "
            "--namespace needs a PATH of manifests"
        )
    if paths and clusters:
        raise UsageError("give PATH or --cluster: both say which cluster files are checked")


def _of_repository(root: Path, clusters: Sequence[str]) -> list[Loaded]:
    """Return cluster files with what stands beside them in the repository judged, too."""
    return [with_idle_values(root, one) for one in load(root, clusters)]


def _check_files(  # noqa: PLR0913 - the verb's options
    paths: Sequence[Path], clusters: Sequence[str], directory: Path, output: str, *, strict: bool, committed: bool
) -> int:
    """Check cluster files, and nothing that is rendered of them. Of what is `committed` HEAD says the same."""
    root = None if paths else root_of(directory)
    # It looks at every file of the repository: not for a few clusters of many.
    look = Look.at(root) if root and output == "text" and not clusters else None
    read = _of_repository(root, clusters) if root else _given(paths)
    accepted, waived = zip(*map(_accepted, read), strict=True)
    loaded = _foreseen(root, accepted, whole=not clusters) if root and not committed else accepted
    show_findings(loaded, output)
    say_all(_besides(root, loaded) if root else (), err=True)
    failed = any(one.wrong or (strict and one.findings) for one in loaded)
    if output == "text":
        _end(loaded, waived)
        if root and not failed:
            say(_next(root, loaded, look))
    return int(failed)


def _besides(root: Path, loaded: Sequence[Loaded]) -> Iterator[str]:
    """Yield what is worth a word and no finding."""
    for text in without_file(root):
        yield f"warning: {text}"
    for one in loaded:
        yield from (f"note: {one.name}: {text}" for text in unproven(root, one))


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


def _untouched(why: str, output: str) -> int:
    show_findings((), output)
    if output == "text":
        say(why)
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


def _end(loaded: Sequence[Loaded], waived: Iterable[Sequence[tuple[Waiver, int]]]) -> None:
    for waiver, number in (each for one in waived for each in one):
        say(f"{number} accepted until {waiver.expires} by {waiver.owner}: {waiver.code}, {waiver.reason}")
    if held := sum(one.held for one in loaded):
        say(f"{plural(held, 'finding')} of rules {'waits' if held == 1 else 'wait'} until these are settled")
    say(summary(loaded))


def _next(root: Path, loaded: Sequence[Loaded], look: Look | None) -> str:
    """Return what comes next: what the last render left tells it; where others have rendered since, as after `git
    pull`, what a render would change. Nothing is rendered only for that while somebody edits a cluster file.
    """
    answer = look.answer if look else "unknown"
    if answer == "refused":
        return "next: what the last render refused; `gen render` tells it again"
    if answer == "nothing":
        return NOTHING
    if _begun(root, loaded, look) or not _stand(root, loaded):
        return RENDER
    if look:
        look.keep()
    return NOTHING


def _begun(root: Path, loaded: Sequence[Loaded], look: Look | None) -> bool:
    """Tell whether somebody is at work on a cluster file: never rendered, or edited since its commit and its render."""
    edited = {*differing_from_head(root)}
    return any(
        not (root / "overlays" / one.name).is_dir()
        or (one.document.file in edited and look is not None and look.edited_last(one.name))
        for one in loaded
    )


def _stand(root: Path, loaded: Sequence[Loaded]) -> bool:
    """Tell whether what clusters are rendered as stands already. Where nobody can tell `gen render` says why."""
    from generator.repository.render import changes  # noqa: PLC0415 - only where others have rendered

    with suppress(UsageError):
        return not changes(root, loaded)
    return False
