"""Who may talk to whom, and what Zabbix may ask Kubernetes."""

from collections.abc import Iterator

from generator.components.common import API_PORT
from generator.components.component import Manifest
from generator.components.minio.layout import NAMESPACE as MINIO
from generator.components.minio.layout import PORT as MINIO_PORT
from generator.components.parts import at_node, in_namespace, rights, tcp
from generator.components.rook_ceph import NAMESPACE as ROOK
from generator.components.zabbix.database import DATABASE
from generator.components.zabbix.names import NAMESPACE, TOKEN, labels, metadata
from generator.components.zabbix.server import PROXY, SERVER, WEB
from generator.components.zabbix.setup import CONFIGURE
from generator.model.cluster import Cluster

READER = "zabbix-reader"
CEPH_PORT = 9283


def reader() -> Iterator[Manifest]:
    """Yield the identity by which the proxy reads nodes and pods. Kubernetes fills its Secret with a token: one of
    a pod's own would end with the pod, and Zabbix keeps it in a macro.
    """
    yield {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata(READER),
        "automountServiceAccountToken": False,
    }
    yield {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata(READER, TOKEN, annotations={"kubernetes.io/service-account.name": READER}),
        "type": "kubernetes.io/service-account-token",
    }
    rules: list[Manifest] = [
        {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["get", "list", "watch"]},
        {"nonResourceURLs": ["/readyz"], "verbs": ["get"]},
    ]
    yield from rights({"name": READER, "labels": labels(READER)}, rules, NAMESPACE, "ClusterRole")


def policies(cluster: Cluster) -> Iterator[Manifest]:
    """Yield a policy for each part; what is not said here is closed. Cilium knows nodes and the API server by name
    only: its rules by address never match them.
    """
    yield policy("zabbix-default", {}, egress=[{"ports": [{**tcp(53), "protocol": "UDP"}, tcp(53)]}])
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
        agents = {"from": [at_node(machine) for machine in cluster.machines], "ports": [tcp(10051)]}
        yield part(PROXY, ingress=[agents], egress=[*services(), hosts(cluster)])


def services() -> list[Manifest]:
    """Let the proxy reach the server and what it reads in the cluster, the manager of a Ceph on pods included."""
    return [
        {"to": pods(SERVER), "ports": [tcp(10051)]},
        {"to": [in_namespace(ROOK)], "ports": [tcp(CEPH_PORT)]},
        {"to": [in_namespace(MINIO)], "ports": [tcp(MINIO_PORT)]},
        {"to": [in_namespace("argo")], "ports": [tcp(9090)]},
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
            "ingress": [{"fromEntities": anywhere, "toPorts": [cilium_port(10051)]}],
            "egress": [
                {"toEntities": ["kube-apiserver"]},
                {"toEntities": anywhere, "toPorts": [cilium_port(CEPH_PORT)]},
            ],
        },
    }


def hosts(cluster: Cluster) -> Manifest:
    """Let the proxy reach the API server and a Ceph on the host network, by address."""
    blocks = [{"ipBlock": {"cidr": str(net.cidr)}} for net in (cluster.networks.node, cluster.networks.storage) if net]
    return {"to": blocks, "ports": [tcp(API_PORT), tcp(CEPH_PORT)]}


def outside(cluster: Cluster) -> Manifest:
    """Let alerts out, to everything but pods and Services."""
    inside = [str(cluster.kubernetes.pod_cidr), str(cluster.kubernetes.service_cidr)]
    return {"to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": inside}}], "ports": [tcp(80), tcp(443)]}


def part(name: str, **rules: list[Manifest]) -> Manifest:
    """Return what one part may do besides asking for names."""
    return policy(name, {"matchLabels": labels(name)}, **rules)


def policy(name: str, pods: Manifest, **rules: list[Manifest]) -> Manifest:
    """Return a NetworkPolicy for some pods, with rules for `ingress` and `egress`."""
    spec = {"podSelector": pods, "policyTypes": ["Ingress", "Egress"], **rules}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": metadata(name), "spec": spec}


def pods(*parts: str) -> list[Manifest]:
    """Select pods of some parts."""
    return [{"podSelector": {"matchLabels": labels(name)}} for name in parts]


def cilium_port(port: int) -> Manifest:
    """Return a TCP port as Cilium writes it."""
    return {"ports": [{"port": str(port), "protocol": "TCP"}]}
