"""Where logs are kept in the cluster: Loki, as one program for everything, over a bucket in Ceph or MinIO."""

from generator.components.component import Component, Tier
from generator.components.definition import Definition, Evidence, Version, Versions
from generator.components.kube_prometheus_stack import NAMESPACE as MONITORING
from generator.components.log_store.names import NAMESPACE
from generator.model.change import ChangeRule
from generator.model.cluster import Cluster

VERSIONS = Versions("log-store", (Version(version="3.7.6", images={"loki": "docker.io/grafana/loki:3.7.6"}),))


def log_store(cluster: Cluster) -> Component:
    """Return Loki and its bucket."""
    from generator.components.log_store.install import install  # noqa: PLC0415 - only a render makes it

    return install(cluster)


def change_rules() -> tuple[ChangeRule, ...]:
    """Return what changes of its objects mean."""
    from generator.components.log_store.changes import CHANGES  # noqa: PLC0415 - for those who compare

    return CHANGES


DEFINITION = Definition(
    name="log-store",
    tier=Tier.MONITORING,
    make=log_store,
    wanted=lambda cluster: cluster.monitoring.logs and not cluster.monitoring.logs.to,
    absence="there is no monitoring.logs, or they are sent to a log server of the site",
    versions=VERSIONS,
    namespaces=(NAMESPACE,),
    reach=(MONITORING,),
    changes=change_rules,
    shown_by=Evidence(images=("grafana/loki",)),
    notes="Objects of our own and not a chart: Loki's has moved to another home and another major version within "
    "months. Loki asks nobody who they are: its network policy lets in the collectors, Grafana and Prometheus alone. "
    "Each team's logs are a tenant of their own, so that one that writes too much loses its own lines and nobody "
    "else's. Where it keeps them, and what to do when an alert says so: [operations.md](operations.md#logs).",
)
