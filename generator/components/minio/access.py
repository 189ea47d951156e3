"""How MinIO is reached: Services, its certificate, the ingress, and who may talk to it."""

from collections.abc import Iterator

from generator.components.common import UNWATCHED
from generator.components.component import Manifest
from generator.components.issuers import ISSUER
from generator.components.minio.layout import CONSOLE_PORT, LABELS, NAMESPACE, PORT, SERVICE, metadata
from generator.model.cluster import Cluster
from generator.model.storage import Objects

API = {"name": "https-api", "port": PORT, "targetPort": "https-api", "protocol": "TCP"}
CONSOLE = {"name": "https-console", "port": CONSOLE_PORT, "targetPort": "https-console", "protocol": "TCP"}
# One Service is scraped, not all three with the same pods behind them.
SCRAPED = {**LABELS, "app.kubernetes.io/component": "s3"}
S3 = {"port": PORT, "protocol": "TCP"}
DNS = [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]


def access(cluster: Cluster, objects: Objects) -> Iterator[Manifest]:
    """Yield everything between clients and servers."""
    # The servers must find each other before any of them is ready.
    yield service("minio-hl", [API], {"clusterIP": "None", "publishNotReadyAddresses": True})
    yield service("minio", [API], {"type": "ClusterIP"}, SCRAPED)
    yield service("minio-console", [CONSOLE], {"type": "ClusterIP"})
    yield certificate(cluster, objects)
    # S3 for everybody who has a key; the console through `kubectl port-forward` only. The servers and the setup talk
    # to the servers and nobody else.
    yield network_policy("minio", {"ingress": [{"ports": [S3]}]})
    yield network_policy("minio-setup", {})
    if objects.host and cluster.site.ingress_class:
        yield ingress(objects.host, cluster.site.ingress_class)
    if cluster.monitoring.prometheus:
        yield monitor()


def service(name: str, ports: list[Manifest], rest: Manifest, labels: dict[str, str] = LABELS) -> Manifest:
    """Return a Service in front of the servers."""
    spec = {"selector": LABELS, "ports": ports, **rest}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata(name, labels=labels), "spec": spec}


def certificate(cluster: Cluster, objects: Objects) -> Manifest:
    """Return the certificate of all servers: clients and the servers themselves check it."""
    domain = cluster.kubernetes.dns_domain
    names = [f"*.minio-hl.{NAMESPACE}.svc.{domain}", SERVICE, f"{SERVICE}.{domain}", f"minio-console.{NAMESPACE}.svc"]
    return {
        "apiVersion": "cert-manager.io/v1",
        "kind": "Certificate",
        "metadata": metadata("minio"),
        "spec": {
            "secretName": "minio-tls",
            "dnsNames": [*names, *([objects.host] if objects.host else [])],
            "privateKey": {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always"},
            "usages": ["digital signature", "key encipherment", "server auth", "client auth"],
            "issuerRef": {"group": "cert-manager.io", "kind": "ClusterIssuer", "name": ISSUER},
        },
    }


def network_policy(name: str, incoming: Manifest) -> Manifest:
    """Let pods of a name reach DNS and the servers' S3 port, and `incoming` reach them."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(name),
        "spec": {
            "podSelector": {"matchLabels": {"app.kubernetes.io/name": name}},
            "policyTypes": ["Ingress", "Egress"],
            **incoming,
            "egress": [{"ports": DNS}, {"to": [{"podSelector": {"matchLabels": LABELS}}], "ports": [S3]}],
        },
    }


def ingress(host: str, class_name: str) -> Manifest:
    """Return the way in from outside. Cilium hands the TLS through to MinIO, nginx opens it and closes it again;
    either way the certificate is MinIO's own. Uploads have no size limit.
    """
    annotations = {
        "ingress.cilium.io/tls-passthrough": "enabled",
        "nginx.ingress.kubernetes.io/backend-protocol": "HTTPS",
        "nginx.ingress.kubernetes.io/proxy-body-size": "0",
        "nginx.ingress.kubernetes.io/proxy-request-buffering": "off",
    }
    backend = {"service": {"name": "minio", "port": {"name": "https-api"}}}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": metadata("minio", annotations=UNWATCHED | annotations),
        "spec": {
            "ingressClassName": class_name,
            "tls": [{"hosts": [host], "secretName": "minio-tls"}],
            "rules": [{"host": host, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}],
        },
    }


def monitor() -> Manifest:
    """Scrape each server for itself, and for the cluster: all give the same there."""
    trusted = {"secret": {"name": "minio-tls", "key": "ca.crt"}}
    endpoints = [
        {
            "port": "https-api",
            "path": f"/minio/v2/metrics/{part}",
            "scheme": "https",
            "interval": "60s",
            "tlsConfig": {"ca": trusted, "serverName": SERVICE},
        }
        for part in ("cluster", "node")
    ]
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": metadata("minio"),
        "spec": {"selector": {"matchLabels": SCRAPED}, "endpoints": endpoints},
    }
