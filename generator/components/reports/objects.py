"""What the pods that tell how operations ended share in a namespace."""

import json
from collections.abc import Iterator

from generator.components.common import API_PORT, proxy_variables
from generator.components.component import Manifest
from generator.components.parts import outside, tcp
from generator.components.rbac import bound, rule
from generator.components.static import read_objects, read_text
from generator.model.cluster import Cluster
from generator.model.monitoring import Operations, http_port

NAME = "operation-report"
LABELS = {"app.kubernetes.io/name": NAME}
HTTPS = 443


def objects(cluster: Cluster, settings: Operations, namespace: str) -> Iterator[Manifest]:
    """Yield the account of the pods with its rights, their script and its settings, and whom they may reach."""
    metadata = {"name": NAME, "namespace": namespace, "labels": LABELS}
    yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    # What Argo's executor needs (facts: Argo Workflows, practice), and nothing else.
    yield from bound(metadata, [rule("argoproj.io", ["workflowtaskresults"], ["create", "patch"])], namespace)
    yield _in(namespace, config_map(cluster, settings))
    yield _in(namespace, policy(cluster, settings))
    if cluster.networks.cni == "cilium":
        yield from (_in(namespace, one) for one in read_objects("reports/cilium-policy.yaml"))


def _in(namespace: str, one: Manifest) -> Manifest:
    return {**one, "metadata": {"name": NAME, "namespace": namespace, "labels": LABELS}}


def config_map(cluster: Cluster, settings: Operations) -> Manifest:
    """Return the script, and what it knows of the cluster: no secret, the webhook's address is one."""
    told = {"cluster": cluster.name, "via": settings.via, "proxy": proxy_variables(cluster)}
    data = {
        "report.py": read_text("reports/report.py.txt"),
        "settings.json": json.dumps(told, indent=1),
        "ca.crt": cluster.site.ca or "",
    }
    return {"apiVersion": "v1", "kind": "ConfigMap", "data": data}


def policy(cluster: Cluster, settings: Operations) -> Manifest:
    """Let nobody in, and out only to the messenger's port, or the proxy's, to the API server, and to ask for names."""
    asked = {"ports": [{"protocol": "UDP", "port": 53}, tcp(53)]}
    blocks = [{"ipBlock": {"cidr": str(net.cidr)}} for net in (cluster.networks.node, cluster.networks.storage) if net]
    api = {"to": blocks, "ports": [tcp(API_PORT)]}
    spec = {
        "podSelector": {"matchLabels": LABELS},
        "policyTypes": ["Ingress", "Egress"],
        "egress": [
            asked,
            *([api] if cluster.networks.cni != "cilium" else []),
            *outside(cluster, ports(cluster, settings)),
        ],
    }
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "spec": spec}


def ports(cluster: Cluster, settings: Operations) -> list[int]:
    """Return the ports that messages go to: the messenger's, and the proxy's where the site has one, for what the site
    names is reached directly.
    """
    server = settings.mattermost or (cluster.monitoring.zabbix and cluster.monitoring.zabbix.mattermost) or ""
    messenger = HTTPS if settings.via == "slack" else http_port(server)
    proxy = cluster.site.proxy
    through = {http_port(one) for one in (proxy.http, proxy.https) if one} if proxy else set()
    return sorted(port for port in {messenger, *through} if port)
