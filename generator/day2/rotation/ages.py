"""How old the values of the declared Secrets are, and who rotates them."""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from generator.components.component import Secret
from generator.day2.rotation.plan import age
from generator.live.running import RunningCluster
from generator.live.secret_objects import path
from generator.live.secret_state import set_at, state_of


class Aged(Struct, frozen=True, kw_only=True):
    """A Secret, the age of its values in days (None: it is not there), the last step of a rotation that is under way
    (empty: none is), and why only a person can rotate it (empty: the program can).
    """

    name: str
    source: str
    loss: str
    days: int | None
    step: str
    by_hand: str
    rotate: str


def ages(running: RunningCluster, declared: Iterable[Secret]) -> Iterator[Aged]:
    """Yield the declared Secrets but for copies, the oldest values first."""
    found = [_aged(running, one) for one in declared if one.copy_of is None]
    yield from sorted(found, key=lambda one: (one.days is None, -(one.days or 0), one.name))


def _aged(running: RunningCluster, secret: Secret) -> Aged:
    there = running.get(path(secret))
    return Aged(
        name=secret.full_name,
        source=secret.source,
        loss=secret.loss,
        days=age(set_at(secret, there)) if there else None,
        step=state_of(there).step if there else "",
        by_hand=secret.by_hand,
        rotate=secret.rotate,
    )
