"""Names that the parts of Zabbix know each other by, and what their objects have in common."""

from typing import Any

from generator.components.common import SYNC_WAVE
from generator.components.component import Manifest
from generator.components.parts import UNPRIVILEGED, pod_security

NAMESPACE = "zabbix"
DATABASE = "zabbix-database"
SERVER = "zabbix-server"
# Agents need the host: alone in a namespace, so that the others need not be privileged.
AGENTS = "zabbix-agent"
# The Secret that Kubernetes fills with a token to read the state of the cluster.
TOKEN = "zabbix-reader-token"  # noqa: S105  # a name

# The administrator's Secret, whose key is the password.
ADMIN = "zabbix-admin"
# The Jobs' parts and what they read.
CONFIGURE = "zabbix-configure"
PASSWORD = "zabbix-password"  # noqa: S105  # a name
COMPLETE = "zabbix-complete"
HEARTBEAT = "zabbix-heartbeat"
SCRIPT = "zabbix-configure-script"
SET_PASSWORD = "set-password.sh"  # noqa: S105  # a file
FORMER = "formerPassword"
"""The key of Admin's Secret with the password from before, until Zabbix has taken the new one."""
TEMPLATES = "zabbix-templates"
# The frontend's certificate.
TLS = "zabbix-tls"

# The order of a sync after servers and database are healthy. Nobody may come in while the default password holds, and
# a node that is down, whose agent never becomes ready, must hold nothing else.
PASSWORD_SET, OPEN, CONFIGURED, WITH_AGENTS = range(1, 5)

# The user of Zabbix's own images.
POD_SECURITY = pod_security(1997, runAsGroup=1995, fsGroup=1995)
# Zabbix's images write their configuration files when they start.
WRITABLE_CONTAINER = {key: value for key, value in UNPRIVILEGED.items() if key != "readOnlyRootFilesystem"}


def bot_secret(media: str) -> str:
    """Return the name of the Secret with the token of the bot that sends alerts this way."""
    return f"zabbix-{media}"


def labels(part: str) -> dict[str, str]:
    """Return the labels that select one part."""
    return {"app.kubernetes.io/name": part}


def metadata(part: str, name: str = "", namespace: str = NAMESPACE, **more: Manifest) -> Manifest:
    """Return the metadata of an object of one part; its name is the part's unless told."""
    return {"name": name or part, "namespace": namespace, "labels": labels(part), **more}


def wave(number: int, **annotations: str) -> dict[str, str]:
    """Return the annotations of what Argo CD makes only when all of lower waves is there and healthy."""
    return {SYNC_WAVE: str(number), **annotations}


def workload(kind: str, part: str, spec: Manifest, **more: Any) -> Manifest:
    """Return a Deployment or StatefulSet with one pod of this spec."""
    template = {"metadata": {"labels": labels(part)}, "spec": spec}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": metadata(part),
        "spec": {**more, "selector": {"matchLabels": labels(part)}, "template": template},
    }


def pod(container: Manifest, security: Manifest, volumes: list[Manifest] | None = None, **more: Any) -> Manifest:
    """Return a pod with one container. None of them talks to Kubernetes by itself."""
    return {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        **more,
        "securityContext": security,
        "containers": [container],
        **({"volumes": volumes} if volumes else {}),
    }
