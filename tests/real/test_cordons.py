"""Whose a cordon is, as the scripts of operations read it from the fields that a real API server notes."""

import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from nodeshelf import imported

if TYPE_CHECKING:
    from apiserver import ApiServer

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.real

NAME, OPERATION = "gpu-07", "kubernetes-upgrade"
PATH = f"/api/v1/nodes/{NAME}"
MARK = "gen.internal/cordoned-by"


@pytest.fixture
def client(api: "ApiServer", tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The scripts' own client, and a node that takes pods."""
    (tmp_path / "token").write_text(api.token)
    for _ in imported(tmp_path, monkeypatch):
        import api as script  # type: ignore[import-not-found]

        made = script.Api.__new__(script.Api)
        made.account, made.server = tmp_path, api.url
        made.trust = ssl.create_default_context(cafile=str(api.certificate))
        api.request("DELETE", PATH)
        status, answer = api.request("POST", "/api/v1/nodes", {"metadata": {"name": NAME, "labels": {"own": "1"}}})
        assert status == 201, answer
        yield made
        api.request("DELETE", PATH)


def by_hand(api: "ApiServer", *, cordoned: bool) -> None:
    """Do as `kubectl cordon` and `kubectl uncordon` do."""
    change = {"spec": {"unschedulable": True if cordoned else None}}
    status, answer = api.request(
        "PATCH", f"{PATH}?fieldManager=kubectl-cordon", change, patch="strategic-merge-patch+json"
    )
    assert status == 200, answer


def test_a_cordon_of_a_person_is_none_of_the_operation_whose_mark_was_left(api: "ApiServer", client: Any) -> None:
    import api as script
    import rounds  # type: ignore[import-not-found]
    from planning import held  # type: ignore[import-not-found]

    node = script.change_node(client, NAME, rounds.holding(OPERATION))
    assert held(node, OPERATION)
    other = {"metadata": {"annotations": {"site/own": "1"}}}
    api.request("PATCH", f"{PATH}?fieldManager=site", other, patch="merge-patch+json")
    assert held(script.joined(client, NAME), OPERATION), "who writes something else takes no cordon"
    by_hand(api, cordoned=False)
    assert not held(script.joined(client, NAME), OPERATION), "the mark alone holds nothing"
    by_hand(api, cordoned=True)
    node = script.joined(client, NAME)
    assert (script.annotations(node)[MARK], script.cordoner(node)) == (OPERATION, ""), json.dumps(node)
    rounds.let_in(client, NAME, OPERATION)
    node = script.joined(client, NAME)
    assert script.unschedulable(node), "the person's cordon stays"
    assert MARK not in script.annotations(node)
    by_hand(api, cordoned=False)
    script.cordon(client, NAME, "node-removal")
    assert script.cordoner(script.joined(client, NAME)) == "node-removal"
    rounds.let_in(client, NAME, "node-removal")
    assert not script.unschedulable(script.joined(client, NAME))
