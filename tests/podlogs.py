"""Logs of the pods of one run, played: what a kubelet gives through an API server, and Argo's server streams."""

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

from argoplayed import ArgoPlayed
from livecluster import LiveCluster
from loopback import Asked, Reply

from generator.day2.workflows.ways import OF_RUN, OF_STEP
from generator.live.times import moment

STARTED = "2026-01-01T00:00:00Z"


class PodLogs:
    """Pods of a run and what they printed, by their names: lines with their times; the last one of a pod in `writing`
    has no end yet. So many answers with the log of the newest pod as `cut` says end in the middle, as where a
    connection breaks. The nodes of pods that are `away` do not answer.
    """

    def __init__(self, cluster: LiveCluster, argo: ArgoPlayed, run: dict[str, Any]) -> None:
        self.cluster, self.argo, self.run = cluster, argo, run
        self.lines = argo.logs
        self.writing: set[str] = set()
        self.cut = 0
        self.away: set[str] = set()
        run["status"] = {"phase": "Running", "startedAt": STARTED, "nodes": {}}

    def begin(self, step: str, *lines: str) -> None:
        """Have the pod of a step, which has printed lines."""
        metadata, nodes = self.run["metadata"], self.run["status"]["nodes"]
        key, pod = f"{metadata['name']}-{len(nodes) + 1}", f"{metadata['name']}-{step}-{len(nodes) + 1}"
        nodes[key] = {"type": "Pod", "displayName": step, "phase": "Running", "startedAt": STARTED}
        nodes[key]["boundaryID"] = metadata["name"]
        known = {"labels": {OF_RUN: metadata["name"]}, "annotations": {OF_STEP: key}}
        made = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": pod, "namespace": metadata["namespace"], **known},
        }
        self.cluster.add({**made, "status": {"phase": "Running"}})
        self.lines[pod] = list(lines)

    def pod(self, step: str) -> str:
        """Return the name of a step's pod."""
        return next(pod for pod in self.lines if f"-{step}-" in pod)

    def end(self, phase: str) -> None:
        """End the run and its pods."""
        self.run["status"].update(phase=phase, finishedAt="2026-01-01T00:01:00Z")
        for pod in self.lines:
            self.cluster.get("Pod", pod).get("status", {}).update(phase=phase)

    def kubelet(self, asked: Asked) -> Reply:
        """Answer as the API server."""
        url = urlsplit(asked.path)
        *_, pod, last = url.path.split("/")
        if last != "log":
            return self.cluster.reply(asked)
        if not self.cluster.get("Pod", pod):
            return 404, {}, b"{}"
        if pod in self.away:
            why = f'Get "https://10.10.0.101:10250/containerLogs/{pod}": dial tcp: connect: no route to host'
            return 500, {}, json.dumps({"kind": "Status", "message": why, "code": 500}).encode()
        (since,) = map(moment, parse_qs(url.query).get("sinceTime", [STARTED]))
        if since is None:
            return 400, {}, b"{}"
        given = "".join(f"{line}\n" for line in self.lines[pod] if (moment(line.partition(" ")[0]) or since) >= since)
        text = given.removesuffix("\n") if pod in self.writing else given
        found = 200, {"Content-Type": "text/plain"}, text.encode()
        return self._cut(found) if pod == [*self.lines][-1] else found

    def server(self, asked: Asked) -> Reply:
        """Answer as Argo's server, which streams whole lines."""
        found = self.argo.reply(asked)
        return self._cut(found) if urlsplit(asked.path).path.endswith("/log") else found

    def _cut(self, found: Reply) -> Reply:
        if not self.cut:
            return found
        self.cut -= 1
        status, headers, body = found
        whole = {"Content-Length": str(len(body) + 1), "Connection": "close"}
        return status, {**headers, **whole}, body[: len(body) // 2]
