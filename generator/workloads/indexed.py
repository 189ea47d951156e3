"""A job without an operator: an Indexed Job whose pods find each other by names in DNS."""

from generator.components.component import Manifest
from generator.components.job_pods import variables
from generator.components.volcano import GANG
from generator.workloads.ended import kept_seconds, retries
from generator.workloads.place import Place
from generator.workloads.pods import PROGRAM, environment, labels, pod, program
from generator.workloads.storage import claim, scratch_size
from generator.workloads.wanted import Wanted

PORT = 29400
RESTARTS = 3
"""How often a program is started again in its pod, and what an operator runs as a whole."""
PAUSE = 10
"""Seconds before it is, each time as many more: the others of a job fail with it."""
RETRIES = 1
"""How often a pod is made again: Kueue puts it on the same node, where a program seldom gets further."""


def indexed(place: Place, wanted: Wanted, framework: str) -> list[Manifest]:
    """Return a framework's job and what it needs, in the order in which they are made: the programs, the Service that
    gives its pods names, the volume for its checkpoints.
    """
    kept = claim(place, wanted)
    files = {"launch.sh": f"{framework}.sh", "again.sh": "again.sh", "train.py": f"{framework}.py.txt"}
    return [program(place, wanted, **files), service(place, wanted), *([kept] if kept else []), job(place, wanted)]


def service(place: Place, wanted: Wanted) -> Manifest:
    """Return what gives each pod a name, `NAME-INDEX.NAME`, before it is ready: the pods wait for each other."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": wanted.name, "namespace": place.team.name},
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {"batch.kubernetes.io/job-name": wanted.name},
        },
    }


def job(place: Place, wanted: Wanted) -> Manifest:
    """Return the Job. A program that fails is started again in its pod, and a pod under its index; all go on from the
    last checkpoint. What Kueue or a drain stops is no failure.
    """
    pods = place.pods
    spec = pod(
        place,
        wanted,
        command=["sh", f"{PROGRAM}/launch.sh"],
        args=[f"{PROGRAM}/train.py"],
        env=variables(environment(place) | meeting(place, wanted)),
    )
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": wanted.name,
            "namespace": place.team.name,
            "labels": labels(place),
            "annotations": {GANG: str(pods)},
        },
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "completionMode": "Indexed",
            "backoffLimitPerIndex": retries(place, RETRIES),
            # One that has failed for good ends the job: the others would wait for it.
            "maxFailedIndexes": 0,
            "ttlSecondsAfterFinished": kept_seconds(place, scratch=scratch_size(place) is not None),
            "podReplacementPolicy": "Failed",
            "podFailurePolicy": {
                "rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]
            },
            "template": {"spec": {"subdomain": wanted.name, "restartPolicy": "Never", **spec}},
        },
    }


def meeting(place: Place, wanted: Wanted) -> dict[str, str]:
    """Return what the starting program reads: who takes part and where they meet. A pod that is made again may need as
    long as a job may take to start.
    """
    return {
        "NAME": wanted.name,
        "PODS": str(place.pods),
        "GPUS": str(place.each),
        "MEET": f"{wanted.name}-0.{wanted.name}",
        "PORT": str(PORT),
        "RESTARTS": str(RESTARTS),
        "PAUSE": str(PAUSE),
        "PATIENCE": str(place.cluster.scheduling.start_minutes * 60),
    }
