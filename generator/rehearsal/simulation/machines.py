"""What stands behind the Nodes of a twin while an operation runs: machines that do at once what they are asked, Ceph
and MinIO that are whole and move their data at once, volumes that attach at once.
"""

import errno
import json
from collections.abc import Iterator

from generator.components.component import Manifest
from generator.components.minio.layout import NAMESPACE as MINIO
from generator.components.rook_ceph import NAMESPACE as ROOK
from generator.live.running import RunningCluster
from generator.model.fields import dig, mapping
from generator.rehearsal.simulation.reading import NODES

ASKED = "gen.internal/upgrade"
"""An annotation of a Node: `apply` or `node`, the version, when it was asked."""
SERVERS = "/api/v1/namespaces/kube-system/pods"
ATTACHED = "/apis/storage.k8s.io/v1/volumeattachments"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{ROOK}/deployments"
NUMBER = "ceph-osd-id"
"""A label of what runs an OSD."""
Answer = tuple[int, str]


class Machines:
    """Acts once each time it is asked. `drives` are those of MinIO."""

    def __init__(self, twin: RunningCluster, drives: int) -> None:
        self.twin, self.drives = twin, drives
        self.gone: set[int] = set()

    def round(self) -> None:
        """Do what is asked now. Raises UsageError."""
        for node in self.twin.items(NODES):
            if words := mapping(node["metadata"].get("annotations")).get(ASKED, ""):
                self._upgrade(node, str(words).split()[1])
        for space, answer in ((ROOK, self._ceph), (MINIO, self._minio)):
            for pod in self._asking(space):
                self._end(pod, *answer(pod["spec"]["containers"][0]["args"]))
        for one in self.twin.items(ATTACHED):
            if not dig(one, "status", "attached"):
                self.twin.merge(f"{ATTACHED}/{one['metadata']['name']}/status", {"status": {"attached": True}})

    def _upgrade(self, node: Manifest, version: str) -> None:
        name = node["metadata"]["name"]
        if dig(node, "status", "nodeInfo", "kubeletVersion") == f"v{version}":
            return
        label = "component=kube-apiserver,tier=control-plane"
        for pod in self.twin.items(SERVERS, labelSelector=label, fieldSelector=f"spec.nodeName={name}"):
            (container,) = pod["spec"]["containers"]
            image = f"{container['image'].partition('@')[0].rpartition(':')[0]}:v{version}"
            change = {"spec": {"containers": [{**container, "image": image}]}}
            self.twin.merge(f"{SERVERS}/{pod['metadata']['name']}", change)
        told = {"status": {"nodeInfo": {"kubeletVersion": f"v{version}"}}}
        self.twin.merge(f"{NODES}/{name}/status", told)

    def _asking(self, space: str) -> Iterator[Manifest]:
        label = "app.kubernetes.io/name in (ask-ceph, ask-minio)"
        for pod in self.twin.items(f"/api/v1/namespaces/{space}/pods", labelSelector=label):
            if dig(pod, "status", "phase") == "Running" and "deletionTimestamp" not in pod["metadata"]:
                yield pod

    def _minio(self, _words: list[str]) -> Answer:
        return 0, f"offline 0\ndrives {self.drives}"

    def _ceph(self, words: list[str]) -> Answer:
        """Answer a question in the forms of Ceph; see osds.py.txt, which asks them."""
        if words[0] == "room":
            return 0, "[]"
        verb, *rest = [word for word in words[2:] if word not in ("--format", "json")]
        numbers = [int(word.removeprefix("osd.")) for word in rest]
        if verb == "find":
            return self._find(numbers[0])
        if verb == "purge":
            self.gone |= {*numbers}
        told = {"safe-to-destroy": {"safe_to_destroy": numbers, "active": []}, "metadata": {"id": numbers[0]}}
        return 0, json.dumps(told[verb]) if verb in told else ""

    def _find(self, number: int) -> Answer:
        found = [*self.twin.items(DEPLOYMENTS, labelSelector=f"{NUMBER}={number}")]
        if number in self.gone or not found:
            return errno.ENOENT, f"Error ENOENT: osd.{number} does not exist"
        host = dig(found[0], "spec", "template", "spec", "nodeSelector", "kubernetes.io/hostname")
        told = {"osd": number, "osd_fsid": f"played-{number}", "crush_location": {"host": str(host).replace(".", "-")}}
        return 0, json.dumps(told)

    def _end(self, pod: Manifest, code: int, said: str) -> None:
        """Let a pod end with an answer as its last words, as kubelet tells it."""
        state = {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed", "message": said}}
        container = {"name": "main", "image": pod["spec"]["containers"][0]["image"], "imageID": "", "ready": False}
        told = [{**container, "restartCount": 0, "state": state}]
        status = {"phase": "Failed" if code else "Succeeded", "containerStatuses": told}
        meta = pod["metadata"]
        self.twin.merge(f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/status", {"status": status})
