"""What the API server fills in where a manifest says nothing: to write it down, or to leave it out, changes nothing.

Read in `pkg/apis/<group>/v1/defaults.go` of Kubernetes 1.35.3, and tried on it.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from generator.build.difference import same
from generator.build.kinds import Kinds
from generator.model.change import ABSENT, FieldChange, ObjectChange, Steps, reaches
from generator.model.fields import amount, dig
from generator.model.served import LAST

_PROBE = {
    "timeoutSeconds": 1,
    "periodSeconds": 10,
    "successThreshold": 1,
    "failureThreshold": 3,
    "httpGet.scheme": "HTTP",
    "httpGet.path": "/",
}
_CONTAINER: dict[str, Any] = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "resources": {},
    "stdin": False,
    "stdinOnce": False,
    "tty": False,
    "ports.*.protocol": "TCP",
    "env.*.value": "",
    "env.*.valueFrom.fieldRef.apiVersion": "v1",
    "volumeMounts.*.readOnly": False,
    "volumeMounts.*.subPath": "",
    **{
        f"{probe}.{key}": value
        for probe in ("livenessProbe", "readinessProbe", "startupProbe")
        for key, value in _PROBE.items()
    },
}
_POD: dict[str, Any] = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "securityContext": {},
    "hostNetwork": False,
    "hostPID": False,
    "hostIPC": False,
    "nodeSelector": {},
    "volumes.*.configMap.defaultMode": 0o644,
    "volumes.*.secret.defaultMode": 0o644,
    "volumes.*.projected.defaultMode": 0o644,
    "volumes.*.downwardAPI.defaultMode": 0o644,
    "volumes.*.hostPath.type": "",
    "volumes.*.emptyDir": {},
    "volumes.*.projected.sources.*.serviceAccountToken.expirationSeconds": 3600,
    **{f"{kind}.*.{key}": value for kind in ("containers", "initContainers") for key, value in _CONTAINER.items()},
}
_TEMPLATES = {
    "apps/Deployment": "spec.template",
    "apps/DaemonSet": "spec.template",
    "apps/StatefulSet": "spec.template",
    "apps/ReplicaSet": "spec.template",
    "batch/Job": "spec.template",
    "/Pod": "",
    "batch/CronJob": "spec.jobTemplate.spec.template",
}
_WEBHOOK = {
    "failurePolicy": "Fail",
    "matchPolicy": "Equivalent",
    "timeoutSeconds": 10,
    "namespaceSelector": {},
    "objectSelector": {},
    "rules.*.scope": "*",
    "clientConfig.service.port": 443,
}
_MATCH = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}, "resourceRules.*.scope": "*"}
_PORT = {"spec.ingress.*.ports.*.protocol": "TCP", "spec.egress.*.ports.*.protocol": "TCP"}
_RBAC = "rbac.authorization.k8s.io"

_OWN: dict[str, dict[str, Any]] = {
    "apps/Deployment": {
        "spec.replicas": 1,
        "spec.paused": False,
        "spec.minReadySeconds": 0,
        "spec.revisionHistoryLimit": 10,
        "spec.progressDeadlineSeconds": 600,
        "spec.strategy.type": "RollingUpdate",
        "spec.strategy.rollingUpdate.maxSurge": "25%",
        "spec.strategy.rollingUpdate.maxUnavailable": "25%",
    },
    "apps/DaemonSet": {
        "spec.minReadySeconds": 0,
        "spec.revisionHistoryLimit": 10,
        "spec.updateStrategy.type": "RollingUpdate",
        "spec.updateStrategy.rollingUpdate.maxSurge": 0,
        "spec.updateStrategy.rollingUpdate.maxUnavailable": 1,
    },
    "apps/StatefulSet": {
        "spec.replicas": 1,
        "spec.minReadySeconds": 0,
        "spec.revisionHistoryLimit": 10,
        "spec.podManagementPolicy": "OrderedReady",
        "spec.updateStrategy.type": "RollingUpdate",
        "spec.updateStrategy.rollingUpdate.partition": 0,
        "spec.persistentVolumeClaimRetentionPolicy.whenDeleted": "Retain",
        "spec.persistentVolumeClaimRetentionPolicy.whenScaled": "Retain",
        "spec.volumeClaimTemplates.*.spec.volumeMode": "Filesystem",
    },
    "batch/Job": {
        "spec.parallelism": 1,
        "spec.backoffLimit": 6,
        "spec.suspend": False,
        "spec.completionMode": "NonIndexed",
        "spec.podReplacementPolicy": "TerminatingOrFailed",
        "spec.manualSelector": False,
    },
    "batch/CronJob": {
        "spec.jobTemplate.metadata": {},
        "spec.concurrencyPolicy": "Allow",
        "spec.suspend": False,
        "spec.successfulJobsHistoryLimit": 3,
        "spec.failedJobsHistoryLimit": 1,
    },
    "/Service": {
        "spec.type": "ClusterIP",
        "spec.sessionAffinity": "None",
        "spec.internalTrafficPolicy": "Cluster",
        "spec.publishNotReadyAddresses": False,
        "spec.ports.*.protocol": "TCP",
    },
    "/Pod": {"spec.enableServiceLinks": True},
    "/Secret": {"type": "Opaque"},
    "/Endpoints": {"subsets.*.ports.*.protocol": "TCP"},
    "autoscaling/HorizontalPodAutoscaler": {"spec.minReplicas": 1},
    "networking.k8s.io/IngressClass": {"spec.parameters.scope": "Cluster"},
    "apiregistration.k8s.io/APIService": {"spec.service.port": 443},
    "/Namespace": {"spec": {}, "spec.finalizers": ["kubernetes"]},
    "/PersistentVolume": {"spec.persistentVolumeReclaimPolicy": "Retain", "spec.volumeMode": "Filesystem"},
    "/PersistentVolumeClaim": {"spec.volumeMode": "Filesystem"},
    "storage.k8s.io/StorageClass": {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},
    "storage.k8s.io/CSIDriver": {
        "spec.attachRequired": True,
        "spec.podInfoOnMount": False,
        "spec.storageCapacity": False,
        "spec.requiresRepublish": False,
        "spec.seLinuxMount": False,
        "spec.fsGroupPolicy": "ReadWriteOnceWithFSType",
        "spec.volumeLifecycleModes": ["Persistent"],
    },
    "scheduling.k8s.io/PriorityClass": {"preemptionPolicy": "PreemptLowerPriority", "globalDefault": False},
    "networking.k8s.io/NetworkPolicy": {"spec.podSelector": {}, **_PORT},
    f"{_RBAC}/RoleBinding": {"roleRef.apiGroup": _RBAC},
    f"{_RBAC}/ClusterRoleBinding": {"roleRef.apiGroup": _RBAC},
    "admissionregistration.k8s.io/ValidatingWebhookConfiguration": {
        f"webhooks.*.{key}": value for key, value in _WEBHOOK.items()
    },
    "admissionregistration.k8s.io/MutatingWebhookConfiguration": {
        "webhooks.*.reinvocationPolicy": "Never",
        **{f"webhooks.*.{key}": value for key, value in _WEBHOOK.items()},
    },
    "admissionregistration.k8s.io/ValidatingAdmissionPolicy": {
        "spec.failurePolicy": "Fail",
        **{f"spec.matchConstraints.{key}": value for key, value in _MATCH.items()},
    },
    "admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding": {
        f"spec.matchResources.{key}": value for key, value in _MATCH.items()
    },
}

_IGNORED = ("spec.volumeClaimTemplates.*.apiVersion", "spec.volumeClaimTemplates.*.kind")
"""What is written of the type of something whose type is known."""

_AMOUNTS = (
    "*.requests.*",
    "*.limits.*",
    "spec.hard.*",
    "spec.capacity.*",
    "*.emptyDir.sizeLimit",
)
"""How the ways to quantities end: `1Ti` and `1024Gi` are one."""


@cache
def defaults(kind: str) -> Mapping[str, Any]:
    """Return what is filled in for a kind, by patterns of fields."""
    template = _TEMPLATES.get(kind)
    if template is None:
        return _OWN.get(kind, {})
    pod = {f"{template}.spec.{key}": value for key, value in _POD.items()}
    return {**pod, f"{template}.metadata": {}, **_OWN.get(kind, {})}


def changes_nothing(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a change of a field is none to the API server: a default that is written down or left out, an empty
    list, another form of the same number.
    """
    if field.path[-2:] == ("metadata", "creationTimestamp"):
        return all(value in (None, ABSENT) for value in (field.old, field.new))
    if not _is_own(change.kind) or not field.path:
        return False
    if any(reaches(pattern, field.path) is not None for pattern in _IGNORED) or _is_kept(change, field):
        return True
    old = _meant(change, change.old, field.path, field.old)
    new = _meant(change, change.new, field.path, field.new)
    return same(old, new) or (_is_amount(field.path) and amount(old) == amount(new) is not None)


