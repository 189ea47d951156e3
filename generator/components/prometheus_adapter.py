"""prometheus-adapter: what Prometheus knows of pods, as metrics that autoscalers ask for."""

from collections.abc import Mapping

from msgspec import Struct

from generator.components.closed import DNS, Controller, closed, meets_prometheus, port_of, prometheus
from generator.components.common import (
    CLUSTER_ROLES,
    MONITORING,
    PROMETHEUS_PORT,
    fullname,
    release_of,
    replicas,
)
from generator.components.component import Chart, Component, Ignore, Manifest, Namespace, Release, Secret, Tier, Turn
from generator.components.definition import Definition, Evidence, Scraped, Version, Versions
from generator.components.issuers import authority, signed
from generator.components.kube_prometheus_stack import SCRAPED, prometheus_url
from generator.components.parts import resources, spread, tcp, tolerations
from generator.model.cluster import Cluster

VERSIONS = Versions(
    "prometheus-adapter",
    (
        Version(
            version="5.3.0",
            charts=(
                Chart(
                    name="prometheus-adapter", repository="oci://ghcr.io/prometheus-community/charts", version="5.3.0"
                ),
            ),
        ),
    ),
)

NAMESPACE = "prometheus-adapter"
PODS = {"app.kubernetes.io/name": "prometheus-adapter"}
"""Labels of its pods."""
PORT = 6443
"""Where it serves its part of the API, and metrics of its own."""
GROUP = "custom.metrics.k8s.io"
API_SERVICE = f"v1beta1.{GROUP}"


class PodMetric(Struct, frozen=True, kw_only=True):
    """A metric of pods: the series that tells that a pod has it, the labels by which that names pod and namespace, and
    what is asked of Prometheus, in which `<<.LabelMatchers>>` and `<<.GroupBy>>` stand for the pods. `told_by` is what
    pods have that tell it themselves.
    """

    name: str
    series: str
    query: str
    pod: str = "pod"
    namespace: str = "namespace"
    told_by: Scraped | None = None

    @property
    def rule(self) -> Manifest:
        """The adapter's rule: which resource each label names, and the name under which it serves the metric."""
        return {
            "seriesQuery": f'{self.series}{{{self.namespace}!="",{self.pod}!=""}}',
            "resources": {"overrides": {self.namespace: {"resource": "namespace"}, self.pod: {"resource": "pod"}}},
            "name": {"as": self.name},
            "metricsQuery": self.query,
        }


def _of_pods(expression: str) -> str:
    return f"sum({expression}) by (<<.GroupBy>>)"


_WAITED = _of_pods("rate(nv_inference_queue_duration_us{<<.LabelMatchers>>}[2m])")
_ANSWERED = _of_pods("rate(nv_inference_request_success{<<.LabelMatchers>>}[2m])")

# Without requests 0 is divided by at least a request in 1000 s: the adapter makes some large number of "no number"
# (v0.12: int64 of NaN). Of counters in microseconds.
QUEUE_SECONDS = PodMetric(
    name="triton_queue_seconds",
    series="nv_inference_queue_duration_us",
    query=f"{_WAITED} / 1e6 / clamp_min({_ANSWERED}, 0.001)",
    told_by=SCRAPED,
)
"""How long a request to Triton waits in a pod before a model takes it, in seconds: the mean of the last two minutes."""

# The exporter's own labels `pod` and `namespace` are those of Prometheus' target already, so that Prometheus keeps
# them as `exported_*` (honorLabels is false in the operator's monitor). The older DCGM_FI_DEV_GPU_UTIL is not there
# for instances of split GPUs.
GPU_USE = PodMetric(
    name="gpu_engine_active",
    series="DCGM_FI_PROF_GR_ENGINE_ACTIVE",
    query="avg(avg_over_time(DCGM_FI_PROF_GR_ENGINE_ACTIVE{<<.LabelMatchers>>}[2m])) by (<<.GroupBy>>)",
    pod="exported_pod",
    namespace="exported_namespace",
)
"""What part of the time a pod's GPUs, or instances of them, computed: 0 to 1, the mean of the last two minutes."""

METRICS = (QUEUE_SECONDS, GPU_USE)
"""All that it serves."""


