"""`gen vendor`."""

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import perf_counter

import click

from generator.cli.options import CLUSTER, DISCARD, ROOT, SHARD, TO, after_writing, discarded, narrowed, root_of
from generator.cli.output import OUTPUT, nothing_written
from generator.cli.sharing import Parts, kept, refuse_mixed
from generator.cli.terminal import annotate, bold, say, say_all, say_json, styled, tell
from generator.errors import UsageError
from generator.model.cluster import cluster_file
from generator.model.plural import plural
from generator.repository.cluster_files import Loaded, load
from generator.repository.hand_edits import refusals
from generator.repository.plan import Change
from generator.repository.shards import Shard
from generator.repository.shares import inputs_of, share_of
from generator.upstream.charts import FetchOptions
from generator.upstream.download import sources
from generator.upstream.findings import grouped
from generator.upstream.update import Moved, moved
from generator.upstream.vendor import Options, Report, Vendored, vendor

LISTED = 20
# `\b` is click's mark for lines to leave as they are.
ENVIRONMENT = """\
\b
Environment, for downloads only:
  GEN_CHART_CA    a file with the CA certificates of the site
  DOCKER_CONFIG   a folder with config.json, as `docker login` writes it, for OCI registries; its helpers are asked
  NETRC           a file of machine, login and password, for HTTP
  HTTPS_PROXY, HTTP_PROXY, NO_PROXY as everywhere
  GEN_HELM        the Helm to use, of the version that gen names
  XDG_CACHE_HOME  charts are kept in gen/charts below it; else below ~/.cache
"""


@click.command("vendor", epilog=ENVIRONMENT)
@click.argument("components", nargs=-1, metavar="[COMPONENT]...")
@CLUSTER
@OUTPUT
@ROOT
@SHARD
@TO
@click.option("--offline", is_flag=True, help="Use only what is in the cache; tell what is missing there.")
@click.option(
    "--update",
    is_flag=True,
    help="Move older versions in the cluster files to gen's defaults. With names, accept other digests for them, too.",
)
@click.option(
    "--check",
    "only_check",
    is_flag=True,
    help="Write nothing; inflate everything again, exit code 1 when a committed file differs.",
)
@click.option("--dry-run", is_flag=True, help="Write nothing, tell what would change.")
@DISCARD
def command(  # noqa: PLR0913 - the verb's options
    components: tuple[str, ...],
    clusters: tuple[str, ...],
    output: str,
    directory: Path,
    *,
    shard: str | None,
    to: Path | None,
    offline: bool,
    update: bool,
    only_check: bool,
    dry_run: bool,
    discard: tuple[str, ...],
) -> int:
    """Inflate charts and upstream manifests into the repository, with digests locked.

    Does what is not vendored or stale, or the COMPONENTs named. Each chart is pulled once, from its repository or from
    `site.charts`, and must have the digest in gen.lock, which its first use writes. Helm then runs without network,
    kubeconfig or plugins; what it makes is what is reviewed and applied. Nothing is written when anything is wrong:
    exit code 1. `--shard I/N --to DIR` does it for a part of the clusters; `gen render --from DIR` writes all parts.
    """
    root, begun = root_of(directory), perf_counter()
    refuse_mixed(Parts(shard, to), (clusters,), writes=not (only_check or dry_run))
    _refuse(components, shard, update=update, only_check=only_check)
    inputs = inputs_of(root) if to else ""
    chosen = narrowed(root, clusters, None, shard)
    change = _moved(root, [] if chosen is None else load(root, chosen), components, update=update)
    if any(one.wrong for one in change.loaded):
        return nothing_written(change.loaded, output)
    how = FetchOptions(sources=sources(), offline=offline, again=frozenset(components if update else ()))
    lost, shown = frozenset(discarded(root, discard)), bool(dry_run or to)
    options = Options(
        how=how, components=components, check=only_check, dry_run=shown, discard=lost, cluster_files=change.files
    )
    report = vendor(root, change.loaded, options, _progress(), tell)
    SHOWN[output](report, options, change.told, perf_counter() - begun)
    if to and report.outcome and not report.refused:
        kept(to, share_of(root, Shard.parse(shard or ""), inputs, report.outcome, report.used), output)
    _say_next(root, report, options, output, dry_run=dry_run)
    return _code(report, options)


