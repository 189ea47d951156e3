"""JobSet: several Jobs that start, fail and are held as one; Kubeflow Trainer makes its jobs of them."""

from generator.components.closed import Controller, closed
from generator.components.common import CLUSTER_ROLES, CRD, WEBHOOKS, fullname, release_of, replicas
from generator.components.component import Chart, Component, Ignore, Manifest, Namespace, Release, Secret, Tier
from generator.components.definition import Definition, Evidence, Version, Versions
from generator.components.jobs import OPERATORS_OWN, Broken, JobKind, operator_leaves, plain, together
from generator.components.operated import Api
from generator.components.parts import NO_POD, apart, injected_ca, resources, webhooks_anew
from generator.components.volcano import GANG
from generator.model.cluster import Cluster
from generator.model.fields import amount, dig, mapping, sequence, spots
from generator.model.gpus import VENDOR

VERSIONS = Versions(
    "jobset",
    (
        Version(
            version="v0.12.0",
            charts=(Chart(name="jobset", repository="oci://registry.k8s.io/jobset/charts", version="0.12.0"),),
            schemas=("jobset/v0.12.0",),
        ),
    ),
)

NAMESPACE = "jobset-system"
CONTROLLER = {"app.kubernetes.io/name": "jobset", "app.kubernetes.io/component": "controller"}
WEBHOOK_PORT, METRICS_PORT = 9443, 8443
_GPU_JOBS = (
    "object.spec.replicatedJobs.filter(job, (job.template.spec.template.spec.containers"
    " + job.template.spec.template.spec.?initContainers.orValue([])).exists(c,"
    f" c.?resources.?limits.orValue({{}}).exists(r, r.startsWith('{VENDOR}'))))"
)
_PARALLEL = "job.template.spec.?parallelism.orValue(1)"
_NEEDED = f"job.template.spec.?completions.orValue({_PARALLEL})"
_PODS = f"({_NEEDED} < {_PARALLEL} ? {_NEEDED} : {_PARALLEL})"
_OURS = f"{plain('job.template')} && {plain('job.template.spec.template')}"
ASKED: Manifest = {
    "apiVersion": "jobset.x-k8s.io/v1alpha2",
    "kind": "JobSet",
    "metadata": {"name": "asked"},
    "spec": {"replicatedJobs": [{"name": "x", "template": {"spec": {"template": {"spec": NO_POD}}}}]},
}
"""What its webhooks let pass, once they answer."""
TEMPLATE = ("template", "spec")
ONE_JOB = (
    "let one Job of the JobSet ask for GPUs, and give it as many pods as are needed (parallelism): the pods of two Jobs"
    " do not start together"
)
ITS_GANG = (
    f"put the annotation {GANG} on the template of the Job that asks for GPUs (replicatedJobs[].template.metadata), "
    "with the number of its pods (its parallelism) in quotes: without it a part of them starts and holds its GPUs"
)
DEMANDS = {
    f"{_GPU_JOBS}.map(job, job.?replicas.orValue(1)).sum() < 2": ONE_JOB,
    f"{_GPU_JOBS}.all(job, {_PODS} < 2"
    f" || job.template.?metadata.?annotations[?'{GANG}'].orValue('') == string({_PODS}))": ITS_GANG,
    f"object.spec.replicatedJobs.all(job, ({_OURS}))": OPERATORS_OWN,
}  # fmt: skip


def broken(job: Manifest) -> Broken:
    """Yield where a JobSet breaks them."""
    jobs = [*enumerate(sequence(dig(job, "spec", "replicatedJobs")))]
    gangs = [(index, one) for index, one in jobs if _asks_for_gpus(mapping(dig(one, *TEMPLATE, *TEMPLATE)))]
    if sum(amount(mapping(one).get("replicas", 1)) or 0 for _, one in gangs) > 1000:  # in thousandths
        yield ("spec", "replicatedJobs"), ONE_JOB
    for index, one in gangs:
        count = together(mapping(dig(one, *TEMPLATE)))
        if count > 1 and dig(one, "template", "metadata", "annotations", GANG) != str(count):
            yield ("spec", "replicatedJobs", index, "template", "metadata", "annotations", GANG), ITS_GANG


