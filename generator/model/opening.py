"""What a change lets somebody do that they could not do before: the rules that are asked beside those of effects."""

from collections.abc import Callable, Iterable
from enum import StrEnum

from generator.model.change import ANY, Beside, ChangeRule, Effect, ObjectChange


class Opens(StrEnum):
    """Who gains what: `rights`, accounts on the API server; `admission`, objects that were refused or left alone;
    `host`, pods on their node; `network`, whoever may now connect; `delivery`, whoever says what Argo CD applies.
    """

    RIGHTS = "rights"
    ADMISSION = "admission"
    HOST = "host"
    NETWORK = "network"
    DELIVERY = "delivery"


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
