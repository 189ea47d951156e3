"""KubeRay: Ray clusters, and jobs and services on them."""

from collections.abc import Iterator

from generator.components.closed import DNS, Controller, closed
from generator.components.common import CLUSTER_ROLES, CRD, prometheus_crds, release_of, replicas
from generator.components.component import Chart, Component, Manifest, Namespace, Release, Tier
from generator.components.definition import Definition, Evidence, Version, Versions
from generator.components.jobs import OPERATORS_OWN, Broken, JobKind, operator_leaves, plain
from generator.components.operated import OWN, Api, Made, MadePods, OperatedKind, name_of
from generator.components.parts import apart, resources, tcp
from generator.components.volcano import SCHEDULER
from generator.model.cluster import Cluster
from generator.model.fields import amount, dig, mapping, sequence

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


ONE_NUMBER = (
    "give each group of workers one number as replicas, minReplicas and maxReplicas, and leave "
    "enableInTreeAutoscaling out: quotas count a gang once, and it keeps its number of pods"
)
NO_INGRESS = "leave enableIngress out: an Ingress is not a team's to make, and the dashboard asks nobody who he is"
NO_POLICY = "leave networkPolicy out: what it opens adds to what the team's own policies open"
OF_VOLCANO = ["ray.io/priority-class-name", "volcano.sh/queue-name"]
NO_LABELS = "leave labels out by which Volcano would take another priority or queue than Kueue's"
NO_SELECTOR = "leave clusterSelector out: Kueue could not stop the job, nor count it"
SOON = (
    f"leave deletionStrategy out, and say ttlSecondsAfterFinished of {LONGEST} at most: Kueue gives the quota out "
    "again when the job ends, and its cluster would run on"
)
ONE_CLUSTER = "say upgradeStrategy: {type: None}: a second cluster beside the first one would run on the same quota"


def cluster_demands(at: str) -> dict[str, str]:
    """Return what must hold of a Ray cluster at this place. Kueue counts `replicas` once, and KubeRay makes as many
    pods as `minReplicas` says, or its autoscaler (Kueue v0.18.3: `raycluster/common.go`; KubeRay v1.7.0: `utils`).
    """
    groups = f"{at}.?workerGroupSpecs.orValue([])"
    same = "g.?replicas.orValue(0) == g.?minReplicas.orValue(0) && g.?replicas.orValue(0) == g.?maxReplicas.orValue(0)"
    return {
        f"!{at}.?enableInTreeAutoscaling.orValue(false) && {groups}.all(g, {same})": ONE_NUMBER,
        f"!{at}.?headGroupSpec.?enableIngress.orValue(false)": NO_INGRESS,
        f"!{at}.?networkPolicy.hasValue()": NO_POLICY,
        f"!object.metadata.?labels.orValue({{}}).exists(key, key in {OF_VOLCANO})": NO_LABELS,
        f"{plain(f'{at}.?headGroupSpec.?template')} && {groups}.all(g, {plain('g.template')})": OPERATORS_OWN,
    }  # fmt: skip


JOB_DEMANDS = {
    SUBMITTED: SUBMITTER,
    "object.spec.?clusterSelector.orValue({}).size() == 0": NO_SELECTOR,
    f"object.spec.?ttlSecondsAfterFinished.orValue(0) <= {LONGEST} && !object.spec.?deletionStrategy.hasValue()": SOON,
    **cluster_demands("object.spec.?rayClusterSpec"),
}  # fmt: skip
SERVICE_DEMANDS = {
    "object.spec.?upgradeStrategy.?type.orValue('') == 'None'": ONE_CLUSTER,
    **cluster_demands("object.spec.?rayClusterConfig"),
}  # fmt: skip


def cluster_broken(job: Manifest, *at: str) -> Broken:
    """Yield where the Ray cluster at this place breaks `cluster_demands`."""
    if dig(job, *at, "enableInTreeAutoscaling") is True:
        yield (*at, "enableInTreeAutoscaling"), ONE_NUMBER
    for index, group in enumerate(sequence(dig(job, *at, "workerGroupSpecs"))):
        counts = [mapping(group).get(key, 0) for key in ("replicas", "minReplicas")]
        # Without a word a group may have as many as there is room for.
        if [mapping(group).get("maxReplicas")] * 2 != counts:
            yield (*at, "workerGroupSpecs", index), ONE_NUMBER
    if dig(job, *at, "headGroupSpec", "enableIngress") is True:
        yield (*at, "headGroupSpec", "enableIngress"), NO_INGRESS
    if dig(job, *at, "networkPolicy") is not None:
        yield (*at, "networkPolicy"), NO_POLICY
    for label in OF_VOLCANO:
        if dig(job, "metadata", "labels", label) is not None:
            yield ("metadata", "labels", label), NO_LABELS


def job_broken(job: Manifest) -> Broken:
    """Yield where a RayJob breaks `JOB_DEMANDS`."""
    mode = dig(job, "spec", "submissionMode") or "K8sJobMode"
    submitter = sequence(dig(job, "spec", "submitterPodTemplate", "spec", "containers"))
    fine = mode == "K8sJobMode" and submitter and all(exact(dig(one, "resources")) for one in submitter)
    if mode != "HTTPMode" and not fine:
        yield ("spec", "submitterPodTemplate"), SUBMITTER
    if dig(job, "spec", "clusterSelector"):
        yield ("spec", "clusterSelector"), NO_SELECTOR
    if (amount(dig(job, "spec", "ttlSecondsAfterFinished")) or 0) > LONGEST * 1000:  # in thousandths
        yield ("spec", "ttlSecondsAfterFinished"), SOON
    if dig(job, "spec", "deletionStrategy") is not None:
        yield ("spec", "deletionStrategy"), SOON
    yield from cluster_broken(job, "spec", "rayClusterSpec")


def exact(resources: object) -> bool:
    """Tell whether a container says CPU, and one amount of memory as request and limit."""
    limits, requests = mapping(dig(resources, "limits")), mapping(dig(resources, "requests"))
    memory = limits.get("memory")
    return memory is not None and requests.get("memory", memory) == memory and "cpu" in {**limits, **requests}


def service_broken(service: Manifest) -> Broken:
    """Yield where a RayService breaks `SERVICE_DEMANDS`."""
    if dig(service, "spec", "upgradeStrategy", "type") != "None":
        yield ("spec", "upgradeStrategy", "type"), ONE_CLUSTER
    yield from cluster_broken(service, "spec", "rayClusterConfig")


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
            broken=job_broken,
        ),
        JobKind(
            group=GROUP,
            kind="RayCluster",
            framework=f"{GROUP}/raycluster",
            places_itself=True,
            demands=cluster_demands("object.spec"),
            broken=lambda job: cluster_broken(job, "spec"),
        ),
        JobKind(
            group=GROUP,
            kind="RayService",
            framework=f"{GROUP}/rayservice",
            places_itself=True,
            demands=SERVICE_DEMANDS,
            broken=service_broken,
            counted="spec.?rayClusterConfig",  # what it serves may change as it runs
        ),
    ),
    changes=lambda: (operator_leaves("GEN-CHG-632", "kuberay", "rayjobs,rayclusters,rayservices"),),
    shown_by=Evidence(images=("/kuberay/operator",)),
    notes="The operator makes a PodGroup for each Ray cluster and names Volcano as the scheduler of its pods. It asks "
    "the head of each how its jobs are: the teams' network policies let it. A RayJob says "
    "`shutdownAfterJobFinishes: true`, or Kueue refuses it.",
)
