"""What comes before Argo CD syncs, as `gen bootstrap` applies it."""

from collections.abc import Sequence

from generator.build.kinds import CRD
from generator.build.objects import Built, Object
from generator.components.component import NAMESPACES
from generator.errors import UsageError
from generator.live.api import Request
from generator.live.dry_run.dry_run import in_order
from generator.rehearsal.applying import Applier
from generator.rehearsal.health import unready
from generator.rehearsal.outcome import Fate
from generator.rehearsal.twin.plane import Plane

COMPONENT = "argo-cd"
PATIENCE = 300.0
"""Seconds until all definitions are served: some ten on an idle machine."""


def install(plane: Plane, applier: Applier, built: Built) -> None:
    """Apply all definitions, the namespaces and Argo CD. Definitions come before their time: while it runs, Argo CD
    reads all kinds anew for each of them, some minutes long (facts: real programs, III.8). Raises UsageError.
    """
    first = [one for one in in_order(built) if one.kind == CRD or one.component in {NAMESPACES, COMPONENT}]
    if not any(one.component == COMPONENT and one.kind == CRD for one in first):
        raise UsageError(
            "Argo CD is not in what stands, so that its settings are not known: `gen vendor argo-cd` brings it, or "
            "rehearse without --argocd"
        )
    definitions = [one for one in first if one.kind == CRD]
    _apply(applier, definitions)
    plane.wait("definitions are established", lambda: _established(applier, definitions), PATIENCE)
    _apply(applier, [one for one in first if one.kind != CRD])


def _apply(applier: Applier, objects: Sequence[Object]) -> None:
    for one, outcome in zip(objects, applier.apply(objects), strict=True):
        if outcome.fate == Fate.REFUSED:
            raise UsageError(f"{one.full_name} ({one.component}) is refused, before Argo CD runs: {outcome.why}")


def _established(applier: Applier, definitions: Sequence[Object]) -> bool:
    answers = applier.api.ask_all([Request(path=str(applier.path(one))) for one in definitions])
    return not any(unready(one, answer.body) for one, answer in zip(definitions, answers, strict=True))
