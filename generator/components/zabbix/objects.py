"""What the objects of Zabbix have in common."""

from typing import Any

from generator.components.common import SYNC_WAVE
from generator.components.component import Manifest
from generator.components.parts import UNPRIVILEGED, pod_security
from generator.components.zabbix.names import NAMESPACE, labels

# The user of Zabbix's own images.
POD_SECURITY = pod_security(1997, runAsGroup=1995, fsGroup=1995)
# Zabbix's images write their configuration files when they start.
WRITABLE_CONTAINER = {key: value for key, value in UNPRIVILEGED.items() if key != "readOnlyRootFilesystem"}


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
