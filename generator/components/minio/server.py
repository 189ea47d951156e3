"""MinIO's servers: one pod on each NAS node."""

from generator.components.common import OBJECTS, OWN_LABELS
from generator.components.component import Manifest, protect
from generator.components.minio import VERSIONS
from generator.components.minio.layout import (
    CONSOLE_PORT,
    LABELS,
    NAMESPACE,
    PORT,
    STORAGE_CLASS,
    ServerPool,
    claim_name,
)
from generator.components.minio.volumes import metadata
from generator.components.parts import UNPRIVILEGED, from_secret, pod_security, tolerations
from generator.model.capacity import allocatable
from generator.model.cluster import Cluster
from generator.model.quantity import Quantity
from generator.model.storage import Objects

# Without the policy, every start changes the owner of millions of files.
POD_SECURITY = pod_security(1000, runAsGroup=1000, fsGroup=1000, fsGroupChangePolicy="OnRootMismatch")
CERTIFICATES = [
    {"key": "tls.crt", "path": "public.crt"},
    {"key": "tls.key", "path": "private.key"},
    {"key": "ca.crt", "path": "CAs/ca.crt"},
]


def stateful_set(cluster: Cluster, objects: Objects, pool: ServerPool, layout: tuple[ServerPool, ...]) -> Manifest:
    """Return the servers of one server pool. All start at once and are replaced only by hand and together: they wait
    for each other, and refuse to talk to another binary (facts: storage 5.4, 7).
    """
    labels = pool_labels(pool)
    return protect(
        {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": metadata(pool.name),
            "spec": {
                "serviceName": "minio-hl",
                "replicas": len(pool.machines),
                "podManagementPolicy": "Parallel",
                "updateStrategy": {"type": "OnDelete"},
                "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": pod(cluster, objects, pool, layout)},
                "volumeClaimTemplates": [claim(number, pool.size) for number in range(pool.drives)],
            },
        }
    )


def pool_labels(pool: ServerPool) -> dict[str, str]:
    """Return what selects one server pool. The first one's can never change: a StatefulSet's selector is immutable."""
    return LABELS if pool.name == "minio" else {**LABELS, f"{OWN_LABELS}/server-pool": pool.name}


def pod(cluster: Cluster, objects: Objects, pool: ServerPool, layout: tuple[ServerPool, ...]) -> Manifest:
    """Return the pod, one on each node of the pool."""
    apart = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": LABELS}}
    tolerated = tolerations(pool.machines)
    return {
        "serviceAccountName": "minio",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 60,
        "priorityClassName": "system-cluster-critical",
        "nodeSelector": {OBJECTS: "true"},
        **({"tolerations": tolerated} if tolerated else {}),
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}},
        "securityContext": POD_SECURITY,
        "containers": [container(cluster, objects, pool, layout)],
        "volumes": [
            {"name": "tmp", "emptyDir": {}},
            {"name": "certs", "secret": {"secretName": "minio-tls", "items": CERTIFICATES}},
        ],
    }


def endpoints(cluster: Cluster, pool: ServerPool) -> str:
    """Return a server pool's drives as MinIO's own pattern, with its three dots."""
    hosts = f"{pool.name}-{{0...{len(pool.machines) - 1}}}.minio-hl.{NAMESPACE}.svc.{cluster.kubernetes.dns_domain}"
    drives = claim_name(f"{{0...{pool.drives - 1}}}" if pool.drives > 1 else 0)
    return f"https://{hosts}:{PORT}/{drives}"


def container(cluster: Cluster, objects: Objects, pool: ServerPool, layout: tuple[ServerPool, ...]) -> Manifest:
    """Return the server. Its arguments are the same on every pod of every server pool."""
    exports = [claim_name(number) for number in range(pool.drives)]
    return {
        "name": "minio",
        "image": objects.image or VERSIONS.of(cluster).images["server"],
        "args": [
            "server",
            *(endpoints(cluster, each) for each in layout),
            "--certs-dir=/etc/minio/certs",
            f"--address=:{PORT}",
            f"--console-address=:{CONSOLE_PORT}",
        ],
        "env": environment(objects, pool),
        "ports": [
            {"name": "https-api", "containerPort": PORT},
            {"name": "https-console", "containerPort": CONSOLE_PORT},
        ],
        **probes(),
        "resources": resources(cluster, pool),
        "securityContext": UNPRIVILEGED,
        "volumeMounts": [
            *({"name": export, "mountPath": f"/{export}"} for export in exports),
            {"name": "certs", "mountPath": "/etc/minio/certs", "readOnly": True},
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108  # a volume of the pod's own
        ],
    }


def environment(objects: Objects, pool: ServerPool) -> list[Manifest]:
    """Return the settings. Half of every set is parity, also for clients that ask for less: what the default leaves
    is lost with two nodes. It counts only for what is written afterwards, so it is there from the first start.
    """
    parity = f"EC:{pool.parity}"
    settings: list[Manifest] = [
        from_secret("MINIO_ROOT_USER", "minio-root", "rootUser"),
        from_secret("MINIO_ROOT_PASSWORD", "minio-root", "rootPassword"),
        {"name": "MINIO_STORAGE_CLASS_STANDARD", "value": parity},
        {"name": "MINIO_STORAGE_CLASS_RRS", "value": parity},
        # A server that starts lets requests wait until it has read all settings. Else it takes root's writes a moment
        # before that, which then lie unencrypted and with another parity (serverMain in MinIO's `cmd/server-main.go`).
        {"name": "MINIO_SYNC_BOOT", "value": "on"},
        # The network policy leaves it no way to ask for newer releases.
        {"name": "MINIO_UPDATE", "value": "off"},
        # What users reach serves the metrics, too.
        {"name": "MINIO_PROMETHEUS_AUTH_TYPE", "value": "jwt"},
    ]
    if objects.encryption:
        settings += [
            from_secret("KMS_KEY", "minio-kms", "key"),
            {"name": "MINIO_KMS_SECRET_KEY", "value": "minio:$(KMS_KEY)"},
            {"name": "MINIO_KMS_AUTO_ENCRYPTION", "value": "on"},
        ]
    return settings


def probes() -> Manifest:
    """Never the health of the cluster: with the quorum lost all pods would restart, or leave the Service, and reads
    would end as well.
    """

    def probe(state: str, period: int, failures: int) -> Manifest:
        request = {"path": f"/minio/health/{state}", "port": "https-api", "scheme": "HTTPS"}
        return {"httpGet": request, "periodSeconds": period, "timeoutSeconds": 5, "failureThreshold": failures}

    return {
        "startupProbe": probe("live", 10, 60),
        "livenessProbe": probe("live", 20, 6),
        "readinessProbe": probe("ready", 10, 3),
    }


def resources(cluster: Cluster, pool: ServerPool) -> Manifest:
    """Return half of what the smallest node can give: the kernel's page cache uses the rest."""
    shares = [allocatable(machine, cluster) for machine in pool.machines]
    cpu = Quantity.of(min(share.milli_cpu for share in shares) // 2000)
    memory = Quantity.of(min(share.memory for share in shares) // 2 // 2**30 * 2**30, binary=True)
    return {"requests": {"cpu": str(cpu), "memory": str(memory)}, "limits": {"memory": str(memory)}}


def claim(number: int, size: str) -> Manifest:
    """Return a claim's template with every field the API server would fill in: the list is immutable, and a field
    that only the server knows would look like drift for ever.
    """
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": claim_name(number)},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
            "storageClassName": STORAGE_CLASS,
            "volumeMode": "Filesystem",
        },
        "status": {"phase": "Pending"},
    }
