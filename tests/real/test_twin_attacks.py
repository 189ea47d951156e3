"""Members of vision who try to get round the queue of `ml50`, where Kueue really runs.

Each form asks for more than the team may ever have, in one pod: a pod that no gate of Kueue holds has got round it. All
are tried at once, for waiting is what costs. What is refused must be refused as an attack, by a policy, a webhook or
for want of a right: a form with a mistake in it would prove nothing.
"""

import re
import time
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import pytest

from generator.live.apiserver import tries

if TYPE_CHECKING:
    from twin.fixtures import Twin
    from twin.team import Member

pytest_plugins = ["apiserver", "twin.fixtures"]
pytestmark = pytest.mark.twin

Object = dict[str, Any]
Form = Callable[["Member"], Object]
NEVER = 6.0
"""Seconds in which what must not happen would have happened: forms that do get round need two."""

DENIED = re.compile(
    r"ValidatingAdmissionPolicy '\S+' with binding '\S+' denied|admission webhook \S+ denied|cannot \w+ resource"
)
"""What the API server says of what is refused on purpose."""

PLAIN = {"a job", "a job without GPUs"}
"""The forms that every member may submit: they wait."""

ADMITTED = {"kueue.x-k8s.io/podset": "main"}
"""What pods of an admitted job have, and what a policy takes for a proof."""


def large(*, gpus: int = 64, labels: Object | None = None, controller: Object | None = None) -> Object:
    """Return a job of one pod with more GPUs than the team may have, or with more CPUs than there are."""
    from twin.team import job

    made = job("large", gpus=gpus)
    made["spec"]["template"]["metadata"] = {"labels": dict(labels or {})}
    if not gpus:
        made["spec"]["template"]["spec"]["containers"][0]["resources"] = {
            "requests": {"cpu": "5k"},
            "limits": {"memory": "1Gi"},
        }
    return made | {"metadata": made["metadata"] | {"ownerReferences": [controller] if controller else []}}


def existing(member: "Member", kind: str) -> Object:
    """Return a reference to an object of the team that Kueue manages."""
    api, _, plural = PATHS[kind].rpartition("/")
    found = member.api.items(f"{api}/namespaces/{member.team}/{plural}")
    metadata = next(one["metadata"] for one in found if "tiny" in one["metadata"]["name"])
    version = api.removeprefix("/apis/").removeprefix("/api/")
    return {"apiVersion": version, "kind": kind, "name": metadata["name"], "uid": metadata["uid"], "controller": True}


PATHS = {
    "Job": "/apis/batch/v1/jobs",
    "Pod": "/api/v1/pods",
    "Deployment": "/apis/apps/v1/deployments",
    "ReplicaSet": "/apis/apps/v1/replicasets",
    "StatefulSet": "/apis/apps/v1/statefulsets",
    "Workload": "/apis/kueue.x-k8s.io/v1beta2/workloads",
}


def nobody(version: str, kind: str, name: str = "nobody") -> Object:
    """Return a reference to an object that is not there, or not with this uid."""
    uid = "00000000-0000-4000-8000-000000000000"
    return {"apiVersion": version, "kind": kind, "name": name, "uid": uid, "controller": True}


def service(kind: str, controller: Object | None = None) -> Object:
    """Return a service of one pod that is as large as the job above."""
    labels = ADMITTED | {"app": kind.lower()}
    spec = large()["spec"]["template"]["spec"] | {"restartPolicy": "Always"}
    more = {"serviceName": "large"} if kind == "StatefulSet" else {}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {
            "name": "large",
            "labels": {"kueue.x-k8s.io/queue-name": "default"},
            "ownerReferences": [controller] if controller else [],
        },
        "spec": {
            "selector": {"matchLabels": {"app": kind.lower()}},
            "template": {"metadata": {"labels": labels}, "spec": spec},
            **more,
        },
    }


def pod(*, held: bool, controller: Object | None = None) -> Object:
    """Return a bare pod that looks like a part of an admitted job."""
    gates = [{"name": "kueue.x-k8s.io/admission"}] if held else []
    spec = large()["spec"]["template"]["spec"] | {"schedulingGates": gates}
    metadata = {"name": "large", "labels": dict(ADMITTED), "ownerReferences": [controller] if controller else []}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def labelled(manifest: Object, **labels: str) -> Object:
    found = deepcopy(manifest)
    found["metadata"]["labels"] |= {f"kueue.x-k8s.io/{name.replace('_', '-')}": text for name, text in labels.items()}
    return found


