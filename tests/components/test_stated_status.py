"""The status that a component states of its operator: one that Argo CD takes for healthy, and an API server takes."""

from typing import Any

import pytest
from reference import load
from validation.schemas import folders, refused

from generator.components import CATALOGUE, compose
from generator.components.component import Health, Manifest
from generator.components.operated import OperatedKind

STATED: dict[tuple[str, str], OperatedKind] = {
    (kind.group, kind.kind): kind for one in CATALOGUE.values() for kind in one.kinds if kind.status
}
CLUSTERS = {name: load(name) for name in ("ml50", "a30-bench", "gpu-serving")}
CHECKS = {(each.group, each.kind): each for one in CLUSTERS.values() for made in compose(one) for each in made.health}
NOT_OURS = {("argoproj.io", "Application"), ("kueue.x-k8s.io", "ClusterQueue")}
"""Kinds whose own programs run, in a rehearsal or before it."""


def test_whoever_has_a_health_check_states_what_passes_it() -> None:
    assert CHECKS.keys() - NOT_OURS == CHECKS.keys() & STATED.keys()


@pytest.mark.parametrize(
    "check", [CHECKS[key] for key in sorted(CHECKS.keys() & STATED.keys())], ids=lambda one: one.kind
)
def test_what_is_stated_is_healthy(check: Health) -> None:
    lupa = pytest.importorskip("lupa.lua51", reason="lupa is not installed")
    lua = lupa.LuaRuntime()
    lua.globals().obj = table(lua, {"status": STATED[check.group, check.kind].status})
    assert lua.execute(check.lua)["status"] == "Healthy"


def table(lua: Any, value: Any) -> Any:
    if isinstance(value, dict):
        return lua.table_from({key: table(lua, one) for key, one in value.items()})
    return lua.table_from([table(lua, one) for one in value]) if isinstance(value, list) else value


@pytest.mark.parametrize("name", CLUSTERS)
def test_what_is_stated_is_what_upstream_writes(name: str) -> None:
    cluster = CLUSTERS[name]
    found = [one for made in compose(cluster) for one in (*made.base, *made.objects) if status_of(one)]
    wrong = [said for one in found for said in refused(one | {"status": status_of(one)}, folders(cluster), status=True)]
    assert wrong == []
    assert found


def test_a_status_that_upstream_does_not_write_is_seen() -> None:
    """The measure itself."""
    ml50 = CLUSTERS["ml50"]
    (one,) = (each for made in compose(ml50) for each in made.objects if each["kind"] == "CephCluster")
    assert refused(one | {"status": {"phase": 3}}, folders(ml50), status=True)


def status_of(manifest: Manifest) -> Manifest:
    stated = STATED.get((manifest["apiVersion"].rpartition("/")[0], manifest["kind"]))
    return stated.status if stated else {}
