"""Reports made by hand, for the tests of their forms."""

from typing import Any

from generator.build.difference import differences
from generator.build.objects import Object
from generator.model.finding import Finding
from generator.review.compare import ClusterChanges
from generator.review.judging import judge
from generator.review.report import ClusterReport, Report, rules


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
    judged = tuple(judge(differences(before, after), rules()))
    changes = tuple(each.change for each in judged)
    return ClusterReport(ClusterChanges(cluster=name, changes=changes, waves={application: 3}, **more), judged)


def whole(*clusters: ClusterReport, **more: Any) -> Report:
    """Return a report of clusters."""
    return Report(old="main (abc)", new="the working tree", clusters=clusters, **more)


def unbuilt() -> Finding:
    """Return a finding of what could not be built."""
    return Finding(file="overlays/lab/app", message="nothing of it can be read", code="GEN-BUILD-001")
