"""The steps of a rotation. Each looks whether it was done, acts, and proves it by what the cluster then says; the step
is noted on the Secret, so that another run goes on where one ended.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TypeAlias

from msgspec import Struct, structs

from generator.components.component import Manifest, Secret
from generator.day2.rotation.family import Family
from generator.day2.rotation.made_again import make_again, sign_again
from generator.day2.rotation.new_values import new_values
from generator.day2.rotation.readers import older, readers
from generator.day2.rotation.syncs import Waiting, sync
from generator.day2.rotation.trust import untrusted
from generator.day2.rotation.workloads import TICK, end_together, restart, unready
from generator.errors import UsageError
from generator.live.bootstrap.secret_values import Values
from generator.live.running import RunningCluster
from generator.live.secret_objects import encoded, path, values_of
from generator.live.secret_state import State, annotations, finish, record, state_of, written
from generator.model.fields import dig

Start: TypeAlias = Callable[[RunningCluster, str, str, str], bool]
"""How a workload starts anew: its namespace and name, and the time since which its pods count; whether it is there."""
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
        replaced = turn.way == "replace"
        yield Step(name="values", act=self._renew if replaced else self._make_again, notes_itself=replaced)
        if turn.signs:
            yield Step(name="signed", act=self._sign_again)
        # Before the copies: whoever writes a copy as well could keep a stolen value alive by what stops that step.
        yield from self._syncs("both" if former and not turn.handed else "sync", turn.syncs)
        yield Step(name="copies", act=self._copy)
        yield from self._syncs("follow", self.family.syncs_of_copies)
        yield from self._started_anew()
        if turn.trusted or turn.asks:
            yield Step(name="trusted", act=self._await_trust)
        if former:
            yield Step(name="former", act=self._drop, notes_itself=True)
            yield from self._syncs("end", () if turn.handed else turn.syncs)
        yield from self._syncs("proof", turn.proof)

    def _started_anew(self) -> Iterator[Step]:
        """Yield the steps after which nothing has the former values that read them when it started."""
        if self._workloads:
            yield Step(name="restart", act=self._restart)
        if self._waited_for:
            yield Step(name="readers", act=self._await_readers)
        if self._workloads:
            yield Step(name="ready", act=self._await_ready)

    def _syncs(self, name: str, syncs: tuple[tuple[str, str], ...]) -> Iterator[Step]:
        if syncs:
            yield Step(name=name, act=partial(self._sync, name, syncs))

    def _state(self, step: str, since: str = "") -> State:
        return State(step=step, since=since, stolen=self.family.stolen)

    def _there(self) -> Manifest:
        return origin(self.running, self.family)

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

    def _make_again(self) -> None:
        secret, turn = self.family.origin, self.family.turn
        make_again(self.running, secret, turn, self.waiting)
        did = {"empty": "filled it", "user": "wrote it"}.get(turn.way, "made it again")
        self.tell("values", f"{secret.full_name} has other values: {secret.by} {did}")

    def _sign_again(self) -> None:
        sign_again(self.running, self.family.origin, self.family.turn, self.waiting)
        self.tell("signed", f"{', '.join(self.family.turn.signs)}: signed by the new {self.family.origin.name}")

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

    @property
    def _workloads(self) -> list[tuple[str, str, Start]]:
        """The namespace and name of each workload that is started anew, and how."""
        turns = [(one.namespace, one.turn) for one in self.family.all if one.turn]
        together = [(space, each, end_together) for space, turn in turns for each in turn.together]
        return [*together, *((space, each, restart) for space, turn in turns for each in turn.restarts)]

    def _restart(self) -> None:
        since = state_of(self._there()).since
        time.sleep(TICK)
        for space, workload, start in self._workloads:
            found = start(self.running, space, workload, since)
            self.tell("restart", f"{workload} in {space} {'restarts' if found else 'is not there'}")

    def _await_ready(self) -> None:
        self.waiting.until(self.running, self._unready)
        self.tell("ready", "every pod that was started anew is ready")

    def _unready(self) -> str:
        return next((why for space, each, _ in self._workloads if (why := unready(self.running, space, each))), "")

    def _await_trust(self) -> None:
        self.waiting.until(self.running, partial(untrusted, self.running, self.family.origin, self.family.turn))
        self.tell("trusted", "the API server trusts the new certificate, and is answered by it")

    @property
    def _waited_for(self) -> list[Secret]:
        """The Secrets whose readers must have begun anew before the end."""
        read_late = self.family.copies if self.family.former else ()
        started_anew = [one for one in self.family.all if one.turn and (one.turn.restarts or one.turn.together)]
        return [one for one in self.family.all if one in read_late or one in started_anew]

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
    stolen = family.stolen or state_of(origin(running, family)).stolen
    return structs.replace(family, stolen=stolen)


def done_steps(there: Manifest, family: Family, names: list[str]) -> int:
    """Return how many of the steps are done. A former key without a note is of somebody who began by hand: to begin
    once more would forget it while it is in use. Of what was stolen it must be forgotten.
    """
    step, kept = state_of(there).step, any(place in values_of(there) for place in family.turn.former.values())
    if kept and family.stolen and not family.turn.handed:
        return 0
    if step in names:
        return names.index(step) + 1
    return int(kept)


def origin(running: RunningCluster, family: Family) -> Manifest:
    """Return the Secret that is rotated; an empty object where it was deleted, and who makes it has not done so yet.
    Raises UsageError where it should be there.
    """
    deleted = family.turn.way == "delete"
    return (running.get(path(family.origin)) or {}) if deleted else existing(running, family.origin)


def existing(running: RunningCluster, secret: Secret) -> Manifest:
    """Return a Secret that must be there. Raises UsageError."""
    found = running.get(path(secret))
    if found is None:
        raise UsageError(f"{secret.full_name} is not there: `gen bootstrap` tells how it is made")
    return found
