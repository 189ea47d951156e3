"""Who may talk to whom."""

from collections.abc import Iterator

from generator.components.argo_workflows import METRICS_PORT as ARGO_PORT
from generator.components.argo_workflows import NAMESPACE as ARGO
from generator.components.common import API_PORT
from generator.components.component import Manifest
from generator.components.minio.layout import NAMESPACE as MINIO
from generator.components.minio.layout import PORT as MINIO_PORT
from generator.components.parts import at_node, in_namespace, outside, tcp
from generator.components.rook_ceph import METRICS_PORT as CEPH_PORT
from generator.components.rook_ceph import NAMESPACE as ROOK
from generator.components.static import read_objects
from generator.components.volsync.names import METRICS_PORT as VOLSYNC_PORT
from generator.components.volsync.names import NAMESPACE as VOLSYNC
from generator.components.zabbix.names import DATABASE, HEARTBEAT, SERVER, labels
from generator.components.zabbix.objects import metadata
from generator.components.zabbix.server import PROXY, WEB
from generator.model.cluster import Cluster
from generator.model.monitoring import Zabbix, http_port


def policies(cluster: Cluster, settings: Zabbix) -> Iterator[Manifest]:
    """Yield a policy for each part; what is not said here is closed. The proxy meets nodes, which Calico knows by
    address and Cilium by name.
    """
    yield from read_objects("zabbix/policies.yaml")
    calls = [{"to": pods(DATABASE), "ports": [tcp(5432)]}, *outside(cluster, media_ports(settings))]
    yield part(SERVER, ingress=[{"from": pods(PROXY, WEB), "ports": [tcp(10051)]}], egress=calls)
    if settings.heartbeat:
        beat = outside(cluster, [http_port(settings.heartbeat) or 443])
        yield part(HEARTBEAT, egress=[{"to": pods(WEB), "ports": [tcp(8080)]}, *beat])
    if cluster.networks.cni == "cilium":
        yield part(PROXY, egress=services(cluster))
        yield from read_objects("zabbix/cilium-policy.yaml")
    else:
        agents = {"from": [at_node(machine) for machine in cluster.machines], "ports": [tcp(10051)]}
        yield part(PROXY, ingress=[agents], egress=[*services(cluster), hosts(cluster)])


def services(cluster: Cluster) -> list[Manifest]:
    """Let the proxy reach the server and what it reads in the cluster, the manager of a Ceph on pods included."""
    return [
        {"to": pods(SERVER), "ports": [tcp(10051)]},
        {"to": [in_namespace(ROOK)], "ports": [tcp(CEPH_PORT)]},
        {"to": [in_namespace(MINIO)], "ports": [tcp(MINIO_PORT)]},
        {"to": [in_namespace(ARGO)], "ports": [tcp(ARGO_PORT)]},
        *([{"to": [in_namespace(VOLSYNC)], "ports": [tcp(VOLSYNC_PORT)]}] if cluster.volume_backups else []),
    ]


def hosts(cluster: Cluster) -> Manifest:
    """Let the proxy reach the API server and a Ceph on the host network, by address."""
    blocks = [{"ipBlock": {"cidr": str(net.cidr)}} for net in (cluster.networks.node, cluster.networks.storage) if net]
    return {"to": blocks, "ports": [tcp(API_PORT), tcp(CEPH_PORT)]}


def media_ports(settings: Zabbix) -> list[int]:
    """Return the ports that alerts go to: Slack's own, and that of Mattermost's address."""
    ports = {"slack": 443, "mattermost": http_port(settings.mattermost or "")}
    used = {ports[alert.via] for alert in settings.alerts}
    return sorted(port for port in used if port)


def part(name: str, **rules: list[Manifest]) -> Manifest:
    """Return what one part may do besides asking for names: rules for `ingress` and `egress`."""
    spec = {"podSelector": {"matchLabels": labels(name)}, "policyTypes": ["Ingress", "Egress"], **rules}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": metadata(name), "spec": spec}


def pods(*parts: str) -> list[Manifest]:
    """Select pods of some parts."""
    return [{"podSelector": {"matchLabels": labels(name)}} for name in parts]
