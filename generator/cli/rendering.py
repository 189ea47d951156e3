"""Rendering what may have changed: nothing heavy is imported where nothing did."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from generator.cli.options import discarded
from generator.cli.terminal import annotate, tell
from generator.model.finding import Severity
from generator.repository.outcome import Outcome, Rendered, count
from generator.repository.places import names
from generator.repository.plan import Plan
from generator.repository.scaffold import scaffold
from generator.repository.unchanged import Look

if TYPE_CHECKING:
    from generator.repository.cluster_files import Loaded


class Options(NamedTuple):
    """What a render is to do."""

    dry_run: bool
    verify: bool
    discard: Sequence[str]
    output: str


def result(root: Path, wanted: Sequence[str], options: Options) -> tuple[list["Loaded"], Outcome | None]:
    """Render what may have changed, and return the clusters loaded for it; no outcome where one of them is wrong."""
    look = None if wanted or options.verify or options.discard else Look.at(root)
    if look and (outcome := _nothing_new(root, look)):
        return [], outcome
    loaded, unchanged = _loaded(root, wanted, look)
    if any(one.wrong for one in loaded):
        return loaded, None
    outcome = rendered(root, loaded, unchanged, options)
    if look and not options.dry_run:
        look.remember(outcome, [one.name for one in loaded if one.findings or _may_change(one)])
    return loaded, outcome


def _may_change(one: "Loaded") -> bool:
    """Tell whether something may be found though no file has changed that a look sees: a waiver ends on its day, and a
    folder of the user's own is anywhere in the repository.
    """
    extras = one.cluster.extras.values() if one.cluster else ()
    return bool(one.cluster and one.cluster.waivers) or any(extra.folder for extra in extras)


def _nothing_new(root: Path, look: Look) -> Outcome | None:
    """Return what a render comes to where nothing differs from what the last one saw; None where something may."""
    known = look.unchanged(every := names(root))
    if not look.whole or len(known) < len(every):
        return None
    return Outcome(plan=Plan(changes=(), unchanged=count(known.values()) + len(scaffold())), rendered=known, seconds={})


def _loaded(root: Path, wanted: Sequence[str], look: Look | None) -> tuple[list["Loaded"], dict[str, Rendered]]:
    """Load the clusters that something may have changed of, and return what the others were rendered as. Where a
    finding is about several clusters, or keeps all from being written, it is told as of all of them.
    """
    from generator.checks import FLEET_RULES  # noqa: PLC0415 - not where nothing changed
    from generator.repository.cluster_files import load  # noqa: PLC0415 - as above

    if look and (unchanged := look.unchanged(every := names(root))):
        changed = [name for name in every if name not in unchanged]
        loaded = load(root, changed) if changed else []
        findings = (finding for one in loaded for finding in one.findings)
        if not any(one.severity == Severity.ERROR or one.code in FLEET_RULES for one in findings):
            return loaded, unchanged
    return load(root, wanted), {}


def rendered(root: Path, loaded: Sequence["Loaded"], unchanged: Mapping[str, Rendered], options: Options) -> Outcome:
    """Render these clusters, of which some are known to be unchanged. Raises UsageError."""
    from generator.repository.render import render  # noqa: PLC0415 - not where nothing changed
    from generator.repository.vendored import OwnFileError  # noqa: PLC0415 - as above

    try:
        return render(
            root,
            loaded,
            dry_run=options.dry_run,
            discard=discarded(root, options.discard),
            waiting=tell,
            verify=options.verify,
            unchanged=unchanged,
        )
    except OwnFileError as error:
        if options.output == "github":
            annotate("error", str(error), file=error.path)
        raise
