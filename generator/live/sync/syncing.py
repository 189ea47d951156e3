"""Bringing Applications to one commit, wave by wave."""

import math
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial

from msgspec import Struct

from generator.errors import UsageError
from generator.live.api import AwayError
from generator.live.applications import ROOT, Application, applications, refresh
from generator.live.away import answered
from generator.live.lease import Lease, who
from generator.live.running import ConflictError, RunningCluster
from generator.live.sync.arrival import Stage, stage
from generator.live.sync.operations import approve_deletion, begin, begun, end, under_way
from generator.live.sync.progress import Moved, Patience, Progress
from generator.live.sync.wanted import Wanted, place
from generator.live.times import minutes
from generator.live.why import why
from generator.live.windows import blocking, told


class SyncStoppedError(UsageError):
    """A sync ended before all was done; what was begun goes on without it."""

    exit_code = 1


class Target(Struct, frozen=True, kw_only=True):
    """Where to: the full name of a `commit`, whether it is the `newest` of its branch, the Applications that it has
    (`wanted`), and the `names` of those to bring there; root is among them where all are meant.
    """

    commit: str
    newest: bool
    wanted: Mapping[str, Wanted]
    names: frozenset[str]

    @property
    def waves(self) -> list[tuple[int, list[str]]]:
        """The waves, each with the names of what moves in it; root stands above them."""
        mine = sorted((one.wave, one.name) for one in self.wanted.values() if one.name in self.names)
        numbers = dict.fromkeys(number for number, _ in mine)
        return [(number, [name for wave, name in mine if wave == number]) for number in numbers]


Tell = Callable[[Progress], None]
Ask = Callable[[Application], str]
"""Says who approved all that an Application is to delete; raises UnapprovedError where nobody did."""


