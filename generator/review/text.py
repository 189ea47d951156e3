"""A change as a terminal shows it: what it does first, then what differs."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from generator.model.change import ABSENT, Effect
from generator.model.finding import dotted
from generator.model.plural import plural
from generator.review.judging import JudgedChange, Meaning
from generator.review.report import ClusterReport, Report, loud, shown

FEW = 4
"""Fields of one object that are shown."""

LONG = 60
"""Characters of a value that are shown."""


def lines(found: Report) -> Iterator[str]:
    """Yield the lines of a report."""
    if not found.clusters:
        yield f"{found.old} to {found.new}: nothing differs in what is applied"
    for one in found.clusters:
        yield from _cluster(one)
    yield from _end(found)


def _cluster(one: ClusterReport) -> Iterator[str]:
    counted = Counter(each.change.on for each in one.judged)
    words = ", ".join(f"{number} {on}" for on, number in counted.items())
    yield f"{one.found.cluster}: {words or 'nothing that is applied differs'}"
    for each in loud(one):
        yield from _loud(each)
    quiet = sum(each.effect is Effect.NONE for each in one.judged)
    if quiet:
        yield f"  {Effect.NONE.value:<11} {plural(quiet, 'more change')} that nothing running feels"
    if one.found.unseen:
        yield f"  not seen: {', '.join(one.found.unseen)}: not vendored, so nobody can tell what of them differs"
    for finding in one.found.findings:
        yield f"  not built: {finding.file}: {finding.message}"


def _loud(each: JudgedChange) -> Iterator[str]:
    change = each.change
    to = f" to {change.to}" if change.to else ""
    place = f" ({change.application})" if change.application else ""
    yield f"  {each.effect.value:<11} {shown(each)} {change.on}{to}{place}"
    for meaning in each.meanings:
        yield from _meaning(each, meaning)


def _meaning(each: JudgedChange, meaning: Meaning) -> Iterator[str]:
    for field in meaning.fields[:FEW]:
        if field.path:
            yield f"      {dotted(field.path)}: {_value(field.old)} -> {_value(field.new)}"
    if len(meaning.fields) > FEW:
        yield f"      and {len(meaning.fields) - FEW} more fields"
    rule = meaning.rule
    if rule is None:
        if meaning.effect is Effect.UNKNOWN:
            yield "    nobody has written down what this does: read it as if it mattered"
        return
    if rule.effect is not Effect.NONE or len(each.meanings) == 1:
        yield f"    {rule.code}: {rule.reason}"
        if rule.instead:
            yield f"    instead: {rule.instead}"


def _value(value: Any) -> str:
    if value is ABSENT:
        return "nothing"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = text.replace("\n", "\\n")
    return text if len(text) <= LONG else f"{text[:LONG]}..."


def _end(found: Report) -> Iterator[str]:
    counted = Counter(each.effect for one in found.clusters for each in one.judged)
    if counted:
        words = [f"{counted[effect]} {effect.value}" for effect in reversed(Effect) if counted[effect]]
        yield ", ".join(words)
    for text in found.unapproved:
        yield f"needs approval: {text}"
    for one in found.unused:
        yield f"approved and not there: {one.text} ({one.where})"
    if found.unapproved:
        yield "approve: a line `Gen-Allow: CODE:OBJECT reason` in the commit's message, or --allow CODE:OBJECT"
