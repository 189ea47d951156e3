"""The Job that brings Zabbix to what the cluster file says."""

from generator.components.component import Manifest
from generator.components.zabbix.names import CONTAINER_SECURITY, TOKEN, labels, metadata
from generator.components.zabbix.server import WEB
from generator.components.zabbix.settings import host_maps, used_media
from generator.model.cluster import Cluster, Zabbix
from generator.model.versions import version_of

__all__ = ["CONFIGURE", "configure_job"]

CONFIGURE = "zabbix-configure"
CONFIGURATION = "/etc/zabbix-configure"
SECRETS = "/run/zabbix-configure"
USER = 65534


def configure_job(cluster: Cluster, settings: Zabbix) -> Manifest:
    """Return the Job, run by Argo CD after each sync once all parts are healthy. The last one stays, for its log,
    until the next sync.
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
            "template": {"metadata": {"labels": labels(CONFIGURE)}, "spec": pod(cluster, settings)},
        },
    }


def pod(cluster: Cluster, settings: Zabbix) -> Manifest:
    """Return the pod: Python with its standard library, and the script."""
    return {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "restartPolicy": "Never",
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "fsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [
            {
                "name": "configure",
                "image": version_of("zabbix", cluster).images["python"],
                "command": ["python3", "-u", "-B", f"{CONFIGURATION}/script/configure.py"],
                "env": [
                    {"name": "ZABBIX_API", "value": f"http://{WEB}:8080"},
                    {"name": "CONFIGURATION", "value": CONFIGURATION},
                    {"name": "SECRETS", "value": SECRETS},
                ],
                "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
                "securityContext": CONTAINER_SECURITY,
                "volumeMounts": [
                    # Side by side: a folder cannot be mounted inside of a read-only one.
                    *(mount(name, f"{CONFIGURATION}/{name}") for name in ("script", "settings", "templates", "hosts")),
                    mount("secrets", SECRETS),
                ],
            }
        ],
        "volumes": [
            projected("script", _map("zabbix-configure-script")),
            projected("settings", _map("zabbix-configure")),
            projected("templates", _map("zabbix-templates")),
            projected("hosts", *(_map(made["metadata"]["name"]) for made in host_maps(cluster))),
            projected("secrets", *sources(settings)),
        ],
    }


def mount(name: str, path: str) -> Manifest:
    """Return a volume's place in the container."""
    return {"name": name, "mountPath": path, "readOnly": True}


def projected(name: str, *sources_: Manifest) -> Manifest:
    """Return a folder made of several objects."""
    return {"name": name, "projected": {"sources": list(sources_)}}


def _map(name: str) -> Manifest:
    return {"configMap": {"name": name}}


def sources(settings: Zabbix) -> list[Manifest]:
    """Return the Secrets as the files that the script reads."""
    return [
        _secret("zabbix-admin", "password", "password"),
        _secret(TOKEN, "token", "kubernetes"),
        *(_secret(f"zabbix-{name}", "token", name) for name in used_media(settings)),
    ]


def _secret(name: str, key: str, path: str) -> Manifest:
    return {"secret": {"name": name, "items": [{"key": key, "path": path}]}}
