"""Pods that do not run, with their status as kubelet v1.35 writes it."""

from typing import Any

import pytest

from generator.components.component import Secret
from generator.live.status.pod_causes import Space, owner, pod_causes

Pod = dict[str, Any]
KEYS = Secret(name="keys", namespace="a", keys=("k",), source="generated", loss="outage", rotate="", readers=())
ASKED = Secret(name="asked", namespace="a", keys=("k",), source="given", loss="outage", rotate="", readers=())
MADE = Secret(
    name="made", namespace="a", keys=("k",), source="in-cluster", loss="outage", rotate="", readers=(), by="rook-ceph"
)


def pod(phase: str = "Pending", **status: Any) -> Pod:
    owners = [{"kind": "ReplicaSet", "name": "web-5d8f"}]
    labels = {"pod-template-hash": "5d8f"}
    metadata = {"name": "web-5d8f-x", "namespace": "a", "labels": labels, "ownerReferences": owners}
    return {"metadata": metadata, "spec": {}, "status": {"phase": phase, **status}}


def waiting(reason: str, message: str = "", **more: Any) -> Pod:
    state = {"waiting": {"reason": reason, **({"message": message} if message else {})}}
    container = {"name": "web", "image": "r.example.org/web:1", "ready": False, "state": state, **more}
    return pod("Pending", containerStatuses=[container])


def event(message: str, time: str = "2026-01-01T00:00:00Z", kind: str = "Pod", name: str = "web-5d8f-x") -> Pod:
    about = {"kind": kind, "name": name, "namespace": "a"}
    return {"type": "Warning", "message": message, "involvedObject": about, "lastTimestamp": time}


def told(one: Pod, *events: Pod) -> tuple[str, str]:
    space = Space(name="a", pods=[one], events=events, secrets=(KEYS, ASKED, MADE))
    (cause,) = pod_causes(space, "shop", [one], "small")
    assert cause.objects == ("Deployment a/web",)
    return cause.why, cause.command


UNSCHEDULABLE = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/3 nodes are available: 3 Insufficient cpu. no new claims to deallocate",
}
PULL = 'Back-off pulling image "r.example.org/web:1": ErrImagePull: rpc error: code = NotFound desc = not found'
BACK_OFF = "back-off 5m0s restarting failed container=web pod=web-5d8f-x_a(1)"
ENDED = {"exitCode": 137, "reason": "OOMKilled"}
FAILED = {"exitCode": 2, "reason": "Error", "message": "no such flag"}
MOUNT = 'MountVolume.SetUp failed for volume "v" : secret "keys" not found'


def test_nobody_takes_it() -> None:
    why, command = told(pod(conditions=[UNSCHEDULABLE]))
    assert "no node takes its pod: 0/3 nodes are available: 3 Insufficient cpu" in why
    assert command == "kubectl --namespace a describe pod web-5d8f-x"


def test_its_image_cannot_be_pulled() -> None:
    assert told(waiting("ImagePullBackOff", PULL))[0].startswith("its image cannot be pulled: Back-off pulling image")


@pytest.mark.parametrize(
    ("last", "words"),
    [(FAILED, "exit code 2: no such flag"), (ENDED, "exit code 137: it used more memory than its limit")],
)
def test_it_ends_again_and_again(last: Pod, words: str) -> None:
    why, command = told(waiting("CrashLoopBackOff", BACK_OFF, lastState={"terminated": last}))
    assert why == f"its container web ends again and again ({words})"
    assert command == "kubectl --namespace a logs web-5d8f-x --container web --previous --tail 30"


@pytest.mark.parametrize(
    ("name", "words", "helps"),
    [
        ("keys", "the Secret a/keys is not there; bootstrap makes it", "gen bootstrap --cluster small --apply"),
        ("asked", "the Secret a/asked is not there; bootstrap asks for its values", "gen bootstrap"),
        ("made", "the Secret a/made is not there: rook-ceph makes it, and has not", "gen status"),
        ("other", "the Secret a/other is not there, and no component declares it", "kubectl --namespace a get secrets"),
    ],
)
def test_a_secret_that_is_missing_is_told_by_who_makes_it(name: str, words: str, helps: str) -> None:
    mount = event(MOUNT.replace("keys", name))
    for why, command in (
        told(waiting("ContainerCreating"), event("older", "2025-01-01T00:00:00Z"), mount),
        told(waiting("CreateContainerConfigError", f'secret "{name}" not found')),
    ):
        assert why == words
        assert command.startswith(helps)


def test_a_key_of_a_secret_is_missing() -> None:
    why, _ = told(waiting("CreateContainerConfigError", "couldn't find key k in Secret a/keys"))
    assert why == "the Secret a/keys has no key k; bootstrap makes it"


def test_what_runs_and_is_not_ready_says_why() -> None:
    ready = {"type": "Ready", "status": "False", "message": "containers with unready status: [web]"}
    one = pod("Running", conditions=[ready], containerStatuses=[{"name": "web", "state": {"running": {}}}])
    assert told(one)[0] == "its pod runs and is not ready: containers with unready status: [web]"
    probe = event("Readiness probe failed: HTTP probe failed with statuscode: 500")
    assert "statuscode: 500" in told(one, probe)[0]


def test_a_pod_of_a_job_that_failed() -> None:
    ended = {"name": "web", "state": {"terminated": {"exitCode": 3, "reason": "Error"}}}
    why, command = told(pod("Failed", containerStatuses=[ended]))
    assert why == "its container web failed (exit code 3)"
    assert command == "kubectl --namespace a logs web-5d8f-x --container web --tail 30"


def test_a_pod_that_was_evicted() -> None:
    why, _ = told(pod("Failed", reason="Evicted", message="The node was low on resource: memory."))
    assert why == "its pod was ended (Evicted): The node was low on resource: memory."


@pytest.mark.parametrize(
    "one", [pod("Running"), pod("Succeeded"), waiting("ContainerCreating"), {**pod(), "status": {}}]
)
def test_what_goes_well_or_has_just_begun_says_nothing(one: Pod) -> None:
    assert list(pod_causes(Space(name="a"), "shop", [one], "small")) == []


def test_who_made_a_pod() -> None:
    assert owner({"metadata": {"name": "x"}}) == ("Pod", "x")
    job = {"metadata": {"name": "x", "ownerReferences": [{"kind": "Job", "name": "setup"}]}}
    assert owner(job) == ("Job", "setup")
