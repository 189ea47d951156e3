"""What `ml50` does with services, and with what is let in and does not start."""

import time
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from twin.fixtures import Twin
    from twin.team import Member

    Members = Callable[[str], Member]

pytest_plugins = ["apiserver", "twin.fixtures"]
pytestmark = pytest.mark.twin

TRAINING, INFERENCE = "gpu-training", "gpu-inference"
NEVER = 5.0


def test_serving_runs_on_inference_nodes(twin: "Twin", member: "Members") -> None:
    serving = member("serving")
    serving.prepare("serve", pods=2)
    assert serving.nodes("serve") < set(twin.pool(INFERENCE))


def test_training_that_tolerates_its_own_taint_alone_never_takes_what_inference_lends(
    twin: "Twin", member: "Members"
) -> None:
    from twin.team import TOLERATES, most

    vision = member("vision")
    vision.prepare("own", pods=5)
    vision.prepare("borrowed", pods=2)  # all that it may have of training
    vision.start("more", tolerations=[one for one in TOLERATES if "inference" not in one["key"]])
    assert most(lambda: len(vision.pods("more")), NEVER) == 0
    vision.start("anywhere")
    vision.runs("anywhere", 1)
    assert vision.nodes("anywhere") < set(twin.pool(INFERENCE))


DOCUMENTED = {
    "a gang": ("vision", TRAINING, 2),
    "without GPUs": ("vision", "cpu", 1),
    "a service": ("serving", INFERENCE, 2),
}


@pytest.mark.parametrize("name", DOCUMENTED)
def test_what_teams_are_told_to_write_runs(twin: "Twin", member: "Members", name: str) -> None:
    """The manifests of docs/teams.md, whatever taints the pools have."""
    from documented import of_teams
    from twin.team import eventually

    team, pool, pods = DOCUMENTED[name]
    one = member(team)
    assert one.submit(of_teams()[name]) == (201, "")
    eventually(f"{name} runs", lambda: one.running() == pods)
    assert one.nodes() <= set(twin.pool(pool))


def service(replicas: int) -> dict[str, Any]:
    from twin.team import QUEUE, job

    spec = job("x")["spec"]["template"]["spec"] | {"restartPolicy": "Always"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "api", "labels": {QUEUE: "default"}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "api"}},
            "template": {"metadata": {"labels": {"app": "api"}}, "spec": spec},
        },
    }


def test_a_service_grows_up_to_what_its_team_has(twin: "Twin", member: "Members") -> None:
    from twin.team import eventually, most

    serving = member("serving")
    for team, pods in (("vision", 5), ("language", 5), ("recommender", 1)):
        member(team).prepare("train", pods=pods)
    assert serving.submit(service(2)) == (201, "")
    eventually("two replicas", lambda: serving.running() == 2)
    assert serving.nodes() < set(twin.pool(INFERENCE))
    scale = "/apis/apps/v1/namespaces/serving/deployments/api/scale"
    # Its status may be written meanwhile: no replacement of what was read before.
    more = {"spec": {"replicas": 5}}
    assert twin.api.request("PATCH", scale, more, by=serving.who, patch="merge-patch+json")[0] == 200
    # Three nodes are its own; the one that nobody owns may be borrowed.
    eventually("four replicas", lambda: serving.running() == 4)
    assert most(serving.running, NEVER) == 4


def test_a_pod_of_a_queue_that_is_not_there_never_starts(member: "Members") -> None:
    from twin.team import QUEUE, eventually, job

    serving = member("serving")
    for name, queue in (("lost", "nowhere"), ("found", "default")):
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {QUEUE: queue}}}
        spec = job("x", gpus=1)["spec"]["template"]["spec"]
        spec["schedulingGates"] = [{"name": "kueue.x-k8s.io/admission"}]
        assert serving.submit(pod | {"spec": spec}) == (201, "")
    eventually("the other one runs", lambda: serving.running() == 1)
    time.sleep(1)
    assert serving.bound() == 1


def test_what_does_not_start_gives_its_quota_back(twin: "Twin", member: "Members") -> None:
    """With 10 seconds instead of 30 minutes, and without a look at nodes, which go only after it."""
    from twin.kueue import BY_SUMS
    from twin.team import eventually

    vision = member("vision")
    soon = {
        "timeout": "10s",
        "recoveryTimeout": "10s",
        "requeuingStrategy": {"timestamp": "Eviction", "backoffBaseSeconds": 3, "backoffLimitCount": 5},
    }
    with twin.kueue.changed(BY_SUMS | {"waitForPodsReady": soon | {"blockAdmission": False}}):
        twin.leave(TRAINING, 2)
        vision.start("train", 5)
        eventually("it is let in", lambda: vision.has("train", "Admitted"))
        eventually("it is evicted", lambda: vision.has("train", "Evicted", "PodsReadyTimeout"))
        eventually("its pods are gone", lambda: not vision.pods("train"))
        vision.prepare("small", pods=2)
        # Kueue tries it anew by itself, and it runs once there are nodes for all of it.
        vision.delete("small")
        twin.leave(TRAINING, 5)
        vision.runs("train", 5)
