"""Which kinds an API server would take."""

from typing import Any

import pytest

from generator.build.kinds import CRD, Kinds
from generator.build.objects import Object
from generator.components.component import Manifest


def definition(kind: str = "Toy", scope: str = "Namespaced", **served: bool) -> Manifest:
    versions = [{"name": name, "served": is_served} for name, is_served in served.items()]
    spec = {"group": "example.org", "names": {"kind": kind}, "scope": scope, "versions": versions}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": CRD, "metadata": {"name": "toys"}, "spec": spec}


def one(version: str, kind: str) -> Manifest:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}}


AGGREGATED = {
    **one("apiregistration.k8s.io/v1", "APIService"),
    "spec": {"group": "metrics.example.org", "version": "v1"},
}
KNOWN = Kinds.at(35, ["stated.example.org/v1"]).joined([definition(v1=True, v2=False), AGGREGATED])


@pytest.mark.parametrize(
    ("version", "kind", "takes"),
    [
        ("v1", "Pod", True), ("apps/v1", "Deployment", True), ("apps/v1beta1", "Deployment", False),
        ("example.org/v1", "Toy", True), ("example.org/v2", "Toy", False), ("example.org/v1", "Other", False),
        ("metrics.example.org/v1", "Anything", True), ("stated.example.org/v1", "Anything", True),
    ],
)  # fmt: skip
def test_what_is_served_is_taken(version: str, kind: str, takes: bool) -> None:  # noqa: FBT001 - a table's column
    assert KNOWN.takes(one(version, kind)) is takes


def test_scopes_are_those_of_kubernetes_and_of_definitions() -> None:
    wide = KNOWN.joined([definition("Wide", "Cluster", v1=True)])
    found = {kind: wide.namespaced("example.org/v1", kind) for kind in ("Toy", "Wide", "Other")}
    assert found == {"Toy": True, "Wide": False, "Other": None}
    assert (wide.namespaced("v1", "Pod"), wide.namespaced("v1", "Node")) == (True, False)


def test_of_two_definitions_of_a_kind_the_later_counts() -> None:
    assert KNOWN.joined([definition(v2=True)]).versions("example.org", "Toy") == ["example.org/v2"]


@pytest.mark.parametrize(
    "spec", [None, [], {"group": [], "names": 1}, {"group": "a", "versions": [1, {"served": True}]}]
)
def test_a_definition_that_is_none_brings_nothing(spec: Any) -> None:
    known = Kinds.at(35).joined([{**definition(), "spec": spec}])
    assert not known.takes(one("a/v1", "b"))


def test_kinds_of_groups_of_kubernetes_are_nobody_elses() -> None:
    assert [KNOWN.ours(group) for group in ("", "apps", "extensions", "example.org")] == [True, True, True, False]
    objects = [Object(one(version, "Toy"), "", "") for version in ("v1", "example.org/v1", "example.net/v1")]
    assert [KNOWN.foreign(each) for each in objects] == [False, False, True]
