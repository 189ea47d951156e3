"""KubeRay: Ray clusters, and jobs and services on them."""

from collections.abc import Iterator

from generator.components.closed import DNS, Controller, closed
from generator.components.common import CLUSTER_ROLES, CRD, prometheus_crds, release_of, replicas
from generator.components.component import Chart, Component, Manifest, Namespace, Release, Tier
from generator.components.definition import Definition, Evidence, Version, Versions
from generator.components.jobs import OPERATORS_OWN, JobKind, operator_leaves, plain
from generator.components.operated import OWN, Api, Made, MadePods, OperatedKind, name_of
from generator.components.parts import apart, resources, tcp
from generator.components.volcano import SCHEDULER
from generator.model.cluster import Cluster

# Kueue 0.17 to 0.19 are built with the API of 1.6, which 1.7 only adds to (facts: scheduling 0).
VERSIONS = Versions(
    "kuberay",
    (
        Version(
            version="v1.7.0",
            charts=(
                Chart(
                    name="kuberay-operator",
                    repository="https://ray-project.github.io/kuberay-helm/",
                    version="1.7.0",
                ),
            ),
            schemas=("kuberay/v1.7.0",),
        ),
    ),
)

NAMESPACE = "kuberay-system"
GROUP = "ray.io"
OPERATOR = {"app.kubernetes.io/component": "kuberay-operator"}
"""Labels of the operator's pods."""
CALLED_PORTS = (8265, 8000)
"""Where the operator asks the head of a Ray cluster how its jobs are (the dashboard) and its services (Serve)."""
METRICS_PORT = 8080
CLUSTER_LABEL = "ray.io/cluster"
"""On each pod of a Ray cluster; its value is the cluster's name."""
LONGEST = 600
"""Seconds that a cluster may live on after its job, which gave its quota back."""
SUBMITTED = (
    "object.spec.?submissionMode.orValue('K8sJobMode') == 'HTTPMode'"
    " || object.spec.?submissionMode.orValue('K8sJobMode') == 'K8sJobMode' && has(object.spec.submitterPodTemplate)"
    " && object.spec.submitterPodTemplate.spec.containers.all(c, c.?resources.?limits[?'memory'].hasValue()"
    " && string(c.?resources.?requests[?'memory'].orValue(c.resources.limits['memory']))"
    " == string(c.resources.limits['memory'])"
    " && (c.?resources.?limits[?'cpu'].hasValue() || c.?resources.?requests[?'cpu'].hasValue()))"
)
SUBMITTER = (
    "give spec.submitterPodTemplate, whose containers have cpu, and one amount of memory as request and limit, or say "
    "submissionMode: HTTPMode: the submitter that KubeRay makes otherwise uses memory beyond its request"
)


def cluster_demands(at: str) -> dict[str, str]:
    """Return what must hold of a Ray cluster at this place. Kueue counts `replicas` once, and KubeRay makes as many
    pods as `minReplicas` says, or its autoscaler (Kueue v0.18.3: `raycluster/common.go`; KubeRay v1.7.0: `utils`).
    """
    groups = f"{at}.?workerGroupSpecs.orValue([])"
    same = "g.?replicas.orValue(0) == g.?minReplicas.orValue(0) && g.?replicas.orValue(0) == g.?maxReplicas.orValue(0)"
    labels = ["ray.io/priority-class-name", "volcano.sh/queue-name"]
    return {
        f"!{at}.?enableInTreeAutoscaling.orValue(false) && {groups}.all(g, {same})":
        "give each group of workers one number as replicas, minReplicas and maxReplicas, and leave "
        "enableInTreeAutoscaling out: quotas count a gang once, and it keeps its number of pods",
        f"!{at}.?headGroupSpec.?enableIngress.orValue(false)":
        "leave enableIngress out: an Ingress is not a team's to make, and the dashboard asks nobody who he is",
        f"!{at}.?networkPolicy.hasValue()":
        "leave networkPolicy out: what it opens adds to what the team's own policies open",
        f"!object.metadata.?labels.orValue({{}}).exists(key, key in {labels})":
        "leave labels out by which Volcano would take another priority or queue than Kueue's",
        f"{plain(f'{at}.?headGroupSpec.?template')} && {groups}.all(g, {plain('g.template')})": OPERATORS_OWN,
    }  # fmt: skip


