"""Loki itself: as many of one program as the logs need, all alike."""

from generator.components.component import Manifest, protect
from generator.components.log_store.bucket import Place
from generator.components.log_store.names import CLIENT, GOSSIP, GRPC, LABELS, MEMBERS, NAMESPACE, PORT, metadata
from generator.components.parts import UNPRIVILEGED, from_secret, pod_security, resources, spread
from generator.components.static import read_text
from generator.model.cluster import Cluster
from generator.model.log_room import copies, lokis
from generator.model.monitoring import Logs

VOLUME = "30Gi"
"""A day of what one Loki takes at most (`log_room.EACH`), should the bucket take nothing for so long; and its index."""
# The user of the image.
POD_SECURITY = pod_security(10001, runAsGroup=10001, fsGroup=10001, fsGroupChangePolicy="OnRootMismatch")


def settings() -> Manifest:
    """Return Loki's settings, the same on every cluster."""
    text = read_text("log_store/config.yaml")
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata("loki"), "data": {"config.yaml": text}}


def disruption_budget() -> Manifest:
    """Let one go at a time: of three copies of a line two are needed to take it."""
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": LABELS}}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata("loki"), "spec": spec}


def stateful_set(cluster: Cluster, logs: Logs, place: Place, image: str) -> Manifest:
    """Return the servers. Their volumes hold what is not in the bucket yet, so they stay whatever goes."""
    return protect(
        {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": metadata("loki"),
            "spec": {
                "serviceName": MEMBERS,
                "replicas": lokis(cluster, logs),
                "podManagementPolicy": "Parallel",
                "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
                "selector": {"matchLabels": LABELS},
                "template": {"metadata": {"labels": LABELS}, "spec": pod(cluster, logs, place, image)},
                "volumeClaimTemplates": [claim(logs)],
            },
        }
    )


def pod(cluster: Cluster, logs: Logs, place: Place, image: str) -> Manifest:
    """Return a pod. On its way out it hands over what it has to the others, or to the volume."""
    return {
        "serviceAccountName": "loki",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 300,
        "priorityClassName": "system-cluster-critical",
        "topologySpreadConstraints": spread(LABELS),
        "securityContext": POD_SECURITY,
        "containers": [container(cluster, logs, place, image)],
        "volumes": [
            {"name": "settings", "configMap": {"name": "loki"}},
            {"name": "ca", "secret": {"secretName": CLIENT, "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"name": "tmp", "emptyDir": {"sizeLimit": "1Gi"}},
        ],
    }


def container(cluster: Cluster, logs: Logs, place: Place, image: str) -> Manifest:
    """Return Loki. It is alive as long as its process is: after a crash it reads its volume for minutes, and whoever
    restarted it for that would have it begin anew each time.
    """
    return {
        "name": "loki",
        "image": image,
        "args": ["-config.file=/etc/loki/config.yaml", "-config.expand-env=true"],
        "env": environment(cluster, logs, place),
        "ports": [
            {"name": "http", "containerPort": PORT},
            {"name": "grpc", "containerPort": GRPC},
            {"name": "gossip", "containerPort": GOSSIP},
        ],
        "readinessProbe": {
            "httpGet": {"path": "/ready", "port": "http"},
            "periodSeconds": 10,
            "timeoutSeconds": 5,
            "failureThreshold": 3,
        },
        "resources": resources("500m", "2Gi", "4Gi"),
        "securityContext": UNPRIVILEGED,
        "volumeMounts": [
            {"name": "data", "mountPath": "/var/loki"},
            {"name": "settings", "mountPath": "/etc/loki", "readOnly": True},
            {"name": "ca", "mountPath": "/etc/loki-ca", "readOnly": True},
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108  # a volume of the pod's own
        ],
    }


def environment(cluster: Cluster, logs: Logs, place: Place) -> list[Manifest]:
    """Return what differs from cluster to cluster, and the keys. Checksums that S3 does not ask for are left out: not
    every gateway understands how newer SDKs send them.
    """
    values = {
        "STORE": place.url,
        "BUCKET": logs.bucket,
        "COPIES": str(copies(cluster)),
        "KEPT_HOURS": str(24 * logs.keep_days),
        "AWS_REQUEST_CHECKSUM_CALCULATION": "when_required",
        "AWS_RESPONSE_CHECKSUM_VALIDATION": "when_required",
    }
    return [
        {"name": "POD_IP", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}},
        from_secret("AWS_ACCESS_KEY_ID", place.secret, "accessKey"),
        from_secret("AWS_SECRET_ACCESS_KEY", place.secret, "secretKey"),
        *({"name": name, "value": value} for name, value in values.items()),
    ]


def claim(logs: Logs) -> Manifest:
    """Return the claim's template with every field the API server would fill in, but for the class where the cluster's
    default one is meant.
    """
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": VOLUME}},
        **({"storageClassName": logs.storage_class} if logs.storage_class else {}),
        "volumeMode": "Filesystem",
    }
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data"},
        "spec": spec,
        "status": {"phase": "Pending"},
    }


def service_account() -> Manifest:
    """Return an identity without any right."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "loki", "namespace": NAMESPACE, "labels": LABELS},
        "automountServiceAccountToken": False,
    }
