"""Rook: the operator that runs Ceph, and the operator that runs Ceph's CSI drivers."""

from generator.components.common import CLUSTER_ROLES, CRD
from generator.components.component import Component, Manifest, Namespace, Release, Tier
from generator.components.parts import tolerations
from generator.model.cluster import Cluster
from generator.model.versions import version_of

NAMESPACE = "rook-ceph"
"""The operators, the CSI drivers and the Ceph cluster share it: CSI driver and provisioner names begin with it."""


def rook_ceph(cluster: Cluster) -> Component | None:
    """Install Rook's operator with its CRDs and the CSI operator below it (facts: Rook 1.20 needs three charts;
    this is the first).
    """
    if cluster.storage.ceph is None:
        return None
    version = version_of("rook-ceph", cluster)
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
