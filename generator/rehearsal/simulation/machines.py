"""What stands behind the Nodes of a twin while an operation runs: machines that do at once what they are asked, Ceph
and MinIO that are whole and move their data at once, volumes that attach at once, devices that are good.
"""

import errno
import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from generator.components.component import Manifest
from generator.components.minio.layout import NAMESPACE as MINIO
from generator.components.node_operations.names import NAMESPACE
from generator.components.rook_ceph import NAMESPACE as ROOK
from generator.live.running import RunningCluster
from generator.model.cluster import Cluster
from generator.model.fields import dig
from generator.rehearsal.simulation import asked
from generator.rehearsal.simulation.assuming import DEPLOYMENTS, NUMBER
from generator.rehearsal.simulation.crush import host_of, lacking
from generator.rehearsal.simulation.reading import NODES
from generator.rehearsal.standin import COMPLETE

if TYPE_CHECKING:
    from generator.rehearsal.simulation.joining import Joining

ATTACHED = "/apis/storage.k8s.io/v1/volumeattachments"
BURN_INS = f"/api/v1/namespaces/{NAMESPACE}"
TRYING = "app.kubernetes.io/name in (burn-in, burn-in-nccl)"
Answer = tuple[int, str]


class Machines:
    """Acts once each time it is asked. `bound` binds claims; `joins` is who comes as soon as it may; with `leaves` what
    is emptied goes for good; `told` hears what Ceph was asked to do, with which OSDs of which host.
    """

    def __init__(self, twin: RunningCluster, cluster: Cluster, bound: Callable[[], None]) -> None:
        self.twin, self.cluster, self.bound = twin, cluster, bound
        self.drives = sum(one.drive_count("objects") for one in cluster.machines)
        self.gone: set[int] = set()
        self.hosts: dict[int, str] = {}
        self.told: Callable[[str, str, str], None] = lambda _verb, _host, _osds: None
        self.joins: Joining | None = None
        self.leaves = False

    def round(self) -> None:
        """Do what is asked now. Raises UsageError."""
        for node in self.twin.items(NODES):
            asked.work(self.twin, node)
        if self.joins:
            self.joins.round()
        self._try()
        if self.leaves:
            self._move_monitors()
        for space, answer in ((ROOK, self._ceph), (MINIO, self._minio)):
            for pod in self._asking(space):
                self._end(pod, *answer(pod["spec"]["containers"][0]["args"]))
        for one in self.twin.items(ATTACHED):
            if not dig(one, "status", "attached"):
                self.twin.merge(f"{ATTACHED}/{one['metadata']['name']}/status", {"status": {"attached": True}})

    def _move_monitors(self) -> None:
        """Do as Rook does 20 minutes after a monitor of Ceph has gone."""
        closed = [one["metadata"]["name"] for one in self.twin.items(NODES) if dig(one, "spec", "unschedulable")]
        for one in self.twin.items(DEPLOYMENTS, labelSelector="app=rook-ceph-mon"):
            if (host := host_of(one)) in closed and not dig(one, "status", "readyReplicas"):
                self.twin.delete(f"{DEPLOYMENTS}/{one['metadata']['name']}")
                self.told("moved", host, "")

    def _try(self) -> None:
        """Let the pods of burn-ins end well."""
        for pod in self.twin.items(f"{BURN_INS}/pods", labelSelector=TRYING):
            if dig(pod, "status", "phase") == "Running":
                self.twin.merge(f"{BURN_INS}/pods/{pod['metadata']['name']}", COMPLETE)
        self.bound()

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
            return 0, lacking(self.twin, self.cluster, [*map(int, words[1:])])
        verb, *rest = [word for word in words[2:] if word not in ("--format", "json")]
        numbers = [int(word.removeprefix("osd.")) for word in rest]
        if verb == "find":
            return self._find(numbers[0])
        if verb in ("out", "purge"):
            self.told(verb, self._host(numbers[0]), ", ".join(map(str, numbers)))
        if verb == "purge":
            self.gone |= {*numbers}
        told = {"safe-to-destroy": {"safe_to_destroy": numbers, "active": []}, "metadata": {"id": numbers[0]}}
        return 0, json.dumps(told[verb]) if verb in told else ""

    def _find(self, number: int) -> Answer:
        host = self._host(number)
        if number in self.gone or not host:
            return errno.ENOENT, f"Error ENOENT: osd.{number} does not exist"
        told = {"osd": number, "osd_fsid": f"played-{number}", "crush_location": {"host": host.replace(".", "-")}}
        return 0, json.dumps(told)

    def _host(self, number: int) -> str:
        """Return the host of an OSD, nothing where there is none; it stays known when its daemon ends."""
        for one in self.twin.items(DEPLOYMENTS, labelSelector=f"{NUMBER}={number}"):
            self.hosts[number] = host_of(one)
        return self.hosts.get(number, "")

    def _end(self, pod: Manifest, code: int, said: str) -> None:
        """Let a pod end with an answer as its last words, as kubelet tells it."""
        state = {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed", "message": said}}
        container = {"name": "main", "image": pod["spec"]["containers"][0]["image"], "imageID": "", "ready": False}
        told = [{**container, "restartCount": 0, "state": state}]
        status = {"phase": "Failed" if code else "Succeeded", "containerStatuses": told}
        meta = pod["metadata"]
        self.twin.merge(f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/status", {"status": status})
