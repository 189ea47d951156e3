"""What cluster files of the working tree would do to the clusters that HEAD describes: told while they are edited."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from generator.checks import check
from generator.errors import UsageError
from generator.layout.files import Files
from generator.layout.tree import Known, lay_out
from generator.model.change import ABSENT, GONE, Effect, ObjectChange
from generator.model.cluster import Cluster
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
from generator.review.rows import Row, felt, rows
from generator.review.values import one_line
from generator.spec.differing import differing

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
    for report in consequences(root, changes):
        for row in rows(report):
            for meaning in row.first.meanings:
                if _counts(row.first.change, meaning):
                    at = _place([(place.at, place.texts) for place in places], row, meaning)
                    yield _finding(row, meaning, one.document.file, at)


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


def _finding(row: Row, meaning: Meaning, file: str, at: Steps) -> Finding:
    assert meaning.rule  # noqa: S101 - for the type checker
    later = " later" * felt(meaning).later
    what = f"{_WORDS[meaning.effect]}{later}: {row.title} {row.done}"
    return Finding(
        code=meaning.rule.code,
        severity=Severity.WARNING,
        message=one_line(f"{what}: {meaning.rule.reason}"),
        fix=one_line(meaning.rule.instead or "take the change back, or see `gen diff` for all that it does"),
        file=file,
        at=at,
        key=True,
    )


def _place(places: Sequence[tuple[Steps, frozenset[str]]], row: Row, meaning: Meaning) -> Steps:
    """Return the place of the file that brings a change: what differs there is named in it. Of several the section that
    holds them all.
    """
    named = [f"{each.change.namespace} {each.change.name}" for each in row.changes]
    said = [f"{field.path} {field.old} {field.new}" for field in meaning.fields if field.path]
    tokens = {*_TOKEN.findall(" ".join((*named, *said)))}
    fitting = [at for at, texts in places if tokens & texts] or [at for at, _ in places]
    return _common(fitting)


def _common(paths: Sequence[Steps]) -> Steps:
    """Return what paths have in common from their beginning."""
    steps = [{*each} for each in zip(*paths, strict=False)]
    alike = next((number for number, each in enumerate(steps) if len(each) > 1), len(steps))
    return paths[0][:alike] if paths else ()


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
                yield _finding(row, meaning, path, ("metadata", "name"))
