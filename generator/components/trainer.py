"""Kubeflow Trainer: TrainJobs, each of a runtime that says how a framework runs on a pool of nodes."""

from collections.abc import Iterator

from generator.components.closed import Controller, closed
from generator.components.common import CLUSTER_ROLES, CRD, WEBHOOKS, fullname, replicas
from generator.components.component import Chart, Component, Ignore, Manifest, Namespace, Release, Secret, Tier
from generator.components.definition import Definition, Evidence, Pair, Version, Versions
from generator.components.jobs import OPERATORS_OWN, Broken, JobKind, operator_leaves, plain
from generator.components.operated import OWN, Api, Named, OperatedKind
from generator.components.parts import apart, injected_ca, resources, webhooks_anew
from generator.model.cluster import Cluster
from generator.model.fields import dig

VERSIONS = Versions(
    "trainer",
    (
        Version(
            version="v2.2.1",
            charts=(Chart(name="kubeflow-trainer", repository="oci://ghcr.io/kubeflow/charts", version="2.2.1"),),
            schemas=("kubeflow-trainer/v2.2.1",),
        ),
    ),
)

NAMESPACE = "kubeflow-system"
RELEASE = "kubeflow-trainer"
"""The Helm release, which the objects are named after."""
GROUP = "trainer.kubeflow.org"
MANAGER = {"app.kubernetes.io/name": "kubeflow-trainer", "app.kubernetes.io/component": "manager"}
WEBHOOK_PORT, METRICS_PORT = 9443, 8443
ASKED: Manifest = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainJob",
    "metadata": {"name": "asked"},
    "spec": {"runtimeRef": {"name": "asked"}},
}
"""What its webhooks judge, once they answer."""
ANCESTOR = f"{GROUP}/trainjob-ancestor-step"
"""A label of the jobs of a runtime that a TrainJob's `trainer` is about; their container is called `NODE`."""
NODE = "node"
CLUSTER_RUNTIME = "ClusterTrainingRuntime"
IMAGE = "name an image as spec.trainer.image: the cluster's runtimes have none"
_PATCHED = "p.?trainingRuntimeSpec.?template.?spec.?replicatedJobs.orValue([])"
_OURS = f"{plain('job.?template')} && {plain('job.?template.?spec.?template')}"
DEMANDS = {
    f"object.spec.runtimeRef.?kind.orValue('{CLUSTER_RUNTIME}') != '{CLUSTER_RUNTIME}'"
    " || object.spec.?trainer.?image.hasValue()":
    IMAGE,
    # Kueue writes its own into a patch as well, when it lets the job in.
    "request.operation == 'UPDATE' && object.spec == oldObject.spec"
    f" || object.spec.?runtimePatches.orValue([]).all(p, {_PATCHED}.all(job, {_OURS}))":
    OPERATORS_OWN,
}  # fmt: skip


def broken(job: Manifest) -> Broken:
    """Yield where a job breaks them."""
    runtime = str(dig(job, "spec", "runtimeRef", "kind") or CLUSTER_RUNTIME)
    if runtime == CLUSTER_RUNTIME and dig(job, "spec", "trainer", "image") is None:
        yield ("spec", "trainer", "image"), IMAGE


def trainer(cluster: Cluster) -> Component:
    """Install Trainer. It looks Volcano's PodGroups up once, when it starts: without them it makes none for ever."""
    version = VERSIONS.of(cluster)
    secret = certificate(cluster)
    return Component(
        name="trainer",
        tier=DEFINITION.tier,
        summary="Kubeflow Trainer: distributed training of PyTorch and JAX",
        version=version.version,
        namespaces=(Namespace(NAMESPACE),),
        objects=shut(cluster),
        releases=(
            Release(
                version.chart("kubeflow-trainer"),
                RELEASE,
                NAMESPACE,
                values(version.version, replicas(cluster)),
                secrets={secret.name: "placeholder"},
            ),
        ),
        needs=("jobset", "volcano", "kueue"),
        secrets=(secret,),
        ignore=(Ignore(group="", kind="Secret", name=secret.name, pointers=("/data",)), *injected_ca(*WEBHOOKS)),
        kinds=DEFINITION.chart_kinds,
    )


