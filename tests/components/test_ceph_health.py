from typing import Any

import pytest

from generator.components.ceph_cluster.install import health

HEALTHY = {"state": "Created", "phase": "Ready"}


@pytest.mark.parametrize(
    ("kind", "status", "expected"),
    [
        ("CephCluster", None, "Progressing"),
        ("CephCluster", {"state": "Creating", "message": "Configuring Ceph OSDs"}, "Progressing"),
        ("CephCluster", {"state": "Creating", "ceph": {"health": "HEALTH_WARN"}}, "Progressing"),
        ("CephCluster", {**HEALTHY, "ceph": {"health": "HEALTH_OK"}}, "Healthy"),
        ("CephCluster", {**HEALTHY, "ceph": {"health": "HEALTH_WARN"}}, "Healthy"),
        ("CephCluster", {**HEALTHY, "ceph": {"health": "HEALTH_ERR"}}, "Degraded"),
        ("CephCluster", {"state": "Error", "message": "no mons"}, "Degraded"),
        ("CephCluster", {"state": "Error"}, "Degraded"),
        ("CephCluster", {**HEALTHY}, "Progressing"),
        ("CephBlockPool", None, "Progressing"),
        ("CephBlockPool", {"phase": "Progressing"}, "Progressing"),
        ("CephBlockPool", {"phase": "Ready"}, "Healthy"),
        ("CephNFS", None, "Progressing"),
        ("CephNFS", {"phase": "Ready"}, "Healthy"),
        ("CephNFS", {"phase": "Failure"}, "Degraded"),
        ("CephObjectStoreUser", {"phase": "ReconcileFailed"}, "Degraded"),
    ],
)
def test_health(kind: str, status: dict[str, Any] | None, expected: str) -> None:
    found = run_lua(kind, {} if status is None else {"status": status})
    assert found["status"] == expected


def test_warnings_pass_and_are_told() -> None:
    details = {"OSD_NEARFULL": {"message": "1 nearfull osd(s)"}, "MON_CLOCK_SKEW": {"message": "skew"}}
    status = {**HEALTHY, "ceph": {"health": "HEALTH_WARN", "details": details}}
    found = run_lua("CephCluster", {"status": status})
    assert found["message"] == "HEALTH_WARN MON_CLOCK_SKEW: skew; OSD_NEARFULL: 1 nearfull osd(s)"


def run_lua(kind: str, manifest: dict[str, Any]) -> dict[str, str]:
    """Run a check with what Argo CD gives it: the base library and tables."""
    lupa = pytest.importorskip("lupa", reason="lupa is not installed")
    lua = lupa.LuaRuntime(unpack_returned_tuples=True)
    (script,) = (check.lua for check in health() if check.kind == kind)
    lua.execute("os, io, string, math, package, require, debug = nil")
    run = lua.eval(
        "function(text, obj) return load(text, 'health', 't', {obj = obj, pairs = pairs, table = table})() end"
    )
    return dict(run(script, table(lua, manifest)))


def table(lua: Any, value: Any) -> Any:
    return lua.table_from({key: table(lua, one) for key, one in value.items()}) if isinstance(value, dict) else value