def annotated(manifest: Object, **annotations: str) -> Object:
    found = deepcopy(manifest)
    more = {f"kueue.x-k8s.io/{name.replace('_', '-')}": text for name, text in annotations.items()}
    found["metadata"]["annotations"] = found["metadata"].get("annotations", {}) | more
    return found


def pod_level() -> Object:
    """Return a pod whose container asks for little, and which itself asks for more CPUs than there are."""
    made = pod(held=False)
    made["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1m"}, "limits": {"memory": "1Mi"}}
    made["spec"]["resources"] = {"requests": {"cpu": "5k", "memory": "1Gi"}}
    return made


FORMS: dict[str, Form] = {
    "a part of a Job": lambda m: large(labels=ADMITTED, controller=existing(m, "Job")),
    "a part of a Job without GPUs": lambda m: large(gpus=0, controller=existing(m, "Job")),
    "a part of a pod": lambda m: large(labels=ADMITTED, controller=existing(m, "Pod")),
    "a part of a Deployment": lambda m: large(labels=ADMITTED, controller=existing(m, "Deployment")),
    "a part of a ReplicaSet": lambda m: large(labels=ADMITTED, controller=existing(m, "ReplicaSet")),
    "a part of a StatefulSet": lambda m: large(labels=ADMITTED, controller=existing(m, "StatefulSet")),
    "a Deployment of a Job": lambda m: service("Deployment", existing(m, "Job")),
    "a StatefulSet of a Job": lambda m: service("StatefulSet", existing(m, "Job")),
    "a job": lambda _: large(),
    "a job without GPUs": lambda _: large(gpus=0),
    "a job whose pods look admitted": lambda _: large(labels=ADMITTED),
    "a Deployment whose pods look admitted": lambda _: service("Deployment"),
    "a StatefulSet whose pods look admitted": lambda _: service("StatefulSet"),
    "a part of a Job without the label of admission": lambda m: large(controller=existing(m, "Job")),
    "owned by a Job that does not control it": lambda m: large(
        labels=ADMITTED, controller=existing(m, "Job") | {"controller": False}
    ),
    "a part of a Workload": lambda m: large(labels=ADMITTED, controller=existing(m, "Workload")),
    "a part of a Job by name alone": lambda _: large(labels=ADMITTED, controller=nobody("batch/v1", "Job", "tiny")),
    "a part of a Job that is not there": lambda _: large(labels=ADMITTED, controller=nobody("batch/v1", "Job")),
    "a part of a CronJob": lambda _: large(labels=ADMITTED, controller=nobody("batch/v1", "CronJob")),
    "a part of a JobSet": lambda _: large(labels=ADMITTED, controller=nobody("jobset.x-k8s.io/v1alpha2", "JobSet")),
    "a part of an MPIJob": lambda _: large(labels=ADMITTED, controller=nobody("kubeflow.org/v2beta1", "MPIJob")),
    "a part of a PyTorchJob": lambda _: large(labels=ADMITTED, controller=nobody("kubeflow.org/v1", "PyTorchJob")),
    "a part of a TFJob": lambda _: large(labels=ADMITTED, controller=nobody("kubeflow.org/v1", "TFJob")),
    "a part of a TrainJob": lambda _: large(
        labels=ADMITTED, controller=nobody("trainer.kubeflow.org/v1alpha1", "TrainJob")
    ),
    "a part of a RayJob": lambda _: large(labels=ADMITTED, controller=nobody("ray.io/v1", "RayJob")),
    "a part of a RayCluster": lambda _: large(labels=ADMITTED, controller=nobody("ray.io/v1", "RayCluster")),
    "a part of a RayService": lambda _: large(labels=ADMITTED, controller=nobody("ray.io/v1", "RayService")),
    "a pod of a Job": lambda m: pod(held=False, controller=existing(m, "Job")),
    "a held pod of a Job": lambda m: pod(held=True, controller=existing(m, "Job")),
    "the Workload of another job": lambda m: labelled(
        large(labels=ADMITTED), prebuilt_workload_name=existing(m, "Workload")["name"]
    ),
    "a job of somebody else's queue": lambda _: labelled(large(labels=ADMITTED), queue_name="language"),
    "a job that says who manages it": lambda _: labelled(large(), managed="true"),
    "an elastic job": lambda _: annotated(large(gpus=0), elastic_job="true"),
    "a pod that its parent suspends": lambda _: annotated(pod(held=False), pod_suspending_parent="deployment"),
    "a pod of a group of two": lambda _: annotated(
        labelled(pod(held=False), pod_group_name="pair"), pod_group_total_count="2"
    ),
    "a pod of a fast group": lambda _: annotated(
        labelled(pod(held=False), pod_group_name="fast"), pod_group_total_count="2", pod_group_fast_admission="true"
    ),
    "a pod with all resources at its own level": lambda _: pod_level(),
}


