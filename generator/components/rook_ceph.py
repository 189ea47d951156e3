"""Rook: the operator that runs Ceph, and the operator that runs Ceph's CSI drivers."""

from generator.components.common import CLUSTER_ROLES, CRD
from generator.components.component import Chart, Component, Manifest, Namespace, Release, Tier
from generator.components.definition import Definition, Version, Versions
from generator.components.parts import tolerations
from generator.model.cluster import Cluster

VERSIONS = Versions(
    "rook-ceph",
    (
        Version(
            version="v1.20.6",
            charts=(Chart(name="rook-ceph", repository="https://charts.rook.io/release", version="v1.20.6"),),
            images={"operator": "docker.io/rook/ceph:v1.20.6"},
            schemas=("rook/v1.20.6",),
        ),
    ),
)

NAMESPACE = "rook-ceph"
"""The operators, the CSI drivers and the Ceph cluster share it: CSI driver and provisioner names begin with it."""


def rook_ceph(cluster: Cluster) -> Component:
    """Install Rook's operator with its CRDs and the CSI operator below it (facts: Rook 1.20 needs three charts;
    this is the first).
    """
    version = VERSIONS.of(cluster)
    return Component(
        name="rook-ceph",
        tier=Tier.STORAGE,
        summary="Operator for Ceph",
        version=version.version,
        namespaces=(Namespace(NAMESPACE, security="privileged"),),
        releases=(Release(version.chart("rook-ceph"), "rook-ceph", NAMESPACE, values(cluster)),),
        kinds=(CRD, *CLUSTER_ROLES),
    )


def values(cluster: Cluster) -> Manifest:
    """Return the chart's values. Where backups read Ceph's buckets, claims may carry a bucket policy: the reader
    of the backups is not their owner. Only claims in Rook's own namespace are served, so no team can use it.
    """
    tolerated = tolerations(cluster.ceph_hosts)
    allowed = "maxObjects,maxSize,bucketPolicy" if cluster.backups else "maxObjects,maxSize"
    return {
        # Turned off later, Helm would delete the CRDs and Ceph with them (facts: storage 2.1).
        "crds": {"enabled": True},
        "csi": {"installCsiOperator": True},
        "currentNamespaceOnly": True,
        "enableOBCWatchOperatorNamespace": True,
        "obcAllowAdditionalConfigFields": allowed,
        "resources": {"requests": {"cpu": "200m", "memory": "512Mi"}, "limits": {"memory": "2Gi"}},
        "priorityClassName": "system-cluster-critical",
        "tolerations": tolerated,
        "monitoring": {"enabled": cluster.monitoring.prometheus is not None},
        "ceph-csi-operator": {
            "kubernetesClusterDomain": cluster.kubernetes.dns_domain,
            "controllerManager": {"tolerations": tolerated, "manager": {"env": {"watchNamespace": NAMESPACE}}},
        },
    }


DEFINITION = Definition(
    name="rook-ceph",
    make=rook_ceph,
    wanted=lambda cluster: cluster.storage.ceph,
    absence="there is no storage.ceph",
    versions=VERSIONS,
    notes="Only the operator. The CSI drivers and the cluster are components of their own, so that each moves in a "
    "commit of its own: Rook 1.20 expects the operator, its CSI drivers and the cluster from three charts.",
)
