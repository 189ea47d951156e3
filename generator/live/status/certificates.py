"""Certificates that end soon."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from generator.components.component import Manifest
from generator.live.api import ApiConnection
from generator.live.messages import shortened
from generator.live.status.causes import Cause
from generator.live.times import moment
from generator.model.fields import condition, dig

SOON = timedelta(days=30)
"""cert-manager renews when a third of the time is left, kubeadm only when it upgrades or is told to."""
RENEW = "kubeadm certs check-expiration, on a control-plane node"


def certificate_causes(found: Sequence[Manifest], now: datetime) -> Iterator[Cause]:
    """Yield the Certificates of cert-manager that are not ready, or that end soon and were not renewed."""
    for one in found:
        name, space = one["metadata"]["name"], one["metadata"].get("namespace")
        look = f"kubectl --namespace {space} describe certificate {name}"
        ready = condition(one, "Ready")
        why = ending(moment(str(dig(one, "status", "notAfter") or "")), now)
        if ready.get("status") == "False":
            why = f"it is not ready: {shortened(str(ready.get('message')))}{f'; {why}' if why else ''}"
        if why:
            yield Cause(component="", objects=(f"Certificate {space}/{name}",), why=why, command=look)


def connection_causes(api: ApiConnection, now: datetime) -> Iterator[Cause]:
    """Yield the certificates of the connection that end soon: the API server's own, and the one that the kubeconfig
    shows; kubeadm makes both, and all others of the control plane, for a year.
    """
    for name, ends in api.certificate_ends():
        if why := ending(ends, now):
            yield Cause(component="", objects=(name,), why=why, command=RENEW)


def ending(ends: datetime | None, now: datetime) -> str:
    """Return when something ends, in words; nothing where it does not end soon, or nobody knows."""
    if ends is None or ends - now > SOON:
        return ""
    if ends <= now:
        return f"it ended on {ends:%Y-%m-%d}"
    return f"it ends in {(ends - now).days} days, on {ends:%Y-%m-%d}"
