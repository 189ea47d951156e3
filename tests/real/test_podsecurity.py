"""The rules about Pod Security say of every pod at the edge what a real API server says."""

from typing import TYPE_CHECKING, Any

import pytest
from podsecurity_cases import CASES, pod

from generator.build.objects import Built, Object
from generator.rules.security import baseline, restricted

if TYPE_CHECKING:
    from apiserver import ApiServer

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.real

ENFORCE = "pod-security.kubernetes.io/enforce"


def space(level: str) -> dict[str, Any]:
    metadata = {"name": f"security-{level}", "labels": {ENFORCE: level}}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def ours(manifest: dict[str, Any], level: str) -> list[str]:
    """Return what the rules say of a pod in a namespace that enforces a level."""
    objects = tuple(Object(one, "", "x.yaml") for one in (space(level), manifest))
    built = Built(name="x", cluster=None, objects=objects)
    return [problem.message for rule in (baseline, restricted) for problem in rule.findings(built)]


@pytest.fixture(scope="module")
def server(api: "ApiServer") -> "ApiServer":
    for level in ("baseline", "restricted"):
        api.apply(space(level))
    return api


@pytest.mark.parametrize("level", ["baseline", "restricted"])
@pytest.mark.parametrize(("strictest", "changes"), CASES)
def test_rule_and_api_server_agree(server: "ApiServer", strictest: str, changes: dict[str, Any], level: str) -> None:
    manifest = pod(f"security-{level}", changes)
    status, told = server.create(manifest)
    assert status == 201 or "violates PodSecurity" in told, told
    assert (status == 201) == (strictest in {"restricted", level})
    assert bool(ours(manifest, level)) == (status != 201), told
