"""Confirmations of deletions that were given and wait for their use."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from generator.live.applications import APPROVED, Application
from generator.live.status.causes import Cause
from generator.live.times import moment
from generator.model.fields import dig


def confirmation_causes(found: Sequence[Application], now: datetime) -> Iterator[Cause]:
    """Yield the confirmations that would let the next deletion pass that nobody has asked about: Argo CD takes one that
    is not older than the sync that asks (argo-cd v3.5, `IsDeletionConfirmed`), so what is dated in the future confirms
    all until then.
    """
    for one in found:
        given = dig(one.manifest, "metadata", "annotations", APPROVED)
        if (until := moment(str(given or ""))) and until > now:
            yield Cause(
                component=one.name,
                objects=(f"Application {one.name}",),
                why=f"a confirmation of {given} stands on it, which confirms every deletion until then",
                command=f"kubectl --namespace argocd annotate application {one.name} {APPROVED}-",
            )
