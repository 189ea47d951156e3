"""Node Feature Discovery: labels that say what hardware a node has; the NVIDIA operators choose nodes by them."""

from generator.components.common import tolerations
from generator.components.component import Component, Manifest, Namespace, Release, Tier
from generator.model.cluster import Cluster
from generator.model.versions import version_of

__all__ = ["INFINIBAND", "node_feature_discovery"]

NAMESPACE = "node-feature-discovery"
INFINIBAND = "feature.node.kubernetes.io/ib-hca.present"
"""The label, with value "true", of nodes with an HCA whose link is InfiniBand."""


def node_feature_discovery(cluster: Cluster) -> Component | None:
    """Install the one instance that both operators share, where there are GPUs or a fabric."""
    if not cluster.gpu_nodes and cluster.fabric is None:
        return None
    version = version_of("node-feature-discovery", cluster)
    return Component(
        name="node-feature-discovery",
        tier=Tier.GPU,
        summary="Labels that tell each node's hardware",
        version=version.version,
        namespaces=(Namespace(NAMESPACE, security="privileged"),),
        objects=(infiniband(),) if cluster.fabric else (),
        releases=(
            Release(
                chart=version.chart("node-feature-discovery"),
                name="node-feature-discovery",
                namespace=NAMESPACE,
                values=values(cluster),
            ),
        ),
        needs=(cluster.networks.cni,),
        kinds=(
            "apiextensions.k8s.io/CustomResourceDefinition",
            "rbac.authorization.k8s.io/ClusterRole",
            "rbac.authorization.k8s.io/ClusterRoleBinding",
        ),
    )


def values(cluster: Cluster) -> Manifest:
    """Return the chart's values. The operators know only labels made of the vendor alone, of these PCI classes
    (network and display controllers). The clean-up Job would strip every label with the Application.
    """
    control_plane = tolerations(cluster.control_plane)
    return {
        "postDeleteCleanup": False,
        "priorityClassName": "system-cluster-critical",
        "master": {"config": {"extraLabelNs": ["nvidia.com"]}, "tolerations": control_plane},
        "gc": {"tolerations": control_plane},
        "worker": {
            "config": {
                "sources": {
                    "pci": {
                        "deviceClassWhitelist": ["02", "0200", "0207", "0300", "0302"],
                        "deviceLabelFields": ["vendor"],
                    }
                }
            },
            "priorityClassName": "system-node-critical",
            "tolerations": tolerations(cluster.machines),
        },
    }


def infiniband() -> Manifest:
    """Label nodes with an InfiniBand link. The operators' own label has Ethernet cards of that vendor too; the
    class follows the mode of the link (0207 is InfiniBand, 0200 Ethernet).
    """
    return {
        "apiVersion": "nfd.k8s-sigs.io/v1alpha1",
        "kind": "NodeFeatureRule",
        "metadata": {"name": "infiniband"},
        "spec": {
            "rules": [
                {
                    "name": "InfiniBand HCA",
                    "labels": {INFINIBAND: "true"},
                    "matchFeatures": [
                        {
                            "feature": "pci.device",
                            "matchExpressions": {
                                "vendor": {"op": "In", "value": ["15b3"]},
                                "class": {"op": "In", "value": ["0207"]},
                            },
                        }
                    ],
                }
            ]
        },
    }
