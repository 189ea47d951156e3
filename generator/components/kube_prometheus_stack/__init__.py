"""Prometheus, Alertmanager and Grafana: the chart kube-prometheus-stack."""

from collections.abc import Iterator

from generator.components.common import (
    CLUSTER_ROLES,
    MONITORING,
    OWN_LABELS,
    PROMETHEUS_PORT,
    WEBHOOKS,
    fullname,
    release_of,
)
from generator.components.component import Chart, Component, Manifest, Tier
from generator.components.definition import ALL_NODES, Definition, Evidence, Scraped, Version, Versions
from generator.components.listening import CLUSTER, Listener
from generator.components.operated import OWN, MadePods, OperatedKind, name_of
from generator.model.change import ChangeRule
from generator.model.cluster import Cluster
from generator.model.finding import Path

NAMESPACE = MONITORING

VERSIONS = Versions(
    "kube-prometheus-stack",
    (
        Version(
            version="88.5.3",
            charts=(
                Chart(
                    name="kube-prometheus-stack",
                    repository="oci://ghcr.io/prometheus-community/charts",
                    version="88.5.3",
                ),
            ),
            schemas=("kube-prometheus-stack-chart/88.5.3", "prometheus-operator/v0.93.1"),
        ),
    ),
)

# node-exporter needs the host: alone in a namespace, so that the others need not be privileged.
EXPORTER = "node-exporter"
RELEASE = "kube-prometheus-stack"
FULLNAME = 26
"""Letters of the release's name that the chart keeps in names."""
CONFIGURED_BY = (
    ("AlertmanagerConfig", "spec.alertmanagerConfiguration.name", OWN),
    ("Secret", "spec.configSecret", OWN),
)
SCRAPED = Scraped({f"{OWN_LABELS}/metrics": "scraped"}, "metrics")
"""What a team's pod has whose metrics Prometheus reads."""
NAMES = (
    ("Secret", "spec.receivers.*.slackConfigs.*.apiURL.name", OWN),
    ("Secret", "spec.receivers.*.webhookConfigs.*.urlSecret.name", OWN),
)
"""What an Alertmanager names, and what an AlertmanagerConfig does of what this one may."""


def kube_prometheus_stack(cluster: Cluster) -> Component:
    """Prometheus, Alertmanager and Grafana, where the cluster file asks for them."""
    from generator.components.kube_prometheus_stack.install import install  # noqa: PLC0415 - only a render makes it

    return install(cluster)


def prometheus_url(cluster: Cluster) -> str:
    """Return where Prometheus answers within the cluster. The chart names its Service after the release."""
    _, namespace = release_of(cluster, RELEASE, NAMESPACE)
    return f"http://{named(cluster)}-prometheus.{namespace}.svc:{PROMETHEUS_PORT}"


def named(cluster: Cluster) -> str:
    """Return what the chart begins its objects' names with."""
    release, _ = release_of(cluster, RELEASE, NAMESPACE)
    return fullname(release, RELEASE)[:FULLNAME].removesuffix("-")


def hosts(cluster: Cluster) -> Iterator[tuple[Path, str]]:
    """Yield the name of Grafana's pages."""
    settings = cluster.monitoring.prometheus
    if settings and settings.host:
        yield ("monitoring", "prometheus", "host"), settings.host


def operated_pods(manifest: Manifest) -> Iterator[MadePods]:
    """Yield the pods of an Alertmanager or Prometheus."""
    kind, name = str(manifest["kind"]).lower(), name_of(manifest)
    yield MadePods({"app.kubernetes.io/name": kind, kind: name, "operator.prometheus.io/name": name})


def listens(_cluster: Cluster) -> Iterator[Listener]:
    """Yield node-exporter, which its chart puts on the host's network."""
    yield Listener(name="node-exporter", port=9100, peers=CLUSTER)


def change_rules() -> tuple[ChangeRule, ...]:
    """Return what changes of its objects mean."""
    from generator.components.kube_prometheus_stack.changes import CHANGES  # noqa: PLC0415 - for those who compare

    return CHANGES


DEFINITION = Definition(
    name="kube-prometheus-stack",
    tier=Tier.MONITORING,
    make=kube_prometheus_stack,
    wanted=lambda cluster: cluster.monitoring.prometheus,
    absence="there is no monitoring.prometheus",
    versions=VERSIONS,
    namespaces=(NAMESPACE, EXPORTER),
    reach=("kube-system",),
    listens=listens,
    chart_kinds=(*WEBHOOKS, *CLUSTER_ROLES),
    hosts=hosts,
    changes=change_rules,
    kinds=(
        OperatedKind(kind="Prometheus", pods=operated_pods),
        OperatedKind(kind="Alertmanager", pods=operated_pods, names=CONFIGURED_BY),
        OperatedKind(kind="AlertmanagerConfig", names=NAMES),
    ),
    daemons_on=ALL_NODES,
    shown_by=Evidence(images=("/prometheus-operator",)),
)