@pytest.fixture(scope="module")
def vision(shared_twin: "Twin") -> Iterator["Member"]:
    """A member of vision, who has a small object of each kind that Kueue has let in."""
    found = shared_twin.member("vision")
    found.prepare("tiny", gpus=0)
    for kind in ("Deployment", "StatefulSet"):
        small = service(kind)
        small["metadata"]["name"] = f"tiny-{kind.lower()}"
        small["spec"]["template"]["spec"] = small_pod()
        del small["spec"]["template"]["metadata"]["labels"]["kueue.x-k8s.io/podset"]
        answer = found.submit(small)
        if answer != (201, ""):
            pytest.fail(f"{kind}: {answer}")
    shared_twin.api.wait("tiny services run", lambda: found.running() == 3)
    yield found
    shared_twin.clean()


def small_pod() -> Object:
    from twin.team import job

    spec: Object = job("tiny", gpus=0)["spec"]["template"]["spec"] | {"restartPolicy": "Always"}
    return spec


def not_refused(answer: tuple[int, str]) -> bool:
    """Tell whether a request was taken. It fails the test where the request was wrong in itself."""
    status, message = answer
    if status in {200, 201}:
        return True
    if not DENIED.search(message):
        pytest.fail(f"{status} {message}")
    return False


@pytest.fixture(scope="module")
def loose(vision: "Member") -> set[str]:
    """Try every form and return those of which a pod came to be that nothing holds."""
    names = {form: f"large-{index}" for index, form in enumerate(FORMS)}
    taken = set()
    for form, make in FORMS.items():
        manifest = make(vision)
        manifest["metadata"]["name"] = names[form]
        if "selector" in manifest["spec"]:  # each service has pods of its own
            manifest["spec"]["selector"]["matchLabels"]["app"] = names[form]
            manifest["spec"]["template"]["metadata"]["labels"]["app"] = names[form]
        if not_refused(vision.submit(manifest)):
            taken.add(form)
    time.sleep(NEVER)
    if not taken >= PLAIN:
        pytest.fail(f"refused, though they are to wait: {PLAIN - taken}")
    free = [one["metadata"]["name"] for one in vision.pods() if not one["spec"].get("schedulingGates")]
    return {form for form, name in names.items() if any(f"{one}-".startswith(f"{name}-") for one in free)}


@pytest.mark.parametrize("form", FORMS)
def test_what_is_not_let_in_is_held(loose: set[str], form: str) -> None:
    assert form not in loose


def test_a_job_that_claims_an_owner_later_is_held(vision: "Member") -> None:
    from twin.team import most

    made = large(gpus=0)
    made["metadata"]["name"] = "later"
    vision.submit(made)
    vision.api.wait("it is held", lambda: vision.workload("later") is not None)
    start_by_hand(vision, "later", ownerReferences=[existing(vision, "Job")])
    assert most(lambda: len(vision.pods("later")), NEVER) == 0