JOB_DEMANDS = {
    SUBMITTED: SUBMITTER,
    "object.spec.?clusterSelector.orValue({}).size() == 0":
    "leave clusterSelector out: Kueue could not stop the job, nor count it",
    f"object.spec.?ttlSecondsAfterFinished.orValue(0) <= {LONGEST} && !object.spec.?deletionStrategy.hasValue()":
    f"leave deletionStrategy out, and say ttlSecondsAfterFinished of {LONGEST} at most: Kueue gives the quota out "
    "again when the job ends, and its cluster would run on",
    **cluster_demands("object.spec.?rayClusterSpec"),
}  # fmt: skip
SERVICE_DEMANDS = {
    "object.spec.?upgradeStrategy.?type.orValue('') == 'None'":
    "say upgradeStrategy: {type: None}: a second cluster beside the first one would run on the same quota",
    **cluster_demands("object.spec.?rayClusterConfig"),
}  # fmt: skip


def kuberay(cluster: Cluster) -> Component:
    """Install the operator, which makes a PodGroup for each Ray cluster: Volcano places head and workers together."""
    version = VERSIONS.of(cluster)
    return Component(
        name="kuberay",
        tier=DEFINITION.tier,
        summary="Ray clusters, jobs and services",
        version=version.version,
        namespaces=(Namespace(NAMESPACE),),
        objects=shut(cluster),
        releases=(Release(version.chart("kuberay-operator"), "kuberay", NAMESPACE, values(cluster, version.version)),),
        needs=("volcano", "kueue", *prometheus_crds(cluster)),
        kinds=DEFINITION.chart_kinds,
    )


def shut(cluster: Cluster) -> tuple[Manifest, ...]:
    """Shut the operator's pods: its webhooks are off. It asks heads of Ray clusters, by name."""
    _, namespace = release_of(cluster, "kuberay", NAMESPACE)
    heads = {"to": [{"namespaceSelector": {}}], "ports": [tcp(port) for port in CALLED_PORTS]}
    return closed(
        cluster,
        Controller(name="kuberay", namespace=namespace, labels=OPERATOR, metrics=(METRICS_PORT,), asks=(DNS, heads)),
    )


def values(cluster: Cluster, tag: str) -> Manifest:
    """Return the chart's values. The operator holds every Ray object and pod in memory."""
    return {
        "replicas": replicas(cluster),
        "image": {"tag": tag},
        "batchScheduler": {"name": SCHEDULER},
        "affinity": apart(OPERATOR),
        "resources": resources("100m", "256Mi", "1Gi"),
        "metrics": {"serviceMonitor": {"enabled": cluster.monitoring.prometheus is not None}},
    }


def head_service(manifest: Manifest) -> Iterator[Made]:
    """Yield the Service of a Ray cluster's head."""
    yield Made("Service", f"{name_of(manifest)}-head-svc", OWN)


def services(manifest: Manifest) -> Iterator[Made]:
    """Yield the Services of a RayService: of its head, and of what it serves."""
    yield from head_service(manifest)
    yield Made("Service", f"{name_of(manifest)}-serve-svc", OWN)


def ray_pods(manifest: Manifest) -> Iterator[MadePods]:
    """Yield the pods of a Ray cluster."""
    for node in ("head", "worker"):
        yield MadePods({CLUSTER_LABEL: name_of(manifest), "ray.io/node-type": node})


DEFINITION = Definition(
    name="kuberay",
    tier=Tier.SCHEDULING,
    make=kuberay,
    wanted=lambda cluster: "kuberay" in cluster.frameworks,
    absence="frameworks do not name kuberay",
    versions=VERSIONS,
    namespaces=(NAMESPACE,),
    chart_kinds=(CRD, *CLUSTER_ROLES),
    apis=(Api(group=GROUP),),
    kinds=(
        OperatedKind(kind="RayCluster", group=GROUP, makes=head_service, pods=ray_pods),
        OperatedKind(kind="RayService", group=GROUP, makes=services),
    ),
    jobs=(
        JobKind(
            group=GROUP,
            kind="RayJob",
            framework=f"{GROUP}/rayjob",
            places_itself=True,
            demands=JOB_DEMANDS,
        ),
        JobKind(
            group=GROUP,
            kind="RayCluster",
            framework=f"{GROUP}/raycluster",
            places_itself=True,
            demands=cluster_demands("object.spec"),
        ),
        JobKind(
            group=GROUP,
            kind="RayService",
            framework=f"{GROUP}/rayservice",
            places_itself=True,
            demands=SERVICE_DEMANDS,
            counted="spec.?rayClusterConfig",  # what it serves may change as it runs
        ),
    ),
    changes=lambda: (operator_leaves("GEN-CHG-632", "kuberay", "rayjobs,rayclusters,rayservices"),),
    shown_by=Evidence(images=("/kuberay/operator",)),
    notes="The operator makes a PodGroup for each Ray cluster and names Volcano as the scheduler of its pods. It asks "
    "the head of each how its jobs are: the teams' network policies let it. A RayJob says "
    "`shutdownAfterJobFinishes: true`, or Kueue refuses it.",
)
