"""A Lease in the cluster: one bootstrap or sync at a time, from whichever machine."""

import getpass
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime

from msgspec import Struct

from generator.components.component import Manifest
from generator.errors import UsageError
from generator.live.api import AwayError
from generator.live.running import RunningCluster
from generator.model.fields import dig

LASTS = 12
"""Seconds without a renewal after which its holder counts as dead."""
RENEWED = 3.0
"""Seconds between two renewals."""


class Work(Struct, frozen=True):
    """What is done by one at a time: the verb, and where its Lease is."""

    verb: str
    namespace: str
    name: str

    @property
    def path(self) -> str:
        """The address of the Lease."""
        return f"{self.leases}/{self.name}"

    @property
    def leases(self) -> str:
        """The address of the Leases in its namespace."""
        return f"/apis/coordination.k8s.io/v1/namespaces/{self.namespace}/leases"


BOOTSTRAP = Work("gen bootstrap", "kube-system", "gen-bootstrap")
ROTATION = Work("gen secret rotate", BOOTSTRAP.namespace, BOOTSTRAP.name)
"""The Lease of a bootstrap: both write Secrets."""
SYNC = Work("gen sync", "argocd", "gen-sync")


class Lease:
    """A lease that is held, as long as `confirm` does not raise."""

    def __init__(self, running: RunningCluster, work: Work, holder: str) -> None:
        self.running, self.work, self.holder = running, work, holder
        self.lost = ""
        self._renewed = time.monotonic()
        self._alone = threading.Lock()
        self._ended = threading.Event()

    def confirm(self) -> None:
        """Raise UsageError where it is held no more, as on a machine that slept: another one may be at work. Where it
        was not renewed for long that is asked now: a server that was away kept it. Raises AwayError where it still is.
        """
        if not self.lost and time.monotonic() - self._renewed > LASTS:
            self._renew_late()
        if self.lost:
            raise UsageError(f"stopped, as {self.lost}; what is done stays, run again to go on")

    def keep(self) -> None:
        """Renew it until it is given back or lost. Where the server is away for a while, it is tried again."""
        while not self.lost and not self._ended.wait(RENEWED):
            with suppress(UsageError):
                self._renew()

    def _renew(self) -> None:
        with self._alone:
            found = self.running.get(self.work.path)
            if found is None or _holder(found) != self.holder:
                self.lost = f"another one took over: {_holder(found) or 'the lease is gone'}"
                return
            version = {"resourceVersion": dig(found, "metadata", "resourceVersion")}
            self.running.merge(self.work.path, {"metadata": version, "spec": {"renewTime": _now()}})
            self._renewed = time.monotonic()

    def _renew_late(self) -> None:
        try:
            self._renew()
        except AwayError:
            raise
        except UsageError as error:
            self.lost = f"the lease {self.work.name} could not be renewed for {LASTS} s: {error}"

    def give_back(self) -> None:
        """Let others have it. Where that fails they take it over, as nobody renews it."""
        self._ended.set()
        with suppress(UsageError):
            if not self.lost and _holder(self.running.get(self.work.path)) == self.holder:
                self.running.delete(self.work.path)


@contextmanager
def held(running: RunningCluster, work: Work, waiting: Callable[[str], None]) -> Iterator[Lease]:
    """Hold the lease of some work as long as the block. Raises UsageError where somebody holds it who lives; whether he
    does is watched for a while, which `waiting` is told: clocks of two machines may differ.
    """
    lease = Lease(running, work, f"{who()} {secrets.token_hex(4)}")
    _take(lease, waiting)
    keeper = threading.Thread(target=lease.keep, daemon=True)
    keeper.start()
    try:
        yield lease
    finally:
        lease.give_back()


def who() -> str:
    """Return who is at work, for those who look on: user and machine."""
    user = "somebody"
    with suppress(OSError, KeyError):  # in some containers nobody is known
        user = getpass.getuser()
    return f"{user}@{socket.gethostname()}"


def _take(lease: Lease, waiting: Callable[[str], None]) -> None:
    running, work, wanted = lease.running, lease.work, _manifest(lease.work, lease.holder)
    while not running.create(work.leases, wanted):
        found = running.get(work.path)
        if found is None:
            continue
        _refuse_alive(running, work, found, waiting)
        version = found["metadata"]["resourceVersion"]
        if running.merge_unless_changed(work.path, {**wanted, "metadata": {"resourceVersion": version}}):
            return


def _refuse_alive(running: RunningCluster, work: Work, found: Manifest, waiting: Callable[[str], None]) -> None:
    """Watch a lease for as long as it lasts, and raise UsageError where it is renewed meanwhile."""
    waiting(f"{_holder(found)} holds the lease {work.name}; looking for {LASTS} s whether that one still lives")
    end = time.monotonic() + LASTS
    while time.monotonic() < end:
        time.sleep(0.5)
        now = running.get(work.path)
        if now is None:
            return
        if dig(now, "metadata", "resourceVersion") != dig(found, "metadata", "resourceVersion"):
            raise UsageError(
                f"another `{work.verb}` is at work here: {_holder(now)}, since {dig(now, 'spec', 'acquireTime')}; "
                "wait until it ends, or end it"
            )


def _holder(found: Manifest | None) -> str:
    return str(dig(found or {}, "spec", "holderIdentity") or "")


def _manifest(work: Work, holder: str) -> Manifest:
    spec = {"holderIdentity": holder, "leaseDurationSeconds": LASTS, "acquireTime": _now(), "renewTime": _now()}
    metadata = {"name": work.name, "namespace": work.namespace}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
