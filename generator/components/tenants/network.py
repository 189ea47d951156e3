"""What a team's pods may talk to.

Closed in both directions, with openings for what jobs need: each other (NCCL, MPI, Ray), DNS, the API server, S3 in the
cluster, Prometheus, the Gateway where a team has hosts, and everything outside the cluster (datasets, package indexes):
a site that wants less has a firewall or a proxy for it. Other namespaces and the cluster's own networks stay closed.
Not filtered at all: InfiniBand, pods on the host's network (which Pod Security refuses), and file systems and block
devices, whose traffic is the host's own.
"""

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network

from generator.components.closed import prometheus
from generator.components.common import release_of
from generator.components.component import Manifest
from generator.components.envoy_gateway.layout import NAMESPACE as ENVOYS
from generator.components.envoy_gateway.layout import PROXIES
from generator.components.envoy_gateway.layout import wanted as by_envoy_gateway
from generator.components.kuberay import CALLED_PORTS, OPERATOR
from generator.components.kuberay import DEFINITION as KUBERAY
from generator.components.kuberay import NAMESPACE as RAY
from generator.components.minio.layout import NAMESPACE as MINIO
from generator.components.minio.layout import PORT as MINIO_PORT
from generator.components.parts import TO_API_SERVER, api_server, in_namespace, tcp
from generator.components.rook_ceph import GATEWAY_PORTS, GATEWAYS
from generator.components.rook_ceph import NAMESPACE as ROOK
from generator.model.cluster import Cluster
from generator.model.teams import Team

NFS = 2049
"""Of NFS 4, which needs no other; also of NFS 3, beside others."""


def network(cluster: Cluster, team: Team) -> list[Manifest]:
    """Return a team's policies. Cilium needs one of its own kind: its rules by address never match nodes."""
    policies = [policy(team, "default-deny"), openings(cluster, team)]
    if cluster.networks.cni == "cilium":
        policies.append(control_plane(team))
    if cluster.networks.exposure and team.hosts:
        policies.append(from_envoys(team) if by_envoy_gateway(cluster) else from_gateway(team))
    return policies


def openings(cluster: Cluster, team: Team) -> Manifest:
    """Allow what jobs need. Prometheus reads metrics on any port, KubeRay asks heads how their jobs are."""
    inside: Manifest = {"podSelector": {}}
    ingress: list[Manifest] = [{"from": [inside]}]
    if cluster.monitoring.prometheus:
        ingress.append({"from": [prometheus(cluster)]})
    if KUBERAY.wanted(cluster):
        _, space = release_of(cluster, "kuberay", RAY)
        ingress.append({"from": [pods(space, OPERATOR)], "ports": [tcp(port) for port in CALLED_PORTS]})
    egress = [{"to": [inside]}, dns(), *api_server(cluster), *object_storage(cluster), outside(cluster)]
    return policy(team, "team", ingress=ingress, egress=egress)


def dns() -> Manifest:
    """Let pods ask CoreDNS: the MPI operator's workers find each other by name."""
    return {
        "to": [pods("kube-system", {"k8s-app": "kube-dns"})],
        "ports": [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}],
    }


def object_storage(cluster: Cluster) -> list[Manifest]:
    """Let pods use S3 of MinIO and of Ceph."""
    rules: list[Manifest] = []
    if cluster.storage.objects:
        rules.append({"to": [pods(MINIO, {})], "ports": [tcp(MINIO_PORT)]})
    if cluster.storage.ceph and cluster.storage.ceph.object_stores:
        rules.append({"to": [pods(ROOK, GATEWAYS)], "ports": [tcp(port) for port in GATEWAY_PORTS]})
    return rules


def outside(cluster: Cluster) -> Manifest:
    """Allow everything but the cluster's own networks, and NFS where the cluster has some outside: pods leave with the
    address of their node, which such a server trusts, and would read and write past claims what nodes mount for others.
    """
    kubernetes, declared = cluster.kubernetes, cluster.networks.declared.values()
    own = [kubernetes.pod_cidr, kubernetes.service_cidr, *(net.cidr for net in declared)]
    blocks = [less("0.0.0.0/0", own)]
    if kubernetes.pod_cidr6:
        own6 = [kubernetes.pod_cidr6, kubernetes.service_cidr6, *(net.cidr6 for net in declared)]
        blocks.append(less("::/0", own6))
    return {"to": blocks} | ({"ports": all_ports_but(NFS)} if has_exports(cluster) else {})


def has_exports(cluster: Cluster) -> bool:
    """Tell whether nodes mount what servers outside export: volumes, or backups."""
    nfs = cluster.storage.nfs
    return bool(nfs and nfs.outside) or any(one.nfs for one in cluster.storage.elsewhere)


def all_ports_but(port: int) -> list[Manifest]:
    """Return all ports of TCP and UDP but one. Cilium knows ranges since 1.16."""
    spans = ((1, port - 1), (port + 1, 65535))
    return [
        {"protocol": protocol, "port": first, "endPort": last} for protocol in ("TCP", "UDP") for first, last in spans
    ]


def less(cidr: str, networks: Sequence[IPv4Network | IPv6Network | None]) -> Manifest:
    """Return all addresses of a family less some networks, each named once."""
    return {"ipBlock": {"cidr": cidr, "except": list(dict.fromkeys(str(net) for net in networks if net))}}


def control_plane(team: Team) -> Manifest:
    """Allow the API server by the name that Cilium has for it."""
    return for_entity(team, "team-api-server", egress=[TO_API_SERVER])


def from_gateway(team: Team) -> Manifest:
    """Allow what comes by the Gateway. Cilium's Envoys are no pods: to it they have a name of their own, which those of
    an Ingress share. Where they lead is said in routes and Ingresses, and a team makes only routes to itself.
    """
    return for_entity(team, "team-gateway", ingress=[{"fromEntities": ["ingress"]}])


def from_envoys(team: Team) -> Manifest:
    """Allow what comes by the Gateway where Envoys in pods serve it. All answers to it leave as they came."""
    return policy(team, "team-gateway", ingress=[{"from": [pods(ENVOYS, PROXIES)]}])


def for_entity(team: Team, name: str, **allowed: list[Manifest]) -> Manifest:
    """Allow all pods of a team something that only Cilium has a name for."""
    return {
        "apiVersion": "cilium.io/v2",
        "kind": "CiliumNetworkPolicy",
        "metadata": {"name": name, "namespace": team.name},
        "spec": {"endpointSelector": {}, **allowed},
    }


def policy(team: Team, name: str, **allowed: list[Manifest]) -> Manifest:
    """Select every pod of a team's namespace and allow only this, in both directions."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "namespace": team.name},
        "spec": {"podSelector": {}, "policyTypes": ["Ingress", "Egress"], **allowed},
    }


def pods(namespace: str, labels: dict[str, str]) -> Manifest:
    """Select pods of another namespace."""
    return {**in_namespace(namespace), "podSelector": {"matchLabels": labels} if labels else {}}
