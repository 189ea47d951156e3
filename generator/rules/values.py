"""Fields of Kubernetes' own types that take only some values, of which the published schemas do not say so."""

from typing import Any

from generator.model.fields import dig

_PROTOCOLS = ("TCP", "UDP", "SCTP")
_CORE, _APPS, _BATCH = "io.k8s.api.core.v1", "io.k8s.api.apps.v1", "io.k8s.api.batch.v1"
_NETWORKING = "io.k8s.api.networking.v1"
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_UPDATES = ("RollingUpdate", "OnDelete")

# From Kubernetes' validation of each type at v1.35, without what only a feature gate allows. Fields that got values in
# a later minor are left out.
_VALUES: dict[tuple[str, str], tuple[str, ...]] = {
    (f"{_CORE}.Container", "imagePullPolicy"): ("Always", "IfNotPresent", "Never"),
    (f"{_CORE}.Container", "terminationMessagePolicy"): ("File", "FallbackToLogsOnError"),
    (f"{_CORE}.ContainerPort", "protocol"): _PROTOCOLS,
    (f"{_CORE}.HTTPGetAction", "scheme"): ("HTTP", "HTTPS"),
    (f"{_CORE}.PersistentVolumeSpec", "persistentVolumeReclaimPolicy"): ("Retain", "Delete", "Recycle"),
    (f"{_CORE}.PersistentVolumeSpec", "volumeMode"): ("Filesystem", "Block"),
    (f"{_CORE}.PersistentVolumeClaimSpec", "volumeMode"): ("Filesystem", "Block"),
    (f"{_CORE}.PodSpec", "dnsPolicy"): ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"),
    (f"{_CORE}.PodSpec", "preemptionPolicy"): ("PreemptLowerPriority", "Never"),
    (f"{_CORE}.PodSpec", "restartPolicy"): ("Always", "OnFailure", "Never"),
    (f"{_CORE}.ServicePort", "protocol"): _PROTOCOLS,
    (f"{_CORE}.ServiceSpec", "externalTrafficPolicy"): ("Cluster", "Local"),
    (f"{_CORE}.ServiceSpec", "sessionAffinity"): ("None", "ClientIP"),
    (f"{_CORE}.ServiceSpec", "type"): ("ClusterIP", "NodePort", "LoadBalancer", "ExternalName"),
    (f"{_CORE}.Taint", "effect"): _EFFECTS,
    (f"{_CORE}.Toleration", "effect"): _EFFECTS,
    (f"{_CORE}.TopologySpreadConstraint", "whenUnsatisfiable"): ("DoNotSchedule", "ScheduleAnyway"),
    (f"{_APPS}.DaemonSetUpdateStrategy", "type"): _UPDATES,
    (f"{_APPS}.DeploymentStrategy", "type"): ("Recreate", "RollingUpdate"),
    (f"{_APPS}.StatefulSetSpec", "podManagementPolicy"): ("OrderedReady", "Parallel"),
    (f"{_APPS}.StatefulSetUpdateStrategy", "type"): _UPDATES,
    (f"{_BATCH}.CronJobSpec", "concurrencyPolicy"): ("Allow", "Forbid", "Replace"),
    (f"{_BATCH}.JobSpec", "completionMode"): ("NonIndexed", "Indexed"),
    (f"{_NETWORKING}.HTTPIngressPath", "pathType"): ("Exact", "Prefix", "ImplementationSpecific"),
    (f"{_NETWORKING}.NetworkPolicyPort", "protocol"): _PROTOCOLS,
    ("io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement", "operator"): (
        "In", "NotIn", "Exists", "DoesNotExist",
    ),
}  # fmt: skip


def with_values(content: dict[str, Any]) -> dict[str, Any]:
    """Return the file of Kubernetes' types with the values that fields take. Null and an empty text stand for the
    default. Changes `content`.
    """
    for (kind, field), values in _VALUES.items():
        schema = dig(content, "$defs", kind, "properties", field)
        if schema is not None:
            schema["enum"] = [*values, "", None]
    return content
