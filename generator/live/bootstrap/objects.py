"""Objects that come before Argo CD: the very overlays that it syncs later, compared and applied under its name."""

from collections.abc import Iterator, Sequence
from urllib.parse import quote, urlencode

from msgspec import Struct

from generator.build.kinds import CRD
from generator.build.objects import Object
from generator.components.component import Manifest
from generator.errors import UsageError
from generator.live.api import Request
from generator.live.apiserver import tries
from generator.live.bootstrap.step import Item, State, Step
from generator.live.discovery import Served, discover, place
from generator.live.dry_run.definitions import served
from generator.live.running import ARGO_CD, RunningCluster
from generator.live.said import said
from generator.live.tracking import tracked
from generator.model.plural import plural

PATIENCE = 60.0
"""Seconds after which a kind counts as unknown: its definition may have come a moment ago, or from an operator."""
_FIRST = {"Namespace": 0, CRD: 1}


class Compared(Struct, frozen=True):
    """An object as it is to be applied, and what the cluster has of it: nothing, something else, or the same."""

    one: Object
    there: bool
    same: bool


def objects_step(running: RunningCluster, name: str, wanted: Sequence[Object]) -> Step:
    """Compare objects with what the cluster has. What differs is applied: definitions first, and all else as soon as
    these are served.
    """
    found = compare(running, wanted)
    due = [each for each in found if not each.same]
    new = sum(not each.there for each in due)
    counts = (
        (State.TO_DO, new, "that the cluster does not have"),
        (State.TO_DO, len(due) - new, "not as in Git"),
        (State.DONE, len(found) - len(due), "as in Git"),
    )
    items = tuple(Item(state, f"{plural(count, 'object')} {words}") for state, count, words in counts if count)
    return Step(name=name, items=items, act=lambda: _apply(running, [each.one for each in due]))


def compare(running: RunningCluster, wanted: Sequence[Object]) -> list[Compared]:
    """Tell of each object, in the order in which they are applied, whether that would change anything: the server says
    so in a dry run. Raises UsageError where it refuses one.
    """
    ordered = sorted(wanted, key=lambda one: _FIRST.get(one.kind, 2))
    kinds = discover(running.api, {one.version for one in ordered})
    known = [one for one in ordered if place(kinds, one)]
    live = dict(zip(map(id, known), running.together([Request(path=_path(kinds, one)) for one in known]), strict=True))
    tracked = [_tracked(one, live.get(id(one))) for one in ordered]
    there = [(one, found) for one, before in zip(tracked, ordered, strict=True) if (found := live.get(id(before)))]
    tried = running.together([_request(kinds, one, dryRun="All") for one, _ in there])
    same = {id(one) for (one, found), then in zip(there, tried, strict=True) if then and said(found) == said(then)}
    present = {id(one) for one, _ in there}
    return [Compared(one, id(one) in present, id(one) in same) for one in tracked]


def _path(kinds: Served, one: Object) -> str:
    return f"{place(kinds, one)}/{quote(one.name, safe='')}"


def _request(kinds: Served, one: Object, **query: str) -> Request:
    asked = urlencode({"fieldManager": ARGO_CD, "force": "true", **query})
    return Request(path=f"{_path(kinds, one)}?{asked}", method="PATCH", body=one.manifest)


def _tracked(one: Object, live: Manifest | None) -> Object:
    return Object(tracked(one.manifest, live), one.component, one.file)


def _apply(running: RunningCluster, due: Sequence[Object]) -> Iterator[str]:
    definitions = [one for one in due if one.kind == CRD]
    known: Served = {}
    for one in due:
        if one.kind not in _FIRST and definitions:
            _wait(running, definitions)
            definitions = []
        _await_kind(running, one, known)
        running.apply(_path(known, one), one.manifest)
        yield f"applied {one.full_name}"
    _wait(running, definitions)


def _wait(running: RunningCluster, definitions: list[Object]) -> None:
    for finding in served(running.api, definitions):
        raise UsageError(f"{finding.about}: {finding.message}")


def _await_kind(running: RunningCluster, one: Object, known: Served) -> None:
    """Wait until an object's kind is among those that are `known` to be served."""
    if place(known, one):
        return
    for _ in tries(PATIENCE):
        known |= discover(running.api, {one.version})
        if place(known, one):
            return
    raise UsageError(
        f"{running.host} serves no {one.kind} in {one.version} after {PATIENCE:g} s, which {one.full_name} needs: "
        "look at the operator that brings it (`kubectl get pods -A`), then run again"
    )