def prometheus_adapter(cluster: Cluster) -> Component:
    """Serve metrics of pods wherever there are Prometheus and teams whose services grow by them."""
    version = VERSIONS.of(cluster)
    release, namespace = release_of(cluster, "prometheus-adapter", NAMESPACE)
    return Component(
        name="prometheus-adapter",
        tier=DEFINITION.tier,
        summary="Metrics of Prometheus for autoscalers",
        version=version.version,
        namespaces=(Namespace(NAMESPACE),),
        objects=shut(cluster, namespace),
        releases=(Release(version.chart("prometheus-adapter"), "prometheus-adapter", NAMESPACE, values(cluster)),),
        needs=("cert-manager", "kube-prometheus-stack"),
        secrets=certificates(fullname(release, "prometheus-adapter"), namespace),
        # cert-manager writes who signed the certificate.
        ignore=(
            Ignore(group="apiregistration.k8s.io", kind="APIService", name=API_SERVICE, pointers=("/spec/caBundle",)),
        ),
        # It reads there how the API server proves that it is itself.
        reach=DEFINITION.reach,
        kinds=DEFINITION.chart_kinds,
    )


def shut(cluster: Cluster, namespace: str) -> tuple[Manifest, ...]:
    """Shut its pods but for API servers. They ask Prometheus; where values of the user's name another one, wherever
    that is.
    """
    theirs = "prometheus" in cluster.settings("prometheus-adapter").values
    port = port_of(cluster, "prometheus-adapter", [("listenPort",)], PORT)
    asks = (DNS, {"to": [prometheus(cluster)], "ports": [tcp(PROMETHEUS_PORT)]})
    pods = Controller(
        name="prometheus-adapter", namespace=namespace, labels=PODS, called=(port,), asks=None if theirs else asks
    )
    return (*closed(cluster, pods), meets_prometheus(cluster, pods))


def values(cluster: Cluster) -> Manifest:
    """Return the chart's values. Two pods where they can be: while none answers, every namespace that is deleted waits,
    as the API server cannot tell what is in it. Its own rules for everything that Prometheus holds are off: listing
    all series of a cluster costs gigabytes.
    """
    return {
        "replicas": replicas(cluster),
        "podDisruptionBudget": {"enabled": replicas(cluster) > 1},
        "topologySpreadConstraints": spread(PODS),
        "tolerations": tolerations(cluster.control_plane),
        "priorityClassName": "system-cluster-critical",
        "resources": resources("100m", "256Mi", "1Gi"),
        "certManager": {"enabled": True},
        "logLevel": 2,
        "prometheus": {"url": prometheus_url(cluster), "port": ""},
        "rules": {"default": False, "custom": [one.rule for one in METRICS]},
    }


def certificates(name: str, namespace: str) -> tuple[Secret, ...]:
    """Declare what cert-manager makes: a CA of its own, and what the adapter shows to the API server."""
    reader = f"Deployment {name}"
    still = "the scaling of services by metrics, until the adapter's new pods are ready,"
    turn = Turn(way="delete", signs=(name,), restarts=(f"Deployment/{name}",), still=still)
    return (
        signed(name, namespace, reader),
        authority(f"{name}-root-cert", namespace, reader, signs=(name,), loss="harmless", turn=turn),
    )


def served(cluster: Cluster) -> Mapping[str, Mapping[str, Scraped | None] | None]:
    """Return the metrics that it serves, by API group; None where values of the user's say which."""
    theirs = "rules" in cluster.settings("prometheus-adapter").values
    return {GROUP: None if theirs else {one.name: one.told_by for one in METRICS}}


DEFINITION = Definition(
    name="prometheus-adapter",
    tier=Tier.MONITORING,
    make=prometheus_adapter,
    wanted=lambda cluster: cluster.monitoring.prometheus and cluster.teams,
    absence="there is no monitoring.prometheus, or there are no teams",
    versions=VERSIONS,
    namespaces=(NAMESPACE,),
    reach=("kube-system", MONITORING),
    chart_kinds=("apiregistration.k8s.io/APIService", *CLUSTER_ROLES),
    metrics=served,
    shown_by=Evidence(images=("prometheus-adapter/prometheus-adapter",)),
    notes="Serves metrics of pods for `type: Pods` of a HorizontalPodAutoscaler: `triton_queue_seconds`, how long a "
    "request to Triton waits before a model takes it, and `gpu_engine_active`, what part of the time a pod's GPUs "
    "compute (0 to 1; not where pods take turns on a GPU: nothing tells for which of them it computes).",
)
