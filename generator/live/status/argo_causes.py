"""Whether Argo CD works at all: what it last said is of no use when it says nothing more."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from generator.live.applications import ROOT, Application
from generator.live.status.causes import Cause
from generator.live.status.pod_causes import Space, pod_causes
from generator.live.times import moment
from generator.model.fields import dig

NAMED = ("Argo CD",)
NAMESPACE = "argocd"
LONG_AGO = datetime.min.replace(tzinfo=UTC)
SILENT = timedelta(minutes=15)
"""Argo CD looks at each Application every two to three minutes (`timeout.reconciliation` and its jitter)."""


def silent_since(found: Sequence[Application], now: datetime) -> str:
    """Return when Argo CD last compared anything, if that is too long ago; empty where all is well."""
    times = [str(dig(one.manifest, "status", "reconciledAt") or "") for one in found]
    last = max(times, key=lambda one: moment(one) or LONG_AGO, default="")
    compared = moment(last)
    return last if compared and now - compared >= SILENT else ""


def argo_causes(found: Sequence[Application], now: datetime, space: Space | None, cluster: str) -> Iterator[Cause]:
    """Yield why nothing goes on: there is no root Application, or Argo CD does not work, with what stops its pods."""
    if not any(one.name == ROOT for one in found):
        why = "the Application root is not there: bootstrap has not come so far"
        yield Cause(component="", objects=NAMED, why=why, command=f"gen bootstrap --cluster {cluster}")
    if last := silent_since(found, now):
        why = f"it has compared nothing since {last}: what it says of components is of then"
        yield Cause(component="", objects=NAMED, why=why, command=f"kubectl --namespace {NAMESPACE} get pods")
        if space:
            yield from pod_causes(space, "", space.pods, cluster)
