"""Ceph, played: what its commands answer, in the forms of Ceph's sources. Ceph itself does not run in any test.

The forms are those of `osd find` (mon/OSDMonitor.cc), `osd safe-to-destroy` and `osd purge` (mgr/DaemonServer.cc; with
a formatter the first always succeeds). Jobs that ask are real; their pods are KWOK's, and end here.
"""

import contextlib
import errno
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cephforms import forms, judge, pool

from generator.components.rook_ceph import NAMESPACE

if TYPE_CHECKING:
    from nodesteps import Steps

IMAGE = "docker.io/rook/ceph:v1.20.6"
"""Of Rook's operator."""
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
FORCE = "You can proceed by passing --force, but be warned that this will likely mean real, permanent data loss."
Answer = tuple[int, str]


@dataclass
class Osd:
    """One OSD: its own id and host, how many placement groups are on it, and whether its daemon runs."""

    fsid: str
    host: str
    groups: int = 0
    up: bool = True


@dataclass
class Ceph:
    """A cluster of OSDs; what was asked of it."""

    osds: dict[int, Osd]
    asked: list[str] = field(default_factory=list)
    stuck: bool = False
    """Groups do not move away from OSDs that are out."""
    busy: int = 0
    """How often the manager has no numbers yet."""
    unsure: bool = False
    """Some data, of whatever disk, is being moved: the manager does not judge an OSD that is down."""
    fault: bool = False
    """Another disk fails while an OSD's daemon is ended: its groups are needed again."""
    size: int = 3
    """Of its pool, in copies; four more hosts have an OSD each."""

    def answer(self, words: list[str]) -> Answer:
        """Return the exit code of a command and what it prints."""
        if words[0] == "room":
            return self.room([int(word) for word in words[1:]])
        assert words[:2] == ["ceph", "osd"], words
        verb, *rest = [word for word in words[2:] if word not in ("--format", "json")]
        self.asked.append(" ".join([verb, *rest]))
        numbers = [int(word.removeprefix("osd.")) for word in rest]
        answers = {
            "metadata": self.metadata,
            "find": self.find,
            "safe-to-destroy": self.safe,
            "out": self.out,
            "down": self.down,
        }
        return (answers | {"down": self.down, "purge": self.purge})[verb](numbers)

    def room(self, numbers: list[int]) -> Answer:
        return 0, json.dumps([*judge()["reasons"](self.forms(), {*numbers})])

    def forms(self) -> dict[str, Any]:
        """Return what Ceph says of itself to the judge of room."""
        others = {1000 + other: f"other-{other}" for other in range(4)}
        return forms(others | {key: one.host for key, one in self.osds.items()}, [pool("nvme", self.size)])

    def metadata(self, numbers: list[int]) -> Answer:
        (number,) = numbers
        return 0, json.dumps({"id": number, "devices": "nvme0n1", "device_ids": f"nvme0n1=DISK-{number}"})

    def find(self, numbers: list[int]) -> Answer:
        (number,) = numbers
        if number not in self.osds:
            return errno.ENOENT, f"Error ENOENT: osd.{number} does not exist"
        one = self.osds[number]
        address = {"type": "v2", "addr": "10.10.0.158:6800", "nonce": 1234567890}
        found = {"osd": number, "addrs": {"addrvec": [address]}, "osd_fsid": one.fsid, "host": one.host}
        return 0, json.dumps(found | {"crush_location": {"host": one.host, "rack": "r4", "root": "default"}})

    def out(self, numbers: list[int]) -> Answer:
        assert {*numbers} <= self.osds.keys()
        return 0, ""

    def down(self, numbers: list[int]) -> Answer:
        for number in numbers:
            self.osds[number].up = False
            self.osds[number].groups += 5 if self.fault else 0
        return 0, ""

    def safe(self, numbers: list[int]) -> Answer:
        if self.busy:
            self.busy -= 1
            return errno.EAGAIN, "Error EAGAIN: "
        active = [number for number in numbers if self.osds[number].groups]
        for number in [] if self.stuck else active:
            self.osds[number].groups = 0  # by the next question
        safe = [number for number in numbers if number not in active]
        return 0, json.dumps({"safe_to_destroy": safe, "active": active, "missing_stats": [], "stored_pgs": []})

    def purge(self, numbers: list[int]) -> Answer:
        (number,) = numbers
        if self.unsure:
            return (
                errno.EAGAIN,
                f"Error EAGAIN: OSD(s) {number} have no reported stats, and not all PGs are active+clean",
            )
        if groups := self.osds[number].groups:
            return errno.EBUSY, (f"Error EBUSY: OSD(s) {number} have {groups} pgs currently mapped to them. \n{FORCE}")
        if self.osds[number].up:
            return errno.EBUSY, f"Error EBUSY: osd.{number} is not `down`."
        del self.osds[number]
        return 0, ""


@contextlib.contextmanager
def answering(steps: "Steps", ceph: Ceph) -> Iterator[Ceph]:
    """Answer for Ceph, until the block ends."""
    with played(steps, f"{PODS}?labelSelector=app.kubernetes.io%2Fname%3Dask-ceph", ceph.answer):
        yield ceph


@contextlib.contextmanager
def played(steps: "Steps", pods: str, answer: Callable[[list[str]], Answer]) -> Iterator[None]:
    """End the pods that ask, until the block ends, each with an answer as its last words."""
    ends = threading.Event()

    def play(own: "Steps") -> None:
        while not ends.is_set():
            for pod in own.api.items(pods):
                if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]:
                    end(own, pod, *answer(pod["spec"]["containers"][0]["args"]))
            time.sleep(0.1)

    with steps.beside() as own:
        player = threading.Thread(target=play, args=(own,))
        player.start()
        try:
            yield
        finally:
            ends.set()
            player.join()


def end(steps: "Steps", pod: dict[str, Any], code: int, said: str) -> None:
    """Let a pod end, as its kubelet says it."""
    state = {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed", "message": said}}
    container = {"name": "main", "image": pod["spec"]["containers"][0]["image"], "imageID": "", "ready": False}
    status = {
        "phase": "Failed" if code else "Succeeded",
        "containerStatuses": [{**container, "restartCount": 0, "state": state}],
    }
    metadata = pod["metadata"]
    steps.status(f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}", status)
