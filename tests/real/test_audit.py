"""What the real API server writes down by the audit policy of the bootstrap folder."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from validation.clusters import variation

from generator.layout.bootstrap import bootstrap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from apiserver import ApiServer

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.real

POD = "/api/v1/namespaces/default/pods/one"
WAYS_IN = {
    f"{POD}/exec?command=sh": "exec",
    f"{POD}/attach": "attach",
    f"{POD}/portforward": "portforward",
    f"{POD}/proxy/": "proxy",
    "/api/v1/namespaces/default/services/one/proxy/": "proxy",
    "/api/v1/nodes/one/proxy/": "proxy",
}


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[tuple[ApiServer, Path]]":
    from apiserver import start

    folder = tmp_path_factory.mktemp("audit")
    policy, log = folder / "policy.yaml", folder / "audit.log"
    policy.write_bytes(bootstrap(variation("ml50", {}))["clusters/ml50/bootstrap/kubeadm/audit-policy.yaml"])
    with start(folder, f"--audit-policy-file={policy}", f"--audit-log-path={log}", "--audit-log-mode=blocking") as api:
        yield api, log


def written(log: Path) -> list[dict[str, str]]:
    entries = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return [{"uri": one["requestURI"], "verb": one["verb"], "level": one["level"]} for one in entries]


@pytest.mark.parametrize("path", WAYS_IN, ids=lambda path: path.split("?")[0].removeprefix("/api/v1/"))
def test_a_way_in_is_written_down_without_its_content(audited: "tuple[ApiServer, Path]", path: str) -> None:
    api, log = audited
    api.request("GET", path)
    assert {"uri": path, "verb": "get", "level": "Metadata"} in written(log)


def test_reading_is_not_and_changing_is(audited: "tuple[ApiServer, Path]") -> None:
    api, log = audited
    api.request("GET", "/api/v1/namespaces/default/pods")
    api.request("GET", POD)
    api.request("GET", "/api/v1/namespaces/default/secrets")
    api.namespace("audited")
    found = written(log)
    assert not [one for one in found if one["uri"] in (POD, "/api/v1/namespaces/default/pods")]
    assert [one["level"] for one in found if one["uri"].endswith("/secrets")] == ["Metadata"]
    assert [one["level"] for one in found if "/namespaces/audited" in one["uri"]] == ["Metadata"]