def _code(report: Report, options: Options) -> int:
    """Return the exit code: 1 where nothing was written, or what is there is not what the charts become."""
    return int(bool(report.findings) or report.refused or (options.check and bool(report.differing)))


def _refuse(components: tuple[str, ...], shard: str | None, *, update: bool, only_check: bool) -> None:
    """Refuse what cannot be asked for at once."""
    if update and (only_check or shard):
        why = "--check changes nothing" if only_check else "a part writes no cluster file"
        raise UsageError(f"--update changes versions and {why}: give one of the two")
    if components and shard:
        raise UsageError("--shard is for whatever is not vendored or stale: give it without COMPONENT")


def _say_next(root: Path, report: Report, options: Options, output: str, *, dry_run: bool) -> None:
    if output == "json":
        return
    if dry_run and not report.refused and report.outcome and report.outcome.plan.changes:
        say("next: the same without --dry-run")
    if _wrote(report, options):
        say(after_writing(root))


def _moved(root: Path, loaded: list[Loaded], components: tuple[str, ...], *, update: bool) -> Moved:
    if not update or any(one.wrong for one in loaded):
        return Moved(tuple(loaded), {}, ())
    return moved(root, loaded, components)


def _progress() -> Callable[[str], None]:
    """Tell each step while a person watches; a log gets the lines of components only."""
    watched = sys.stderr.isatty()
    return lambda text: say(f"  {text}", err=True) if watched else None


def _show(report: Report, options: Options, told: Sequence[str], seconds: float) -> None:
    say_all(told)
    for did in report.did:
        say(_line(did, failed=(did.cluster, did.component) in report.failed))
        if not options.check and not report.findings:
            for text in _changed(did):
                say(f"    {text}")
    for text in report.notes:
        say(f"note: {text}", err=True)
    say_all(_problems(report, options), err=True)
    say(_summary(report, options, seconds))


def _line(did: Vendored, *, failed: bool) -> str:
    place = bold(f"{did.cluster}/{did.component}")
    if failed:
        return f"{place}: {styled('failed', 'red')}, {did.seconds:.1f} s (is {did.state})"
    definitions = f", {did.definitions} CRDs" if did.definitions else ""
    pulled = f", {did.pulled} pulled" if did.pulled else ", cached"
    return f"{place}: {plural(did.objects, 'object')}{definitions}{pulled}, {did.seconds:.1f} s (was {did.state})"


def _changed(did: Vendored) -> Iterator[str]:
    """Say what a new version, or new inputs, change: images and objects that come and go first, then what is said of
    objects in their `spec` and the like; what is said of them in `metadata` alone last.
    """
    found = did.changes
    lines = [f"+ image {image}" for image in found.images] + [f"- image {image}" for image in found.images_gone]
    lines += [f"+ {name}" for name in found.added] + [f"- {name}" for name in found.removed]
    ordered = sorted(found.changed.items(), key=lambda one: (_rank(one[1]), one[0]))
    lines += [f"~ {name}: {_several(paths)}" for name, paths in ordered]
    yield from lines[:LISTED]
    if len(lines) > LISTED:
        yield f"... and {len(lines) - LISTED} more (all of them: --output json)"


def _rank(paths: tuple[str, ...]) -> int:
    """Return how late a change is shown: what runs, what else an object says, schemas of CRDs, labels."""
    if all(path.startswith("metadata") for path in paths):
        return 3
    if any("spec.versions" in path for path in paths):
        return 2
    return 0 if any("spec.template" in path or "image" in path for path in paths) else 1


def _several(paths: tuple[str, ...]) -> str:
    paths = tuple(sorted(paths, key=lambda path: ("image" not in path, path.startswith("metadata"))))
    return ", ".join(paths[:4]) + (f" and {len(paths) - 4} more" if len(paths) > 4 else "")


