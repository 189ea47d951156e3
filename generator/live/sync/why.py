"""Why an Application is not well, in Argo CD's own words."""

from collections.abc import Iterator

from generator.live.applications import Application, Resource
from generator.model.fields import dig, sequence
from generator.model.finding import full_name

WELL = {"", "Healthy", "Suspended"}
MOST = 3
"""Objects that are named."""


def why(application: Application) -> str:
    """Return the reason in one line: what its operation says, its conditions, and its objects that are not well."""
    reasons = [*dict.fromkeys(_reasons(application))]
    text = "; ".join(reasons[: 2 * MOST]) or application.health or "Argo CD says no reason"
    return " ".join(text.split())


def _reasons(one: Application) -> Iterator[str]:
    if one.phase in {"Failed", "Error"} or one.retries:
        yield from _failed(one)
        if one.said:
            yield one.said
    yield from (f"{kind}: {message}" for kind, message in one.conditions if kind.endswith("Error"))
    unwell = [each for each in one.resources if each.health not in WELL]
    yield from (_unwell(each) for each in unwell[:MOST])
    if not unwell and one.health not in WELL and one.message:
        yield one.message
    if one.sync == "OutOfSync" and one.phase == "Succeeded":
        differing = [_name(each) for each in one.resources if each.sync == "OutOfSync"][:MOST]
        yield f"differs from Git: {', '.join(differing) or 'Argo CD does not say what'}"


def _failed(one: Application) -> Iterator[str]:
    """Yield what the server said of the objects that it refused."""
    results = sequence(dig(one.manifest, "status", "operationState", "syncResult", "resources"))
    refused = [each for each in results if each.get("status") == "SyncFailed" or each.get("hookPhase") == "Failed"]
    for each in refused[:MOST]:
        name = full_name(str(each.get("kind")), str(each.get("namespace") or ""), str(each.get("name")))
        yield f"{name}: {each.get('message')}"


def _unwell(one: Resource) -> str:
    return f"{_name(one)} {one.health}{f': {one.message}' if one.message else ''}"


def _name(one: Resource) -> str:
    return full_name(one.kind, one.namespace, one.name)
