"""Node Feature Discovery: labels that say what hardware a node has; the NVIDIA operators choose nodes by them."""

from collections.abc import Iterator

from generator.components.closed import Controller, closed
from generator.components.common import CLUSTER_ROLES, CRD, release_of
from generator.components.component import Chart, Component, Manifest, Namespace, Release, Tier
from generator.components.definition import ALL_NODES, Definition, Evidence, Version, Versions
from generator.components.operated import Api
from generator.components.parts import tolerations
from generator.components.rule_files import read_rules
from generator.model.change import named
from generator.model.cluster import Cluster

VERSIONS = Versions(
    "node-feature-discovery",
    (
        Version(
            version="v0.19.0",
            charts=(
                Chart(name="node-feature-discovery", repository="oci://registry.k8s.io/nfd/charts", version="0.19.0"),
            ),
            schemas=("node-feature-discovery/v0.19.0",),
        ),
    ),
)

NAMESPACE = "node-feature-discovery"
MELLANOX = "15b3"
"""The vendor's number on PCI."""
INFINIBAND = "feature.node.kubernetes.io/ib-hca.present"
"""The label, with value "true", of nodes with an HCA whose link is InfiniBand."""


def node_feature_discovery(cluster: Cluster) -> Component:
    """Install the one instance that both operators share, where there are GPUs or a fabric."""
    version = VERSIONS.of(cluster)
    chart = version.chart("node-feature-discovery")
    return Component(
        name="node-feature-discovery",
        tier=DEFINITION.tier,
        summary="Labels that tell each node's hardware",
        version=version.version,
        namespaces=(Namespace(NAMESPACE, security="privileged"),),
        objects=(*([infiniband()] if cluster.fabric else []), *shut(cluster)),
        releases=(Release(chart, chart.name, NAMESPACE, values(cluster)),),
        kinds=DEFINITION.chart_kinds,
    )


def values(cluster: Cluster) -> Manifest:
    """Return the chart's values. The operators know only labels made of the vendor alone, of these PCI classes
    (network and display controllers). The clean-up Job would strip every label with the Application. The chart writes
    a priority of the worker's own beside the common one, and the same key twice is no YAML to Kustomize.
    """
    control_plane = tolerations(cluster.control_plane)
    devices = {"deviceClassWhitelist": ["02", "0200", "0207", "0300", "0302"], "deviceLabelFields": ["vendor"]}
    return {
        "postDeleteCleanup": False,
        "priorityClassName": "system-cluster-critical",
        "master": {"config": {"extraLabelNs": ["nvidia.com"]}, "tolerations": control_plane},
        "gc": {"tolerations": control_plane},
        "worker": {
            "config": {"sources": {"pci": devices}},
            "tolerations": tolerations(cluster.machines),
        },
    }


def shut(cluster: Cluster) -> Iterator[Manifest]:
    """Shut its pods, which all speak with API servers alone; nobody reads their metrics."""
    _, namespace = release_of(cluster, "node-feature-discovery", NAMESPACE)
    for part in ("master", "gc", "worker"):
        labels = {"app.kubernetes.io/name": "node-feature-discovery", "role": part}
        yield from closed(cluster, Controller(name=f"nfd-{part}", namespace=namespace, labels=labels))


def infiniband() -> Manifest:
    """Label nodes with an InfiniBand link. The operators' own label has Ethernet cards of that vendor too; the
    class follows the mode of the link (0207 is InfiniBand, 0200 Ethernet).
    """
    device = {"vendor": [MELLANOX], "class": ["0207"]}
    return feature_rule("infiniband", "InfiniBand HCA", {INFINIBAND: "true"}, "pci.device", device)


def feature_rule(
    name: str, title: str, labels: dict[str, str], feature: str, expected: dict[str, list[str]]
) -> Manifest:
    """Return the rule that labels nodes where each attribute of a feature has one of the values expected of it."""
    matched = {attribute: {"op": "In", "value": values} for attribute, values in expected.items()}
    rule = {"name": title, "labels": labels, "matchFeatures": [{"feature": feature, "matchExpressions": matched}]}
    return {
        "apiVersion": "nfd.k8s-sigs.io/v1alpha1",
        "kind": "NodeFeatureRule",
        "metadata": {"name": name},
        "spec": {"rules": [rule]},
    }


RULES = ("nfd.k8s-sigs.io/NodeFeatureRule",)

DEFINITION = Definition(
    name="node-feature-discovery",
    tier=Tier.GPU,
    make=node_feature_discovery,
    wanted=lambda cluster: cluster.gpu_nodes or cluster.fabric,
    absence="no node has GPUs or HCAs",
    versions=VERSIONS,
    namespaces=(NAMESPACE,),
    chart_kinds=(CRD, *CLUSTER_ROLES),
    own_kinds=("nfd.k8s-sigs.io/NodeFeatureRule",),
    apis=(Api(group="nfd.k8s-sigs.io"),),
    daemons_on=ALL_NODES,
    changes=lambda: read_rules(
        "node_feature_discovery_changes.yaml",
        of_its_rules=lambda change, _field: change.name.startswith("node-feature-discovery"),
        of_the_chart=named("node-feature-discovery"),
    ),
    node_labels=("feature.node.kubernetes.io/",),
    shown_by=Evidence(images=("/node-feature-discovery",)),
    notes="One instance that both NVIDIA operators share; their charts' own are off.",
)
