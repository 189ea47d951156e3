"""The way from outside to services of teams: one Gateway, with a listener and a certificate for each of their hosts."""

from collections.abc import Iterator

from generator.components.cilium import GATEWAY_CLASS, ROUTES
from generator.components.component import Component, Manifest, Namespace, Secret
from generator.components.envoy_gateway.layout import GATEWAY_CLASS as ENVOY_GATEWAY_CLASS
from generator.components.envoy_gateway.layout import GROUP as ENVOY_GATEWAY_GROUP
from generator.components.envoy_gateway.layout import NAME as ENVOY_GATEWAY
from generator.components.envoy_gateway.layout import wanted as by_envoy_gateway
from generator.components.envoy_gateway.proxies import answers, envoy_proxy
from generator.components.exposure import DEFINITION
from generator.components.exposure.admission import routes
from generator.components.exposure.layout import GATEWAY, GROUP, NAMESPACE, REDIRECT, metadata
from generator.components.issuers import for_server, signed
from generator.components.kueue import TEAM
from generator.components.load_balancer import NAME as LOAD_BALANCER
from generator.model.cluster import Cluster


def install(cluster: Cluster) -> Component:
    """Let teams be reached by the hosts that are theirs. Which Service answers is theirs to say, in routes."""
    owners = dict(hosts(cluster))
    return Component(
        name="exposure",
        tier=DEFINITION.tier,
        summary="The way from outside to services of teams",
        version="v1",
        namespaces=(Namespace(NAMESPACE),),
        objects=(
            *map(certificate, owners),
            *((envoy_proxy(cluster), answers()) if by_envoy_gateway(cluster) else ()),
            gateway(cluster, owners),
            redirect(),
            *routes(),
        ),
        needs=(ENVOY_GATEWAY if by_envoy_gateway(cluster) else cluster.networks.cni, LOAD_BALANCER, "issuers"),
        secrets=tuple(key(host, ENVOY_GATEWAY if by_envoy_gateway(cluster) else "cilium-operator") for host in owners),
    )


def hosts(cluster: Cluster) -> Iterator[tuple[str, str]]:
    """Yield the hosts of teams, each with its team. One that two of them have is reported by a rule."""
    for team in cluster.teams:
        for host in team.hosts:
            yield host, team.name


def gateway(cluster: Cluster, owners: dict[str, str]) -> Manifest:
    """Return the Gateway. A listener takes routes from the namespace of its team alone: whatever others write into
    theirs, nothing leads there.
    """
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Gateway",
        "metadata": metadata(GATEWAY),
        "spec": {
            **served(cluster),
            "listeners": [plain(), *(listener(host, team) for host, team in owners.items())],
        },
    }


def served(cluster: Cluster) -> Manifest:
    """Say who serves the Gateway: Cilium, which takes the address from here, or Envoy Gateway, told by its object."""
    declared = cluster.networks.exposure
    assert declared
    if by_envoy_gateway(cluster):
        told = {"group": ENVOY_GATEWAY_GROUP, "kind": "EnvoyProxy", "name": GATEWAY}
        return {"gatewayClassName": ENVOY_GATEWAY_CLASS, "infrastructure": {"parametersRef": told}}
    address = {"type": "IPAddress", "value": str(declared.address)}
    return {"gatewayClassName": GATEWAY_CLASS, "addresses": [address]}


def plain() -> Manifest:
    """Return the listener without TLS, for the redirection alone."""
    return {
        "name": REDIRECT,
        "port": 80,
        "protocol": "HTTP",
        "allowedRoutes": {"kinds": [{"group": GROUP, "kind": "HTTPRoute"}], "namespaces": {"from": "Same"}},
    }


def listener(host: str, team: str) -> Manifest:
    """Return what answers for a host over TLS, with the host's own certificate: with one for several, browsers would
    send what is for one team on a connection to another.
    """
    return {
        "name": host,
        "hostname": host,
        "port": 443,
        "protocol": "HTTPS",
        "tls": {"mode": "Terminate", "certificateRefs": [{"group": "", "kind": "Secret", "name": host}]},
        "allowedRoutes": {
            "kinds": [{"group": GROUP, "kind": kind} for kind in ROUTES],
            "namespaces": {"from": "Selector", "selector": {"matchLabels": {TEAM: team}}},
        },
    }


def redirect() -> Manifest:
    """Send who comes without TLS to the same address with it."""
    again = {"type": "RequestRedirect", "requestRedirect": {"scheme": "https", "statusCode": 301}}
    parent = {"group": GROUP, "kind": "Gateway", "name": GATEWAY, "sectionName": REDIRECT}
    everything = [{"path": {"type": "PathPrefix", "value": "/"}}]
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "HTTPRoute",
        "metadata": metadata("to-tls"),
        "spec": {"parentRefs": [parent], "rules": [{"matches": everything, "filters": [again]}]},
    }


def certificate(host: str) -> Manifest:
    """Return the certificate of a host; the site's issuer signs it."""
    return for_server(metadata(host), host, [host])


def key(host: str, reader: str) -> Secret:
    """Declare the certificate of a host with its key. Cilium copies it to where its Envoys read, Envoy Gateway tells
    them of it.
    """
    return signed(host, NAMESPACE, reader)
