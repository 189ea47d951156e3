"""What a rehearsal asks of a running Argo CD, through the API server alone."""

from collections.abc import Collection, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from time import monotonic, sleep

from generator.errors import UsageError
from generator.live.api import Request
from generator.live.applications import APPLICATIONS, REFRESH, ROOT, Application, applications, syncs_by_itself
from generator.live.running import ConflictError
from generator.live.sync.operations import approve_deletion, begin
from generator.rehearsal.argocd.course import Course, asks
from generator.rehearsal.standin import StandIn
from generator.rehearsal.twin.twin import Twin

REFRESHED = 300.0
"""Seconds for the comparison of all Applications; each takes some tenths of one on an idle machine."""
MARK = "rehearsal"


class ArgoCD:
    """A running Argo CD on a twin."""

    def __init__(self, twin: Twin, standin: StandIn) -> None:
        self.twin, self.standin = twin, standin

    def look(self) -> list[Application]:
        """Return all Applications."""
        return applications(self.twin.cluster)

    def annotate(self, name: str, how: str = "normal") -> None:
        """Have an Application compared anew, as a webhook of Git has it (`normal`), or built anew as well (`hard`)."""
        change = {"metadata": {"annotations": {REFRESH: how}}}
        self.twin.cluster.api.ask(Request(path=f"{APPLICATIONS}/{name}", method="PATCH", body=change, merge=True))

    def refresh(self, names: Collection[str] = ()) -> set[str]:
        """Have everything built and compared anew, or what is named, and wait until it is; return what is OutOfSync
        then. Root comes at the end: it compares the Applications themselves, which a refresh changes for a moment.
        Raises UsageError.
        """
        for of_root in (False, True):
            for one in self.look():
                if (one.name == ROOT) == of_root and (not names or one.name in names):
                    self.annotate(one.name, "hard")
            self._wait_until_compared()
        return {name for one in self.look() for name in out_of_sync(one)}

    def _wait_until_compared(self) -> None:
        end = monotonic() + REFRESHED
        while any(one.refreshing for one in self.look()):
            if monotonic() > end:
                raise UsageError(f"the twin: Argo CD compares all Applications: not within {REFRESHED:g} s")
            self.settle(0.3)

    def settle(self, seconds: float) -> None:
        """Let everybody act for some seconds."""
        end = monotonic() + seconds
        self.standin.round()
        while monotonic() < end:
            sleep(0.1)
            self.standin.round()

    def sync_by_hand(self, course: Course) -> None:
        """Sync those that do not sync by themselves, each wave once those before it are there, as `gen sync` would."""
        due = [course.found[name] for name in course.missing if name in course.found and name != ROOT]
        for one in due:
            fresh = one.revision == course.revision != one.asked and not one.acting
            if one.wave == due[0].wave and fresh and not syncs_by_itself(one.manifest):
                with suppress(ConflictError):
                    begin(self.twin.cluster, one, course.revision, "gen rehearse", MARK)

    def confirm(self) -> None:
        """Confirm what is to go, wherever a person is waited for."""
        for one in self.look():
            if asks(one):
                with suppress(ConflictError):
                    approve_deletion(self.twin.cluster, one, datetime.now(UTC))


def out_of_sync(one: Application) -> Iterator[str]:
    """Yield what an Application holds otherwise than in Git, without what is to go."""
    return (each.full_name for each in one.resources if each.sync == "OutOfSync" and not each.leaving)
