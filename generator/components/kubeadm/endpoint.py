"""What holds the control plane's address on the control-plane nodes."""

from generator.components.component import Manifest
from generator.components.kubeadm.bootstrap_images import KUBE_VIP
from generator.components.parts import resources
from generator.model.cluster import Cluster
from generator.model.nodes import Machine


def endpoint_files(cluster: Cluster) -> dict[str, Manifest | str]:
    """Return files by name: a static pod for kube-vip, keepalived's configuration for each node, or nothing where a
    load balancer outside holds the address.
    """
    by = cluster.kubernetes.endpoint.by
    if by == "kube-vip":
        return {"endpoint/kube-vip.yaml": kube_vip(cluster)}
    if by == "keepalived":
        return {
            f"endpoint/keepalived-{machine.name}.conf": keepalived(cluster, machine, 100 - rank)
            for rank, machine in enumerate(cluster.control_plane)
        }
    return {}


def kube_vip(cluster: Cluster) -> Manifest:
    """Return the static pod. On the first node it reads super-admin.conf until `kubeadm init` is done: admin.conf has
    no rights before that (kubeadm 1.29 and newer); the steps change the path back.
    """
    file = "/etc/kubernetes/admin.conf"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "kube-vip", "namespace": "kube-system"},
        "spec": {
            "hostNetwork": True,
            "priorityClassName": "system-node-critical",
            "hostAliases": [{"hostnames": ["kubernetes"], "ip": "127.0.0.1"}],
            "containers": [
                {
                    "name": "kube-vip",
                    "image": KUBE_VIP,
                    "args": ["manager"],
                    "env": [{"name": name, "value": value} for name, value in environment(cluster).items()],
                    "resources": resources("50m", "64Mi", "128Mi"),
                    "securityContext": {"capabilities": {"add": ["NET_ADMIN", "NET_RAW"], "drop": ["ALL"]}},
                    "volumeMounts": [{"mountPath": file, "name": "kubeconfig"}],
                }
            ],
            "volumes": [{"name": "kubeconfig", "hostPath": {"path": file, "type": "FileOrCreate"}}],
        },
    }


def environment(cluster: Cluster) -> dict[str, str]:
    """Return kube-vip's settings: it answers ARP for the address from the node that holds the lease."""
    endpoint = cluster.kubernetes.endpoint
    return {
        "vip_arp": "true",
        "port": str(endpoint.port),
        "vip_interface": cluster.control_plane[0].networks["node"].interface or "",
        "vip_subnet": "32",
        "cp_enable": "true",
        "cp_namespace": "kube-system",
        "svc_enable": "false",
        "vip_leaderelection": "true",
        "vip_leaseduration": "5",
        "vip_renewdeadline": "3",
        "vip_retryperiod": "1",
        "address": endpoint.host,
    }


def keepalived(cluster: Cluster, machine: Machine, priority: int) -> str:
    """Return one node's configuration. It holds the address only while the node's own API server answers, and needs no
    password: VRRP's is sent in clear and protects nothing.
    """
    address, port = cluster.kubernetes.endpoint.host, cluster.kubernetes.endpoint.port
    router = int(address.rpartition(".")[2]) or 255
    peers = "\n".join(f"        {other.address}" for other in cluster.control_plane if other.name != machine.name)
    unicast = f"    unicast_src_ip {machine.address}\n    unicast_peer {{\n{peers}\n    }}\n" if peers else ""
    return f"""\
vrrp_script apiserver {{
    script "/usr/bin/curl --silent --fail --insecure --max-time 2 https://127.0.0.1:{port}/readyz"
    interval 3
    fall 3
    rise 2
}}

vrrp_instance kubernetes {{
    state BACKUP
    nopreempt
    interface {machine.networks["node"].interface}
    virtual_router_id {router}
    priority {priority}
    advert_int 1
{unicast}    virtual_ipaddress {{
        {address}/{machine.networks["node"].cidr.prefixlen}
    }}
    track_script {{
        apiserver
    }}
}}
"""
