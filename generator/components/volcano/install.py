"""Volcano: places whole gangs of pods and does nothing else."""

from collections.abc import Iterator

from generator.components.closed import Controller, closed
from generator.components.common import prometheus_crds, release_of, replicas
from generator.components.component import Component, Manifest, Namespace, Patch, Release
from generator.components.parts import apart, deployment
from generator.components.static import read_text
from generator.components.volcano import DEFINITION, NAMESPACE, VERSIONS
from generator.model.cluster import Cluster

METRICS_PORTS = {"volcano-scheduler": 8080, "volcano-controller": 8081}
"""Where its two programs tell metrics, by the value of their pods' label `app`."""


def install(cluster: Cluster) -> Component:
    """Install the scheduler and the controller that makes PodGroups, wherever teams share the cluster."""
    version = VERSIONS.of(cluster)
    release, namespace = release_of(cluster, "volcano", NAMESPACE)
    return Component(
        name="volcano",
        tier=DEFINITION.tier,
        summary="Gang scheduler: all pods of a job start together or none",
        version=version.version,
        namespaces=(Namespace(NAMESPACE),),
        objects=tuple(beside(cluster, namespace)),
        releases=(Release(version.chart("volcano"), "volcano", NAMESPACE, values(version.version, replicas(cluster))),),
        patches=(
            # Stop at a bad configuration. Otherwise it goes on with its own default, which has the plugins that
            # deadlock with Kueue; the chart has no value for the flag (facts: scheduling 1.3).
            argument(f"{release}-scheduler", namespace, "--disable-default-scheduler-config=true"),
            # Only the controllers that plain Kubernetes jobs need: those of Volcano's own jobs stay off.
            argument(f"{release}-controllers", namespace, "--controllers=+pg-controller,+queue-controller"),
        ),
        needs=prometheus_crds(cluster),
        kinds=DEFINITION.chart_kinds,
    )


def values(tag: str, count: int) -> Manifest:
    """Return the chart's values. The admission webhooks serve Volcano's own jobs, which Kueue cannot see and teams
    may not make. Leader election always: without it two replicas are two schedulers.
    """
    return {
        "basic": {"image_tag_version": tag, "image_pull_policy": "IfNotPresent"},
        "custom": {
            "admission_enable": False,
            "vap_enable": False,
            "map_enable": False,
            "metrics_enable": False,
            "controller_metrics_enable": True,
            "scheduler_metrics_enable": True,
            "leader_elect_enable": True,
            "controller_replicas": count,
            "scheduler_replicas": count,
            # No `enqueue`, `overcommit`, `proportion`, `capacity` or `drf`: each of them is a second queue, in which
            # the PodGroup of a job that Kueue stopped keeps its resources and the job let in instead waits for ever
            # (facts: scheduling 1.3, seen on the real programs). No `preempt` or `reclaim`: only Kueue stops jobs, and
            # only whole ones (1.4). `binpack` keeps nodes whole for gangs that need all GPUs of a node.
            "scheduler_config_override": read_text("volcano/scheduler.yaml"),
            "go_memlimit_enable": True,
            "scheduler_resources": {"requests": {"cpu": "500m", "memory": "512Mi"}, "limits": {"memory": "2Gi"}},
            "controller_resources": {"requests": {"cpu": "250m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}},
            "scheduler_affinity": apart({"app": "volcano-scheduler"}),
            "controller_affinity": apart({"app": "volcano-controller"}),
            # The chart adds DAC_OVERRIDE, which does nothing for a user other than root and fails `restricted`.
            "default_csc": {
                "runAsNonRoot": True,
                "runAsUser": 1000,
                "allowPrivilegeEscalation": False,
                "capabilities": {"add": [], "drop": ["ALL"]},
            },
        },
    }


def argument(name: str, namespace: str, text: str) -> Patch:
    """Put an argument before the chart's: its last one is `2>&1`."""
    return Patch(
        target=deployment(name, namespace),
        operations=({"op": "add", "path": "/spec/template/spec/containers/0/args/0", "value": text},),
    )


def beside(cluster: Cluster, namespace: str) -> Iterator[Manifest]:
    """Yield what the chart has no objects for: one replica of each stays while nodes are drained, Prometheus
    scrapes both, and nobody else reaches them: the webhooks are off.
    """
    for app, port in METRICS_PORTS.items():
        metadata, selector = {"name": app, "namespace": namespace}, {"matchLabels": {"app": app}}
        yield from closed(cluster, Controller(name=app, namespace=namespace, labels={"app": app}, metrics=(port,)))
        if replicas(cluster) > 1:
            yield {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": metadata,
                "spec": {"minAvailable": 1, "selector": selector},
            }
        if cluster.monitoring.prometheus:
            yield {
                "apiVersion": "monitoring.coreos.com/v1",
                "kind": "ServiceMonitor",
                "metadata": metadata,
                "spec": {"selector": selector, "endpoints": [{"port": "metrics", "interval": "30s"}]},
            }
