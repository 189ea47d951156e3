"""How far an Application is on its way to a commit, from what Argo CD says of it (facts: gitops-monitoring 1.9)."""

from enum import StrEnum

from generator.live.applications import ROOT, Application
from generator.live.messages import shortened
from generator.live.sync.operations import TRIES, WAITS_FOR_A_WORD, under_way
from generator.live.why import ENDED_BADLY, why

BLOCKED_BY_WINDOW = "blocked by sync window"


class Stage(StrEnum):
    """How far it is, and so what is to be done."""

    BEGIN = "to be synced"
    """Nothing is under way, and it is not at the commit."""
    WAIT = "under way"
    OLD = "held by an older operation"
    """An operation to another commit is under way, which cannot end by itself or is not worth waiting for."""
    CONFIRM = "waits for a confirmation"
    BLOCKED = "blocked by a window"
    DIFFERS = "applied, and differs still"
    """It was applied, and is not as in Git: Argo CD may not have looked since."""
    FAILED = "failed"
    DEGRADED = "degraded"
    """At the commit; controllers may still be at work."""
    DONE = "done"


def stage(one: Application, commit: str, *, newest: bool) -> tuple[Stage, str]:
    """Return how far an Application is on its way to a commit, and the reason in words. `newest`: it is the one that
    its branch has, so that Argo CD compares with it; where somebody pushed since, it may be at a newer one.
    """
    found, said = _stage(one, commit, newest=newest)
    return found, shortened(said)


def _stage(one: Application, commit: str, *, newest: bool) -> tuple[Stage, str]:
    if one.acting:
        return _acting(one, commit)
    if _arrived(one, commit, newest=newest):
        # The health of root is that of what it holds, which is asked one by one, and mended in its turn.
        return (Stage.DONE, "") if one.name == ROOT else _health(one)
    if one.phase == "Succeeded" and one.brought == commit:
        return Stage.DIFFERS, why(one)
    if one.phase in ENDED_BADLY and one.asked == commit:
        return Stage.FAILED, why(one)
    return Stage.BEGIN, ""


def _acting(one: Application, commit: str) -> tuple[Stage, str]:
    at = under_way(one)
    if one.phase == "Terminating":
        return Stage.WAIT, "Argo CD ends its operation"
    if at not in {commit, one.revision, ""}:
        return _older(one, at)
    if one.said.startswith(WAITS_FOR_A_WORD):
        return Stage.CONFIRM, one.said
    if BLOCKED_BY_WINDOW in one.said:
        return Stage.BLOCKED, one.said
    if one.retries >= TRIES:
        return Stage.FAILED, why(one)
    return Stage.WAIT, one.said or "its operation begins"


def _older(one: Application, at: str) -> tuple[Stage, str]:
    stuck = one.retries or one.said.startswith(WAITS_FOR_A_WORD) or one.name == ROOT
    said = f"an operation to {at[:9]} is under way: {one.said}"
    return (Stage.OLD if stuck else Stage.WAIT), said


def _arrived(one: Application, commit: str, *, newest: bool) -> bool:
    if one.phase not in {"", "Succeeded"}:
        return False
    if newest and one.sync == "Synced":
        return True
    return one.brought == commit and (one.sync == "Synced" or one.revision != commit)


def _health(one: Application) -> tuple[Stage, str]:
    if one.health == "Degraded":
        return Stage.DEGRADED, why(one)
    if one.health in {"Progressing", "Missing", "Unknown"}:
        return Stage.WAIT, f"{one.health}: {one.message or why(one)}"
    return Stage.DONE, "suspended by somebody" if one.health == "Suspended" else ""
