"""Argo Workflows: runs the day-2 operations, and pipelines of teams. From upstream's manifest, not its chart."""

import json
from typing import Any

from generator.components.argo_workflows import CONTROLLER, DEFINITION, METRICS_PORT, NAMESPACE, VERSIONS
from generator.components.closed import prometheus
from generator.components.common import MONITORING, monitored_from
from generator.components.component import Component, Manifest, Namespace, Patch
from generator.components.definition import Version
from generator.components.parts import UNPRIVILEGED, network_policy, pod_security, resources, tcp
from generator.components.static import read_objects
from generator.model.cluster import Cluster

OPERATIONS_AT_ONCE, IN_A_NAMESPACE = 50, 20
"""How many workflows run at once: of the operations, and of any one namespace."""
DAY = 24 * 60 * 60


def install(cluster: Cluster) -> Component:
    """Argo Workflows for the whole cluster; absent where nothing uses it. Its server keeps upstream's
    `client` authentication and a ClusterIP: people reach it by port-forward with their own token.
    """
    version = VERSIONS.of(cluster)
    return Component(
        name="argo-workflows",
        tier=DEFINITION.tier,
        summary="Argo Workflows: runs backups and other day-2 operations, and pipelines of teams",
        version=version.version,
        namespaces=(Namespace(NAMESPACE, security="restricted"),),
        base=read_objects("argo_workflows/metrics.yaml"),
        objects=(*scraped(cluster), *turns(cluster)),
        manifests=version.manifests,
        patches=(configuration(cluster, version), *deployments()),
        kinds=DEFINITION.chart_kinds,
    )


def scraped(cluster: Cluster) -> tuple[Manifest, ...]:
    """Let in Prometheus of a release that is elsewhere than ours would be: the base knows that one alone."""
    if cluster.monitoring.prometheus is None or monitored_from(cluster) == MONITORING:
        return ()
    allowed = {"from": [prometheus(cluster)], "ports": [tcp(METRICS_PORT)]}
    return (network_policy("prometheus", NAMESPACE, CONTROLLER, ingress=[allowed]),)


def turns(cluster: Cluster) -> list[Manifest]:
    """Return how many backups of buckets run into each target at once."""
    from generator.components.workflows.turns import at_once  # noqa: PLC0415 - it imports this one

    return at_once(cluster, {"app.kubernetes.io/part-of": "argo-workflows"}, NAMESPACE)


def configuration(cluster: Cluster, version: Version) -> Patch:
    """Fill the controller's ConfigMap, which upstream ships without `data`. Values are YAML in text: JSON will do."""
    pipelines = sum(team.pipelines for team in cluster.teams)
    settings: dict[str, Any] = {
        # Workflows run with the rights of a namespace's ServiceAccounts: only reviewed templates may be run.
        "workflowRestrictions": {"templateReferencing": "Strict"},
        "workflowDefaults": {"spec": defaults()},
        "mainContainer": {"securityContext": UNPRIVILEGED},
        "executor": {
            "image": version.images["argoexec"],
            "imagePullPolicy": "IfNotPresent",
            # A team's pods request all the memory that they may use: quotas count requests.
            "resources": resources("50m", "512Mi" if pipelines else "64Mi", "512Mi"),
            "securityContext": UNPRIVILEGED,
        },
        "metricsConfig": {"enabled": True, "path": "/metrics", "port": METRICS_PORT, "secure": False},
        "nodeEvents": {"enabled": False},
        # A run counts while it waits as well, also for a team's queue: no namespace, and not all teams together, keep
        # the others' backups from beginning.
        "parallelism": OPERATIONS_AT_ONCE + pipelines * IN_A_NAMESPACE,
        "namespaceParallelism": IN_A_NAMESPACE,
    }
    data = {name: json.dumps(value) for name, value in settings.items()}
    return Patch(
        target={"version": "v1", "kind": "ConfigMap", "name": "workflow-controller-configmap"},
        operations=({"op": "add", "path": "/data", "value": data},),
    )


def defaults() -> Manifest:
    """Return what a workflow gets where it says nothing: an end, a place in no archive, no root."""
    return {
        "activeDeadlineSeconds": DAY,
        "ttlStrategy": {"secondsAfterSuccess": 7 * DAY, "secondsAfterFailure": 28 * DAY},
        "podGC": {"strategy": "OnWorkflowSuccess"},
        "securityContext": pod_security(8737),
    }


def deployments() -> tuple[Patch, ...]:
    """Make both Deployments fit a restricted namespace and give them requests: upstream has neither."""
    sizes = {
        "workflow-controller": resources("100m", "256Mi", "2Gi"),
        "argo-server": resources("50m", "128Mi", "512Mi"),
    }
    pod = "/spec/template/spec"
    profile = {"op": "add", "path": f"{pod}/securityContext/seccompProfile", "value": {"type": "RuntimeDefault"}}
    return tuple(
        Patch(
            target={"group": "apps", "version": "v1", "kind": "Deployment", "name": name},
            operations=(profile, {"op": "add", "path": f"{pod}/containers/0/resources", "value": size}),
        )
        for name, size in sizes.items()
    )
