"""Cilium: the pod network, service load balancing without kube-proxy, network policies and, if wanted, Ingress and
Gateway API.
"""

from generator.components.cilium.listening import listens
from generator.components.common import CLUSTER_ROLES, CRD
from generator.components.component import Chart, Component, Tier
from generator.components.definition import ALL_NODES, Definition, Evidence, Version, Versions
from generator.components.operated import Api, Made
from generator.model.change import ChangeRule
from generator.model.cluster import Cluster

# Those that Cilium 1.20.0 asks for before it serves any (`helpers.RequiredGVKs`), of the version that its documentation
# names. Those that it can do without (ListenerSet, TCPRoute, UDPRoute) stay out: what is not there is no way in.
ROUTING_CRDS = tuple(
    "https://raw.githubusercontent.com/kubernetes-sigs/gateway-api/v1.6.1/config/crd/standard/"
    f"gateway.networking.k8s.io_{plural}.yaml"
    for plural in (
        "backendtlspolicies",
        "gatewayclasses",
        "gateways",
        "grpcroutes",
        "httproutes",
        "referencegrants",
        "tlsroutes",
    )
)
VERSIONS = Versions(
    "cilium",
    (
        Version(
            version="1.20.0",
            charts=(Chart(name="cilium", repository="https://helm.cilium.io", version="1.20.0"),),
            manifests=ROUTING_CRDS,
            schemas=("cilium/1.20.0",),
        ),
    ),
)

SECRETS_NAMESPACE = "cilium-secrets"
# The class that Cilium's own ingress controller serves; any other is somebody else's.
INGRESS_CLASS = "cilium"
INGRESSES = "networking.k8s.io/IngressClass"
ROUTING = "gateway.networking.k8s.io"
ROUTES = {"GRPCRoute": "grpcroutes", "HTTPRoute": "httproutes"}
"""The kinds of routes that teams may have, as addresses have them."""
# The class of Gateways that Cilium serves, and what the chart brings for them.
GATEWAY_CLASS = "cilium"
GATEWAYS = (
    CRD,
    f"{ROUTING}/GatewayClass",
    "admissionregistration.k8s.io/ValidatingAdmissionPolicy",
    "admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding",
)
NAMESPACE = "kube-system"
"""Where all of Cilium runs."""


def cilium(cluster: Cluster) -> Component:
    """Install Cilium where `networks.cni` asks for it."""
    from generator.components.cilium.install import install  # noqa: PLC0415 - only a render makes it

    return install(cluster)


def serves_ingress(cluster: Cluster) -> bool:
    """Tell whether the site's Ingress class is Cilium's own."""
    return cluster.site.ingress_class == INGRESS_CLASS


def change_rules() -> tuple[ChangeRule, ...]:
    """Return what changes of its objects mean."""
    from generator.components.cilium.changes import CHANGES  # noqa: PLC0415 - for those who compare
    from generator.components.cilium.openings import OPENINGS  # noqa: PLC0415 - as above

    return (*CHANGES, *OPENINGS)


def jump_rules() -> tuple[ChangeRule, ...]:
    """Return what it means when its version moves."""
    from generator.components.cilium.changes import JUMPS  # noqa: PLC0415 - for those who compare

    return JUMPS


DEFINITION = Definition(
    name="cilium",
    tier=Tier.NETWORK,
    make=cilium,
    wanted=lambda cluster: cluster.networks.cni == "cilium",
    absence="cni is calico",
    versions=VERSIONS,
    jumps=jump_rules,
    namespaces=(NAMESPACE, SECRETS_NAMESPACE),
    chart_kinds=(*CLUSTER_ROLES, INGRESSES, *GATEWAYS),
    # facts: network-gpu, Cilium.
    listens=listens,
    apis=(Api(group="cilium.io", by_operator=True), Api(group=ROUTING)),
    brings=(Made("IngressClass", INGRESS_CLASS), Made("GatewayClass", GATEWAY_CLASS)),
    daemons_on=ALL_NODES,
    changes=change_rules,
    shown_by=Evidence(images=("cilium/cilium", "mirrored-cilium-cilium")),
    notes="Replaces kube-proxy; traffic between nodes is tunnelled (VXLAN). It binds to the interfaces of the node "
    "and storage networks by name, because it does not work on IP over InfiniBand. On one flat network native "
    "routing saves the tunnel: set `routingMode: native`, `autoDirectNodeRoutes: true` and "
    "`nativeRoutingCIDRFromClusterPool: true` in the component's values. It is installed before Argo CD, from "
    "the same overlay. Hubble's first certificates come from the Job `hubble-generate-certs-<checksum>`, which stays "
    "when it is done (another version's replaces it), and new ones every four months from a CronJob.",
)
