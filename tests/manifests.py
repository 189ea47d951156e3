"""Objects as rules see them, made of pieces of manifests."""

from contextlib import suppress
from functools import cache, reduce
from operator import getitem
from typing import Any

from reference import load

from generator.build.objects import Built, Object
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Position
from generator.model.rule import Rule


@cache
def ml50() -> Cluster:
    """Return the reference cluster that has most."""
    return load("ml50")


def manifest(kind: str, version: str = "v1", *, namespace: str = "tools", name: str = "x", **content: Any) -> Any:
    """Make an object with some content."""
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": namespace}, **content}


def container(**content: Any) -> dict[str, Any]:
    """Make a container with what it needs and some more."""
    return {"name": "main", "image": "example.org/x:1.0.0", **content}


def workload(kind: str = "Deployment", *, replicas: int = 1, namespace: str = "tools", **spec: Any) -> Any:
    """Make an object of `apps` whose pods are as given."""
    template = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [container()], **spec}}
    return manifest(kind, "apps/v1", namespace=namespace, spec={"replicas": replicas, "template": template})


def deployment(**content: Any) -> Any:
    """Make a Deployment with one container as given."""
    return workload(containers=[container(**content)])


def built(*manifests: Any, cluster: Cluster | None = None, component: str = "") -> Built:
    """Return what a cluster or folder with these objects is."""
    objects = tuple(Object(one, component, "x.yaml") for one in manifests)
    return Built(name="x", cluster=cluster, objects=objects)


class Seen(Finding, frozen=True, kw_only=True):
    """A finding, with the manifests of the object that it is about."""

    manifests: tuple[Any, ...]


def seen(rule: Rule[Built], whole: Built) -> list[Seen]:
    """Return what a rule finds in what is built."""
    by_object: dict[Any, list[Any]] = {}
    for one in whole.objects:
        by_object.setdefault(one.finding("").object, []).append(one.manifest)
    return [
        Seen(**{name: getattr(each, name) for name in each.__struct_fields__}, manifests=tuple(by_object[each.object]))
        for each in rule.findings(whole)
    ]


def found(rule: Rule[Built], *manifests: Any, cluster: Cluster | None = None, component: str = "") -> list[Seen]:
    """Return what a rule finds in these objects."""
    return seen(rule, built(*manifests, cluster=cluster, component=component))


def reached(finding: Seen) -> Any:
    """Return the value that a finding leads to; raises KeyError or IndexError if it leads nowhere."""
    *others, last = finding.manifests
    for one in others:
        with suppress(KeyError, IndexError, TypeError):
            return reduce(getitem, finding.at, one)
    return reduce(getitem, finding.at, last)


def line_of(finding: Finding) -> int:
    """Return the line of a finding on a file."""
    assert isinstance(finding.at, Position)
    return finding.at.line
