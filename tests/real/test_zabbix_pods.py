"""What the proxy makes of the pods of which a real API server tells: the addresses and headers of the items, and their
JavaScript on Zabbix's own engine.
"""

import http.client
import json
import ssl
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from generator.components.zabbix.templates import templates
from generator.components.zabbix.templates.kubernetes import LEFT_OUT, without
from tools import program

if TYPE_CHECKING:
    from apiserver import ApiServer

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.real

SPACE = "watched"
TEAM = "team-that-crashes"
GROUP = "scheduling.k8s.io/group-name"


@pytest.fixture(scope="module")
def told(api: "ApiServer") -> "ApiServer":
    api.namespace(SPACE)
    api.namespace(TEAM)
    now = datetime.now(UTC)
    for name, count, ago in (
        ("well", 0, None),
        ("crashes", 7, timedelta(minutes=4, seconds=20)),
        ("just-now", 1, timedelta(seconds=20)),
        ("an-hour-ago", 9, timedelta(minutes=65)),
        ("yesterday", 12, timedelta(hours=30)),
    ):
        add(api, name, status=running(count, now - ago if ago else None))
    add(api, "crashes", status=running(7, now - timedelta(minutes=4)), namespace=TEAM)
    # The Job tells of it.
    add(api, "job", {"restartPolicy": "OnFailure"}, status=running(7, now - timedelta(minutes=4)))
    volcano = {"schedulerName": "volcano"}
    for name, group in (("gang-0", "podgroup-a"), ("gang-1", "podgroup-a"), ("other-0", "podgroup-b")):
        add(api, name, volcano, annotations={GROUP: group})
    add(
        api,
        "for-quota",
        {**volcano, "schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]},
        annotations={GROUP: "podgroup-c"},
    )
    add(api, "has-a-node", {**volcano, "nodeName": "n"}, annotations={GROUP: "podgroup-d"})
    add(api, "of-another-scheduler", {}, annotations={GROUP: "podgroup-e"})
    return api


def add(
    api: "ApiServer",
    name: str,
    spec: dict[str, Any] | None = None,
    status: dict[str, Any] | None = None,
    **more: Any,
) -> None:
    metadata = {"name": name, "namespace": SPACE, **more}
    containers = [{"name": "main", "image": "x.example.org/y:1"}]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": containers, "automountServiceAccountToken": False, **(spec or {})},
    }
    code, answer = api.request("POST", api.path(pod), pod)
    assert code == 201, answer
    if status:
        code, answer = api.request("PUT", api.path(pod, named=True) + "/status", {**answer, "status": status})
        assert code == 200, answer


def running(count: int, last: datetime | None) -> dict[str, Any]:
    """Return the status of a pod whose container ended `count` times, `last` time then."""
    ended = {"terminated": {"exitCode": 1, "finishedAt": f"{last:%Y-%m-%dT%H:%M:%SZ}"}} if last else {}
    one = {
        "name": "main", "image": "x.example.org/y:1", "imageID": "y", "ready": True, "restartCount": count,
        "state": {"running": {}}, "lastState": ended,
    }  # fmt: skip
    return {"phase": "Running", "containerStatuses": [one]}


def item(key: str) -> dict[str, Any]:
    """Return an item of the templates."""
    files = [json.loads(text)["zabbix_export"] for text in templates().values()]
    (found,) = [one for file in files for one in file["templates"][0].get("items", []) if one["key"] == key]
    return dict(found)


def answered(api: "ApiServer", asked: dict[str, Any]) -> str:
    """Return what the API server answers to an item."""
    tls = ssl.create_default_context(cafile=str(api.certificate))
    connection = http.client.HTTPSConnection(api.url.removeprefix("https://"), timeout=30, context=tls)
    headers = {one["name"]: one["value"].replace("{$KUBE.TOKEN}", api.token) for one in asked["headers"]}
    url = asked["url"].replace("{$KUBE.URL}", "").replace(LEFT_OUT, without([TEAM, "away"]))
    connection.request("GET", url, headers=headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    assert answer.status == 200, text
    return text


def counted(text: str, key: str, folder: Path) -> str:
    """Return what Zabbix makes of the answer."""
    (step,) = item(key)["preprocessing"]
    (folder / "script").write_text(step["parameters"][0])
    (folder / "input").write_text(text)
    command = [program("zabbix_js"), "--script", str(folder / "script"), "--input", str(folder / "input")]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=60).stdout.strip()


def test_pods_whose_containers_restart_are_counted_though_they_run(told: "ApiServer", tmp_path: Path) -> None:
    key = "kube.pods.restarting"
    text = answered(told, item(key))
    # Of thousands of pods only what is needed comes.
    assert SPACE not in text
    assert counted(text, key, tmp_path) == "2"


def test_gangs_that_have_quota_and_no_place_are_counted(told: "ApiServer", tmp_path: Path) -> None:
    assert counted(answered(told, item("kube.gangs")), "kube.gangs.pending", tmp_path) == "2"
