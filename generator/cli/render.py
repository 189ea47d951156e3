"""`gen render`."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import click

from generator.cli.options import (
    CLUSTER,
    DISCARD,
    FOLDER,
    ROOT,
    SHARD,
    SINCE,
    TO,
    after_writing,
    narrowed,
    nobody,
    root_of,
)
from generator.cli.output import REPORTED, located, nothing_written, show_findings, without_accepted
from generator.cli.rendering import Options, result
from generator.cli.sharing import Parts, joined, keep_part, refuse_mixed
from generator.cli.terminal import annotate, bold, say, say_all, say_json
from generator.errors import UsageError
from generator.model.finding import Severity
from generator.model.plural import plural
from generator.repository.outcome import Outcome
from generator.repository.shards import Shard

if TYPE_CHECKING:
    from generator.repository.cluster_files import Loaded
    from generator.review.report import ClusterReport

LISTED = 20
WORDS = {"create": "new", "update": "changed", "delete": "removed"}


@click.command("render")
@CLUSTER
@REPORTED
@ROOT
@SINCE
@SHARD
@TO
@click.option(
    "--from",
    "source",
    metavar="DIR",
    type=FOLDER,
    help="Render nothing: write what all parts in this folder came to. Default: render.",
)
@click.option("--check", "only_check", is_flag=True, help="Write nothing; exit code 1 when something would change.")
@click.option("--dry-run", is_flag=True, help="Write nothing, tell what would change.")
@DISCARD
def command(  # noqa: PLR0913 - the verb's options
    clusters: tuple[str, ...],
    output: str,
    directory: Path,
    *,
    since: str | None,
    shard: str | None,
    to: Path | None,
    source: Path | None,
    only_check: bool,
    dry_run: bool,
    discard: tuple[str, ...],
) -> int:
    """Write the repository that Argo CD syncs from the cluster files.

    Works offline: no cluster is contacted and no program is started, but Git where a file may have been edited by
    hand. Nothing is written when a cluster file is wrong or a hand edit would be lost: exit code 1.

    Many clusters can be rendered in parts, in any order and on several machines with the same commit:
    `--shard I/N --to DIR` each, then `--from DIR` once, which leaves the repository as one run would.
    """
    begun = perf_counter()
    root = root_of(directory)
    if since is not None and not only_check:
        raise UsageError("--since is for --check: what is written is written for all that the files say")
    dry_run |= only_check
    refuse_mixed(Parts(shard, to, source), (clusters, since), writes=not dry_run)
    options = Options(dry_run=dry_run, verify=only_check, discard=discard, output=output)
    if to:
        return keep_part(root, Shard.parse(shard or ""), to, options)
    if source:
        return _show_all([], joined(root, source, options), root, options, begun)
    wanted = narrowed(root, clusters, since, shard)
    if wanted is None:
        say(nobody(since, shard), err=output == "json")
        return 0
    loaded, outcome = result(root, wanted, options)
    if outcome is None:
        return nothing_written(loaded, output)
    return _show_all(loaded, outcome, root, options, begun, told=_consequences(root, outcome, options))


def _show_all(  # noqa: PLR0913 - what is shown
    loaded: list["Loaded"],
    outcome: Outcome,
    root: Path,
    options: Options,
    begun: float,
    *,
    told: Sequence["ClusterReport"] = (),
) -> int:
    """Show what a render did, or would do, and return the exit code; the option `verify` is that of `--check`."""
    output, written = options.output, not options.dry_run
    show = {"json": _show_json, "github": _show_github, "gitlab": _show_gitlab, "text": _show}[output]
    show([*map(without_accepted, loaded)], outcome, written=written, seconds=perf_counter() - begun)
    if output == "text":
        _tell(told)
    if written and outcome.plan.changes and not outcome.refused and output not in {"json", "gitlab"}:
        say(after_writing(root))
    return int(outcome.refused or (options.verify and bool(outcome.plan.changes or outcome.stale or outcome.damaged)))


def _consequences(root: Path, outcome: Outcome, options: Options) -> list["ClusterReport"]:
    """Return what it means for the running clusters that files are overwritten."""
    if outcome.refused or options.verify or not any(change.old for change in outcome.plan.changes):
        return []
    from generator.review.overwritten import consequences  # noqa: PLC0415 - only where something is overwritten

    return consequences(root, outcome.plan.changes)


def _tell(reports: Sequence["ClusterReport"]) -> None:
    """Say what is felt, the loudest first; `gen diff` says the rest."""
    if reports:
        from generator.review.text import brief  # noqa: PLC0415 - as above

        say_all(brief(reports))


def _show(loaded: list["Loaded"], outcome: Outcome, *, written: bool, seconds: float) -> None:
    show_findings(loaded, "text")
    counted = _counted(outcome)
    for name, components in outcome.components.items():
        spent = f" in {outcome.seconds[name]:.2f} s" if name in outcome.seconds else ", unchanged since the last render"
        say(f"{bold(name)}: {plural(len(components), 'component')}{spent}")
        for component in ("argocd", "bootstrap", "namespaces", *components):
            place = "clusters" if component in {"argocd", "bootstrap"} else "overlays"
            if kinds := counted.get((place, name, component)):
                say(f"  {component:24} {in_words(kinds)}")
    for parts, kinds in counted.items():
        # Folders that clusters share, and clusters that are gone.
        if len(parts) == 1 or parts[1] not in outcome.components:
            say(f"  {'/'.join(parts)}: {in_words(kinds)}")
    if not written:
        _list(outcome)
    say_all(vendoring(outcome), err=True)
    for note in outcome.notes:
        say(f"note: {note}", err=True)
    _refuse(outcome)
    say(_summary(outcome, written=written, seconds=seconds))


def _refuse(outcome: Outcome) -> None:
    if outcome.edits:
        from generator.repository.hand_edits import refusals  # noqa: PLC0415 - it imports what renders

        say_all(refusals(outcome.edits), err=True)


def vendoring(outcome: Outcome) -> Iterator[str]:
    """Say what is not vendored, and what is from other inputs: nobody may take either for the whole truth."""
    for cluster, states in outcome.states.items():
        if states and set(states.values()) == {"not vendored"}:
            made = plural(len(states), "component")
            yield f"{cluster}: not vendored; Argo CD will inflate {made}; `gen vendor` commits them"
            continue
        if missing := [name for name, state in states.items() if state == "not vendored"]:
            yield f"{cluster}: not vendored: {', '.join(missing)}; `gen vendor` commits what they become"
    if outcome.stale:
        yield f"stale, kept as they were: {', '.join(outcome.stale)}; `gen vendor` inflates them anew"
    if outcome.damaged:
        yield f"not as `gen vendor` wrote them: {', '.join(outcome.damaged)}; `gen vendor` tells what was changed"


def _list(outcome: Outcome) -> None:
    """Name the files that differ: a whole first render would fill the screen, so only some of many."""
    changes = outcome.plan.changes
    for change in changes[:LISTED]:
        say(f"  {change.kind} {change.path}")
    if len(changes) > LISTED:
        say(f"  ... and {len(changes) - LISTED} more (all of them: --output json)")


def _show_github(loaded: list["Loaded"], outcome: Outcome, *, written: bool, seconds: float) -> None:
    show_findings(loaded, "github")
    for change in () if written else outcome.plan.changes:
        text = f"stale ({change.kind}): run `gen render` and commit what it writes"
        annotate("error", text, file=change.path)
    for edit in outcome.edits:
        annotate("error", "edited by hand: gen would overwrite it", file=edit.path, line=edit.line)
    for place, text in _unvendored(outcome):
        annotate("error", text, file=place)
    for note in outcome.notes:
        annotate("notice", note)
    say(_summary(outcome, written=written, seconds=seconds))


def _unvendored(outcome: Outcome) -> Iterator[tuple[str, str]]:
    """Yield the files of vendored components that are not as they should be, and what to do."""
    wrong = [(name, "stale: inflated from other inputs") for name in outcome.stale]
    wrong += [(name, "not as `gen vendor` wrote it") for name in outcome.damaged]
    for name, what in wrong:
        cluster, component = name.split("/")
        place = f"overlays/{cluster}/{component}/upstream/inputs.yaml"
        yield place, f"{what}; run `gen vendor` and commit what it writes"


def _show_gitlab(loaded: list["Loaded"], outcome: Outcome, *, written: bool, seconds: float) -> None:
    from generator.cli.gitlab import Entry, entries, show_report  # noqa: PLC0415 - only when it is asked for

    stale = [] if written else outcome.plan.changes
    told = [(change.path, f"stale ({change.kind}): run `gen render` and commit what it writes") for change in stale]
    told += _unvendored(outcome)
    wrong = [Entry("stale", text, Severity.ERROR, path) for path, text in told]
    by_hand = "edited by hand: gen would overwrite it"
    wrong += [Entry("edited-by-hand", by_hand, Severity.ERROR, edit.path, edit.line) for edit in outcome.edits]
    show_report([*entries(located(loaded)), *wrong])
    for note in outcome.notes:
        say(f"note: {note}", err=True)
    say(_summary(outcome, written=written, seconds=seconds), err=True)


def _counted(outcome: Outcome) -> dict[tuple[str, ...], Counter[str]]:
    """Count what changes by cluster and component; by the top folder in folders that clusters share. In one pass: a
    large repository has a hundred thousand changes.
    """
    counted: dict[tuple[str, ...], Counter[str]] = {}
    for change in outcome.plan.changes:
        parts = change.path.split("/")
        place = tuple(parts[:3] if parts[0] in {"clusters", "overlays"} else parts[:1])
        counted.setdefault(place, Counter())[change.kind] += 1
    return counted


def in_words(kinds: Counter[str]) -> str:
    """Return how many files come, change and go."""
    return ", ".join(f"{kinds[kind]} {word}" for kind, word in WORDS.items() if kinds[kind])


def _summary(outcome: Outcome, *, written: bool, seconds: float) -> str:
    counted = in_words(Counter(str(change.kind) for change in outcome.plan.changes))
    total = f"{counted or 'nothing to change'}, {outcome.plan.unchanged} unchanged, in {seconds:.2f} s"
    if outcome.refused:
        count = len(outcome.edits)
        return f"refused: {count} {'file was' if count == 1 else 'files were'} edited by hand; nothing was written"
    if not outcome.plan.changes:
        return total
    if not written:
        return f"would change: {total}; `gen render` writes it"
    return total


def _show_json(loaded: list["Loaded"], outcome: Outcome, *, written: bool, seconds: float) -> None:
    _ = loaded
    data = {
        "written": written and not outcome.refused,
        "seconds": round(seconds, 3),
        "components": outcome.components,
        "upstream": outcome.states,
        "damaged": list(outcome.damaged),
        "unchanged": outcome.plan.unchanged,
        "changes": [{"path": change.path, "kind": change.kind} for change in outcome.plan.changes],
        "handEdits": [{"path": edit.path, "kind": edit.kind, "commit": edit.commit} for edit in outcome.edits],
        "notes": list(outcome.notes),
    }
    say_json(data)
