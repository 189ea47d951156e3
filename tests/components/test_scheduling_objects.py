"""All that the scheduling components write is valid for the versions it is written for."""

import json

import pytest
from msgspec import structs
from validation.schemas import refused
from validation.values import unknown_values

from generator.components import CATALOGUE, JOBS
from generator.components.component import Component, Manifest
from generator.components.kueue import kueue
from generator.components.queues import queues
from generator.components.tenants import tenants
from generator.components.volcano import volcano
from generator.model.cluster import Cluster
from generator.model.teams import Department

VERSIONS = {"v0.18.3": "v1.14.1", "v0.19.2": "v1.15.1"}
"""All versions of Kueue that the catalogue knows, each beside one of Volcano."""


def components(cluster: Cluster) -> list[Component]:
    return [volcano(cluster), kueue(cluster, JOBS), queues(cluster), tenants(cluster, JOBS)]


def objects(cluster: Cluster) -> list[Manifest]:
    return [item for component in components(cluster) for item in (*component.base, *component.objects)]


def moved(cluster: Cluster, version: str) -> Cluster:
    """Return the cluster with a version of Kueue, and the one of Volcano beside it."""
    named = {"kueue": version, "volcano": VERSIONS[version]}
    settings = {name: structs.replace(cluster.settings(name), version=one) for name, one in named.items()}
    return structs.replace(cluster, components={**cluster.components, **settings})


@pytest.fixture
def fair(ml50: Cluster) -> Cluster:
    """The cluster `ml50` with all that fair sharing and departments write."""
    first, *others = ml50.teams
    departments = {"research": Department(weight=3)}
    scheduling = structs.replace(ml50.scheduling, fair_sharing=True, departments=departments)
    teams = (structs.replace(first, department="research", weight=0), *others)
    return structs.replace(ml50, scheduling=scheduling, teams=teams)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["ml50", "a30", "fair"])
def test_every_object_is_valid(name: str, version: str, request: pytest.FixtureRequest) -> None:
    folders = [f"kueue/{version}", f"volcano/{VERSIONS[version]}", "cilium/1.20.0", "prometheus-operator/v0.93.1"]
    for item in objects(moved(request.getfixturevalue(name), version)):
        assert refused(item, folders) == []


@pytest.mark.parametrize("name", ["ml50", "a30"])
def test_no_two_objects_are_the_same(name: str, request: pytest.FixtureRequest) -> None:
    keys = [
        (item["apiVersion"], item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"])
        for item in objects(request.getfixturevalue(name))
    ]
    assert len(keys) == len(set(keys))


def test_base_is_the_same_on_every_cluster(ml50: Cluster, a30: Cluster) -> None:
    for one, other in zip(components(ml50), components(a30), strict=True):
        assert one.base == other.base


def test_every_version_is_judged() -> None:
    """Each entry of the catalogue, against the custom resources and values of just that version."""
    known = [{one.version: one.schemas for one in CATALOGUE[name].known} for name in ("kueue", "volcano")]
    assert known == [
        {one: (f"kueue/{one}",) for one in VERSIONS},
        {one: (f"volcano/{one}",) for one in VERSIONS.values()},
    ]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["ml50", "a30"])
def test_every_value_exists_in_the_chart(version: str, name: str, request: pytest.FixtureRequest) -> None:
    made = {one.name: one for one in components(moved(request.getfixturevalue(name), version))}
    for component, wanted in (("kueue", version), ("volcano", VERSIONS[version])):
        (release,) = made[component].releases
        assert made[component].version == wanted
        assert release.chart.version == (wanted.removeprefix("v"))
        assert wanted in json.dumps(release.values)
        assert unknown_values(release.values, f"{component}/{wanted}/values.yaml") == []