def start_by_hand(vision: "Member", name: str, **metadata: Any) -> int:
    """Take the suspension off a job and return the status; again where Kueue has written it meanwhile."""
    path = f"/apis/batch/v1/namespaces/{vision.team}/jobs/{name}"
    for _ in tries():
        stored = vision.api.get(path)
        stored["metadata"] |= metadata
        stored["spec"]["suspend"] = False
        status, _ = vision.api.request("PUT", path, stored, by=vision.who)
        if status != 409:
            return status
    pytest.fail(f"{name} is written all the time")


def test_a_job_that_is_started_by_hand_is_held(vision: "Member") -> None:
    """The control of the test above: Kueue stops it again."""
    made = large(gpus=0)
    made["metadata"]["name"] = "early"
    vision.submit(made)
    path = f"/apis/batch/v1/namespaces/{vision.team}/jobs/early"
    vision.api.wait("it is held", lambda: vision.workload("early") is not None)
    assert start_by_hand(vision, "early") == 200
    vision.api.wait("it is held again", lambda: vision.api.get(path)["spec"]["suspend"])
    time.sleep(1)
    assert not vision.pods("early")


def test_a_pod_without_gpus_cannot_choose_the_runtime_that_gives_them(vision: "Member") -> None:
    handler = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"}}
    vision.api.apply(handler | {"handler": "nvidia"})  # as the GPU operator makes it
    spec = small_pod() | {"runtimeClassName": "nvidia", "restartPolicy": "Never", "schedulerName": "default-scheduler"}
    spec["containers"][0]["env"] = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]
    status, _ = vision.submit({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "sees-all"}, "spec": spec})
    assert status in {403, 422}


@pytest.mark.parametrize(
    "way", ["deleted with a policy", "deleted as one of many", "deleted by an old client", "unsaid", "marked"]
)
def test_what_a_job_leaves_behind_is_counted_or_gone(vision: "Member", way: str) -> None:
    """A member may take a job back and leave its pods: Kueue would give their GPUs out a second time."""
    name = f"left-{way.rsplit(maxsplit=1)[-1]}"
    vision.prepare(name, gpus=1)
    left = leave_pods(vision, name, way)
    jobs = f"/apis/batch/v1/namespaces/{vision.team}/jobs"
    if left:
        vision.api.wait(
            f"{name} is gone", lambda: all(one["metadata"]["name"] != name for one in vision.api.items(jobs))
        )
    time.sleep(2)
    assert left or vision.running(name)
    assert finished(vision, name) == 0 or not vision.running(name)


def finished(vision: "Member", name: str) -> int:
    """Return how many Workloads of a job count no longer. Without their job they are found by their name alone."""
    mine = [one for one in vision.workloads() if one["metadata"]["name"].startswith(f"job-{name}-")]
    conditions = [one for workload in mine for one in workload["status"].get("conditions", [])]
    return sum(one["type"] == "Finished" and one["status"] == "True" for one in conditions)


def leave_pods(vision: "Member", name: str, way: str) -> bool:
    """Delete a job so that the garbage collector would leave its pods, and tell whether that was allowed."""
    jobs = f"/apis/batch/v1/namespaces/{vision.team}/jobs"
    orphan = "propagationPolicy=Orphan"
    if way == "marked" and not mark(vision, f"{jobs}/{name}"):
        return False
    request = {
        "deleted with a policy": f"{jobs}/{name}?{orphan}",
        "deleted as one of many": f"{jobs}?{orphan}&fieldSelector=metadata.name%3D{name}",
        "deleted by an old client": f"{jobs}/{name}?orphanDependents=true",
        "unsaid": f"{jobs}/{name}",
        "marked": f"{jobs}/{name}",
    }
    return not_refused(said(vision.api.request("DELETE", request[way], by=vision.who)))


def mark(vision: "Member", path: str) -> bool:
    """Give a job the mark of one whose pods are left, and tell whether that was allowed."""
    for _ in tries():
        stored = vision.api.get(path)
        stored["metadata"]["finalizers"] = ["orphan"]
        answer = vision.api.request("PUT", path, stored, by=vision.who)
        if answer[0] != 409:
            return not_refused(said(answer))
    pytest.fail(f"{path} is written all the time")


def said(answer: tuple[int, Any]) -> tuple[int, str]:
    """Return a status and the server's message."""
    status, body = answer
    return status, body.get("message", "") if isinstance(body, dict) else str(body)
