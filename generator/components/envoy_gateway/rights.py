"""What Envoy Gateway may do: make Envoys in its own namespace, and read what teams with hosts say in theirs. Upstream's
chart lets it read every Secret of the cluster (v1.9.0: `charts/gateway-helm/templates/_rbac.tpl`).
"""

from collections.abc import Iterator

from generator.components.cilium import ROUTING
from generator.components.component import Manifest
from generator.components.envoy_gateway.layout import GROUP, NAME, NAMESPACE, wanted
from generator.components.exposure.layout import NAMESPACE as EXPOSED
from generator.components.rbac import binding, bound, role, rule
from generator.model.cluster import Cluster

READ = ("get", "list", "watch")
MAKE = (*READ, "create", "patch", "delete", "deletecollection")
READER = "envoy-gateway-routes"
ROUTES = ("backendtlspolicies", "gateways", "grpcroutes", "httproutes", "referencegrants", "tlsroutes")


def watched(cluster: Cluster) -> list[str]:
    """Return the namespaces that it reads: the Gateway's, and those of teams with hosts."""
    return [EXPOSED, *(team.name for team in cluster.teams if team.hosts)]


def rights() -> Iterator[Manifest]:
    """Yield its roles with their bindings, but what lets it read routes, which comes before it."""
    yield from bound({"name": NAME}, everywhere(), NAMESPACE)
    yield from bound({"name": NAME, "namespace": NAMESPACE}, at_home(), NAMESPACE)
    # Without it among those that it watches, it finds no Envoys of its own that are no longer wanted.
    yield _reading(NAMESPACE)


def reading(cluster: Cluster) -> Iterator[Manifest]:
    """Let it read the namespaces of the Gateway and of routes, where it serves them: before it is there."""
    if wanted(cluster):
        yield role({"name": READER}, of_routes())
        yield from map(_reading, watched(cluster))


def _reading(space: str) -> Manifest:
    held_by = {"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}
    return binding({"name": READER, "namespace": space}, "ClusterRole", READER, [held_by])


def everywhere() -> list[Manifest]:
    """Return what it may do with what is in no namespace: it marks classes that Gateways use by a finalizer."""
    return [
        rule("", ["namespaces", "nodes"], READ),
        rule(ROUTING, ["gatewayclasses"], [*READ, "update", "patch"]),
        rule(ROUTING, ["gatewayclasses/status"], ["update"]),
    ]


def at_home() -> list[Manifest]:
    """Return what it may do in its own namespace: make Envoys, read their certificates, agree on who leads."""
    return [
        rule("", ["configmaps", "serviceaccounts", "services"], MAKE),
        rule("apps", ["daemonsets", "deployments"], MAKE),
        rule("autoscaling", ["horizontalpodautoscalers"], MAKE),
        rule("policy", ["poddisruptionbudgets"], MAKE),
        rule("", ["secrets"], READ),
        rule("discovery.k8s.io", ["endpointslices"], READ),
        rule("", ["events"], ["create", "patch"]),
        rule("coordination.k8s.io", ["leases"], ["get", "list", "watch", "create", "update", "patch", "delete"]),
    ]


def of_routes() -> list[Manifest]:
    """Return what it may do where the Gateway and routes are: read what they name, and say how they are. Its cache
    holds all kinds of every namespace that it watches, so that it must read Secrets of teams as well.
    """
    return [
        rule("", ["configmaps", "secrets", "services"], READ),
        rule("discovery.k8s.io", ["endpointslices"], READ),
        rule(ROUTING, ROUTES, READ),
        rule(ROUTING, [f"{kind}/status" for kind in ROUTES if kind != "referencegrants"], ["update"]),
        rule(GROUP, ["backendtrafficpolicies", "envoyproxies"], READ),
        rule(GROUP, ["backendtrafficpolicies/status", "envoyproxies/status"], ["update"]),
    ]