def _asks_for_gpus(pod: Manifest) -> bool:
    """Tell whether a pod asks for GPUs or parts of them."""
    limits = (spots(pod, f"{key}.*.resources.limits") for key in ("containers", "initContainers"))
    return any(str(name).startswith(VENDOR) for found in limits for _, each in found for name in mapping(each))


def jobset(cluster: Cluster) -> Component:
    """Install JobSet where it is asked for, or what is made of it."""
    version = VERSIONS.of(cluster)
    secret = certificate(cluster)
    return Component(
        name="jobset",
        tier=DEFINITION.tier,
        summary="JobSets: several Jobs as one",
        version=version.version,
        namespaces=(Namespace(NAMESPACE),),
        objects=shut(cluster),
        releases=(
            Release(
                version.chart("jobset"),
                "jobset",
                NAMESPACE,
                values(version.version, replicas(cluster)),
                secrets={secret.name: "placeholder"},
            ),
        ),
        secrets=(secret,),
        ignore=(Ignore(group="", kind="Secret", name=secret.name, pointers=("/data",)), *injected_ca(*WEBHOOKS)),
        kinds=DEFINITION.chart_kinds,
    )


def shut(cluster: Cluster) -> tuple[Manifest, ...]:
    """Shut the controller's pods but for calls of its webhooks."""
    _, namespace = release_of(cluster, "jobset", NAMESPACE)
    return closed(
        cluster,
        Controller(
            name="jobset", namespace=namespace, labels=CONTROLLER, called=(WEBHOOK_PORT,), metrics=(METRICS_PORT,)
        ),
    )


def values(tag: str, count: int) -> Manifest:
    """Return the chart's values. The image is named because the chart in Git names a staging one. Its own monitor stays
    off: the chart refuses to make one while it is inflated without a cluster.
    """
    return {
        "image": {"repository": "registry.k8s.io/jobset/jobset", "tag": tag, "pullPolicy": "IfNotPresent"},
        "controller": {
            "replicas": count,
            "affinity": apart(CONTROLLER),
            "podDisruptionBudget": {"enabled": count > 1, "minAvailable": 1},
            "resources": resources("100m", "128Mi", "1Gi"),
        },
        "certManager": {"enable": False},
        "prometheus": {"enable": False},
    }


def certificate(cluster: Cluster) -> Secret:
    """Declare what JobSet makes for its webhooks; the chart emits it empty."""
    release, namespace = release_of(cluster, "jobset", NAMESPACE)
    name = fullname(release, "jobset")
    return Secret(
        name=f"{name}-webhook-server-cert",
        namespace=namespace,
        keys=("ca.crt", "ca.key", "tls.crt", "tls.key"),
        source="in-cluster",
        by="jobset",
        loss="harmless",
        rotate=f"delete its data and restart Deployment {name}-controller: JobSet makes a new one",
        readers=(f"Deployment {name}-controller",),
        turn=webhooks_anew(
            "JobSet",
            f"{name}-controller",
            trusted=(
                "validatingwebhookconfigurations/jobset-validating-webhook-configuration",
                "mutatingwebhookconfigurations/jobset-mutating-webhook-configuration",
            ),
            asks=("/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets", ASKED),
        ),
    )


DEFINITION = Definition(
    name="jobset",
    tier=Tier.SCHEDULING,
    make=jobset,
    wanted=lambda cluster: {"jobset", "trainer"} & {*cluster.frameworks},
    absence="frameworks name neither jobset nor trainer",
    versions=VERSIONS,
    namespaces=(NAMESPACE,),
    chart_kinds=(CRD, *WEBHOOKS, *CLUSTER_ROLES),
    apis=(Api(group="jobset.x-k8s.io"),),
    jobs=(
        JobKind(
            group="jobset.x-k8s.io", kind="JobSet", framework="jobset.x-k8s.io/jobset", demands=DEMANDS, broken=broken
        ),
    ),
    changes=lambda: (operator_leaves("GEN-CHG-630", "jobset", "jobsets"),),
    shown_by=Evidence(images=("/jobset/jobset",)),
    notes="Comes with Kubeflow Trainer, whose jobs are JobSets. Pods of one JobSet are a gang where its one group of "
    "jobs has one Job, with the annotation of the gang in that group's template: teams make no PodGroups, which could "
    "span several.",
)
