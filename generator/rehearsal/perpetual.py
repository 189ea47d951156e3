"""Differences for ever: what is applied, and stands otherwise as soon as somebody looks."""

from collections.abc import Iterator
from typing import Any

from generator.build.objects import Built, Object
from generator.live.api import Request
from generator.live.discovery import TRY
from generator.live.said import said
from generator.rehearsal.applying import Applier, sent
from generator.rehearsal.outcome import Fate, Synced


def differing(applier: Applier, built: Built, synced: Synced) -> dict[str, str]:
    """Return the objects of a sync that another apply would change again, as Argo CD's server-side diff sees it, each
    with the fields. Raises UsageError.
    """
    done = {(one.kind, one.namespace, one.name) for one in synced.outcomes if one.fate == Fate.APPLIED}
    some = [one for one in built.objects if (f"{one.group}/{one.kind}", one.namespace, one.name) in done]
    paths = [str(applier.path(one)) for one in some if applier.path(one)]
    live = applier.api.ask_all([Request(path=path) for path in paths])
    again = applier.api.ask_all(trial(path, one) for path, one in zip(paths, some, strict=True))
    found = {}
    for one, stands, would in zip(some, live, again, strict=True):
        if stands.good and would.good and (fields := sorted(_fields(said(stands.body), said(would.body)))):
            found[one.full_name] = ", ".join(fields[:5])
    return found


def trial(path: str, one: Object) -> Request:
    """Return the dry run by which Argo CD's server-side diff compares an object that stands."""
    query = TRY.replace("&fieldValidation=Strict", "")
    return Request(path=f"{path}?{query}&force=true", method="PATCH", body=sent(one))


def _fields(old: Any, new: Any, at: str = "") -> Iterator[str]:
    """Yield the ways of fields that differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old.keys() | new.keys():
            yield from _fields(old.get(key), new.get(key), f"{at}.{key}" if at else key)
    elif old != new:
        yield at
