"""All that the scheduling components write is valid for the versions it is written for."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml
from msgspec import structs

from generator.components import CATALOGUE, JOBS
from generator.components.component import Component, Manifest
from generator.components.kueue import kueue
from generator.components.queues import queues
from generator.components.tenants import tenants
from generator.components.volcano import volcano
from generator.model.cluster import Cluster
from generator.model.teams import Department

UPSTREAM = Path(__file__).parents[3] / "shared" / "upstream"
VERSIONS = {"v0.18.3": "v1.14.1", "v0.19.2": "v1.15.1"}
"""All versions of Kueue that the catalogue knows, each beside one of Volcano."""
CRDS = (
    *(
        f"kueue/{{kueue}}/crds/kueue.x-k8s.io_{kinds}.yaml"
        for kinds in (
            "clusterqueues",
            "cohorts",
            "localqueues",
            "resourceflavors",
            "topologies",
            "workloadpriorityclasses",
        )
    ),
    "cilium/1.20.0/crds/ciliumnetworkpolicy.yaml",
    "prometheus-operator/v0.93.1/crds/crd-servicemonitors.yaml",
)
# Kubernetes' own objects inside values, of which a chart's values file shows no keys.
FREE = {"resources", "scheduler_resources", "controller_resources", "scheduler_affinity", "controller_affinity"}

pytestmark = pytest.mark.skipif(not UPSTREAM.exists(), reason="../shared is absent")


def components(cluster: Cluster) -> list[Component]:
    return [volcano(cluster), kueue(cluster, JOBS), queues(cluster), tenants(cluster, JOBS)]


def objects(cluster: Cluster) -> list[Manifest]:
    return [item for component in components(cluster) for item in (*component.base, *component.objects)]


def moved(cluster: Cluster, version: str) -> Cluster:
    """Return the cluster with a version of Kueue, and the one of Volcano beside it."""
    named = {"kueue": version, "volcano": VERSIONS[version]}
    settings = {name: structs.replace(cluster.settings(name), version=one) for name, one in named.items()}
    return structs.replace(cluster, components={**cluster.components, **settings})


@cache
def schemas(version: str = "v0.18.3") -> dict[tuple[str, str], Manifest]:
    files = [UPSTREAM / file.format(kueue=version) for file in CRDS]
    crds = [yaml.load(file.read_bytes(), yaml.CSafeLoader) for file in files]
    return {
        (f"{crd['spec']['group']}/{version['name']}", crd["spec"]["names"]["kind"]): closed(
            version["schema"]["openAPIV3Schema"], root=True
        )
        for crd in crds
        for version in crd["spec"]["versions"]
    }


def problems(item: Manifest, schema: Manifest) -> list[str]:
    return [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(item)]


def closed(schema: Manifest, *, root: bool = False) -> Manifest:
    """Refuse fields that a schema does not name."""
    result = dict(schema)
    if "properties" in schema:
        extra: Manifest = {"metadata": {}, "apiVersion": {}, "kind": {}} if root else {}
        result["properties"] = {key: closed(value) for key, value in schema["properties"].items()} | extra
        if not schema.get("x-kubernetes-preserve-unknown-fields"):
            result["additionalProperties"] = False
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            result[key] = closed(schema[key])
    return result


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
    for item in objects(moved(request.getfixturevalue(name), version)):
        schema = schemas(version).get((item["apiVersion"], item["kind"]))
        if schema:
            assert problems(item, schema) == []
        else:
            kubernetes_validate.validate(item, "1.35", strict=True)


def test_an_unknown_field_is_refused(ml50: Cluster) -> None:
    queue = next(item for item in objects(ml50) if item["kind"] == "ClusterQueue")
    schema = schemas()[queue["apiVersion"], "ClusterQueue"]
    (told,) = problems(queue | {"spec": queue["spec"] | {"cohort": "teams"}}, schema)
    assert "'cohort' was unexpected" in told


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
        known = yaml.load((UPSTREAM / component / wanted / "values.yaml").read_text(), yaml.CSafeLoader)
        (release,) = made[component].releases
        assert made[component].version == wanted
        assert release.chart.version == (wanted.removeprefix("v"))
        assert wanted in json.dumps(release.values)
        assert [path for path in paths(release.values) if not exists(known, path)] == []


def paths(values: Manifest, before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, value in values.items():
        path = (*before, key)
        yield path
        if isinstance(value, dict) and key not in FREE:
            yield from paths(value, path)


def exists(known: Any, path: tuple[str, ...]) -> bool:
    for key in path:
        if not isinstance(known, dict) or key not in known:
            return False
        known = known[key]
    return True


def test_a_value_that_the_chart_does_not_have_is_seen() -> None:
    assert not exists({"custom": {"a": 1}}, ("custom", "b"))
