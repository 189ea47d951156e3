"""The waves after a bootstrap, watched to their end: who is there, and what each waits for."""

import time
from collections.abc import Callable, Collection, Iterator

from generator.live.applications import APPLICATIONS, REFRESH, ROOT, Application, Resource, applications
from generator.live.running import RunningCluster
from generator.model.fields import dig

POLL = 2.0
"""Seconds between two looks."""


def refresh(running: RunningCluster) -> None:
    """Have Argo CD compare the Applications that are there with Git now, and not at its next round."""
    for one in applications(running):
        running.merge(f"{APPLICATIONS}/{one.name}", {"metadata": {"annotations": {REFRESH: "normal"}}})


def watch(running: RunningCluster, expected: Collection[str], tell: Callable[[str], None]) -> None:
    """Return as soon as all expected Applications are synced, and healthy where others wait for them. Each is told when
    it is, and what the others wait for whenever that changes.
    """
    told: dict[str, str] = {}
    while True:
        found = {one.name: one for one in applications(running)}
        now = {name: waits_for(found.get(name)) for name in ("root", *sorted(expected))}
        for name, why in _in_order(found, now):
            if told.get(name) != why:
                tell(f"{_wave(found.get(name))}{name}: {why or 'synced and healthy'}")
        told = now
        if not any(now.values()):
            return
        time.sleep(POLL)


def _in_order(found: dict[str, Application], now: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield those that are there by wave; whoever is not made yet waits for the waves before, which is told of them."""
    there = sorted((name for name in now if name in found), key=lambda name: (found[name].wave, name))
    return ((name, now[name]) for name in there)


def _wave(one: Application | None) -> str:
    return f"wave {one.wave}, " if one and one.name != "root" else ""


def waits_for(one: Application | None) -> str:
    """Return in words what an Application waits for; nothing where it is synced and nobody waits for it."""
    if one is None:
        return "not made yet"
    if one.manifest["metadata"].get("annotations", {}).get(REFRESH):
        return "to be compared with Git"
    well = one.health == "Healthy" or not one.gates
    if one.sync == "Synced" and well and not one.acting and one.phase in {"", "Succeeded"}:
        return ""
    return _why(one)


def _why(one: Application) -> str:
    state = " ".join(filter(None, (one.sync, one.health))) or "not compared yet"
    said = next(iter([message for _, message in one.conditions] or _unwell(one) or [one.said or one.message]), "")
    if one.phase in {"Failed", "Error"} or one.retries:
        said = one.said or said
    elif one.sync == "OutOfSync" and one.name != ROOT and _by_hand(one):
        said = f"is synced only by `gen sync {one.name}`, in another terminal"
    return f"{state}: {_short(said)}" if said else state


def _by_hand(one: Application) -> bool:
    """Tell whether Argo CD leaves it alone (`gitops.ordered`, `sync: manual`), and nobody syncs it now."""
    return not one.acting and dig(one.manifest, "spec", "syncPolicy", "automated") is None


def _unwell(one: Application) -> list[str]:
    return [f"{_name(each)} {_state(each)}" for each in one.resources if each.health not in {"", "Healthy"}] + [
        f"{_name(each)} {each.sync}" for each in one.resources if each.sync not in {"", "Synced"}
    ]


def _name(one: Resource) -> str:
    return f"{one.kind} {one.namespace}/{one.name}" if one.namespace else f"{one.kind} {one.name}"


def _state(one: Resource) -> str:
    return f"{one.health}, {one.message}" if one.message else one.health


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 300 else f"{line[:300]} ..."
