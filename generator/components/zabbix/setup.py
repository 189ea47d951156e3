"""The Job that brings Zabbix to what the cluster file says."""

from generator.components.component import Manifest
from generator.components.parts import UNPRIVILEGED, pod_security
from generator.components.zabbix.names import TOKEN, labels, metadata, pod
from generator.components.zabbix.server import WEB
from generator.components.zabbix.settings import used_media
from generator.components.zabbix.versions import VERSIONS
from generator.model.cluster import Cluster
from generator.model.monitoring import Zabbix

CONFIGURE = "zabbix-configure"
CONFIGURATION = "/etc/zabbix-configure"
SECRETS = "/run/zabbix-configure"
USER = 65534


def configure_job(cluster: Cluster, settings: Zabbix, hosts: list[str]) -> Manifest:
    """Return the Job, run by Argo CD after each sync once all parts are healthy. The last one stays, for its log,
    until the next sync. `hosts` are the ConfigMaps with hosts.
    """
    hook = {
        "argocd.argoproj.io/hook": "PostSync",
        "argocd.argoproj.io/hook-delete-policy": "BeforeHookCreation",
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata(CONFIGURE, annotations=hook),
        "spec": {
            "backoffLimit": 3,
            "activeDeadlineSeconds": 3600,
            "template": {
                "metadata": {"labels": labels(CONFIGURE)},
                "spec": script(cluster, folders_of(settings, hosts)),
            },
        },
    }


def script(cluster: Cluster, folders: dict[str, list[Manifest]]) -> Manifest:
    """Return the pod: Python with its standard library, and the script."""
    container = {
        "name": "configure",
        "image": VERSIONS.of(cluster).images["python"],
        "command": ["python3", "-u", "-B", f"{CONFIGURATION}/script/configure.py"],
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


def folders_of(settings: Zabbix, hosts: list[str]) -> dict[str, list[Manifest]]:
    """Return the folders that the script reads, each with the objects it is made of."""
    return {
        "script": [_map("zabbix-configure-script")],
        "settings": [_map("zabbix-configure")],
        "templates": [_map("zabbix-templates")],
        "hosts": [_map(name) for name in hosts],
        "secrets": [
            _secret("zabbix-admin", "password", "password"),
            _secret(TOKEN, "token", "kubernetes"),
            *(_secret(f"zabbix-{name}", "token", name) for name in used_media(settings)),
        ],
    }


def _map(name: str) -> Manifest:
    return {"configMap": {"name": name}}


def _secret(name: str, key: str, path: str) -> Manifest:
    return {"secret": {"name": name, "items": [{"key": key, "path": path}]}}
