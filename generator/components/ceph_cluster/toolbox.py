"""A shell with Ceph's admin key, for those who ask for it."""

from generator.components.ceph_cluster.daemons import on_ceph_hosts
from generator.components.component import Manifest
from generator.components.rook_ceph import NAMESPACE
from generator.model.cluster import Cluster
from generator.model.versions import version_of

__all__ = ["toolbox"]


def toolbox(cluster: Cluster) -> Manifest:
    """Return the toolbox. Whoever may exec into it owns Ceph: it is off unless the cluster file asks for it."""
    labels = {"app": "rook-ceph-tools"}
    placed = on_ceph_hosts(cluster)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "rook-ceph-tools", "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "serviceAccountName": "rook-ceph-default",
                    "automountServiceAccountToken": False,
                    "affinity": {"nodeAffinity": placed["nodeAffinity"]},
                    **({"tolerations": placed["tolerations"]} if "tolerations" in placed else {}),
                    "securityContext": {
                        "runAsNonRoot": True,
                        "runAsUser": 2016,
                        "runAsGroup": 2016,
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                    "containers": [_container(version_of("rook-ceph", cluster).images["operator"])],
                    "volumes": _volumes(),
                },
            },
        },
    }


def _container(image: str) -> Manifest:
    """Rook's own script writes the client's configuration and follows the monitors."""
    return {
        "name": "rook-ceph-tools",
        "image": image,
        "command": ["/usr/local/bin/toolbox.sh"],
        "env": [
            {
                "name": "ROOK_CEPH_USERNAME",
                "valueFrom": {"secretKeyRef": {"name": "rook-ceph-mon", "key": "ceph-username"}},
            }
        ],
        "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": "1Gi"}},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/ceph"},
            {"name": "endpoints", "mountPath": "/etc/rook"},
            {"name": "admin", "mountPath": "/var/lib/rook-ceph-mon", "readOnly": True},
        ],
    }


def _volumes() -> list[Manifest]:
    keyring = [{"key": "ceph-secret", "path": "secret.keyring"}]
    endpoints = [{"key": "data", "path": "mon-endpoints"}]
    return [
        {"name": "config", "emptyDir": {}},
        {"name": "endpoints", "configMap": {"name": "rook-ceph-mon-endpoints", "items": endpoints}},
        {"name": "admin", "secret": {"secretName": "rook-ceph-mon", "items": keyring}},
    ]
