"""CustomResourceDefinitions on a throw-away server: stored and served, so that their objects can be judged."""

from collections.abc import Iterable, Iterator

from generator.build.kinds import CRD, defined_kind
from generator.build.objects import Built, Object
from generator.components.component import Manifest
from generator.live.api import Answer, ApiConnection, Request
from generator.live.apiserver import tries
from generator.live.discovery import Served, discover, path_of_version
from generator.live.dry_run.refusals import findings, unestablished
from generator.model.fields import condition, dig, holds, sequence
from generator.model.finding import Finding

PLACE = f"{path_of_version('apiextensions.k8s.io/v1')}/customresourcedefinitions"
PATIENCE = 120.0
"""Seconds that the server has to serve them all; two hundred take half a minute on two cores."""


def wanted(built: Built) -> list[Object]:
    """Return the definitions of kinds that are built, those at hand included. Of two of one name that counts which is
    applied.
    """
    kinds = {(one.group, one.kind) for one in built.objects}
    at_hand = [Object(crd, "", "") for crd in built.definitions]
    found = [one for one in (*at_hand, *built.of(CRD)) if defined_kind(one.manifest) in kinds]
    return list({one.name: one for one in found}.values())


def install(api: ApiConnection, definitions: Iterable[Object]) -> Iterator[Finding]:
    """Store definitions and wait until their objects can be applied; yield what the server says against them."""
    found, stored = list(definitions), []
    for one, answer in zip(found, api.ask_all([_store(one) for one in found]), strict=True):
        yield from findings(one, answer)
        stored += [one] if answer.good else []
    yield from served(api, stored)


def _store(one: Object) -> Request:
    # A conversion webhook is left out: nothing answers it here.
    spec = {key: value for key, value in one.manifest["spec"].items() if key != "conversion"}
    path = f"{PLACE}/{one.name}?fieldManager=gen&force=true"
    return Request(path=path, method="PATCH", body={**one.manifest, "spec": spec})


def served(api: ApiConnection, stored: list[Object]) -> Iterator[Finding]:
    """Wait until definitions that are stored are served; yield what the server says against those that are not."""
    waiting, why = stored, dict[str, str]()
    for _ in tries(PATIENCE):
        answers = api.ask_all([Request(path=f"{PLACE}/{one.name}") for one in waiting])
        why = {one.name: _unready(answer) for one, answer in zip(waiting, answers, strict=True)}
        waiting = [one for one in waiting if why[one.name]]
        if all(why[one.name] != _LATE for one in waiting):
            break
    yield from (unestablished(one, why[one.name]) for one in waiting)
    _listed(api, [one for one in stored if one not in waiting])


_LATE = f"it was not established within {PATIENCE:g} s"


def _unready(answer: Answer) -> str:
    """Return why a definition is not served, or nothing."""
    if holds(answer.body, "Established"):
        return ""
    names = condition(answer.body, "NamesAccepted")
    return str(names.get("message")) if names.get("status") == "False" else _LATE


def _listed(api: ApiConnection, established: list[Object]) -> None:
    """Wait until discovery tells of them: that comes a moment later."""
    expected = {one for crd in established for one in _kinds(crd.manifest)}
    for _ in tries(PATIENCE):
        found: Served = discover(api, {version for version, _ in expected})
        if expected <= found.keys():
            return


def _kinds(crd: Manifest) -> Iterator[tuple[str, str]]:
    group, kind = defined_kind(crd)
    versions = sequence(dig(crd, "spec", "versions"))
    return ((f"{group}/{dig(one, 'name')}", kind) for one in versions if dig(one, "served"))