def is_the_servers(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a field is the state of an object of Kubernetes' own, which only its controllers write."""
    return field.path[:1] == ("status",) and _is_own(change.kind)


def _is_kept(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether it is an account of pods that stays: the server writes it twice, and the second is its own."""
    if field.path[-1] == "serviceAccountName":
        return field.new is ABSENT
    names = {_item(manifest, field.path[:-1], "serviceAccountName") for manifest in (change.old, change.new)}
    return field.path[-1] == "serviceAccount" and len(names) == 1 and names != {None}


@cache
def _is_own(kind: str) -> bool:
    """Tell whether Kubernetes itself has a kind: of others nobody here knows the defaults."""
    group, _, name = kind.rpartition("/")
    return bool(Kinds.at(LAST).versions(group, name))


def _meant(change: ObjectChange, manifest: Any, path: Steps, value: Any) -> Any:
    if value is not None and value is not ABSENT and value != []:
        return value
    return next(_filled_in(change.kind, manifest, path), ABSENT)


def _filled_in(kind: str, manifest: Any, path: Steps) -> Iterator[Any]:
    for pattern, value in defaults(kind).items():
        if reaches(pattern, path) == len(path):
            yield value
    yield from _by_others(manifest, path)


def _by_others(manifest: Any, path: Steps) -> Iterator[Any]:
    """Yield what another field of the same object says in its stead."""
    if path[-1] == "imagePullPolicy":
        image = str(_item(manifest, path[:-1], "image") or "")
        tag = image.rpartition("/")[2].partition("@")[0].partition(":")[2]
        yield "Always" if tag == "latest" or not (tag or "@" in image) else "IfNotPresent"
    elif path[-1] in ("serviceAccount", "serviceAccountName"):
        other = {"serviceAccount": "serviceAccountName"}.get(str(path[-1]), "serviceAccount")
        if (named := _item(manifest, path[:-1], other)) is not None:
            yield named
    elif path == ("metadata", "labels", "kubernetes.io/metadata.name"):
        yield dig(manifest, "metadata", "name")
    elif path == ("spec", "completions") and dig(manifest, "spec", "parallelism") is None:
        yield 1
    elif path[-1] == "targetPort" and (port := _item(manifest, path[:-1], "port")) is not None:
        yield port


def _item(manifest: Any, path: Steps, key: str) -> Any:
    """Return what stands beside a field, on the way that `field_changes` wrote."""
    part = manifest
    for step in path:
        named = isinstance(step, str) and step.startswith("[") and isinstance(part, list)
        part = next((one for one in part if _called(one, str(step))), None) if named else dig(part, step)
    return dig(part, key)


def _called(item: Any, step: str) -> bool:
    port = dig(item, "containerPort") or dig(item, "port")
    return step in (f"[{dig(item, 'name')}]", f"[{port}]", f"[{port}/{dig(item, 'protocol')}]")


def _is_amount(path: Steps) -> bool:
    return any(reaches(end, path[-len(end.split(".")) :]) for end in _AMOUNTS)
