"""Names that the parts of Zabbix know each other by."""

from generator.components.component import Manifest

__all__ = [
    "AGENTS", "CONTAINER_SECURITY", "GPU_SERVICE", "NAMESPACE", "POD_SECURITY", "TOKEN", "WRITABLE_CONTAINER",
    "labels", "metadata", "service",
]  # fmt: skip

NAMESPACE = "zabbix"
# Agents need the host: alone in a namespace, so that the others need not be privileged.
AGENTS = "zabbix-agent"
# A Service of ours that leads each node to its own DCGM exporter.
GPU_SERVICE = "zabbix-gpu"
# The Secret that Kubernetes fills with a token to read the state of the cluster.
TOKEN = "zabbix-reader-token"  # noqa: S105  # a name

# The user of Zabbix's own images.
POD_SECURITY: Manifest = {
    "runAsNonRoot": True,
    "runAsUser": 1997,
    "runAsGroup": 1995,
    "fsGroup": 1995,
    "seccompProfile": {"type": "RuntimeDefault"},
}
# Zabbix's images write their configuration files when they start.
WRITABLE_CONTAINER: Manifest = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
CONTAINER_SECURITY: Manifest = {**WRITABLE_CONTAINER, "readOnlyRootFilesystem": True}


def labels(part: str) -> dict[str, str]:
    """Return the labels that select one part."""
    return {"app.kubernetes.io/name": part}


def metadata(part: str, name: str = "", namespace: str = NAMESPACE, **more: Manifest) -> Manifest:
    """Return the metadata of an object of one part; its name is the part's unless told."""
    return {"name": name or part, "namespace": namespace, "labels": labels(part), **more}


def service(part: str, port: int, target: str, name: str) -> Manifest:
    """Return a Service in front of one part."""
    ports = [{"name": name, "port": port, "targetPort": target, "protocol": "TCP"}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(part),
        "spec": {"type": "ClusterIP", "selector": labels(part), "ports": ports},
    }
