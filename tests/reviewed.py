"""Reports made by hand, for the tests of their forms."""

from datetime import UTC, datetime
from typing import Any

from generator.build.difference import differences
from generator.build.objects import Object
from generator.model.change import ANY, ChangeRule, Effect, ObjectChange
from generator.model.finding import Finding
from generator.model.opening import OpeningRule, Opens
from generator.review.compare import ClusterChanges
from generator.review.judging import judge
from generator.review.report import ClusterReport, Report

WHEN = datetime(2026, 3, 14, 15, 9, tzinfo=UTC)


def _is_protected(change: ObjectChange, _field: object) -> bool:
    return "Prune=false" in str(change.old["metadata"].get("annotations"))


RULES = (
    ChangeRule(
        code="GEN-CHG-001",
        kinds=(ANY,),
        paths=("metadata.labels", "metadata.annotations"),
        effect=Effect.NONE,
        reason="labels and annotations of the object itself start nothing",
    ),
    ChangeRule(code="GEN-CHG-002", kinds=(ANY,), on="moved", effect=Effect.MOVES, reason="it is made again"),
    ChangeRule(
        code="GEN-CHG-003", kinds=(ANY,), on="removed", effect=Effect.NONE, reason="it stays", when=_is_protected
    ),
    ChangeRule(
        code="GEN-CHG-010",
        kinds=("apps/StatefulSet",),
        paths=("spec",),
        but=("spec.replicas", "spec.template"),
        effect=Effect.IMPOSSIBLE,
        reason="the API server refuses any other change of a StatefulSet; its Application stops there",
        instead="`kubectl delete statefulset NAME --cascade=orphan`, then sync: pods and claims stay",
        link="https://example.org",
    ),
    ChangeRule(
        code="GEN-CHG-011",
        kinds=("apps/Deployment", "apps/DaemonSet", "apps/StatefulSet"),
        paths=("spec.template",),
        effect=Effect.ROLLING,
        reason="its pods are replaced one after the other",
    ),
    ChangeRule(
        code="GEN-CHG-012",
        kinds=("apps/Deployment", "apps/DaemonSet", "apps/StatefulSet"),
        on="removed",
        effect=Effect.OUTAGE,
        reason="its pods go, and nothing starts them again",
    ),
    ChangeRule(
        code="GEN-CHG-030",
        kinds=("/PersistentVolumeClaim", "/Namespace"),
        on="removed",
        effect=Effect.DATA_LOSS,
        reason="with it goes what is stored in it",
    ),
    OpeningRule(
        code="GEN-CHG-750",
        kinds=("rbac.authorization.k8s.io/RoleBinding",),
        opens=Opens.RIGHTS,
        gains=lambda change, _beside: [f"{one} may do more" for one in change.new.get("subjects", ())],
        stops=True,
        reason="who is bound to it may do more",
        instead="bind less",
    ),
    OpeningRule(
        code="GEN-CHG-775",
        kinds=("/Service",),
        opens=Opens.NETWORK,
        gains=lambda change, _beside: [change.new.get("door", "a door")],
        reason="it is reached from outside",
    ),
)
"""A few that stay as they are here, whatever the program's own say."""


def made(kind: str, name: str, namespace: str = "", **content: Any) -> dict[str, Any]:
    """Return a manifest of a kind written as group/version/Kind."""
    version, _, kind = kind.rpartition("/")
    space = {"namespace": namespace} if namespace else {}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **space}, **content}


def cluster(
    old: list[dict[str, Any]], new: list[dict[str, Any]], *, name: str = "lab", application: str = "app", **more: Any
) -> ClusterReport:
    """Return what differs between two lists of manifests, all of one Application in wave 3."""
    before, after = ([Object(each, application, "file.yaml") for each in side] for side in (old, new))
    judged = tuple(judge(differences(before, after), RULES))
    changes = tuple(each.change for each in judged)
    return ClusterReport(ClusterChanges(cluster=name, changes=changes, waves={application: 3}, **more), judged)


def whole(*clusters: ClusterReport, **more: Any) -> Report:
    """Return a report of clusters."""
    return Report(old="main (abc)", new="the working tree", clusters=clusters, **more)


def unbuilt() -> Finding:
    """Return a finding of what could not be built."""
    return Finding(file="overlays/lab/app", message="nothing of it can be read", code="GEN-BUILD-001")
