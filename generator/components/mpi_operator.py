"""The MPI operator: a launcher and its workers, for Horovod and whatever else speaks MPI."""

from generator.components.closed import Controller, closed
from generator.components.common import CLUSTER_ROLES, CRD
from generator.components.component import Component, Manifest, Namespace, Patch, Tier
from generator.components.definition import Definition, Evidence, Pair, Version, Versions
from generator.components.jobs import OPERATORS_OWN, RUN_POLICY, Broken, JobKind, operator_leaves, plain, run_policy
from generator.components.operated import Api
from generator.components.parts import UNPRIVILEGED, deployment, pod_security, resources
from generator.components.static import read_folder
from generator.components.volcano import SCHEDULER
from generator.model.cluster import Cluster
from generator.model.fields import dig

VERSIONS = Versions(
    "mpi-operator",
    (
        Version(
            version="v0.8.2",
            manifests=(
                "https://raw.githubusercontent.com/kubeflow/mpi-operator/v0.8.2/deploy/v2beta1/mpi-operator.yaml",
            ),
            schemas=("mpi-operator/v0.8.2",),
        ),
    ),
)

NAMESPACE = "mpi-operator"
PODS = {"app": "mpi-operator"}
"""Labels of the operator's pods. It serves nobody."""
GROUP = "kubeflow.org"
JOB_LABEL = "training.kubeflow.org/job-name"
"""On each pod of an MPIJob; its value is the job's name."""
KEYS = "/ssh"
"""Where jobs of ours have the operator mount the keys that it makes for each."""
AT_STARTUP = (
    "leave launcherCreationPolicy out: the gang counts the launcher, which would wait for workers that wait for it"
)
DEMANDS = {
    "object.spec.?launcherCreationPolicy.orValue('AtStartup') == 'AtStartup'":
    AT_STARTUP,
    f"object.spec.mpiReplicaSpecs.all(name, {plain('object.spec.mpiReplicaSpecs[name].template')})": OPERATORS_OWN,
    **RUN_POLICY,
}  # fmt: skip


def broken(job: Manifest) -> Broken:
    """Yield where a job breaks them."""
    if str(dig(job, "spec", "launcherCreationPolicy") or "AtStartup") != "AtStartup":
        yield ("spec", "launcherCreationPolicy"), AT_STARTUP
    yield from run_policy(job)


def mpi_operator(cluster: Cluster) -> Component:
    """Install upstream's manifest. The definition of MPIJob is in the version v2beta1 alone."""
    version = VERSIONS.of(cluster)
    return Component(
        name="mpi-operator",
        tier=DEFINITION.tier,
        summary="MPIJobs: a launcher and its workers",
        version=version.version,
        namespaces=(Namespace(NAMESPACE),),
        manifests=version.manifests,
        objects=closed(cluster, Controller(name="mpi-operator", namespace=NAMESPACE, labels=PODS)),
        patches=(finished(), resuming()),
        needs=("volcano", "kueue"),
        kinds=DEFINITION.chart_kinds,
    )


def programs() -> dict[str, str]:
    """Return what starts an MPIJob of ours, by the names that the files know each other by below `/program`: the
    launcher runs `launch.sh` with the program's words, a worker `worker.sh`.
    """
    return read_folder("mpi")


def worker_security(security: Manifest) -> Manifest:
    """Return the security context of a worker. Images made for the operator mark their sshd with this capability, and a
    pod without it could not start that program.
    """
    return security | {"capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}}


def finished() -> Patch:
    """Finish upstream's Deployment: gangs by Volcano, and what a restricted namespace wants."""
    pod, container = "/spec/template/spec", "/spec/template/spec/containers/0"
    return Patch(
        target=deployment("mpi-operator", NAMESPACE),
        operations=(
            {"op": "add", "path": f"{container}/args/-", "value": f"--gang-scheduling={SCHEDULER}"},
            {"op": "add", "path": f"{container}/resources", "value": resources("50m", "64Mi", "512Mi")},
            {"op": "add", "path": f"{container}/securityContext", "value": UNPRIVILEGED},
            {"op": "add", "path": f"{pod}/securityContext", "value": pod_security(65532)},
        ),
    )


def resuming() -> Patch:
    """Let the operator start a launcher again that Kueue has stopped: it empties the Job's `startTime` first, for which
    upstream's role lacks the right (v0.8.2: `mpi_job_controller.go`).
    """
    rule = {"apiGroups": ["batch"], "resources": ["jobs/status"], "verbs": ["update"]}
    return Patch(
        target={
            "group": "rbac.authorization.k8s.io",
            "version": "v1",
            "kind": "ClusterRole",
            "name": "mpi-operator",
        },
        operations=({"op": "add", "path": "/rules/-", "value": rule},),
    )


DEFINITION = Definition(
    name="mpi-operator",
    tier=Tier.SCHEDULING,
    make=mpi_operator,
    wanted=lambda cluster: "mpi-operator" in cluster.frameworks,
    absence="frameworks do not name mpi-operator",
    versions=VERSIONS,
    pairs=(Pair(own=((0, 8), (1,)), other="kueue", others=((0, 10), (1,))),),  # facts: scheduling 0
    unpaired="Kueue needs the MPI operator 0.8 or newer",
    namespaces=(NAMESPACE,),
    chart_kinds=(CRD, *CLUSTER_ROLES),
    apis=(Api(group=GROUP, kinds=("MPIJob",), title="kubeflow.org of MPI"),),
    jobs=(
        JobKind(
            group=GROUP,
            kind="MPIJob",
            framework="kubeflow.org/mpijob",
            places_itself=True,
            demands=DEMANDS,
            broken=broken,
        ),
    ),
    changes=lambda: (operator_leaves("GEN-CHG-633", "mpi-operator", "mpijobs"),),
    shown_by=Evidence(images=("/mpi-operator",)),
    notes="From upstream's manifest at a tag. The older training operator brings an MPIJob of its own under the same "
    "name: of the two definitions one would overwrite the other. The operator has one right more than "
    "upstream gives it: without it no job that was stopped starts again.",
)
