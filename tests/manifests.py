"""Objects as rules see them, made of pieces of manifests."""

from functools import cache
from typing import Any

from reference import load

from generator.build.objects import Built, Object, Problem
from generator.model.cluster import Cluster
from generator.rules.rule import BuiltRule


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


def found(rule: BuiltRule, *manifests: Any, cluster: Cluster | None = None, component: str = "") -> list[Problem]:
    """Return what a rule finds in these objects."""
    return list(rule.problems(built(*manifests, cluster=cluster, component=component)))


def reached(problem: Problem) -> Any:
    """Return the value that a problem leads to; raises KeyError or IndexError if it leads nowhere."""
    part: Any = problem.object.manifest
    for key in problem.at:
        part = part[key]
    return part
