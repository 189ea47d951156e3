"""Kueue: decides which job may start, on whose quota, and which one must stop for it."""

from collections.abc import Iterator

from generator.components.closed import Controller, closed
from generator.components.cluster_autoscaler.names import NAME as AUTOSCALER
from generator.components.common import (
    CLUSTER_ROLES,
    CRD,
    OWN_LABELS,
    WEBHOOKS,
    prometheus_crds,
    release_of,
    replicas,
)
from generator.components.component import Chart, Component, Manifest, Namespace, Release, Tier
from generator.components.definition import Definition, Evidence, Version, Versions
from generator.components.jobs import JOB, SERVICES, Jobs
from generator.components.kueue_webhooks import certificate, injected
from generator.components.operated import OWN, Api, Named, Names, OperatedKind
from generator.components.parts import spread
from generator.model.change import ChangeRule
from generator.model.cluster import Cluster
from generator.model.fields import dig, sequence, spots

VERSIONS = Versions(
    "kueue",
    (
        Version(
            version="v0.18.3",
            charts=(Chart(name="kueue", repository="oci://registry.k8s.io/kueue/charts", version="0.18.3"),),
            schemas=("kueue/v0.18.3",),
            proven="v0.18.3",
        ),
        # The same webhooks and keys; CRDs differ in limits and in what MultiKueue reads.
        Version(
            version="v0.19.2",
            charts=(Chart(name="kueue", repository="oci://registry.k8s.io/kueue/charts", version="0.19.2"),),
            schemas=("kueue/v0.19.2",),
        ),
    ),
)

NAMESPACE = "kueue-system"
MANAGER = {"control-plane": "controller-manager", "app.kubernetes.io/name": "kueue"}
"""Labels of Kueue's pods."""
CALLED_PORTS, METRICS_PORT = (9443, 8082), 8443
"""Where API servers call its webhooks, and ask what waits: it serves a part of the API."""
TEAM = f"{OWN_LABELS}/team"
"""The label of a team's namespace; its value is the team's name."""
PREFIX = "kueue.x-k8s.io/"
"""Begins Kueue's labels, annotations and gates of pods."""
QUEUE = f"{PREFIX}queue-name"
"""The label of a job; its value is the LocalQueue that it starts through."""
PRIORITY = f"{PREFIX}priority-class"
"""The label of a job; its value is the class that orders it in its queue and in preemption."""
LEVELS = tuple(f"{PREFIX}podset-{way}-topology" for way in ("required", "preferred", "slice-required"))
"""Annotations of pods; the value of each is a level of a Topology: the label of nodes that have it in common."""
QUOTAS: Names = (
    ("Cohort", "spec.cohort"),
    ("Cohort", "spec.cohortName"),
    ("Cohort", "spec.parentName"),
    ("ResourceFlavor", "spec.resourceGroups.*.flavors.*.name"),
    ("AdmissionCheck", "spec.admissionChecksStrategy.admissionChecks.*.name"),
)

