"""An MPIJob: a launcher without GPUs that starts a process for each GPU over ssh, for Horovod and all else on MPI."""

from generator.components.component import Manifest
from generator.components.job_pods import SECURITY, variables
from generator.components.mpi_operator import KEYS, programs, worker_security
from generator.workloads.indexed import RESTARTS
from generator.workloads.place import Place
from generator.workloads.pods import PROGRAM, environment, helper, labels, pod, program
from generator.workloads.storage import claim, scratch_size
from generator.workloads.wanted import Wanted


def mpi(place: Place, wanted: Wanted) -> list[Manifest]:
    """Return an MPIJob and what it needs."""
    kept = claim(place, wanted)
    made = program(place, wanted, **{"train.py": "mpi.py.txt"})
    return [made | {"data": programs() | made["data"]}, *([kept] if kept else []), job(place, wanted)]


def job(place: Place, wanted: Wanted) -> Manifest:
    """Return the MPIJob. The operator makes the gang of launcher and workers (facts: scheduling 1.8); a launcher that
    fails is started again, and goes on from the last checkpoint. A worker that uses too much memory ends with all of
    its processes, sshd as well, and is started again in its pod: the operator makes none anew that has failed, and each
    launcher would wait for it in vain (v0.8.2: `mpi_job_controller.go`). No worker is left when the job ends, also none
    that failed, where it would keep its disk: the operator deletes no MPIJob, and by a TTL the launcher alone.
    """
    said = environment(place) | {"NAME": wanted.name, "SSH": KEYS}
    launcher = helper(
        place,
        wanted,
        command=["sh", f"{PROGRAM}/launch.sh"],
        args=["python3", f"{PROGRAM}/train.py"],
        env=variables(said | {"PATIENCE": str(place.cluster.scheduling.start_minutes * 60)}),
    )
    worker = pod(
        place,
        wanted,
        command=["sh", f"{PROGRAM}/worker.sh"],
        env=variables(said),
        securityContext=worker_security(SECURITY),
    )
    return {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": {"name": wanted.name, "namespace": place.team.name, "labels": labels(place)},
        "spec": {
            "slotsPerWorker": place.each,
            "sshAuthMountPath": KEYS,
            "runPolicy": {
                "cleanPodPolicy": "Running" if scratch_size(place) is None else "All",
                "backoffLimit": RESTARTS,
            },
            "mpiReplicaSpecs": {
                "Launcher": {"replicas": 1, "restartPolicy": "Never", "template": {"spec": launcher}},
                "Worker": {"replicas": place.pods, "restartPolicy": "OnFailure", "template": {"spec": worker}},
            },
        },
    }
