"""The kinds of the Prometheus operator, before anything that is watched with them."""

from generator.components.common import CRD
from generator.components.component import Component, Tier
from generator.components.definition import Definition, Evidence, Version, Versions
from generator.components.operated import Api
from generator.model.cluster import Cluster

VERSIONS = Versions(
    "prometheus-crds",
    (
        Version(
            version="v0.93.1",
            manifests=(
                "https://github.com/prometheus-operator/prometheus-operator/releases/download/v0.93.1/stripped-down-crds.yaml",
            ),
            schemas=("prometheus-operator/v0.93.1",),
        ),
    ),
)


def prometheus_crds(cluster: Cluster) -> Component:
    """Return the CRDs alone, without the operator. Ceph and others bring ServiceMonitors, and Prometheus stores on
    Ceph: with the CRDs in the same component as Prometheus, each would wait for the other.
    """
    version = VERSIONS.of(cluster)
    return Component(
        name="prometheus-crds",
        tier=DEFINITION.tier,
        summary="Custom resource definitions of the Prometheus operator",
        version=version.version,
        manifests=version.manifests,
        kinds=DEFINITION.chart_kinds,
    )


DEFINITION = Definition(
    name="prometheus-crds",
    tier=Tier.MONITORING,
    make=prometheus_crds,
    wanted=lambda cluster: cluster.monitoring.prometheus,
    absence="there is no monitoring.prometheus",
    versions=VERSIONS,
    chart_kinds=(CRD,),
    apis=(Api(group="monitoring.coreos.com", offered=("v1",)),),
    shown_by=Evidence(definitions=("monitoring.coreos.com",)),
    notes="A component of its own, so that ServiceMonitors of storage and schedulers can be applied before "
    "Prometheus, whose volume may itself lie on that storage.",
)