def _problems(report: Report, options: Options) -> Iterator[str]:
    for places, finding, more in grouped(report.findings):
        also = f"; so for {more} more" if more else ""
        where = bold(", ".join(map("/".join, places)))
        yield f"{where}: {finding.message}{also}\n   fix: {finding.fix}"
    if report.outcome:
        yield from (f"note: {note}" for note in report.outcome.notes)
        yield from refusals(report.outcome.edits)
    if options.check:
        for path in report.differing[:LISTED]:
            yield f"{path}: is not what the locked charts become with these inputs"
        if len(report.differing) > LISTED:
            yield f"... and {len(report.differing) - LISTED} more (all of them: --output json)"


def _summary(report: Report, options: Options, seconds: float) -> str:
    done = sum((did.cluster, did.component) not in report.failed for did in report.did)
    counted = f"{done} inflated, {report.untouched} left as they are, in {seconds:.1f} s"
    if report.findings:
        count = len(report.findings)
        return f"{count} {'thing is' if count == 1 else 'things are'} wrong; nothing was written; {counted}"
    if report.refused:
        return f"refused: files were edited by hand; nothing was written; {counted}"
    return _checked(report, counted) if options.check else _written(report, options, counted)


def _checked(report: Report, counted: str) -> str:
    if report.differing:
        # In `overlays/<cluster>/<component>/` and `base/<component>/`.
        parts = (path.split("/") for path in report.differing)
        names = sorted({one[2] if one[0] == "overlays" else one[1] for one in parts})
        files = plural(len(report.differing), "file")
        return f"{files} would be written otherwise; {counted}\nnext: gen vendor {' '.join(names)}"
    return f"everything vendored is what the locked charts become; {counted}"


def _written(report: Report, options: Options, counted: str) -> str:
    changes = len(report.outcome.plan.changes) if report.outcome else 0
    if not changes:
        return f"nothing to change; {counted}"
    if options.dry_run:
        return f"would change {plural(changes, 'file')}; {counted}"
    return f"{plural(changes, 'file')} changed; {counted}"


def _wrote(report: Report, options: Options) -> Sequence[Change]:
    nothing = report.findings or report.refused or options.check or options.dry_run
    return report.outcome.plan.changes if report.outcome and not nothing else ()


def _show_github(report: Report, options: Options, _told: Sequence[str], seconds: float) -> None:
    for places, finding, _ in grouped(report.findings):
        file = finding.file or cluster_file(places[0][0])
        text = f"{', '.join(map('/'.join, places))}: {finding.message}\nfix: {finding.fix}"
        annotate("error", text, file=file)
    for path in report.differing if options.check else ():
        text = "not what the locked charts become: name its component to `gen vendor`, and commit"
        annotate("error", text, file=path)
    for edit in report.outcome.edits if report.outcome else ():
        annotate("error", "edited by hand: gen would overwrite it", file=edit.path, line=edit.line)
    say(_summary(report, options, seconds))


def _show_json(report: Report, options: Options, told: Sequence[str], seconds: float) -> None:
    outcome = report.outcome
    data = {
        "written": outcome is not None and not (options.check or options.dry_run or outcome.refused),
        "seconds": round(seconds, 3),
        "moved": list(told),
        "components": [_data(did) for did in report.did],
        "untouched": report.untouched,
        "wrong": [
            {"cluster": place[0], "component": place[1], "what": finding.message, "fix": finding.fix}
            for place, finding in report.findings
        ],
        "differing": report.differing if options.check else [],
        "changes": [{"path": each.path, "kind": each.kind} for each in outcome.plan.changes] if outcome else [],
        "handEdits": [{"path": edit.path, "kind": edit.kind} for edit in outcome.edits] if outcome else [],
        "notes": [*report.notes, *(outcome.notes if outcome else ())],
    }
    say_json(data)


def _data(did: Vendored) -> dict[str, object]:
    found = did.changes
    return {
        "cluster": did.cluster,
        "component": did.component,
        "was": did.state,
        "objects": did.objects,
        "definitions": did.definitions,
        "pulled": did.pulled,
        "seconds": round(did.seconds, 3),
        "added": list(found.added),
        "removed": list(found.removed),
        "changed": {name: list(paths) for name, paths in found.changed.items()},
        "imagesAdded": list(found.images),
        "imagesRemoved": list(found.images_gone),
    }


SHOWN = {"json": _show_json, "github": _show_github, "text": _show}
"""What tells of a run, by the value of `--output`."""
