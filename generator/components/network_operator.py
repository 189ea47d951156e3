"""NVIDIA's Network Operator: runs what the policy in `rdma` asks for."""

from typing import Literal

from generator.components.closed import Controller, closed
from generator.components.common import CLUSTER_ROLES, CRD, fullname, release_of
from generator.components.component import Chart, Component, Manifest, Namespace, Release, Tier
from generator.components.definition import Definition, Evidence, ImageJoining, Version, Versions
from generator.components.issuers import signed
from generator.components.operated import Api, OperatedKind
from generator.components.parts import injected_ca, tolerations
from generator.model.cluster import Cluster
from generator.model.nodes import Machine
from generator.model.once import once

NAMESPACE = "nvidia-network-operator"

VERSIONS = Versions(
    "network-operator",
    (
        Version(
            version="v26.4.1",
            charts=(Chart(name="network-operator", repository="https://helm.ngc.nvidia.com/nvidia", version="26.4.1"),),
            images={"rdma": "nvcr.io/nvidia/mellanox/k8s-rdma-shared-dev-plugin:network-operator-v26.4.1"},
            schemas=("network-operator/v26.4.1",),
            kubernetes=(31, 35),
        ),
    ),
)


def has_rdma(cluster: Cluster, machine: Machine) -> bool:
    """Tell whether a node's pods may use RDMA: it has GPUs and HCAs, and the cluster a fabric."""
    return bool(cluster.fabric and machine.gpus and machine.hardware.hcas)


@once
def hosts(cluster: Cluster) -> tuple[Machine, ...]:
    """Return the nodes whose pods may use RDMA."""
    return tuple(machine for machine in cluster.machines if has_rdma(cluster, machine))


def network_operator(cluster: Cluster) -> Component:
    """Install the operator where GPU nodes have HCAs on a fabric. Its webhook's certificate comes from an issuer of
    its own chart.
    """
    version = VERSIONS.of(cluster)
    chart = version.chart("network-operator")
    return Component(
        name="network-operator",
        tier=DEFINITION.tier,
        summary="NVIDIA Network Operator",
        version=version.version,
        namespaces=(Namespace(NAMESPACE, security="privileged"),),
        objects=shut(cluster),
        releases=(Release(chart, chart.name, NAMESPACE, values(cluster), hooks(cluster)),),
        needs=("cert-manager", "node-feature-discovery"),
        # The certificate of the operator's webhook; its name is fixed in the chart.
        secrets=(
            signed(
                "webhook-server-cert", NAMESPACE, "network-operator", rotate="delete it: cert-manager makes a new one"
            ),
        ),
        ignore=injected_ca("admissionregistration.k8s.io/ValidatingWebhookConfiguration"),
        kinds=DEFINITION.chart_kinds,
    )


def shut(cluster: Cluster) -> tuple[Manifest, ...]:
    """Shut the operator but for its webhook. What it runs is on the nodes' own network (v26.4.1: `manifests`). What
    leaves is open: for an `ofedDriver` that somebody adds it asks the registry for tags, wherever that is, and without
    an answer takes another image of the driver than before (pkg/docadriverimages).
    """
    _, namespace = release_of(cluster, "network-operator", NAMESPACE)
    labels = {"app.kubernetes.io/name": "network-operator"}
    one = Controller(name="network-operator", namespace=namespace, labels=labels, called=(9443,), asks=None)
    return closed(cluster, one)


def hooks(cluster: Cluster) -> dict[str, Literal["drop", "plain", "keep"]]:
    """Drop the chart's hooks, which all run before every sync. The Job fails when its CRD is not there yet, and our
    CRDs are in Git: no hook is needed.
    """
    release, _ = release_of(cluster, "network-operator", NAMESPACE)
    name = fullname(release, "network-operator")
    own = (f"{name}-hooks-{what}" for what in ("keep-ncp-sa", "keep-ncp-role", "scale-binding"))
    return dict.fromkeys(("network-operator-keep-ncp", *own), "drop")


def values(cluster: Cluster) -> Manifest:
    """Return the chart's values. Drivers are the host's own: no container reloads mlx5 under a running node."""
    return {
        "nfd": {"enabled": False, "deployNodeFeatureRules": True},
        "upgradeCRDs": False,
        "sriovNetworkOperator": {"enabled": False},
        "maintenanceOperator": {"enabled": False},
        "operator": {
            "admissionController": {"enabled": True, "useCertManager": True},
            "tolerations": tolerations(cluster.control_plane),
            # The chart's 128 MiB are few for some fifty nodes.
            "resources": {"requests": {"cpu": "10m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}},
        },
    }


# v26.4.1: pkg/render/render.go.
JOINING = ImageJoining(
    group="mellanox.com",
    system_added={"NicClusterPolicy": ("spec.ofedDriver",), "NicNodePolicy": ("spec.ofedDriver",)},
)
DEFINITION = Definition(
    name="network-operator",
    tier=Tier.GPU,
    make=network_operator,
    wanted=hosts,
    absence="no GPU node has HCAs in a fabric",
    versions=VERSIONS,
    image_joining=JOINING,
    namespaces=(NAMESPACE,),
    chart_kinds=(
        "admissionregistration.k8s.io/ValidatingWebhookConfiguration",
        CRD,
        "nfd.k8s-sigs.io/NodeFeatureRule",
        *CLUSTER_ROLES,
    ),
    apis=(Api(group="mellanox.com"),),
    kinds=(OperatedKind(kind="NicClusterPolicy", group="mellanox.com", status={"state": "ready"}),),
    node_labels=("network.nvidia.com/",),
    shown_by=Evidence(images=("cloud-native/network-operator",)),
)