class Syncing:
    """One sync. `by_hand`: windows count as for a person, not as for Argo CD itself. `note` is told of a server that is
    away for a while: what was begun before goes on then, and is not begun again.
    """

    def __init__(  # noqa: PLR0913 - what a sync needs of its surroundings
        self,
        running: RunningCluster,
        target: Target,
        *,
        lease: Lease,
        ask: Ask,
        tell: Tell,
        note: Callable[[str], None],
        patience: Patience,
        by_hand: bool,
    ) -> None:
        self._running, self._target, self._lease = running, target, lease
        self._ask, self._tell, self._note, self._patience, self._by_hand = ask, tell, note, patience, by_hand
        self._ends = time.monotonic() + patience.limit
        self._now: dict[str, Application] = {}
        self._was: dict[str, str] = {}
        self.progress: dict[str, Progress] = {}

    def run(self) -> list[Moved]:
        """Bring all there. Raises SyncStoppedError, UnapprovedError."""
        self._answered(self._look)
        self._was = {name: one.commit for name, one in self._now.items()}
        if ROOT in self._target.names:
            self._start(ROOT, 0)
        for wave, names in self._target.waves:
            self._until(partial(_all, self._made, names), f"root makes {', '.join(names)}")
            self._refresh(names)
            for name in names:
                self._start(name, wave)
            gating = [name for name in names if self._there(name).gates]
            self._until(partial(_all, self._done, gating), f"wave {wave}")
        self._last()
        return self.moved()

    def _last(self) -> None:
        """Wait for root, and for what nothing else waits for."""
        if ROOT in self.progress and self.progress[ROOT].failed:
            # What it waited for is well by now.
            self.progress[ROOT].failed = self.progress[ROOT].tried = False
            self.progress[ROOT].mark = ""
        ends = time.monotonic() + self._patience.rest
        names = [*self.progress]
        gating = [name for name in names if name == ROOT or self._there(name).gates]
        self._until(partial(_all, self._over, gating), "root")
        self._until(lambda: time.monotonic() > ends or _all(self._over, names), "what nothing else waits for")
        if left := [one for one in self.progress.values() if not self._done(one.name)]:
            raise SyncStoppedError("; ".join(f"{one.name}: {one.stage}: {one.said}" for one in left))

    def moved(self) -> list[Moved]:
        """Return how it went with each Application so far."""
        return [
            Moved(
                name=one.name,
                wave=one.wave,
                old=one.old,
                new=self._now[one.name].commit if one.name in self._now else "",
                done=one.stage is Stage.DONE,
                said=one.said,
            )
            for one in self.progress.values()
        ]

    def under_way(self) -> list[str]:
        """Return the names of what Argo CD is busy with."""
        return [name for name in self.progress if name in self._now and self._now[name].acting]

    def _start(self, name: str, wave: int) -> None:
        self.progress[name] = Progress(name=name, wave=wave, old=self._was.get(name, ""))

    def _made(self, name: str) -> bool:
        """Tell whether root has brought an Application as the commit has it."""
        there = self._now.get(name)
        made = there is not None and place(there.manifest) == self._target.wanted[name].place
        if not made and ROOT not in self._target.names:
            raise SyncStoppedError(
                f"{name}: the Application is not in the cluster as {self._target.commit[:9]} has it: root brings it; "
                "`gen sync` without a name syncs root as well"
            )
        if not made and self._lost(ROOT):
            raise SyncStoppedError(f"root: {self.progress[ROOT].said}")
        return made

    def _done(self, name: str) -> bool:
        return self.progress[name].stage is Stage.DONE

    def _lost(self, name: str) -> bool:
        return self.progress[name].failed

    def _over(self, name: str) -> bool:
        return self._done(name) or self._lost(name)

    def _refresh(self, names: Sequence[str]) -> None:
        for name in names:
            self._answered(partial(refresh, self._running, name))
        self._until(lambda: not any(self._there(name).refreshing for name in names), "Argo CD compares with Git")

    def _until(self, check: Callable[[], bool], what: str) -> None:
        """Go on with all that is on its way until something holds."""
        while True:
            self._answered(self._round)
            if check():
                return
            if time.monotonic() > self._ends:
                raise SyncStoppedError(self._late(what))
            time.sleep(self._patience.pause)

    def _answered(self, ask: Callable[[], None]) -> None:
        left = max(0.0, self._ends - time.monotonic())
        answered(self._running, ask, self._note, min(self._patience.away, left))

    def _round(self) -> None:
        """Look at all that is on its way, and do what is next for each."""
        try:
            self._lease.confirm()
            self._look()
            for one in self.progress.values():
                self._advance(one)
        except AwayError:
            for one in self.progress.values():
                one.unwell_since = math.inf  # nobody mends anything meanwhile
            raise

    def _late(self, what: str) -> str:
        waiting = [f"{one.name}: {one.said or one.stage}" for one in self.progress.values() if not self._done(one.name)]
        return f"not within {minutes(self._patience.limit)}: {what}; {'; '.join(waiting)}"

    def _look(self) -> None:
        self._now = {one.name: one for one in applications(self._running)}

    def _there(self, name: str) -> Application:
        if name not in self._now:
            raise SyncStoppedError(f"{name}: the Application is gone: somebody deleted it meanwhile")
        return self._now[name]

    def _advance(self, mine: Progress) -> None:
        one = self._there(mine.name)
        if mine.failed or one.refreshing:
            return
        now, said = stage(one, self._target.commit, newest=self._target.newest)
        coming = one.acting and one.phase != "Terminating" and under_way(one) == self._target.commit
        mine.tried = mine.tried or coming or begun(one, mine.mark)
        if now is Stage.FAILED and not mine.tried:
            now, said = Stage.BEGIN, ""  # it failed before this sync: it is tried again
        if now is Stage.CONFIRM and mine.confirmed == one.began:
            now, said = Stage.WAIT, mine.said  # Argo CD has not seen the word yet
        self._show(mine, now, said)
        try:
            self._act(mine, one, now)
        except ConflictError:
            return  # somebody, Argo CD itself mostly, changed it just now: the next look shows what it is

    def _show(self, mine: Progress, now: Stage, said: str) -> None:
        if (mine.stage, mine.said) != (now, said):
            if now not in {Stage.DEGRADED, Stage.DIFFERS} or mine.stage is not now:
                mine.unwell_since, mine.looked_again = time.monotonic(), False
            mine.stage, mine.said = now, said
            self._tell(mine)

    def _act(self, mine: Progress, one: Application, now: Stage) -> None:
        if now is Stage.BEGIN:
            self._begin(mine, one)
        elif now is Stage.OLD:
            end(self._running, one)
        elif now is Stage.CONFIRM:
            self._confirm(mine, one)
        elif now is Stage.BLOCKED:
            self._refuse_blocked(one)
        elif now is Stage.FAILED:
            self._lose(mine, one)
        elif now in {Stage.DEGRADED, Stage.DIFFERS}:
            self._unwell(mine, one)

    def _begin(self, mine: Progress, one: Application) -> None:
        if mine.tried and mine.name != ROOT:
            raise SyncStoppedError(
                f"{one.name}: its operation ended elsewhere than at the commit: {one.said or why(one)}"
            )
        self._refuse_blocked(one)
        self._ask(one)
        mine.mark = secrets.token_hex(8)
        begin(self._running, one, self._target.commit, f"gen sync by {who()}", mine.mark)
        mine.tried = True

    def _confirm(self, mine: Progress, one: Application) -> None:
        if one.revision != self._target.commit:
            raise SyncStoppedError(
                f"{one.name}: it waits with deletions, and Argo CD compares with {one.revision[:9]}, so that nobody "
                "can say what is to go; the branch moved on: run again"
            )
        if by := self._ask(one):
            approve_deletion(self._running, one, datetime.now(UTC))
            mine.confirmed = one.began
            self._show(mine, Stage.WAIT, f"confirmed: {by}")

    def _refuse_blocked(self, one: Application) -> None:
        if found := blocking(self._running, one, by_hand=self._by_hand):
            raise SyncStoppedError(told(one, found, by_hand=self._by_hand))

    def _unwell(self, mine: Progress, one: Application) -> None:
        mine.unwell_since = min(mine.unwell_since, time.monotonic())
        if time.monotonic() - mine.unwell_since > self._patience.grace:
            self._lose(mine, one)
        elif not mine.looked_again and mine.stage is Stage.DIFFERS:
            refresh(self._running, one.name)
            mine.looked_again = True

    def _lose(self, mine: Progress, one: Application) -> None:
        """Give an Application up: the sync stops, unless nothing waits for it. Root fails when one that it waits for
        does, which is told by itself.
        """
        mine.failed = True
        if mine.name != ROOT and one.gates:
            raise SyncStoppedError(f"{one.name}: {mine.stage}: {mine.said}")


def _all(check: Callable[[str], bool], names: Sequence[str]) -> bool:
    return all(map(check, names))
