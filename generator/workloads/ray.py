"""A RayJob: a Ray cluster for one program, whose head has GPUs as its workers have."""

from generator.components.component import Manifest
from generator.components.job_pods import variables
from generator.workloads.indexed import RESTARTS
from generator.workloads.place import Place
from generator.workloads.pods import PROGRAM, environment, helper, labels, pod, program
from generator.workloads.storage import claim
from generator.workloads.wanted import Wanted

# Ray's own, which its Service and its workers expect.
PORTS = {"gcs-server": 6379, "dashboard": 8265, "client": 10001}
OBJECTS = 2
"""One part of so many of the shared memory is Ray's store of objects: with more of it Ray would write to disk."""


def ray(place: Place, wanted: Wanted) -> list[Manifest]:
    """Return a RayJob and what it needs."""
    kept = claim(place, wanted)
    return [program(place, wanted, **{"train.py": "ray.py.txt"}), *([kept] if kept else []), job(place, wanted)]


def job(place: Place, wanted: Wanted) -> Manifest:
    """Return the RayJob. Kueue takes one that ends its cluster with the job and makes it itself (facts: scheduling
    1.8). KubeRay's own submitter may use more memory than it requests, which the rules of teams refuse.
    """
    said = variables(environment(place) | {"NAME": wanted.name, "WORKERS": str(place.pods * place.each)})
    ports = [{"name": name, "containerPort": port} for name, port in PORTS.items()]
    head, worker = (
        pod(place, wanted, name="ray-head", env=said, ports=ports),
        pod(place, wanted, name="ray-worker", env=said),
    )
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": wanted.name, "namespace": place.team.name, "labels": labels(place)},
        "spec": {
            "entrypoint": f"python {PROGRAM}/train.py",
            "shutdownAfterJobFinishes": True,
            "submissionMode": "K8sJobMode",
            "backoffLimit": RESTARTS,
            "rayClusterSpec": {
                "headGroupSpec": {"rayStartParams": parameters(place), "template": {"spec": head}},
                "workerGroupSpecs": workers(place, worker),
            },
            "submitterPodTemplate": {
                "spec": {"restartPolicy": "Never", **helper(place, wanted, name="ray-job-submitter", env=[])}
            },
        },
    }


def workers(place: Place, spec: Manifest) -> list[Manifest]:
    """Return the one group of workers: all pods but the head. Its number is fixed, as that of a gang is."""
    number = place.pods - 1
    if not number:
        return []
    counts = {"replicas": number, "minReplicas": number, "maxReplicas": number}
    return [{"groupName": "workers", **counts, "rayStartParams": parameters(place), "template": {"spec": spec}}]


def parameters(place: Place) -> dict[str, str]:
    """Return what Ray is started with. It knows GPUs by one name only, so that instances of split ones are told."""
    return {"num-gpus": str(place.each), "object-store-memory": str(place.shared_memory // OBJECTS)}
