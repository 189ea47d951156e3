"""The waves after a bootstrap, watched to their end: who is there, and what each waits for."""

import time
from collections.abc import Callable, Collection, Iterator
from functools import partial

from generator.errors import UsageError
from generator.live.applications import ROOT, Application, applications, refresh, syncs_by_itself
from generator.live.away import answered
from generator.live.messages import printed, shortened
from generator.live.running import RunningCluster
from generator.live.times import minutes
from generator.live.why import reasons
from generator.live.windows import shut_out

POLL = 2.0
"""Seconds between two looks."""
NAMED = 5
"""Applications that are named when time is up."""


class LateError(UsageError):
    """The waves did not come to their end in time; Argo CD goes on by itself."""

    exit_code = 1


def refresh_all(running: RunningCluster) -> None:
    """Have Argo CD compare the Applications that are there with Git now, and not at its next round."""
    for one in applications(running):
        refresh(running, one.name)


def watch(running: RunningCluster, expected: Collection[str], tell: Callable[[str], None], patience: float) -> None:
    """Return as soon as all expected Applications are synced, and healthy where others wait for them. Each is told when
    it is, and what the others wait for whenever that changes. An API server that is away meanwhile, as one that is
    restarted, ends nothing. Raises LateError after `patience` seconds.
    """
    end = time.monotonic() + patience
    told: dict[str, str] = {}
    while True:
        every, shut = answered(running, partial(_seen, running), tell, max(0.0, end - time.monotonic()))
        found = {one.name: one for one in every}
        now = {name: waits_for(found.get(name), shut.get(name, "")) for name in (ROOT, *sorted(expected))}
        for name, why in _in_order(found, now):
            if told.get(name) != why:
                tell(f"{_wave(found.get(name))}{name}: {why or 'synced and healthy'}")
        told = now
        if not any(now.values()):
            return
        if time.monotonic() > end:
            raise LateError(_late(found, now, patience))
        time.sleep(POLL)


def _seen(running: RunningCluster) -> tuple[list[Application], dict[str, str]]:
    """Return the Applications, and which windows are in their way."""
    every = applications(running)
    return every, shut_out(running, every)


def _late(found: dict[str, Application], now: dict[str, str], patience: float) -> str:
    """Say what is waited for when time is up: root waits for the others, so it is named only where it is alone."""
    waiting = [printed(f"{name}: {why}") for name, why in _in_order(found, now) if why]
    waiting = [one for one in waiting if not one.startswith(f"{ROOT}:")] or waiting
    rest = sum(bool(why) for why in now.values()) - len(waiting[:NAMED])
    more = f", and {rest} more" if rest > 0 else ""
    return (
        f"not all waves were done within {minutes(patience)}; they wait for:\n  "
        + "\n  ".join(waiting[:NAMED])
        + f"{more}\n"
        "Argo CD goes on by itself; the same command goes on watching, `gen status` tells why something is stuck"
    )


def _in_order(found: dict[str, Application], now: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield those that are there by wave; whoever is not made yet waits for the waves before, which is told of them."""
    there = sorted((name for name in now if name in found), key=lambda name: (found[name].wave, name))
    return ((name, now[name]) for name in there)


def _wave(one: Application | None) -> str:
    return f"wave {one.wave}, " if one and one.name != ROOT else ""


def waits_for(one: Application | None, shut: str = "") -> str:
    """Return in words what an Application waits for; nothing where it is synced and nobody waits for it. `shut` says
    which window is in its way.
    """
    if one is None:
        return "not made yet"
    if one.refreshing:
        return "to be compared with Git"
    well = one.health == "Healthy" or not one.gates
    if one.sync == "Synced" and well and not one.acting and one.phase in {"", "Succeeded"}:
        return ""
    state = shortened(f"{one.sync} {one.health}") or "not compared yet"
    said = shut or next(reasons(one), "") or one.said or one.message
    if one.sync == "OutOfSync" and one.name != ROOT and _by_hand(one):
        said = f"is synced only by `gen sync {one.name}`, in another terminal"
    return f"{state}: {shortened(said)}" if said else state


def _by_hand(one: Application) -> bool:
    """Tell whether Argo CD leaves it alone (`gitops.ordered`, `sync: manual`), and nobody syncs it now or failed to."""
    tried = one.acting or one.retries or one.phase in {"Failed", "Error"}
    return not tried and not syncs_by_itself(one.manifest)
