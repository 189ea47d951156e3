"""The kinds of the Prometheus operator, before anything that is watched with them."""

from generator.components.common import CRD
from generator.components.component import Component, Tier
from generator.model.cluster import Cluster
from generator.model.versions import version_of


def prometheus_crds(cluster: Cluster) -> Component | None:
    """Return the CRDs alone, without the operator. Ceph and others bring ServiceMonitors, and Prometheus stores on
    Ceph: with the CRDs in the same component as Prometheus, each would wait for the other.
    """
    if cluster.monitoring.prometheus is None:
        return None
    version = version_of("prometheus-crds", cluster)
    return Component(
        name="prometheus-crds",
        tier=Tier.MONITORING,
        summary="Custom resource definitions of the Prometheus operator",
        version=version.version,
        manifests=version.manifests,
        kinds=(CRD,),
    )
