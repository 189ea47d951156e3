"""Why an Application is not well, in Argo CD's own words."""

from collections.abc import Iterator

from generator.components.component import Manifest
from generator.live.applications import Application
from generator.model.fields import dig, sequence
from generator.model.finding import full_name

WELL = {"", "Healthy", "Suspended"}
"""The health of what nobody needs to look at."""
ENDED_BADLY = {"Failed", "Error"}
"""Phases of operations and of hooks."""
MOST = 3
"""Objects that are named."""


def why(one: Application) -> str:
    """Return the reason in one line: what its operation says, its conditions, and its objects that are not well."""
    found = [*dict.fromkeys(reasons(one))]
    text = "; ".join(found[: 2 * MOST]) or one.health or "Argo CD says no reason"
    return " ".join(text.split())


def reasons(one: Application) -> Iterator[str]:
    """Yield all that Argo CD says against an Application, what explains most first."""
    if one.phase in ENDED_BADLY or one.retries:
        yield from (f"{name}: {message}" for name, message in failures(one)[:MOST])
        if one.said:
            yield one.said
    yield from (f"{kind}: {message}" for kind, message in one.conditions if kind.endswith("Error"))
    unwell = [each for each in one.resources if each.health not in WELL]
    for each in unwell[:MOST]:
        yield f"{each.full_name} {each.health}{f': {each.message}' if each.message else ''}"
    if not unwell and one.health not in WELL and one.message:
        yield one.message
    if one.health == "Suspended":
        held = [each for each in one.resources if each.health == "Suspended"][:MOST]
        names = ", ".join(each.full_name for each in held) or "it"
        yield f"{names} is suspended, and later waves wait until somebody resumes that"
    if one.sync == "OutOfSync" and one.phase == "Succeeded":
        differing = [each.full_name for each in one.resources if each.sync == "OutOfSync"][:MOST]
        yield f"differs from Git: {', '.join(differing) or 'Argo CD does not say what'}"


def failures(one: Application) -> list[tuple[str, str]]:
    """Return the objects that the last operation failed with, each with what the server said of it."""
    results = sequence(dig(one.manifest, "status", "operationState", "syncResult", "resources"))
    failed = (each for each in results if each.get("status") == "SyncFailed" or each.get("hookPhase") in ENDED_BADLY)
    return [(_name(each), str(each.get("message") or "")) for each in failed]


def _name(result: Manifest) -> str:
    return full_name(str(result.get("kind")), str(result.get("namespace") or ""), str(result.get("name")))
