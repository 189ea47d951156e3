"""The steps of a rotation. Each looks whether it was done, acts, and proves it by what the cluster then says; the step
is noted on the Secret, so that another run goes on where one ended.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from msgspec import Struct, structs

from generator.components.component import Manifest, Secret
from generator.day2.rotation.family import Family
from generator.day2.rotation.new_values import new_values
from generator.day2.rotation.readers import older, readers, restart
from generator.day2.rotation.syncs import Waiting, sync
from generator.errors import UsageError
from generator.live.bootstrap.secret_values import Values
from generator.live.running import RunningCluster
from generator.live.secret_objects import encoded, path, values_of
from generator.live.secret_state import State, annotations, finish, record, state_of, written
from generator.model.fields import dig

MOST = 5
"""Pods that are named."""


class Step(Struct, frozen=True, kw_only=True):
    """One step: its name, which is noted once it is done, and what it does. `notes_itself`: in one write with the
    values, so that neither is there without the other.
    """

    name: str
    act: Callable[[], None]
    notes_itself: bool = False


class Rotating(Struct, frozen=True, kw_only=True):
    """One rotation. `tell` is told each step."""

    running: RunningCluster
    family: Family
    values: Values
    waiting: Waiting
    tell: Callable[[str, str], None]

    def run(self) -> None:
        """Do what is left of it. Raises UsageError, LateError: what is done stays, and another run goes on."""
        steps = list(self.steps())
        done = done_steps(self._there(), self.family, [one.name for one in steps])
        for number, step in enumerate(steps):
            if number < done:
                self.tell(step.name, "was done already")
                continue
            self.waiting.confirm()
            step.act()
            if not step.notes_itself:
                since = state_of(self._there()).since or (self._written() if step.name == "copies" else "")
                record(self.running, self.family.origin, self._state(step.name, since))
        finish(self.running, self.family.origin)

    def steps(self) -> Iterator[Step]:
        """Yield the steps in their order."""
        turn, former = self.family.turn, bool(self.family.former)
        anew = self._delete if turn.way == "delete" else self._renew
        yield Step(name="values", act=anew, notes_itself=turn.way != "delete")
        # Before the copies: whoever writes a copy as well could keep a stolen value alive by what stops that step.
        yield from self._syncs("both" if former else "sync", turn.syncs)
        yield Step(name="copies", act=self._copy)
        yield from self._syncs("follow", self.family.syncs_of_copies)
        if any(one.turn and one.turn.restarts for one in self.family.all):
            yield Step(name="restart", act=self._restart)
        if self._waited_for:
            yield Step(name="readers", act=self._await_readers)
        if former:
            yield Step(name="former", act=self._drop, notes_itself=True)
            yield from self._syncs("end", turn.syncs)

    def _syncs(self, name: str, syncs: tuple[tuple[str, str], ...]) -> Iterator[Step]:
        if syncs:
            yield Step(name=name, act=partial(self._sync, name, syncs))

    def _state(self, step: str, since: str = "") -> State:
        return State(step=step, since=since, stolen=self.family.stolen)

    def _there(self) -> Manifest:
        return existing(self.running, self.family.origin)

    def _renew(self) -> None:
        secret, there = self.family.origin, self._there()
        held = values_of(there)
        data: dict[str, str | None] = {**encoded(new_values(secret, held, self.values))}
        former = self.family.former
        if same := [key for key in former if key not in data]:
            raise UsageError(
                f"{secret.full_name}: the {same[0]} that is given is the one it has, so that no former one could count "
                "beside it: give another one, or none for a random one"
            )
        data |= dict.fromkeys(self.family.turn.former.values())
        data |= encoded({place: held[key] for key, place in former.items()})
        self._write(secret, there, data, self._state("values"))
        kept = f"; {', '.join(former.values())} keeps the former" if former else ""
        self.tell(
            "values", f"{secret.full_name} has a new {', '.join(key for key in secret.keys if key in data)}{kept}"
        )

    def _write(self, secret: Secret, there: Manifest, data: Mapping[str, str | None], state: State) -> None:
        """Write values and the step together, unless somebody changed the Secret since it was read."""
        metadata = {"resourceVersion": dig(there, "metadata", "resourceVersion"), "annotations": annotations(state)}
        self.running.merge(path(secret), {"metadata": metadata, "data": data})

    def _delete(self) -> None:
        secret = self.family.origin
        before = dig(self._there(), "metadata", "uid")
        self.running.delete(path(secret))
        self.waiting.until(self.running, partial(self._missing, before))
        self.tell("values", f"{secret.full_name} was deleted, and {secret.by} made it again")

    def _missing(self, before: str) -> str:
        secret = self.family.origin
        found = self.running.get(path(secret))
        if found is None or dig(found, "metadata", "uid") == before:
            return f"{secret.by} makes {secret.full_name} again"
        lacking = [key for key in secret.keys if not values_of(found).get(key)]
        return f"{secret.by} fills {', '.join(lacking)} of {secret.full_name}" if lacking else ""

    def _sync(self, step: str, syncs: tuple[tuple[str, str], ...]) -> None:
        for name, job in syncs:
            sync(self.running, name, job, self.waiting)
            self.tell(step, f"{name} is synced, and its Job {job} ran anew and succeeded")

    def _copy(self) -> None:
        held = values_of(self._there())
        for one in self.family.copies:
            wanted = {key: held[key] for key in one.keys}
            if values_of(existing(self.running, one)) != wanted:
                self.running.merge(path(one), {"data": encoded(wanted)})
            if any(values_of(existing(self.running, one)).get(key) != wanted[key] for key in wanted):
                raise UsageError(f"{one.full_name}: somebody else writes it: it has not the new values; run again")
            self.tell("copies", f"{one.full_name} has them, too")

    def _written(self) -> str:
        return max(written(existing(self.running, one)) for one in self.family.all)

    def _restart(self) -> None:
        since = state_of(self._there()).since
        for one in self.family.all:
            for workload in one.turn.restarts if one.turn else ():
                found = restart(self.running, one.namespace, workload, since)
                self.tell("restart", f"{workload} in {one.namespace} {'restarts' if found else 'is not there'}")

    @property
    def _waited_for(self) -> list[Secret]:
        """The Secrets whose readers must have begun anew before the end."""
        read_late = self.family.copies if self.family.former else ()
        return [one for one in self.family.all if one in read_late or (one.turn and one.turn.restarts)]

    def _await_readers(self) -> None:
        self.waiting.until(self.running, self._older_readers)
        self.tell("readers", "no pod is left that began before")

    def _older_readers(self) -> str:
        since = state_of(self._there()).since
        found = [
            f"{one.namespace}/{name}" for one in self._waited_for for name in older(readers(self.running, one), since)
        ]
        more = f" and {len(found) - MOST} more" if len(found) > MOST else ""
        return f"pods that may have read the former values: {', '.join(found[:MOST])}{more}" if found else ""

    def _drop(self) -> None:
        secret, there = self.family.origin, self._there()
        state = self._state("former", state_of(there).since)
        self._write(secret, there, dict.fromkeys(self.family.former.values()), state)
        self.tell("former", f"{', '.join(self.family.former.values())} left {secret.full_name}")


def as_begun(running: RunningCluster, family: Family) -> Family:
    """Return a family as a rotation that is under way has it: of a key that was stolen it goes on as such, whoever goes
    on, or the new key would wait for pods with the stolen one. Raises UsageError where the Secret is not there.
    """
    stolen = family.stolen or state_of(existing(running, family.origin)).stolen
    return structs.replace(family, stolen=stolen)


def done_steps(there: Manifest, family: Family, names: list[str]) -> int:
    """Return how many of the steps are done. A former key without a note is of somebody who began by hand: to begin
    once more would forget it while it is in use. Of what was stolen it must be forgotten.
    """
    step, kept = state_of(there).step, any(place in values_of(there) for place in family.turn.former.values())
    if kept and family.stolen:
        return 0
    if step in names:
        return names.index(step) + 1
    return int(kept)


def existing(running: RunningCluster, secret: Secret) -> Manifest:
    """Return a Secret that must be there. Raises UsageError."""
    found = running.get(path(secret))
    if found is None:
        raise UsageError(f"{secret.full_name} is not there: `gen bootstrap` tells how it is made")
    return found
