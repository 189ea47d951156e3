"""Zabbix's PostgreSQL: one, with its volume."""

from generator.components.ceph_cluster.names import block_class
from generator.components.component import Manifest, protect
from generator.components.parts import UNPRIVILEGED, from_secret, pod_security
from generator.components.zabbix import VERSIONS
from generator.components.zabbix.names import DATABASE, SCRIPT, SET_PASSWORD
from generator.components.zabbix.objects import pod, workload
from generator.model.cluster import Cluster
from generator.model.monitoring import Zabbix

DATA = "/var/lib/postgresql/data"
SCRIPTS = "/etc/zabbix-database"
TAKES = "password"
"""The container that gives the database's user the password of the Secret."""
# The user of PostgreSQL's own image.
USER = 999


def credentials(name: str, value: str) -> list[Manifest]:
    """Return user and password as variables of these names."""
    return [from_secret(name, DATABASE, "username"), from_secret(value, DATABASE, "password")]


def storage_class(cluster: Cluster, settings: Zabbix) -> str | None:
    """Return the class of the database's volume: the one the file names, else Ceph's default; None is the cluster's
    own default.
    """
    pools = cluster.storage.ceph.block_pools if cluster.storage.ceph else ()
    found = settings.storage_class or next((block_class(pool) for pool in pools if pool.default), None)
    return str(found) if found else None


def stateful_set(cluster: Cluster, settings: Zabbix) -> Manifest:
    """Return the database. It is given time to write everything down when it ends."""
    security = pod_security(USER, runAsGroup=USER, fsGroup=USER, fsGroupChangePolicy="OnRootMismatch")
    volumes: list[Manifest] = [
        {"name": "run", "emptyDir": {}},
        {"name": "tmp", "emptyDir": {}},
        # Parallel queries share memory there, and the runtime's own is 64 MiB.
        {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
        {"name": "script", "configMap": {"name": SCRIPT, "items": [{"key": SET_PASSWORD, "path": SET_PASSWORD}]}},
    ]
    made = workload(
        "StatefulSet",
        DATABASE,
        pod(
            container(cluster),
            security,
            volumes,
            terminationGracePeriodSeconds=120,
            initContainers=[password(container(cluster))],
        ),
        serviceName=DATABASE,
        replicas=1,
        persistentVolumeClaimRetentionPolicy={"whenDeleted": "Retain", "whenScaled": "Retain"},
    )
    made["spec"]["volumeClaimTemplates"] = [claim(cluster, settings)]
    return protect(made)


def password(server: Manifest) -> Manifest:
    """Return what gives the database's user the password of the Secret, before the server begins."""
    of_server = ("image", "env", "resources", "securityContext")
    return {
        "name": TAKES,
        **{key: server[key] for key in of_server},
        "command": ["sh", f"{SCRIPTS}/{SET_PASSWORD}"],
        "volumeMounts": [*server["volumeMounts"], {"name": "script", "mountPath": SCRIPTS, "readOnly": True}],
    }


def container(cluster: Cluster) -> Manifest:
    """Return the server. Checksums are made at the first start and cost little."""
    ready = {"exec": {"command": ["pg_isready", "-q", "-h", "127.0.0.1", "-d", "zabbix"]}, "timeoutSeconds": 5}
    return {
        "name": "postgresql",
        "image": VERSIONS.of(cluster).images["postgresql"],
        "args": ["-c", "shared_buffers=1GB", "-c", "effective_cache_size=3GB", "-c", "max_connections=200"],
        "env": [
            *credentials("POSTGRES_USER", "POSTGRES_PASSWORD"),
            {"name": "POSTGRES_DB", "value": "zabbix"},
            {"name": "POSTGRES_INITDB_ARGS", "value": "--data-checksums"},
            # Not the top of the volume: a file system has a folder of its own there.
            {"name": "PGDATA", "value": f"{DATA}/pgdata"},
        ],
        "ports": [{"name": "postgresql", "containerPort": 5432}],
        "startupProbe": {**ready, "periodSeconds": 10, "failureThreshold": 60},
        "livenessProbe": {**ready, "periodSeconds": 20, "failureThreshold": 6},
        "readinessProbe": {**ready, "periodSeconds": 10},
        "resources": {"requests": {"cpu": "1", "memory": "4Gi"}, "limits": {"memory": "6Gi"}},
        "securityContext": UNPRIVILEGED,
        "volumeMounts": [
            {"name": "data", "mountPath": DATA},
            {"name": "run", "mountPath": "/var/run/postgresql"},
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108  # a volume of the pod's own
            {"name": "shm", "mountPath": "/dev/shm"},  # noqa: S108
        ],
    }


def claim(cluster: Cluster, settings: Zabbix) -> Manifest:
    """Return the claim's template with every field the API server would fill in: the list is immutable."""
    found = storage_class(cluster, settings)
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": str(settings.storage)}},
            **({"storageClassName": found} if found else {}),
            "volumeMode": "Filesystem",
        },
        "status": {"phase": "Pending"},
    }
