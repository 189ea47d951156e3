"""What differs from Git, for a terminal."""

from collections.abc import Iterator

from generator.live.drift.report import Drift, DriftReport
from generator.live.messages import printed

DIFFERS_NOT = {"as in Git": "none differs", "unknown": "none that could be compared differs"}
SHORT = 9
"""Characters of a commit that are shown."""
FIELDS = 8
"""Fields of one object that are shown."""


def lines(found: DriftReport) -> Iterator[str]:
    """Yield what is told: one line for all of it, then by component and object."""
    yield from map(printed, _lines(found))


def _lines(found: DriftReport) -> Iterator[str]:
    commits = ", ".join(one[:SHORT] or "HEAD" for one in found.revisions)
    differing = f"{len(found.drifts)} of them differ" if found.drifts else DIFFERS_NOT[found.state]
    yield f"{found.cluster} at {found.host}: {found.objects} objects compared with {commits}; {differing}"
    for component in dict.fromkeys(one.component for one in found.drifts):
        yield ""
        yield f"{component}:"
        for one in found.drifts:
            if one.component == component:
                yield from _object(one)
    if found.namespaces:
        yield ""
        yield f"namespaces that nobody names: {', '.join(found.namespaces)}"
    if found.programs:
        told = [f"{name} {number} of {component}" for (component, name), number in sorted(found.programs.items())]
        yield ""
        yield f"fields that programs keep beside Git: {', '.join(told)}"
    yield from (*found.unread, *found.notes)
    if found.state == "unknown":
        yield "whether something differs is unknown: ask for the right to read and try what was not seen"


def _object(one: Drift) -> Iterator[str]:
    yield f"  {one.name} {one.why}"
    for each in one.fields[:FIELDS]:
        yield f"    {each.field}: {each.git} in Git, {each.cluster} in the cluster{f' ({each.by})' if each.by else ''}"
    if len(one.fields) > FIELDS:
        yield f"    and {len(one.fields) - FIELDS} more: --output json shows all"
    yield f"    next: {one.command}"
