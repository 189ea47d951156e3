"""A sync of an Application at the commit it has, so that its Jobs run again: they read Secrets."""

import secrets
import time
from collections.abc import Callable
from functools import partial

from msgspec import Struct

from generator.components.component import Manifest
from generator.errors import UsageError
from generator.live.applications import APPLICATIONS, Application, application
from generator.live.away import answered
from generator.live.lease import who
from generator.live.running import ConflictError, RunningCluster
from generator.live.sync.arrival import BLOCKED_BY_WINDOW
from generator.live.sync.operations import begin, begun
from generator.live.why import why
from generator.live.windows import blocking, told
from generator.model.fields import dig

POLL = 2.0
"""Seconds between two looks."""


class Waiting(Struct, frozen=True, kw_only=True):
    """How one waits: until a moment of the monotonic clock, told what for; `confirm` raises where one must stop."""

    ends: float
    tell: Callable[[str], None]
    confirm: Callable[[], None]

    def until(self, running: RunningCluster, check: Callable[[], str]) -> None:
        """Return as soon as `check` says nothing; it says what is waited for. A server that is away ends nothing.
        Raises LateError.
        """
        before = ""
        while waits_for := answered(running, check, self.tell, max(0.0, self.ends - time.monotonic())):
            if waits_for != before:
                self.tell(f"waits: {waits_for}")
            before = waits_for
            if time.monotonic() > self.ends:
                raise LateError(f"time is up, and it still waits: {waits_for}; what is done stays, run again to go on")
            time.sleep(POLL)
            self.confirm()


class LateError(UsageError):
    """What is waited for did not come in time; running again goes on."""

    exit_code = 1


def obstacle(running: RunningCluster, name: str) -> str:
    """Return why an Application cannot be synced at the commit it has, "" where it can."""
    manifest = running.get(f"{APPLICATIONS}/{name}")
    if manifest is None:
        return f"there is no Application {name}: `gen status` tells why"
    one = application(manifest)
    return _held(running, one) or _behind(one)


def _held(running: RunningCluster, one: Application) -> str:
    window = blocking(running, one, by_hand=False)
    return told(one, window, by_hand=True) if window else ""


def _behind(one: Application) -> str:
    if one.acting or one.sync == "Synced":
        return ""
    return f"{one.name} is not as in Git ({one.sync or 'not compared yet'}): `gen sync {one.name}` first"


def sync(running: RunningCluster, name: str, job: str, waiting: Waiting) -> None:
    """Sync an Application at the commit it has, and wait until its Job ran anew and succeeded. Raises UsageError where
    either fails.
    """
    before = dig(_job(running, name, job), "metadata", "uid")
    mark = secrets.token_hex(8)
    waiting.until(running, partial(_begin, running, name, mark))
    waiting.until(running, partial(_going, running, name, mark))
    found = _job(running, name, job)
    if not dig(found, "status", "succeeded") or dig(found, "metadata", "uid") == before:
        raise UsageError(
            f"{name}: Argo CD says that its sync succeeded, but Job {job} did not run anew and succeed: "
            f"`kubectl --namespace {_namespace(running, name)} logs job/{job}`; run again to go on"
        )


def _begin(running: RunningCluster, name: str, mark: str) -> str:
    """Begin the operation as soon as no other one is under way; says what is waited for. It may not be as in Git while
    Argo CD makes again what was deleted.
    """
    one = _application(running, name)
    if begun(one, mark):
        return ""
    if one.acting:
        return f"{name}: another sync is under way: {one.said}"
    if why_not := _held(running, one):
        raise UsageError(f"{why_not}; run again to go on")
    if why_not := _behind(one):
        return why_not
    try:
        begin(running, one, one.commit, f"gen secret rotate by {who()}", mark)
    except ConflictError:
        return f"{name}: somebody changed it just now"
    return ""


def _going(running: RunningCluster, name: str, mark: str) -> str:
    """Say what the operation waits for, nothing once it succeeded."""
    one = _application(running, name)
    if not begun(one, mark):
        raise UsageError(f"{name}: somebody began another sync in the place of this one; run again to go on")
    if one.acting:
        if BLOCKED_BY_WINDOW in one.said:
            raise UsageError(f"{name}: {one.said}; run again once the window lets it")
        return f"{name}: {one.said or 'its sync begins'}"
    if one.phase != "Succeeded":
        raise UsageError(f"{name}: its sync failed: {why(one)}; run again to go on")
    return ""


def _application(running: RunningCluster, name: str) -> Application:
    manifest = running.get(f"{APPLICATIONS}/{name}")
    if manifest is None:
        raise UsageError(f"{name}: the Application is gone: somebody deleted it meanwhile")
    return application(manifest)


def _job(running: RunningCluster, name: str, job: str) -> Manifest:
    return running.get(f"/apis/batch/v1/namespaces/{_namespace(running, name)}/jobs/{job}") or {}


def _namespace(running: RunningCluster, name: str) -> str:
    return str(dig(running.get(f"{APPLICATIONS}/{name}") or {}, "spec", "destination", "namespace") or name)
