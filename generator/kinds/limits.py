"""What bounds and orders pods: quotas, limits, priorities, runtimes, scalers, namespaces."""

from functools import partial
from typing import Any

from generator.kinds.general import SOURCE
from generator.model.change import ChangeRule, Effect, FieldChange, ObjectChange
from generator.model.fields import amount
from generator.model.opening import ENFORCE, LEVELS

QUOTA, RANGE, SPACE = ("/ResourceQuota",), ("/LimitRange",), ("/Namespace",)
PRIORITY, RUNTIME = ("scheduling.k8s.io/PriorityClass",), ("node.k8s.io/RuntimeClass",)
SCALER = ("autoscaling/HorizontalPodAutoscaler",)
_ENFORCE = f"metadata.labels[{ENFORCE}]"


def is_lower(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether less is allowed than before."""
    old, new = amount(field.old), amount(field.new)
    return new is not None and (old is None or new < old)


def is_stricter(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a level of Pod Security lets in less than the one before."""
    old, new = (_level(value) for value in (field.old, field.new))
    return new > old


def _level(value: Any) -> int:
    return LEVELS.index(value) if value in LEVELS else 0


of_quotas = partial(ChangeRule, kinds=QUOTA)
of_namespaces = partial(ChangeRule, kinds=SPACE)

LIMITS = (
    of_quotas(
        code="GEN-CHG-110",
        paths=("spec.hard", "spec.scopeSelector"),
        effect=Effect.NONE,
        reason="what runs stays; it counts for what is made from now on",
        link="https://kubernetes.io/docs/concepts/policy/resource-quotas/",
    ),
    of_quotas(
        code="GEN-CHG-111",
        paths=("spec.hard.*",),
        effect=Effect.OUTAGE,
        reason="what runs stays; above the quota nothing is made again, and a rolling update stands still",
        link="https://kubernetes.io/docs/concepts/policy/resource-quotas/",
        armed=True,
        when=is_lower,
    ),
    of_quotas(
        code="GEN-CHG-112",
        paths=("spec.scopes",),
        effect=Effect.IMPOSSIBLE,
        reason="the API server refuses other scopes of a quota; its Application stops there",
        instead="make a quota under a new name",
        link=f"{SOURCE}/core/validation/validation.go",
    ),
    ChangeRule(
        code="GEN-CHG-113",
        kinds=(*QUOTA, *RANGE),
        on="added",
        effect=Effect.OUTAGE,
        reason="what runs stays; pods that do not keep to it are not made again",
        armed=True,
    ),
    ChangeRule(
        code="GEN-CHG-114",
        kinds=(*QUOTA, *RANGE),
        on="removed",
        effect=Effect.NONE,
        reason="nothing bounds what is made from now on; defaults that it gave to pods are gone",
    ),
    ChangeRule(
        code="GEN-CHG-115",
        kinds=RANGE,
        paths=("spec",),
        effect=Effect.OUTAGE,
        reason="what runs stays; pods that do not keep to it are not made again",
        link="https://kubernetes.io/docs/concepts/policy/limit-range/",
        armed=True,
    ),
    ChangeRule(
        code="GEN-CHG-116",
        kinds=PRIORITY,
        paths=("value", "preemptionPolicy"),
        effect=Effect.IMPOSSIBLE,
        reason="the API server refuses it; its Application stops there",
        instead="make a class under a new name; pods that run keep the number that they got",
        link=f"{SOURCE}/scheduling/validation/validation.go",
    ),
    ChangeRule(
        code="GEN-CHG-117",
        kinds=PRIORITY,
        paths=("globalDefault", "description"),
        effect=Effect.NONE,
        reason="it counts for pods that are made from now on",
        link="https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/",
    ),
    ChangeRule(
        code="GEN-CHG-118",
        kinds=(*PRIORITY, *RUNTIME),
        on="removed",
        effect=Effect.OUTAGE,
        reason="pods that run stay; one that names it is not made again",
        link="https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/",
        armed=True,
    ),
    ChangeRule(
        code="GEN-CHG-119",
        kinds=RUNTIME,
        paths=("handler",),
        effect=Effect.IMPOSSIBLE,
        reason="the API server refuses another handler; its Application stops there",
        instead="make a class under a new name",
        link=f"{SOURCE}/node/validation/validation.go",
    ),
    ChangeRule(
        code="GEN-CHG-120",
        kinds=RUNTIME,
        paths=("overhead", "scheduling"),
        effect=Effect.NONE,
        reason="it counts for pods that are made from now on",
    ),
    ChangeRule(
        code="GEN-CHG-121",
        kinds=SCALER,
        paths=("spec",),
        effect=Effect.ROLLING,
        reason="pods of its target start or stop as the new bounds and measures want it",
        link="https://kubernetes.io/docs/concepts/workloads/autoscaling/horizontal-pod-autoscale/",
    ),
    ChangeRule(
        code="GEN-CHG-122",
        kinds=SCALER,
        on="removed",
        effect=Effect.NONE,
        reason="its target stays at the number of pods that it has, or that Git says",
    ),
    of_namespaces(
        code="GEN-CHG-123",
        paths=("metadata.labels",),
        effect=Effect.UNKNOWN,
        reason="policies, webhooks and queues select namespaces by their labels",
    ),
    of_namespaces(
        code="GEN-CHG-124",
        paths=(_ENFORCE,),
        effect=Effect.NONE,
        reason="pods are let in that were not",
        link="https://kubernetes.io/docs/concepts/security/pod-security-admission/",
    ),
    of_namespaces(
        code="GEN-CHG-125",
        paths=(_ENFORCE,),
        effect=Effect.OUTAGE,
        reason="pods that run stay; those that need more than the level allows are not made again",
        instead="set `pod-security.kubernetes.io/warn` to the level first, and read what a sync warns of",
        link="https://kubernetes.io/docs/concepts/security/pod-security-admission/",
        armed=True,
        when=is_stricter,
    ),
    of_namespaces(
        code="GEN-CHG-126",
        paths=(
            "metadata.labels[pod-security.kubernetes.io/warn]",
            "metadata.labels[pod-security.kubernetes.io/audit]",
            "metadata.labels[pod-security.kubernetes.io/warn-version]",
            "metadata.labels[pod-security.kubernetes.io/audit-version]",
        ),
        effect=Effect.NONE,
        reason="it only warns",
    ),
)
