"""Operations of Argo CD, begun, confirmed and ended through the API server alone (facts: gitops-monitoring 1.9).

An Application has no status subresource: one merge patch writes its operation and takes away the state of the last one,
as Argo CD's own server does. With the state left, fields that the new operation leaves out would come from the old one
(Argo CD #26530, mended in 3.5.3). The resource version of what was read lets nobody be overtaken: ConflictError.
"""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

from generator.components.component import Manifest
from generator.errors import UsageError
from generator.live.applications import APPLICATIONS, APPROVED, Application, application, refresh
from generator.live.running import RunningCluster
from generator.live.times import moment
from generator.model.fields import dig, sequence

TRIES = 5
"""After so many Argo CD's health check of an Application calls it degraded, and its parent goes on."""
LOOK = 180.0
"""Seconds that Argo CD has to look at Git and compare an Application: it takes turns with hundreds of others."""
BACKOFF = {"duration": "10s", "factor": 2, "maxDuration": "3m"}
WAITS_FOR_A_WORD = "waiting for pruning confirmation"
"""How Argo CD begins to say that what is to go has `Prune=confirm`."""


def begin(running: RunningCluster, one: Application, commit: str, who: str, mark: str) -> None:
    """Begin to bring an Application to a commit, in an operation that is known by its mark. Raises ConflictError."""
    options = [str(option) for option in sequence(dig(one.manifest, "spec", "syncPolicy", "syncOptions"))]
    operation = {
        "initiatedBy": {"username": who},
        "info": [{"name": "reason", "value": "gen sync"}, _info(mark)],
        "retry": {"limit": TRIES, "backoff": retry_backoff(one)},
        "sync": {"revision": commit, "prune": True, "syncOptions": options, "syncStrategy": {"hook": {}}},
    }
    _change(running, one, {"operation": operation, "status": {"operationState": None}})


def begun(one: Application, mark: str) -> bool:
    """Tell whether the operation of a mark is asked for, under way, or the last one."""
    operations = (dig(one.manifest, "operation"), dig(one.manifest, "status", "operationState", "operation"))
    return any(_info(mark) in sequence(dig(each, "info")) for each in operations)


def _info(mark: str) -> dict[str, str]:
    return {"name": "mark", "value": mark}


def retry_backoff(one: Application) -> Manifest:
    """Return the pauses between tries: those that the Application has, else ours."""
    return dict(dig(one.manifest, "spec", "syncPolicy", "retry", "backoff") or BACKOFF)


def end(running: RunningCluster, one: Application) -> None:
    """Have Argo CD end the operation that is under way; it says `Operation terminated` when it has. Raises
    ConflictError.
    """
    _change(running, one, {"status": {"operationState": {"phase": "Terminating"}}})


def approve_deletion(running: RunningCluster, one: Application, now: datetime) -> None:
    """Confirm what the operation under way is to delete; Argo CD counts no word from before its beginning. Raises
    ConflictError.
    """
    moment = max(now, _began(one) + timedelta(seconds=1))
    _change(running, one, {"metadata": {"annotations": {APPROVED: f"{moment:%Y-%m-%dT%H:%M:%SZ}"}}})


def _began(one: Application) -> datetime:
    """Return when its operation began: by the clock of the cluster, which may not be ours."""
    return (moment(one.began) or datetime.min.replace(tzinfo=UTC)).astimezone(UTC)


def _change(running: RunningCluster, one: Application, change: dict[str, Any]) -> None:
    metadata = {**change.get("metadata", {}), "resourceVersion": one.manifest["metadata"]["resourceVersion"]}
    running.merge(f"{APPLICATIONS}/{one.name}", {**change, "metadata": metadata})


def under_way(one: Application) -> str:
    """Return the commit of the operation that is under way: where Argo CD takes the newest with each try, the one that
    this try brings.
    """
    asked = dig(one.manifest, "operation", "sync", "revision") if one.pending else ""
    return one.asked or one.brought or (asked if isinstance(asked, str) else "")


def look_again(running: RunningCluster, name: str, patience: float = LOOK) -> Application:
    """Have Argo CD compare an Application with the newest commit, and return it then. Raises UsageError where there is
    none, or where Argo CD does not answer.
    """
    refresh(running, name)
    end_of_patience = time.monotonic() + patience
    while time.monotonic() < end_of_patience:
        one = application(running.get(f"{APPLICATIONS}/{name}") or {"metadata": {"name": name}})
        if not one.refreshing:
            return one
        time.sleep(1)
    raise UsageError(
        f"Argo CD did not look at {name} within {patience:.0f} s; do its pods run? `kubectl -n argocd get pods`"
    )
