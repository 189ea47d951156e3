"""What `gen diff` calls impossible because the API server refuses it, of Ceph's and Kueue's objects: it does, and it
takes what comes near.
"""

from typing import TYPE_CHECKING, Any

import pytest
from changecases import FOLDER, cases

if TYPE_CHECKING:
    from apiserver import ApiServer

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.real

CODES = (414, 422, 423, 452, 453, 523, 526, 527, 528, 529)
CASES = [
    pytest.param(case, id=f"{code}: {case['name']}")
    for code in CODES
    for case in cases(FOLDER / f"GEN-CHG-{code}.yaml")
    if "old" in case and "new" in case
]


@pytest.fixture(scope="module")
def server(api: "ApiServer") -> "ApiServer":
    api.install("rook/v1.20.6/crds", "kueue/v0.18.3/crds")
    for namespace in ("rook-ceph", "vision"):
        api.namespace(namespace)
    return api


@pytest.mark.parametrize("case", CASES)
def test_the_server_refuses_what_is_called_impossible(server: "ApiServer", case: dict[str, Any]) -> None:
    server.apply(case["old"])
    try:
        path = server.path(case["old"], named=True)
        stored = server.request("GET", path)[1]
        status, answer = server.request("PUT", f"{path}?dryRun=All", {**stored, **contents(case["new"])})
    finally:
        server.request("DELETE", path)
    assert (status == 422) == (case["expect"]["effect"] == "impossible"), answer


def contents(manifest: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in manifest.items() if key not in {"apiVersion", "kind", "metadata"}}
