"""Who may talk to whom, and what Zabbix may ask Kubernetes."""

from collections.abc import Iterator

from generator.components.component import Manifest
from generator.components.rook_ceph import NAMESPACE as ROOK
from generator.components.zabbix.database import DATABASE
from generator.components.zabbix.names import NAMESPACE, TOKEN, labels, metadata
from generator.components.zabbix.server import PROXY, SERVER, WEB
from generator.components.zabbix.setup import CONFIGURE
from generator.model.cluster import Cluster

__all__ = ["policies", "reader"]

READER = "zabbix-reader"
CEPH_PORT = 9283
API_PORT = 6443


def reader() -> Iterator[Manifest]:
    """Yield the identity by which the proxy reads nodes and pods. Kubernetes fills its Secret with a token: one of
    a pod's own would end with the pod, and Zabbix keeps it in a macro.
    """
    yield {**account(), "automountServiceAccountToken": False}
    yield {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata(READER, TOKEN, annotations={"kubernetes.io/service-account.name": READER}),
        "type": "kubernetes.io/service-account-token",
    }
    role = {"name": READER, "labels": labels(READER)}
    yield {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": role,
        "rules": [
            {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["get", "list", "watch"]},
            {"nonResourceURLs": ["/readyz"], "verbs": ["get"]},
        ],
    }
    yield {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": role,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": READER},
        "subjects": [{"kind": "ServiceAccount", "name": READER, "namespace": NAMESPACE}],
    }


def account() -> Manifest:
    """Return the ServiceAccount."""
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(READER)}


def policies(cluster: Cluster) -> Iterator[Manifest]:
    """Yield a policy for each part; what is not said here is closed. Cilium knows nodes and the API server by name
    only: its rules by address never match them.
    """
    names = {"podSelector": {}, "policyTypes": ["Ingress", "Egress"], "egress": [{"ports": [udp(53), tcp(53)]}]}
    yield policy("zabbix-default", names)
    yield part(DATABASE, ingress=[{"from": pods(SERVER, WEB), "ports": [tcp(5432)]}])
    calls = [{"to": pods(DATABASE), "ports": [tcp(5432)]}, outside(cluster)]
    yield part(SERVER, ingress=[{"from": pods(PROXY, WEB), "ports": [tcp(10051)]}], egress=calls)
    # The ingress controller may run anywhere.
    shown = [{"to": pods(DATABASE), "ports": [tcp(5432)]}, {"to": pods(SERVER), "ports": [tcp(10051)]}]
    yield part(WEB, ingress=[{"ports": [tcp(8080)]}], egress=shown)
    yield part(CONFIGURE, egress=[{"to": pods(WEB), "ports": [tcp(8080)]}])
    if cluster.networks.cni == "cilium":
        yield part(PROXY, egress=services())
        yield cilium()
    else:
        yield part(
            PROXY, ingress=[{"from": nodes(cluster), "ports": [tcp(10051)]}], egress=[*services(), hosts(cluster)]
        )


def services() -> list[Manifest]:
    """Let the proxy reach the server and what it reads in the cluster, the manager of a Ceph on pods included."""
    return [
        {"to": pods(SERVER), "ports": [tcp(10051)]},
        {"to": [namespace(ROOK)], "ports": [tcp(CEPH_PORT)]},
        {"to": [namespace("minio")], "ports": [tcp(9000)]},
        {"to": [namespace("argo")], "ports": [tcp(9090)]},
    ]


def cilium() -> Manifest:
    """Let nodes' agents in, and the proxy out to the API server and to a Ceph on the host network."""
    anywhere = ["host", "remote-node"]
    return {
        "apiVersion": "cilium.io/v2",
        "kind": "CiliumNetworkPolicy",
        "metadata": metadata(PROXY),
        "spec": {
            "endpointSelector": {"matchLabels": labels(PROXY)},
            "ingress": [{"fromEntities": anywhere, "toPorts": [named(10051)]}],
            "egress": [
                {"toEntities": ["kube-apiserver"]},
                {"toEntities": anywhere, "toPorts": [named(CEPH_PORT)]},
            ],
        },
    }


def nodes(cluster: Cluster) -> list[Manifest]:
    """Return the nodes' addresses: agents are on the host's network."""
    return [{"ipBlock": {"cidr": f"{machine.address}/32"}} for machine in cluster.machines]


def hosts(cluster: Cluster) -> Manifest:
    """Let the proxy reach the API server and a Ceph on the host network, by address."""
    networks = [net for net in (cluster.networks.node, cluster.networks.storage) if net]
    blocks = [{"ipBlock": {"cidr": str(net.cidr)}} for net in networks]
    return {"to": blocks, "ports": [tcp(API_PORT), tcp(CEPH_PORT)]}


def outside(cluster: Cluster) -> Manifest:
    """Let alerts out, to everything but pods and Services."""
    inside = [str(cluster.kubernetes.pod_cidr), str(cluster.kubernetes.service_cidr)]
    return {"to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": inside}}], "ports": [tcp(80), tcp(443)]}


def part(name: str, ingress: list[Manifest] | None = None, egress: list[Manifest] | None = None) -> Manifest:
    """Return what one part may do besides asking for names."""
    rules = {"ingress": ingress, "egress": egress}
    types = ["Ingress", "Egress"]
    said = {direction: rule for direction, rule in rules.items() if rule}
    return policy(name, {"podSelector": {"matchLabels": labels(name)}, "policyTypes": types, **said})


def policy(name: str, spec: Manifest) -> Manifest:
    """Return a NetworkPolicy."""
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": metadata(name), "spec": spec}


def pods(*parts: str) -> list[Manifest]:
    """Select pods of some parts."""
    return [{"podSelector": {"matchLabels": labels(name)}} for name in parts]


def namespace(name: str) -> Manifest:
    """Select the pods of another namespace."""
    return {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}


def tcp(port: int) -> Manifest:
    """Return a TCP port of a rule."""
    return {"protocol": "TCP", "port": port}


def udp(port: int) -> Manifest:
    """Return a UDP port of a rule."""
    return {"protocol": "UDP", "port": port}


def named(port: int) -> Manifest:
    """Return a TCP port as Cilium writes it."""
    return {"ports": [{"port": str(port), "protocol": "TCP"}]}