def installed(cluster: Cluster) -> tuple[str, str]:
    """Return name and namespace of the Helm release."""
    adopted = cluster.settings("trainer").adopt
    return (adopted.release, adopted.namespace) if adopted else (RELEASE, NAMESPACE)


def shut(cluster: Cluster) -> tuple[Manifest, ...]:
    """Shut the manager's pods but for calls of its webhooks. Nobody reports to it how jobs are: that is a feature which
    upstream leaves off (v2.2.1: TrainJobStatus), and no policy of a team lets its pods do so.
    """
    _, namespace = installed(cluster)
    return closed(
        cluster,
        Controller(
            name="trainer", namespace=namespace, labels=MANAGER, called=(WEBHOOK_PORT,), metrics=(METRICS_PORT,)
        ),
    )


def values(tag: str, count: int) -> Manifest:
    """Return the chart's values. JobSet is a component of its own, and so are the runtimes: upstream's ask Volcano for
    a gang and name no scheduler, so that Kubernetes' own would place their pods one by one.
    """
    return {
        "jobset": {"install": False},
        "image": {"tag": tag},
        "manager": {"replicas": count, "affinity": apart(MANAGER), "resources": resources("100m", "256Mi", "1Gi")},
        "runtimes": {"defaultEnabled": False},
        "dataCache": {"enabled": False},
    }


def certificate(cluster: Cluster) -> Secret:
    """Declare what Trainer makes for its webhooks; the chart emits it empty."""
    release, namespace = installed(cluster)
    name = fullname(release, "kubeflow-trainer")
    return Secret(
        name=f"{name}-webhook-cert",
        namespace=namespace,
        keys=("ca.crt", "ca.key", "tls.crt", "tls.key"),
        source="in-cluster",
        by="trainer",
        loss="harmless",
        rotate=f"delete its data and restart Deployment {name}-controller-manager: Trainer makes a new one",
        readers=(f"Deployment {name}-controller-manager",),
        turn=webhooks_anew(
            "Trainer",
            f"{name}-controller-manager",
            trusted=(
                "validatingwebhookconfigurations/validator.trainer.kubeflow.org",
                "mutatingwebhookconfigurations/defaulter.trainer.kubeflow.org",
            ),
            asks=("/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainjobs", ASKED),
        ),
    )


def runtime(manifest: Manifest) -> Iterator[Named]:
    """Yield the runtime that a TrainJob is made from."""
    at = ("spec", "runtimeRef", "name")
    if dig(manifest, "spec", "runtimeRef", "kind") == "TrainingRuntime":
        yield Named(at, "TrainingRuntime", dig(manifest, *at), OWN)
    else:
        yield Named(at, CLUSTER_RUNTIME, dig(manifest, *at))


DEFINITION = Definition(
    name="trainer",
    tier=Tier.SCHEDULING,
    make=trainer,
    wanted=lambda cluster: "trainer" in cluster.frameworks,
    absence="frameworks do not name trainer",
    versions=VERSIONS,
    # facts: scheduling 0.
    pairs=(
        Pair(own=((2, 2), (2, 3)), other="kueue", others=((0, 17), (0, 20))),
        Pair(own=((2, 3), (3,)), other="kueue", others=((0, 20), (1,))),
    ),
    unpaired="Kueue 0.17 to 0.19 read and stop TrainJobs of Trainer 2.2 alone, 0.20 those of 2.3",
    namespaces=(NAMESPACE,),
    chart_kinds=(CRD, *WEBHOOKS, *CLUSTER_ROLES),
    apis=(Api(group=GROUP),),
    kinds=(OperatedKind(kind="TrainJob", group=GROUP, also_names=runtime),),
    jobs=(
        JobKind(
            group=GROUP,
            kind="TrainJob",
            framework=f"{GROUP}/trainjob",
            templates=("trainingruntimes",),
            cluster_templates=("clustertrainingruntimes",),
            demands=DEMANDS,
            broken=broken,
        ),
    ),
    changes=lambda: (operator_leaves("GEN-CHG-631", "trainer", "trainjobs"),),
    shown_by=Evidence(images=("/trainer-controller-manager",)),
    notes="In the version whose TrainJobs the cluster's Kueue knows: Trainer 2.2 with Kueue before 0.20, 2.3 from "
    "there on. Upstream's runtimes are not installed: `training-runtimes` has those of this cluster's pools.",
)
