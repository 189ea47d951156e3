"""The backup of a Ceph bucket to MinIO: copy, prove, record."""

from pathlib import Path
from typing import Any

from generator.components.minio.versions import VERSIONS as MINIO
from generator.components.parts import UNPRIVILEGED, from_secret, pod_security, resources

# Where the readers' Secrets are: a pod reads Secrets of its own namespace only, and Rook makes these.
NAMESPACE = "rook-ceph"
LABELS = {"app.kubernetes.io/name": "backup", "app.kubernetes.io/part-of": "workflows"}
CLIENT_IMAGE = MINIO.known[0].images["client"]
SCRIPT = (Path(__file__).parent / "backup.sh").read_text(encoding="utf-8")
PHASES = ("precheck", "mirror", "verify", "record")

# What `verify` counts and `record` writes down.
COUNTS = ("objects", "bytes", "moving", "sampled")
DAY = 24 * 60 * 60


def parameter(name: str) -> str:
    """Return what Argo replaces by an argument of the workflow."""
    return f"{{{{workflow.parameters.{name}}}}}"


def template() -> dict[str, Any]:
    """Return the WorkflowTemplate: four steps, one pod each, of which every one can be tried again."""
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "WorkflowTemplate",
        "metadata": {"name": "backup", "namespace": NAMESPACE, "labels": LABELS},
        "spec": {
            "entrypoint": "backup",
            "serviceAccountName": "backup",
            "arguments": {"parameters": parameters()},
            # The first copy of a big bucket takes days; a second run must wait, whoever starts it.
            "activeDeadlineSeconds": 7 * DAY,
            "synchronization": {"mutexes": [{"name": f"backup-{parameter('name')}"}]},
            "ttlStrategy": {"secondsAfterSuccess": 7 * DAY, "secondsAfterFailure": 28 * DAY},
            "podGC": {"strategy": "OnWorkflowSuccess", "deleteDelayDuration": "24h"},
            "podMetadata": {"labels": LABELS},
            "securityContext": pod_security(8737, runAsGroup=8737, fsGroup=8737),
            "volumes": volumes(),
            "metrics": {"prometheus": [freshness()]},
            "templates": [steps(), *(phase(name) for name in PHASES)],
        },
    }


def parameters() -> list[dict[str, str]]:
    """Return the arguments: those without a value are a cluster's own, the others may be changed for one run."""
    own = ("name", "source-url", "source-bucket", "source-secret", "target-bucket", "target-secret")
    return [
        *({"name": name} for name in own),
        {"name": "target-url", "value": "https://minio.minio.svc:9000"},
        {"name": "shrink-percent", "value": "20"},
        {"name": "sample", "value": "32"},
    ]


def steps() -> dict[str, Any]:
    """Return the order of the steps; what `verify` counted goes to `record`."""
    counted = [{"name": name, "value": f"{{{{steps.verify.outputs.parameters.{name}}}}}"} for name in COUNTS]
    return {
        "name": "backup",
        "steps": [
            [{"name": name, "template": name, **({"arguments": {"parameters": counted}} if name == "record" else {})}]
            for name in PHASES
        ],
    }


def phase(name: str) -> dict[str, Any]:
    """Return one step. Exit code 2 is the script's verdict: trying again would only repeat it."""
    made: dict[str, Any] = {
        "name": name,
        "retryStrategy": {
            "limit": "3",
            "retryPolicy": "Always",
            "expression": "asInt(lastRetry.exitCode) != 2",
            "backoff": {"duration": "1m", "factor": "4"},
        },
        "container": {
            "image": CLIENT_IMAGE,
            "command": ["bash", "/scripts/backup.sh"],
            "args": [name],
            "env": environment(),
            "resources": RESOURCES[name],
            "securityContext": UNPRIVILEGED,
            "volumeMounts": [
                {"name": "scripts", "mountPath": "/scripts", "readOnly": True},
                {"name": "work", "mountPath": "/work"},
                {"name": "client", "mountPath": "/mc"},
                {"name": "ca", "mountPath": "/mc/certs/CAs", "readOnly": True},
            ],
        },
    }
    if name == "verify":
        made["outputs"] = {"parameters": [{"name": key, "valueFrom": {"path": f"/work/{key}"}} for key in COUNTS]}
    if name == "record":
        made["inputs"] = {"parameters": [{"name": key} for key in COUNTS]}
        counted = [{"name": key.upper(), "value": f"{{{{inputs.parameters.{key}}}}}"} for key in COUNTS]
        made["container"]["env"] = environment() + counted
    return made


# mc holds parts of what it copies in memory, and more on buckets with many objects (facts: storage 8.1).
RESOURCES = {
    "precheck": resources("500m", "256Mi", "2Gi"),
    "mirror": resources("2", "2Gi", "16Gi"),
    "verify": resources("1", "512Mi", "4Gi"),
    "record": resources("100m", "128Mi", "512Mi"),
}


def environment() -> list[dict[str, Any]]:
    """Return what the script reads; keys come from Secrets and stand in no argument."""
    source, target = parameter("source-secret"), parameter("target-secret")
    plain = {
        "HOME": "/work",
        "WORK": "/work",
        "MC_CONFIG_DIR": "/mc",
        "NAME": parameter("name"),
        "SINCE": "{{workflow.creationTimestamp.s}}",
        "SOURCE_URL": parameter("source-url"),
        "SOURCE_BUCKET": parameter("source-bucket"),
        "TARGET_URL": parameter("target-url"),
        "TARGET_BUCKET": parameter("target-bucket"),
        "READY_SECONDS": "120",
        "SHRINK_PERCENT": parameter("shrink-percent"),
        "SAMPLE": parameter("sample"),
        "SAMPLE_BYTES": "1073741824",
    }
    return [
        from_secret("SOURCE_ACCESS_KEY", source, "AccessKey"),
        from_secret("SOURCE_SECRET_KEY", source, "SecretKey"),
        from_secret("TARGET_ACCESS_KEY", target, "accessKey"),
        from_secret("TARGET_SECRET_KEY", target, "secretKey"),
        *({"name": name, "value": value} for name, value in plain.items()),
    ]


def volumes() -> list[dict[str, Any]]:
    """Return the volumes: listings on disk (about 150 bytes an object, several times), credentials in memory."""
    return [
        {"name": "scripts", "configMap": {"name": "backup-scripts"}},
        {"name": "work", "emptyDir": {"sizeLimit": "32Gi"}},
        {"name": "client", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
        {"name": "ca", "secret": {"secretName": "backup-client", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
    ]


def freshness() -> dict[str, Any]:
    """Return the metric argo_workflows_backup_last_success_seconds: when the newest good backup began."""
    return {
        "name": "backup_last_success_seconds",
        "help": "When the newest verified backup began, in seconds since 1970",
        "labels": [{"key": "backup", "value": parameter("name")}],
        "when": "{{workflow.status}} == Succeeded",
        "gauge": {"realtime": False, "value": "{{workflow.creationTimestamp.s}}"},
    }


def scripts() -> dict[str, Any]:
    """Return the ConfigMap with the script."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "backup-scripts", "namespace": NAMESPACE, "labels": LABELS},
        "data": {"backup.sh": SCRIPT},
    }


TEMPLATES = (template(), scripts())
