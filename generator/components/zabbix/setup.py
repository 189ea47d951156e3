"""The Jobs that bring Zabbix to what the cluster file says: first the password, then everything else, and at last the
verdict on what nothing waited for.
"""

from zlib import crc32

from generator.components.component import Manifest
from generator.components.minio.metrics import SECRET as MINIO_METRICS
from generator.components.parts import UNPRIVILEGED, pod_security
from generator.components.zabbix import VERSIONS
from generator.components.zabbix.hosts import watcher
from generator.components.zabbix.names import (
    ADMIN,
    COMPLETE,
    CONFIGURE,
    CONFIGURED,
    FORMER,
    HEARTBEAT,
    PASSWORD,
    PASSWORD_SET,
    SCRIPT,
    TEMPLATES,
    TOKEN,
    WITH_AGENTS,
    bot_secret,
    labels,
)
from generator.components.zabbix.objects import metadata, pod, wave
from generator.components.zabbix.server import WEB
from generator.components.zabbix.settings import reads_minio, used_media
from generator.model.cluster import Cluster
from generator.model.monitoring import Zabbix

CONFIGURATION = "/etc/zabbix-configure"
SECRETS = "/run/zabbix-configure"
USER = 65534
# How Argo CD makes a Job anew in each sync: what comes later waits for the success of a hook. It stays, for its log,
# until the next sync.
HOOK = {"argocd.argoproj.io/hook": "Sync", "argocd.argoproj.io/hook-delete-policy": "BeforeHookCreation"}
REPLACED = {"argocd.argoproj.io/sync-options": "Force=true,Replace=true"}


def configure_job(cluster: Cluster, settings: Zabbix, hosts: list[str]) -> Manifest:
    """Return the Job that sets everything. `hosts` are the ConfigMaps with hosts."""
    return job(CONFIGURE, CONFIGURED, script(cluster, folders_of(cluster, settings, hosts)), HOOK)


def password_job(cluster: Cluster) -> Manifest:
    """Return the Job that replaces the default password, or that from before: it needs nothing but its own Secret."""
    folders = _signing_in()
    folders["secrets"].append(_secret(ADMIN, FORMER, "former", optional=True))
    return job(PASSWORD, PASSWORD_SET, script(cluster, folders, "password"), HOOK)


def complete_job(cluster: Cluster, settings: Zabbix) -> Manifest:
    """Return the Job that fails where a Secret is missing, with the agents: before them it would leave every node
    without. It is no hook: with one among the agents a sync would wait for the agent of a node that is down. With
    another template it has another name: Argo CD cannot compare a Job whose template changes, `Force=true` or not, and
    then syncs nothing of its Application (argoproj/argo-cd#29348).
    """
    folders = {
        "script": [_map(SCRIPT)],
        "settings": [_map(CONFIGURE)],
        "secrets": tokens(cluster, settings),
    }
    spec = script(cluster, folders, "complete")
    return job(f"{COMPLETE}-{crc32(repr(spec).encode()):08x}", WITH_AGENTS, spec, REPLACED)


def job(name: str, number: int, spec: Manifest, again: dict[str, str]) -> Manifest:
    """Return a Job. All are one part to network policies: they talk to the frontend."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata(CONFIGURE, name, annotations=wave(number, **again)),
        "spec": {
            "backoffLimit": 3,
            "activeDeadlineSeconds": 3600,
            "template": {"metadata": {"labels": labels(CONFIGURE)}, "spec": spec},
        },
    }


def heartbeat(cluster: Cluster, address: str) -> Manifest:
    """Return the CronJob that asks the address outside as long as Zabbix answers and has new data."""
    folders = {"script": [_map(SCRIPT)], "secrets": [_secret(HEARTBEAT, "password", "heartbeat")]}
    spec = script(cluster, folders, "heartbeat", watcher(cluster), address)
    template = {"metadata": {"labels": labels(HEARTBEAT)}, "spec": spec}
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": metadata(HEARTBEAT, annotations=wave(CONFIGURED)),
        "spec": {
            "schedule": "*/5 * * * *",
            "timeZone": "Etc/UTC",
            "concurrencyPolicy": "Replace",
            "successfulJobsHistoryLimit": 1,
            "failedJobsHistoryLimit": 3,
            "jobTemplate": {"spec": {"backoffLimit": 0, "activeDeadlineSeconds": 240, "template": template}},
        },
    }


def script(cluster: Cluster, folders: dict[str, list[Manifest]], *words: str) -> Manifest:
    """Return the pod: Python with its standard library, and the script."""
    container = {
        "name": "configure",
        "image": VERSIONS.of(cluster).images["python"],
        "command": ["python3", "-u", "-B", f"{CONFIGURATION}/script/configure.py", *words],
        "env": [
            {"name": "ZABBIX_API", "value": f"http://{WEB}:8080"},
            {"name": "CONFIGURATION", "value": CONFIGURATION},
            {"name": "SECRETS", "value": SECRETS},
        ],
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
        "securityContext": UNPRIVILEGED,
        # Side by side: a folder cannot be mounted inside of a read-only one.
        "volumeMounts": [
            {"name": name, "mountPath": SECRETS if name == "secrets" else f"{CONFIGURATION}/{name}", "readOnly": True}
            for name in folders
        ],
    }
    volumes = [{"name": name, "projected": {"sources": sources}} for name, sources in folders.items()]
    return pod(container, pod_security(USER, runAsGroup=USER, fsGroup=USER), volumes, restartPolicy="Never")


def _signing_in() -> dict[str, list[Manifest]]:
    """Return the folders of what only signs in."""
    return {"script": [_map(SCRIPT)], "secrets": [_secret(ADMIN, "password", "password")]}


def folders_of(cluster: Cluster, settings: Zabbix, hosts: list[str]) -> dict[str, list[Manifest]]:
    """Return the folders that the script reads, each with the objects it is made of."""
    return {
        "script": [_map(SCRIPT)],
        "settings": [_map(CONFIGURE)],
        "templates": [_map(TEMPLATES)],
        "hosts": [_map(name) for name in hosts],
        "secrets": [
            *_signing_in()["secrets"],
            _secret(TOKEN, "token", "kubernetes"),
            *tokens(cluster, settings),
        ],
    }


def tokens(cluster: Cluster, settings: Zabbix) -> list[Manifest]:
    """Return the secrets of which one that is not there yet must not keep all the rest from being set."""
    return [
        *(_secret(bot_secret(name), "token", name, optional=True) for name in used_media(settings)),
        *([_secret(MINIO_METRICS, "token", "minio", optional=True)] if reads_minio(cluster) else ()),
        *([_secret(HEARTBEAT, "password", "heartbeat", optional=True)] if settings.heartbeat else ()),
    ]


def _map(name: str) -> Manifest:
    return {"configMap": {"name": name}}


def _secret(name: str, key: str, path: str, **more: bool) -> Manifest:
    return {"secret": {"name": name, "items": [{"key": key, "path": path}], **more}}
