"""How MinIO is reached: Services, its certificate, the ingress, and who may talk to it."""

from collections.abc import Iterator

from generator.components.common import UNWATCHED
from generator.components.component import Manifest
from generator.components.issuers import for_server
from generator.components.minio.layout import NAMESPACE, SERVICE
from generator.components.minio.volumes import metadata
from generator.components.static import read_objects
from generator.model.cluster import Cluster
from generator.model.storage import Objects


def access(cluster: Cluster, objects: Objects) -> Iterator[Manifest]:
    """Yield everything between clients and servers."""
    yield from read_objects("minio/access.yaml")
    yield certificate(cluster, objects)
    if objects.host and cluster.site.ingress_class:
        yield ingress(objects.host, cluster.site.ingress_class)
    if cluster.monitoring.prometheus:
        yield from read_objects("minio/monitor.yaml")


def certificate(cluster: Cluster, objects: Objects) -> Manifest:
    """Return the certificate of all servers: clients and the servers themselves check it."""
    domain = cluster.kubernetes.dns_domain
    names = [f"*.minio-hl.{NAMESPACE}.svc.{domain}", SERVICE, f"{SERVICE}.{domain}"]
    shown = [*names, *([objects.host] if objects.host else [])]
    return for_server(metadata("minio"), "minio-tls", shown, "client auth")


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
