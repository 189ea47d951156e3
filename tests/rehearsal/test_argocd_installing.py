"""What comes before Argo CD syncs. With Argo CD: tests/real/test_rehearse_argocd.py."""

from typing import Any

import pytest
from argocd_states import built, thing

from generator.build.objects import Object
from generator.errors import UsageError
from generator.rehearsal.argocd.installing import install
from generator.rehearsal.outcome import Fate, Outcome

CRD: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "applications.argoproj.io"},
}


class Applier:
    """Refuses everything."""

    def apply(self, objects: list[Object]) -> list[Outcome]:
        return [
            Outcome(fate=Fate.REFUSED, application=one.component, wave=0, kind="", namespace="", name="", why="no room")
            for one in objects
        ]


def test_without_argo_cd_in_what_stands_nobody_knows_its_settings() -> None:
    nobody: Any = None
    with pytest.raises(UsageError, match=r"Argo CD is not in what stands.*`gen vendor argo-cd`.*without --argocd"):
        install(nobody, nobody, built(thing("a")))


def test_what_is_refused_before_argo_cd_runs_is_told_with_its_component() -> None:
    refusing: Any = Applier()
    with pytest.raises(UsageError, match=r"CustomResourceDefinition applications.* \(argo-cd\) is refused.*: no room"):
        install(refusing, refusing, built(Object(CRD, "argo-cd", "")))