# Kueue refuses unknown keys and then does not start (facts: scheduling 2.1). `internalCertManagement` is the chart's to
# add: it names Service and Secret after the release, which may be an adopted one.
#
# `managedJobsNamespaceSelector`: the chart copies it into every webhook, all of which fail closed. By a label of team
# namespaces, so that a stopped Kueue stops nothing but teams' jobs (never the network or storage), and so that
# a new team does not restart Kueue. Inside, all is managed, with a queue's name or without.
#
# `waitForPodsReady`: a job that Volcano cannot place gives its quota back, and is not tried for ever.
#
# `frameworks`: the kinds that Kueue can hold; those whose CRDs are absent wait in the background, and are looked for
# every two minutes at last (v0.18.3: `jobframework/setup.go`). `pod`, `deployment` and `statefulset` so that services
# and loose pods count as well.
#
# `excludeResourcePrefixes`: an RDMA ticket only lets a pod see the HCAs of its node (63 for each node, whatever the
# hardware), so there is nothing to share out; the others are no teams' quota, and a resource that is neither in the
# quotas nor here leaves a job waiting for ever.
CONFIGURATION = """\
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
namespace: {namespace}
health:
  healthProbeBindAddress: :8081
metrics:
  bindAddress: :8443
  enableClusterQueueResources: true
webhook:
  port: 9443
leaderElection:
  leaderElect: true
  resourceName: c1f6bfd2.kueue.x-k8s.io
controller:
  groupKindConcurrency:
    Job.batch: 5
    Pod: 5
    Workload.kueue.x-k8s.io: 5
    LocalQueue.kueue.x-k8s.io: 1
    ClusterQueue.kueue.x-k8s.io: 1
    ResourceFlavor.kueue.x-k8s.io: 1
clientConnection:
  qps: 50
  burst: 100
manageJobsWithoutQueueName: true
managedJobsNamespaceSelector:
  matchExpressions:
    - key: {team}
      operator: Exists
waitForPodsReady:
  timeout: {minutes}m
  recoveryTimeout: {minutes}m
  blockAdmission: false
  requeuingStrategy:
    timestamp: Eviction
    backoffLimitCount: 5
    backoffBaseSeconds: 60
    backoffMaxSeconds: 3600
{sharing}integrations:
  frameworks:
{frameworks}
resources:
  excludeResourcePrefixes:
    - rdma/
    - hugepages-
    - ephemeral-storage
"""
FAIR_SHARING = """\
fairSharing:
  preemptionStrategies:
    - LessThanOrEqualToFinalShare
    - LessThanInitialShare
"""
"""That the key is there turns it on (facts: scheduling 2.1). The first strategy stops a job only where that leaves the
other team with as much as the own one has then; the second also where a large job could never be made room for so.
"""


def kueue(cluster: Cluster, jobs: Jobs) -> Component:
    """Install Kueue wherever teams share the cluster."""
    version = VERSIONS.of(cluster)
    secret = certificate(*release_of(cluster, "kueue", NAMESPACE))
    return Component(
        name="kueue",
        tier=DEFINITION.tier,
        summary="Job queues with quotas, borrowing and preemption",
        version=version.version,
        namespaces=(Namespace(NAMESPACE),),
        objects=shut(cluster),
        releases=(
            Release(
                version.chart("kueue"),
                "kueue",
                NAMESPACE,
                values(cluster, version.version, jobs),
                secrets={secret.name: "placeholder"},
            ),
        ),
        # Kueue asks for machines only where that kind is served when it starts.
        needs=(*prometheus_crds(cluster), *((AUTOSCALER,) if cluster.autoscaler else ())),
        secrets=(secret,),
        ignore=injected(secret.name),
        # The visibility server reads the API server's client CA there.
        reach=DEFINITION.reach,
        kinds=DEFINITION.chart_kinds,
    )


def shut(cluster: Cluster) -> tuple[Manifest, ...]:
    """Shut its pods but for API servers and who reads its metrics."""
    _, namespace = release_of(cluster, "kueue", NAMESPACE)
    return closed(
        cluster,
        Controller(name="kueue", namespace=namespace, labels=MANAGER, called=CALLED_PORTS, metrics=(METRICS_PORT,)),
    )


def configuration(cluster: Cluster, jobs: Jobs) -> str:
    """Return the manager's configuration, as the text that the chart wants."""
    _, namespace = release_of(cluster, "kueue", NAMESPACE)
    minutes = cluster.scheduling.start_minutes
    listed = "\n".join(f"    - {name}" for name in frameworks(jobs))
    sharing = FAIR_SHARING if cluster.scheduling.fair_sharing else ""
    return CONFIGURATION.format(namespace=namespace, team=TEAM, minutes=minutes, sharing=sharing, frameworks=listed)


