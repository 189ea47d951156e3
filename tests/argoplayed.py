"""What Argo's own server answers, played on what a fake of an API server holds, in the wire forms of v4.0: empty lists
are null, as is the end of a run that has none yet; refusals are `{"code": ..., "message": ...}`; logs are one object
for each line.
The real server is asked in `tests/real/test_argo_server.py`.
"""

import json
import re
from collections.abc import Callable
from typing import Any

from livecluster import LiveCluster
from loopback import Asked, Reply

KINDS = {"workflows": "workflows", "workflow-templates": "workflowtemplates", "cron-workflows": "cronworkflows"}
PATH = re.compile(r"/api/v1/(?P<kind>[a-z-]+)/(?P<space>[^/?]+)(?:/(?P<name>[^/?]+))?(?:/(?P<verb>[^/?]+))?(?:\?.*)?")
JSON = {"Content-Type": "application/json"}
CODES = {401: 16, 403: 7, 404: 5, 409: 6, 503: 14}
TOKEN = "the-token-of-somebody"


class ArgoPlayed:
    """The server; `version` is what it says, `logs` what pods printed, by their names, `queries` how it was asked."""

    def __init__(self, cluster: LiveCluster) -> None:
        self.cluster = cluster
        self.version = "v4.0.15"
        self.logs: dict[str, list[str]] = {}
        self.queries: list[str] = []

    def reply(self, asked: Asked) -> Reply:
        """Answer a request."""
        self.queries.append(asked.path)
        if asked.headers["Authorization"] != f"Bearer {TOKEN}":
            return said(401, {"code": 16, "message": "token not valid. see https://argo-workflows.readthedocs.io"})
        if asked.path == "/api/v1/version":
            return self._as(Asked(asked.number, "GET", "/version", {}), lambda _: {"version": self.version})
        found = PATH.fullmatch(asked.path)
        assert found, asked
        at = f"/apis/argoproj.io/v1alpha1/namespaces/{found['space']}/{KINDS[found['kind']]}"
        if found["verb"] == "log":
            return 200, JSON, b"".join(line for pod, lines in self.logs.items() for line in entries(pod, lines))
        if asked.method == "PUT":
            shutdown = {"stop": "Stop", "terminate": "Terminate"}[found["verb"]]
            return self._as(
                Asked(asked.number, "PATCH", f"{at}/{found['name']}", {"spec": {"shutdown": shutdown}}), plain
            )
        if asked.method == "POST":
            dry = "?dryRun=All" if asked.body["serverDryRun"] else ""
            return self._as(Asked(asked.number, "POST", at + dry, asked.body["workflow"]), plain)
        return self._as(Asked(asked.number, "GET", f"{at}/{found['name']}" if found["name"] else at, {}), plain)

    def _as(self, asked: Asked, told: Callable[[dict[str, Any]], dict[str, Any]]) -> Reply:
        """Answer as the API server behind it does."""
        status, _, text = self.cluster.reply(asked)
        body = json.loads(text)
        if status >= 400:
            return said(status, {"code": CODES.get(status, 2), "message": body["message"]})
        return said(200, told(body))


def plain(body: dict[str, Any]) -> dict[str, Any]:
    """Return an object, or a list, as the server writes it."""
    if "items" in body:
        return {"metadata": {}, "items": list(map(plain, body["items"])) or None}
    if body["kind"] != "Workflow":
        return body
    return {**body, "status": {"startedAt": None, "finishedAt": None, **(body.get("status") or {})}}


def entries(pod: str, lines: list[str]) -> list[bytes]:
    """Return lines of a pod's log as they are streamed."""
    return [json.dumps({"result": {"content": line, "podName": pod}}).encode() + b"\n" for line in lines]


def said(status: int, body: dict[str, Any]) -> Reply:
    """Return an answer."""
    return status, JSON, json.dumps(body).encode()
