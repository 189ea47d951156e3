"""How far a rotation is, and when the last one ended: both stand on the Secret itself, beside its values."""

import json
from datetime import UTC, datetime

from msgspec import Struct

from generator.components.common import OWN_LABELS
from generator.components.component import Manifest, Secret
from generator.live.running import RunningCluster
from generator.live.secret_objects import path
from generator.live.times import moment, stamp
from generator.model.fields import dig, mapping

UNDER_WAY = f"{OWN_LABELS}/rotation"
ENDED = f"{OWN_LABELS}/rotated"


class State(Struct, frozen=True, kw_only=True):
    """The last step that was done (empty: none), since when by the cluster's clock every copy has the new values
    (RFC 3339; empty before), and whether it is of values that were stolen.
    """

    step: str = ""
    since: str = ""
    stolen: bool = False


def state_of(there: Manifest) -> State:
    """Return how far the rotation of a Secret is. What somebody else wrote there counts as nothing."""
    try:
        said = mapping(json.loads(str(_annotation(there, UNDER_WAY) or "{}")))
    except ValueError:
        return State()
    return State(
        step=str(said.get("step") or ""), since=str(said.get("since") or ""), stolen=said.get("stolen") is True
    )


def annotations(state: State) -> dict[str, str]:
    """Return what a Secret carries while its rotation is under way."""
    said: dict[str, object] = {"step": state.step, "since": state.since}
    return {UNDER_WAY: json.dumps(said | ({"stolen": True} if state.stolen else {}))}


def record(running: RunningCluster, secret: Secret, state: State) -> None:
    """Note that a step was done."""
    running.merge(path(secret), {"metadata": {"annotations": annotations(state)}})


def finish(running: RunningCluster, secret: Secret) -> None:
    """Note that the rotation is over, and when."""
    ended = stamp(datetime.now(UTC))
    running.merge(path(secret), {"metadata": {"annotations": {UNDER_WAY: None, ENDED: ended}}})


def set_at(secret: Secret, there: Manifest) -> datetime | None:
    """Return since when a Secret has its values: the end of its last rotation, else its own beginning; of one that a
    program makes, which may renew it, when it was written the last time.
    """
    made = dig(there, "metadata", "creationTimestamp")
    said = written(there) if secret.source == "in-cluster" else _annotation(there, ENDED) or made
    return moment(str(said or ""))


def written(there: Manifest) -> str:
    """Return when a Secret was written the last time, by the clock of the cluster (RFC 3339)."""
    managed = dig(there, "metadata", "managedFields") or []
    times = [str(time) for one in managed if (time := dig(one, "time"))]
    return max(times, default=str(dig(there, "metadata", "creationTimestamp") or ""))


def _annotation(there: Manifest, name: str) -> object:
    return mapping(dig(there, "metadata", "annotations")).get(name)
