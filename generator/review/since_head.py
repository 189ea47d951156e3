"""What cluster files of the working tree would do to the clusters that HEAD describes: told while they are edited."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import structs

from generator.checks import check
from generator.errors import UsageError
from generator.layout.files import Files
from generator.layout.tree import Known, lay_out
from generator.model.change import ABSENT, GONE, Effect, ObjectChange
from generator.model.cluster import Cluster
from generator.model.fields import dig
from generator.model.finding import Finding, Severity
from generator.model.finding import Path as Steps
from generator.repository.cluster_files import Loaded
from generator.repository.head_files import AtHead
from generator.repository.plan import Change
from generator.repository.vendored import OwnFileError, locked, on_disk, vendored, vendored_names
from generator.review.compare import ClusterChanges, cluster_change
from generator.review.judging import Meaning, judge
from generator.review.overwritten import consequences
from generator.review.report import ClusterReport, rules
from generator.review.rows import Row, felt, listed, rows, titles
from generator.review.values import one_line
from generator.spec.differing import Difference, differing
from generator.spec.document import Document

_WORDS = {
    Effect.IMPOSSIBLE: "the running cluster refuses this",
    Effect.DATA_LOSS: "this loses data",
    Effect.BY_HAND: "this leaves something behind",
}
_TOKEN = re.compile(r"[\w./:-]{3,}")


def foresee(root: Path, loaded: Sequence[Loaded], before: Mapping[str, AtHead]) -> list[Loaded]:
    """Return clusters with a warning for each effect that a cluster of HEAD would refuse, that loses data, or that
    leaves something behind. `before` are those that HEAD has otherwise, by path; one that is gone is told at its old
    file.
    """
    right = [one for one in loaded if one.document.file in before and not one.wrong]
    found = {one.name: [*_changed(root, one, before[one.document.file])] for one in right}
    here = {one.document.file for one in loaded}
    gone = [
        Loaded(old.cluster.name, old.document, None, tuple(_gone(path, old.cluster, loaded)))
        for path, old in before.items()
        if path not in here and not (root / path).exists()
    ]
    return [*(one.adding(found.get(one.name, ())) for one in loaded), *gone]


def _changed(root: Path, one: Loaded, before: AtHead) -> Iterator[Finding]:
    if one.cluster is None or any(each.severity == Severity.ERROR for each in check(before.cluster)):
        return  # what was wrong was never rendered
    try:
        sides = [_laid(root, cluster) for cluster in (before.cluster, one.cluster)]
    except (OwnFileError, UsageError):
        return  # a render tells that
    paths = sorted({*sides[0], *sides[1]})
    changes = [Change(path, *pair) for path in paths if len({*(pair := [side.get(path) for side in sides])}) > 1]
    places = [*differing(before.document.value.get("spec"), one.document.value.get("spec"))]
    for told in _alike(consequences(root, changes), places):
        fitting, meaning, its = told[0][0], told[0][1], [row for _, _, row in told]
        found = _finding(its, meaning, one.document.file, _common([place.at for place in fitting]))
        yield structs.replace(found, message=f"{found.message}{_taken_out(fitting, before.document)}")


def _alike(
    reports: Iterable[ClusterReport], places: Sequence[Difference]
) -> Iterable[list[tuple[list[Difference], Meaning, Row]]]:
    """Return what is worth a warning, with the places that bring it: together what has the same place and meaning, and
    happens alike.
    """
    found: dict[str, list[tuple[list[Difference], Meaning, Row]]] = {}
    for row in (row for report in reports for row in rows(report)):
        for meaning in row.first.meanings:
            if _counts(row.first.change, meaning) and meaning.rule:
                fitting = _fitting(places, row, meaning)
                alike = repr((meaning.rule.code, meaning.rule.reason, felt(meaning), row.done, fitting))
                found.setdefault(alike, []).append((fitting, meaning, row))
    return found.values()


def _laid(root: Path, cluster: Cluster) -> Files:
    """Return what a cluster is rendered as beside what stands vendored."""
    content = on_disk(root)
    upstream = vendored(content, cluster.name, vendored_names(root, cluster.name))
    return lay_out(cluster, Known(upstream=upstream, lock=locked(content))).files


def _counts(change: ObjectChange, meaning: Meaning) -> bool:
    """Tell whether it is worth a warning. What somebody does by hand counts where something stays that was to go."""
    if meaning.rule is None or meaning.effect is not Effect.BY_HAND:
        return meaning.rule is not None and meaning.effect.needs_approval
    return change.on in GONE or any(field.new is ABSENT for field in meaning.fields)


def _finding(its: Sequence[Row], meaning: Meaning, file: str, at: Steps) -> Finding:
    assert meaning.rule  # noqa: S101 - for the type checker
    later = " later" * felt(meaning).later
    what = f"{_WORDS[meaning.effect]}{later}: {titles(its)} {its[0].done}"
    return Finding(
        code=meaning.rule.code,
        severity=Severity.WARNING,
        message=one_line(f"{what}: {meaning.rule.reason}"),
        fix=one_line(meaning.rule.instead or "take the change back, or see `gen diff` for all that it does"),
        file=file,
        at=at,
        key=True,
    )


def _fitting(places: Sequence[Difference], row: Row, meaning: Meaning) -> list[Difference]:
    """Return the places of the file that bring a change: what differs there is named in it."""
    named = [f"{each.change.namespace} {each.change.name}" for each in row.changes]
    said = [f"{field.path} {field.old} {field.new}" for field in meaning.fields if field.path]
    tokens = {*_TOKEN.findall(" ".join((*named, *said)))}
    return [place for place in places if tokens & place.texts] or [*places]


def _common(paths: Sequence[Steps]) -> Steps:
    """Return the section that holds all of these places: the first of the file where it is `spec` itself."""
    steps = [{*each} for each in zip(*paths, strict=False)]
    alike = next((number for number, each in enumerate(steps) if len(each) > 1), len(steps))
    # No key below `spec` is called so: it is shown itself.
    return (paths[0][:alike] if paths else ()) or ("spec",)


def _taken_out(places: Iterable[Difference], before: Document) -> str:
    """Return in words which keys were there before, and where: nothing of them is left to be shown."""
    gone = [place.gone for place in places if place.gone]
    lines = [f"{_called(before, at)} (line {before.position(('spec', *at), key=True).line})" for at in gone]
    return f"; taken out, as HEAD has it: {listed(lines)}" if lines else ""


def _called(document: Document, at: Steps) -> str:
    """Return a place below `spec` as people say it: items of a list by their names where they have some."""
    names = (dig(document.value, "spec", *at[: number + 1], "name") for number in range(len(at)))
    steps = zip(at, names, strict=True)
    return ".".join(name if isinstance(step, int) and isinstance(name, str) else str(step) for step, name in steps)


def _gone(path: str, cluster: Cluster, loaded: Sequence[Loaded]) -> Iterator[Finding]:
    """Yield what it means that a cluster is gone, or goes by another name: most of its nodes are another one's now."""
    nodes = {node.name for node in cluster.nodes}
    others = {one.name: one.cluster for one in loaded if one.cluster and one.document.file != path}
    alike = {name: len(nodes & {node.name for node in other.nodes}) for name, other in others.items()}
    to = max(alike, key=lambda name: alike[name], default="")
    on, name = ("renamed", to) if 2 * alike.get(to, 0) > len(nodes) else ("removed", "")
    change = cluster_change(on, cluster.name, {"nodes": sorted(nodes)}, name)
    judged = judge([change], rules(), cluster=cluster.name)
    for row in rows(ClusterReport(ClusterChanges(cluster=cluster.name, changes=(change,)), tuple(judged))):
        for meaning in row.first.meanings:
            if _counts(change, meaning):
                yield _finding([row], meaning, path, ("metadata", "name"))
