"""What a change lets somebody do that they could not do before: the rules that are asked beside those of effects."""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any

from generator.model.change import ANY, Beside, ChangeRule, Effect, ObjectChange
from generator.model.fields import dig


class Opens(StrEnum):
    """Who gains what: `rights`, accounts on the API server; `admission`, objects that were refused or left alone;
    `host`, pods on their node; `network`, whoever may now connect; `delivery`, whoever says what Argo CD applies;
    `code`, whoever wrote a script that is run.
    """

    RIGHTS = "rights"
    ADMISSION = "admission"
    HOST = "host"
    NETWORK = "network"
    DELIVERY = "delivery"
    CODE = "code"


class OpeningRule(ChangeRule, frozen=True, kw_only=True):
    """What some kinds of objects may open, whatever is felt of the change: a right that is gained restarts nothing.

    It is asked of every change of its kinds, also of objects that come or go, and all such rules that find something
    count. `gains` says what is gained, each in words with the names it is about; nothing where nothing is. What
    `stops` stops a merge until somebody approves it.
    """

    opens: Opens
    gains: Callable[[ObjectChange, Beside], Iterable[str]]
    stops: bool = False
    effect: Effect = Effect.NONE

    def speaks_of(self, change: ObjectChange) -> bool:
        """Tell whether it is about such objects. What moves to another Application stays what it was."""
        return change.on != "moved" and (change.kind in self.kinds or ANY in self.kinds)


ENFORCE = "pod-security.kubernetes.io/enforce"
LEVELS = ("privileged", "baseline", "restricted")
"""The levels of Pod Security, the widest first."""


def security_level(manifest: Mapping[str, Any]) -> str:
    """Return the level that pods of a namespace are held to: without a label none is refused."""
    found = str(dig(manifest, "metadata", "labels", ENFORCE) or "")
    return found if found in LEVELS else LEVELS[0]


def lowered_level(change: ObjectChange) -> str:
    """Return to which level a namespace is held from now on where that refuses less; empty where it does not. One that
    comes new refused nothing: it says so only where it is `privileged`.
    """
    if change.on == "removed":
        return ""
    old, new = security_level(change.old), security_level(change.new)
    wider = LEVELS.index(new) < LEVELS.index(old) if change.old else new == LEVELS[0]
    return new if wider else ""