def frameworks(jobs: Jobs) -> Iterator[str]:
    """Yield the kinds that Kueue can hold, by its own names."""
    yield JOB.framework
    yield from (one.framework for kinds in jobs for one in kinds)
    yield from ("pod", *(one.framework for one in SERVICES))


def values(cluster: Cluster, tag: str, jobs: Jobs) -> Manifest:
    """Return the chart's values. The image is named because the chart in Git names a staging one; memory is for
    the pods and nodes it watches (facts: scheduling 2.5).
    """
    count = replicas(cluster)
    return {
        "enablePrometheus": cluster.monitoring.prometheus is not None,
        "enableCertManager": False,
        "controllerManager": {
            "replicas": count,
            "podDisruptionBudget": {"enabled": count > 1, "minAvailable": 1},
            "topologySpreadConstraints": spread(MANAGER) if count > 1 else [],
            "manager": {
                "priorityClassName": "system-cluster-critical",
                "image": {"repository": "registry.k8s.io/kueue/kueue", "tag": tag, "pullPolicy": "IfNotPresent"},
                "resources": {"requests": {"cpu": "500m", "memory": "512Mi"}, "limits": {"cpu": "2", "memory": "1Gi"}},
                # An autoscaler that comes later restarts Kueue.
                **({"podAnnotations": {f"{OWN_LABELS}/machines": "asked-for"}} if cluster.autoscaler else {}),
            },
        },
        "managerConfig": {"controllerManagerConfigYaml": configuration(cluster, jobs)},
    }


def namespaces_served(manifest: Manifest) -> Iterator[Named]:
    """Yield the namespaces that a ClusterQueue is for."""
    for at, rule in spots(manifest, "spec.namespaceSelector.matchExpressions.*"):
        if dig(rule, "key") == "kubernetes.io/metadata.name" and dig(rule, "operator") == "In":
            yield from (Named((*at, "values"), "Namespace", name) for name in sequence(dig(rule, "values")))


def version_rules() -> tuple[ChangeRule, ...]:
    """Return what it means when its version moves."""
    from generator.components.kueue_changes import JUMPS  # noqa: PLC0415 - for those who compare

    return JUMPS


def change_rules() -> tuple[ChangeRule, ...]:
    """Return what changes of its objects mean."""
    from generator.components.kueue_changes import CHANGES  # noqa: PLC0415 - for those who compare

    return CHANGES


DEFINITION = Definition(
    name="kueue",
    tier=Tier.SCHEDULING,
    make_with_jobs=kueue,
    wanted=lambda cluster: cluster.teams,
    absence="there are no teams",
    versions=VERSIONS,
    jumps=version_rules,
    namespaces=(NAMESPACE,),
    reach=("kube-system",),
    chart_kinds=(
        *WEBHOOKS,
        CRD,
        "apiregistration.k8s.io/APIService",
        *CLUSTER_ROLES,
    ),
    apis=(Api(group="kueue.x-k8s.io"),),
    kinds=(
        OperatedKind(kind="ClusterQueue", names=QUOTAS, also_names=namespaces_served),
        OperatedKind(kind="Cohort", names=QUOTAS),
        OperatedKind(kind="LocalQueue", names=(("ClusterQueue", "spec.clusterQueue"),)),
        OperatedKind(kind="ResourceFlavor", names=(("Topology", "spec.topologyName"),)),
    ),
    label_names=(
        ("LocalQueue", QUEUE, OWN),
        ("WorkloadPriorityClass", PRIORITY),
    ),
    changes=change_rules,
    shown_by=Evidence(images=("kueue/kueue",)),
    notes="Decides which job starts, on whose quota, and which one stops for it. Only whole jobs are stopped. An "
    "admitted job that does not start within `scheduling.startMinutes` gives its quota back. Jobs of a framework "
    "that is added later wait up to two minutes: so seldom it looks for kinds that it has not found.",
)
