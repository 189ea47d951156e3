"""One `gen sync` of a cluster at a time: whoever syncs holds a Lease beside Argo CD's Applications."""

import getpass
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta

from generator.components.component import Manifest
from generator.errors import UsageError
from generator.live.running import ConflictError, RunningCluster
from generator.model.fields import dig

LEASES = "/apis/coordination.k8s.io/v1/namespaces/argocd/leases"
NAME = "gen-sync"
GOOD_FOR = 60
"""Seconds after which one who did not say that he is still there is taken for gone."""
AGAIN = 15
"""Seconds after which he says so."""


def who() -> str:
    """Return who is at work, for those who look on: user and machine."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = f"uid {os.getuid()}"
    return f"{user}@{socket.gethostname()}"


class Turn:
    """The right to sync, as long as `keep` is called now and then."""

    def __init__(self, running: RunningCluster, held: Manifest) -> None:
        self._running, self._held = running, held
        self._said = datetime.now(UTC)

    def keep(self) -> None:
        """Say that we are still there. Raises UsageError where somebody else took our place."""
        now = datetime.now(UTC)
        if now - self._said < timedelta(seconds=AGAIN):
            return
        try:
            self._held = _change(self._running, self._held, {"renewTime": _written(now)})
        except ConflictError:
            raise UsageError(
                f"another `gen sync` began, since this one was silent too long; Lease argocd/{NAME} says who"
            ) from None
        self._said = now

    def give_back(self) -> None:
        """Let others begin at once."""
        with suppress(UsageError):
            self._running.delete(f"{LEASES}/{NAME}")


@contextmanager
def turn(running: RunningCluster, commit: str) -> Iterator[Turn]:
    """Hold the right to sync. Raises UsageError where somebody else does."""
    held = Turn(running, _taken(running, commit))
    try:
        yield held
    finally:
        held.give_back()


def _taken(running: RunningCluster, commit: str) -> Manifest:
    now = datetime.now(UTC)
    holder = f"{who()} {os.getpid()}, to {commit[:9]}"
    times = {"acquireTime": _written(now), "renewTime": _written(now)}
    spec = {"holderIdentity": holder, "leaseDurationSeconds": GOOD_FOR, **times}
    wanted = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": NAME}, "spec": spec}
    made = running.create(LEASES, wanted)
    if made:
        return made
    there = running.get(f"{LEASES}/{NAME}") or {}
    if not there or _fresh(there, now):
        raise UsageError(_told(there))
    try:
        return _change(running, there, spec)
    except ConflictError:
        raise UsageError(_told({})) from None


def _fresh(there: Manifest, now: datetime) -> bool:
    try:
        last = datetime.fromisoformat(str(dig(there, "spec", "renewTime")))
    except ValueError:
        return False
    return now - last < timedelta(seconds=GOOD_FOR)


def _told(there: Manifest) -> str:
    holder = dig(there, "spec", "holderIdentity") or "somebody else"
    since = dig(there, "spec", "acquireTime")
    began = f", begun {str(since)[:19]}Z," if since else ""
    return (
        f"another gen sync of this cluster is under way: {holder}{began}; wait until it ends (one that was killed "
        f"counts as gone after {GOOD_FOR} s)"
    )


def _change(running: RunningCluster, held: Manifest, spec: Manifest) -> Manifest:
    version = {"resourceVersion": held["metadata"]["resourceVersion"]}
    return running.merge(f"{LEASES}/{NAME}", {"metadata": version, "spec": spec})


def _written(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S.%fZ}"
