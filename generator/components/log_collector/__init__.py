"""What reads logs on every node, of pods and of the journal: Grafana Alloy."""

from generator.components.component import Component, Tier
from generator.components.definition import ALL_NODES, Definition, Evidence, Version, Versions
from generator.model.cluster import Cluster

VERSIONS = Versions("log-collector", (Version(version="v1.18.1", images={"alloy": "docker.io/grafana/alloy:v1.18.1"}),))
NAMESPACE = "log-collector"
LABELS = {"app.kubernetes.io/name": "alloy"}
METRICS_PORT = 12345
PLATFORM = "platform"
"""The tenant of everything that is no team's."""


def log_collector(cluster: Cluster) -> Component:
    """Return the collectors."""
    from generator.components.log_collector.install import install  # noqa: PLC0415 - only a render makes it

    return install(cluster)


DEFINITION = Definition(
    name="log-collector",
    tier=Tier.MONITORING,
    make=log_collector,
    wanted=lambda cluster: cluster.monitoring.logs,
    absence="there is no monitoring.logs",
    versions=VERSIONS,
    namespaces=(NAMESPACE,),
    daemons_on=ALL_NODES,
    shown_by=Evidence(images=("grafana/alloy",)),
    notes="Alloy, because Promtail has ended and Alloy is what Loki's makers put in its place. Whose a line is says "
    "the kubelet's folder, which no pod can choose; the API server is never asked, so the pods have no rights there. "
    "They run as root, for logs are root's alone, without any capability, and cannot write what they read.",
)
