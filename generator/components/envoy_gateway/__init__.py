"""Envoy Gateway: it serves the Gateway of teams where the network does not, with Envoys of its own."""

from collections.abc import Iterator

from generator.components.cilium import ROUTING
from generator.components.common import CLUSTER_ROLES, CRD
from generator.components.component import Component, Manifest, Tier
from generator.components.definition import Definition, Evidence
from generator.components.envoy_gateway.layout import GROUP, NAME, NAMESPACE, PROXIES, VERSIONS, wanted
from generator.components.operated import Api, MadePods, OperatedKind
from generator.components.rule_files import read_rules
from generator.model.cluster import Cluster
from generator.model.compared import named

HMAC = "envoy-oidc-hmac"


def envoy_gateway(cluster: Cluster) -> Component:
    """Install it on clusters whose network serves no Gateways."""
    from generator.components.envoy_gateway.install import install  # noqa: PLC0415 - only a render makes it

    return install(cluster)


def envoys(_manifest: Manifest) -> Iterator[MadePods]:
    """Yield the Envoys of a Gateway."""
    yield MadePods(PROXIES, NAMESPACE)


DEFINITION = Definition(
    name=NAME,
    tier=Tier.NETWORK,
    make=envoy_gateway,
    wanted=wanted,
    absence="there is no networks.exposure, or Cilium serves it",
    versions=VERSIONS,
    namespaces=(NAMESPACE,),
    chart_kinds=(CRD,),
    own_kinds=(*CLUSTER_ROLES, f"{ROUTING}/GatewayClass"),
    apis=(Api(group=GROUP), Api(group=ROUTING)),
    kinds=(OperatedKind(kind="Gateway", group=ROUTING, pods=envoys),),
    changes=lambda: read_rules("envoy_gateway/changes.yaml", own=named(NAMESPACE)),
    shown_by=Evidence(images=("envoyproxy/gateway",)),
    notes="Serves the Gateway of teams on clusters with Calico, by Envoys in its own namespace. It reads the "
    "namespaces of the Gateway and of teams with hosts alone. It and its Envoys know each other by certificates of a "
    "CA of their own. Its definitions are left out but for two: nobody can set what these would let people set.",
)
