"""What a Kubernetes serves by default, without any CRD."""

import re
from collections.abc import Mapping
from functools import cache

FIRST, LAST = 33, 36
"""The minors of Kubernetes 1 that are known. One above is taken for the last, one below for the first."""

# Group and version: its namespaced kinds, its cluster-wide kinds. From the discovery documents in Kubernetes' source at
# v1.33.0, less what its default API configuration leaves off: all alpha and beta versions.
_SERVED = {
    "admissionregistration.k8s.io/v1": (
        "",
        (
            "MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding "
            "ValidatingWebhookConfiguration"
        ),
    ),
    "apiextensions.k8s.io/v1": ("", "CustomResourceDefinition"),
    "apiregistration.k8s.io/v1": ("", "APIService"),
    "apps/v1": ("ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet", ""),
    "authentication.k8s.io/v1": ("", "SelfSubjectReview TokenReview"),
    "authorization.k8s.io/v1": (
        "LocalSubjectAccessReview",
        "SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview",
    ),
    "autoscaling/v1": ("HorizontalPodAutoscaler", ""),
    "autoscaling/v2": ("HorizontalPodAutoscaler", ""),
    "batch/v1": ("CronJob Job", ""),
    "certificates.k8s.io/v1": ("", "CertificateSigningRequest"),
    "coordination.k8s.io/v1": ("Lease", ""),
    "discovery.k8s.io/v1": ("EndpointSlice", ""),
    "events.k8s.io/v1": ("Event", ""),
    "flowcontrol.apiserver.k8s.io/v1": ("", "FlowSchema PriorityLevelConfiguration"),
    "networking.k8s.io/v1": ("Ingress NetworkPolicy", "IPAddress IngressClass ServiceCIDR"),
    "node.k8s.io/v1": ("", "RuntimeClass"),
    "policy/v1": ("PodDisruptionBudget", ""),
    "rbac.authorization.k8s.io/v1": ("Role RoleBinding", "ClusterRole ClusterRoleBinding"),
    "scheduling.k8s.io/v1": ("", "PriorityClass"),
    "storage.k8s.io/v1": ("CSIStorageCapacity", "CSIDriver CSINode StorageClass VolumeAttachment"),
    "v1": (
        (
            "Binding ConfigMap Endpoints Event LimitRange PersistentVolumeClaim Pod PodTemplate ReplicationController "
            "ResourceQuota Secret Service ServiceAccount"
        ),
        "ComponentStatus Namespace Node PersistentVolume",
    ),
}

# What a minor adds to the one before, by the same sources at v1.34.0, v1.35.3 and v1.36.0. None of them takes away.
_ADDED = {
    34: {
        "resource.k8s.io/v1": ("ResourceClaim ResourceClaimTemplate", "DeviceClass ResourceSlice"),
        "storage.k8s.io/v1": ("", "VolumeAttributesClass"),
    },
    36: {"admissionregistration.k8s.io/v1": ("", "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding")},
}


def minor_of(version: str) -> int:
    """Return the minor of a version like `1.35.3`, or as servers say it, `v1.35.3-eks-1`."""
    return numbers(version)[1]


def numbers(version: str) -> tuple[int, ...]:
    """Return a version like `1.35.3` in a form that compares: its numbers, in order."""
    # Python refuses to read thousands of digits.
    return tuple(int(number[:9]) for number in re.findall("[0-9]+", version))


@cache
def kinds(minor: int) -> Mapping[str, Mapping[str, bool]]:
    """Return the kinds of each group and version (`apps/v1`; core is `v1`) that Kubernetes 1.`minor` serves by default,
    and whether they are namespaced. A minor that is not known is taken for the nearest known one at or below it, or
    for the first. Subresources (Eviction, Scale) are no kinds here.
    """
    found: dict[str, dict[str, bool]] = {}
    for table in (_SERVED, *(added for since, added in _ADDED.items() if since <= minor)):
        for version, (namespaced, wide) in table.items():
            own = found.setdefault(version, {})
            own |= dict.fromkeys(namespaced.split(), True) | dict.fromkeys(wide.split(), False)
    return {version: found[version] for version in sorted(found)}


def versions(minor: int) -> tuple[str, ...]:
    """Return every group and version that Kubernetes 1.`minor` serves by default, sorted; minors as in `kinds`."""
    return tuple(kinds(minor))


@cache
def api_list(minor: int) -> tuple[str, ...]:
    """Return `group/version` and `group/version/Kind` of all that Kubernetes 1.`minor` serves by default, sorted: what
    Helm wants as `--api-versions`, where charts ask for either. Minors as in `kinds`.
    """
    found = kinds(minor)
    return tuple(sorted([*found, *(f"{version}/{kind}" for version, own in found.items() for kind in own)]))
