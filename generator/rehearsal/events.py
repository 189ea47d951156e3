"""What a change did, of all that was seen, and what `gen diff` says of it."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from msgspec import Struct

from generator.rehearsal.foretold import Foretold
from generator.rehearsal.jobs import Load
from generator.rehearsal.outcome import Fate, Synced
from generator.rehearsal.rehearsal import Event, Happened
from generator.rehearsal.watching import Moment, replaced, stopped


class Played(Struct, frozen=True, kw_only=True):
    """All that was seen: the first sync and that of the change, what ran before and after it, queues that let nothing
    in (`closed`) and objects that differ for ever (`again`), both with the reason.
    """

    first: Synced
    changed: Synced
    load: Load
    before: Moment
    after: Moment
    closed: Mapping[str, str]
    again: Mapping[str, str]


def happened(
    played: Played, foretold: Foretold, confirmed: Mapping[str, str] = MappingProxyType({})
) -> tuple[Happened, ...]:
    """Return what happened, the loudest first, without what was so before the change already. `confirmed` tells of
    objects that waited for a person what came of it.
    """
    found = [
        *_of_objects(played.first, played.changed, foretold, confirmed),
        *_of_states(played, foretold),
        *_of_waves(played.first, played.changed),
        *_of_pods(played, foretold),
        *(Happened(event=Event.DIFFERS, what=what, why=why) for what, why in played.again.items()),
    ]
    order = [*Event]
    return tuple(sorted(found, key=lambda one: order.index(one.event)))


def disagreements(played: Played, foretold: Foretold) -> tuple[str, ...]:
    """Return where `gen diff` says otherwise."""
    gone, ended = replaced(played.before, played.after), stopped(played.before, played.after)
    return tuple(foretold.disagreements(played.changed, gone, played.before.owners, stopped=bool(ended)))


def _of_pods(played: Played, foretold: Foretold) -> Iterator[Happened]:
    for job, why in stopped(played.before, played.after).items():
        yield Happened(event=Event.STOPPED, what=job, why=why, foretold=foretold.of_jobs())
    for owner, (gone, had) in replaced(played.before, played.after).items():
        said = foretold.of_owner(owner)
        yield Happened(event=Event.REPLACED, what=owner, why=f"{gone} of {had}", foretold=said)


_EVENTS = {
    Fate.REFUSED: Event.REFUSED,
    Fate.LATE: Event.LATE,
    Fate.DELETED: Event.DELETED,
    Fate.REPLACED: Event.DELETED,
    Fate.WAITS: Event.WAITS,
}


def _of_objects(first: Synced, changed: Synced, foretold: Foretold, confirmed: Mapping[str, str]) -> Iterator[Happened]:
    """Yield what became of objects, without what is so before the change already."""
    known = {(one.kind, one.namespace, one.name) for one in first.outcomes if one.fate == Fate.REFUSED}
    for one in changed.outcomes:
        key = (one.kind, one.namespace, one.name)
        if one.fate in _EVENTS and not (one.fate == Fate.REFUSED and key in known):
            what = f"{one.shown} ({one.application}, wave {one.wave})"
            why = "; ".join(filter(None, (one.why, confirmed.get(one.shown))))
            yield Happened(event=_EVENTS[one.fate], what=what, why=why, foretold=foretold.of(*key))


def _of_states(played: Played, foretold: Foretold) -> Iterator[Happened]:
    before, after = played.before, played.after
    for what, why in {**after.closed, **played.closed}.items():
        if what not in before.closed:
            kind, _, name = what.partition(" ")
            said = foretold.of(f"kueue.x-k8s.io/{kind}", "", name)
            yield Happened(event=Event.CLOSED, what=what, why=why, foretold=said)
    for what, why in after.blocked.items():
        if what not in before.blocked:
            namespace, _, name = what.partition(" ")[2].partition("/")
            said = foretold.of("policy/PodDisruptionBudget", namespace, name)
            yield Happened(event=Event.BLOCKED, what=what, why=why, foretold=said)


def _of_waves(first: Synced, changed: Synced) -> Iterator[Happened]:
    known = {one.partition(":")[0] for wave in first.waves for one in wave.hung}
    for wave in changed.waves:
        for one in wave.hung:
            what, _, why = one.partition(": ")
            if what not in known:
                yield Happened(event=Event.HUNG, what=f"{what} (wave {wave.number})", why=why)
