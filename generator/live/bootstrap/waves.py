"""The waves after a bootstrap, watched to their end: who is there, and what each waits for."""

import time
from collections.abc import Callable, Collection, Iterator

from generator.live.applications import ROOT, Application, applications, refresh, syncs_by_itself
from generator.live.messages import shortened
from generator.live.running import RunningCluster
from generator.live.why import reasons

POLL = 2.0
"""Seconds between two looks."""


def refresh_all(running: RunningCluster) -> None:
    """Have Argo CD compare the Applications that are there with Git now, and not at its next round."""
    for one in applications(running):
        refresh(running, one.name)


def watch(running: RunningCluster, expected: Collection[str], tell: Callable[[str], None]) -> None:
    """Return as soon as all expected Applications are synced, and healthy where others wait for them. Each is told when
    it is, and what the others wait for whenever that changes.
    """
    told: dict[str, str] = {}
    while True:
        found = {one.name: one for one in applications(running)}
        now = {name: waits_for(found.get(name)) for name in (ROOT, *sorted(expected))}
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
    return f"wave {one.wave}, " if one and one.name != ROOT else ""


def waits_for(one: Application | None) -> str:
    """Return in words what an Application waits for; nothing where it is synced and nobody waits for it."""
    if one is None:
        return "not made yet"
    if one.refreshing:
        return "to be compared with Git"
    well = one.health == "Healthy" or not one.gates
    if one.sync == "Synced" and well and not one.acting and one.phase in {"", "Succeeded"}:
        return ""
    state = " ".join(filter(None, (one.sync, one.health))) or "not compared yet"
    said = next(reasons(one), "") or one.said or one.message
    if one.sync == "OutOfSync" and one.name != ROOT and _by_hand(one):
        said = f"is synced only by `gen sync {one.name}`, in another terminal"
    return f"{state}: {shortened(said)}" if said else state


def _by_hand(one: Application) -> bool:
    """Tell whether Argo CD leaves it alone (`gitops.ordered`, `sync: manual`), and nobody syncs it now or failed to."""
    tried = one.acting or one.retries or one.phase in {"Failed", "Error"}
    return not tried and not syncs_by_itself(one.manifest)
