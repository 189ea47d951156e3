"""What changes of quotas and queues mean, as Kueue acts on them.

Read in Kueue v0.18.3: `apis/kueue/v1beta2`, `pkg/controller/core`, and the rules of its CRDs. A job that runs is never
stopped because a quota shrinks: it is stopped when a waiting job of another queue gets its own quota back.
"""

from math import inf
from typing import Any

from generator.components.queues.object_changes import OBJECT_CHANGES
from generator.model.change import ChangeRule, Effect, FieldChange, ObjectChange, value_at
from generator.model.compared import came, lowered, raised, reordered, went
from generator.model.fields import dig, mapping

SOURCE = "https://github.com/kubernetes-sigs/kueue/blob/v0.18.3"
TYPES = f"{SOURCE}/apis/kueue/v1beta2/clusterqueue_types.go"
QUEUE = ("kueue.x-k8s.io/ClusterQueue",)
COHORT = ("kueue.x-k8s.io/Cohort",)
FLAVORS = "spec.resourceGroups.*.flavors"
RESOURCES = f"{FLAVORS}.*.resources.*"
STRICTNESS = ("Never", "LowerPriority", "LowerOrNewerEqualPriority", "Any")
"""Kueue's policies of preemption, the gentlest first."""


def reclaims(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether a queue stops jobs of others to get its own quota back."""
    return value_at(change.new, "spec.preemption.reclaimWithinCohort") not in (None, "Never")


def _more(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether more is owned. A flavor that comes brings a list of resources, many with nothing of them."""
    owned = [dig(one, "nominalQuota") for one in field.new] if isinstance(field.new, list) else [field.new]
    return raised(change, field) or (came(change, field) and any(str(one) not in ("0", "None") for one in owned))


def more_to_reclaim(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a queue owns more, and takes it from who borrows it."""
    return field.path[-1] != "name" and _more(change, field) and reclaims(change, field)


def nothing_to_reclaim(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a queue owns as much, or more which it takes from nobody."""
    return not lowered(change, field) and not more_to_reclaim(change, field)


def _items(value: object) -> set[object]:
    return set(value) if isinstance(value, list) else set()


def uncounted(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a kind of resource is counted no more."""
    return bool(_items(field.old) - _items(field.new))


def all_counted(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether every kind of resource that was counted still is."""
    return not uncounted(change, field)


def _strictness(value: object) -> int:
    return STRICTNESS.index(value) if value in STRICTNESS else 0


def _threshold(manifest: dict[str, Any]) -> float:
    """Return up to which priority a queue that must borrow stops jobs of others."""
    borrowing = mapping(value_at(manifest, "spec.preemption.borrowWithinCohort"))
    if _strictness(borrowing.get("policy")) == 0:
        return -inf
    threshold = borrowing.get("maxPriorityThreshold")
    return threshold if isinstance(threshold, int) else inf


def loosened(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a queue may stop more jobs than before: by another policy, or a higher threshold."""
    if "borrowWithinCohort" in field.path:
        return _threshold(change.new) > _threshold(change.old)
    return _strictness(field.new) > _strictness(field.old)


def tightened(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a queue may stop no more jobs than before."""
    return not loosened(change, field)


def released(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether nothing holds a queue any more."""
    return field.new in (None, "None") or not isinstance(field.new, str)


def held(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a queue is stopped."""
    return not released(change, field)


AMOUNTS = (
    ChangeRule(
        code="GEN-CHG-500",
        kinds=(*QUEUE, *COHORT),
        paths=(f"{RESOURCES}.nominalQuota",),
        effect=Effect.PREEMPTS,
        reason="jobs that run go on above the quota, until the waiting jobs of others who own it stop them; new "
        "ones wait",
        instead="lower it when less is in use: `kubectl get clusterqueue NAME -o yaml` shows `flavorsUsage`",
        link=TYPES,
        when=lowered,
    ),
    ChangeRule(
        code="GEN-CHG-501",
        kinds=QUEUE,
        paths=(f"{RESOURCES}.nominalQuota", f"{FLAVORS}.*"),
        effect=Effect.PREEMPTS,
        reason="more of its jobs may start; where others borrow what is its own now, theirs are stopped for them",
        link=TYPES,
        when=more_to_reclaim,
    ),
    ChangeRule(
        code="GEN-CHG-502",
        kinds=(*QUEUE, *COHORT),
        paths=(f"{RESOURCES}.nominalQuota",),
        effect=Effect.NONE,
        reason="as many jobs may run as before, or more",
        link=TYPES,
        when=nothing_to_reclaim,
    ),
    ChangeRule(
        code="GEN-CHG-503",
        kinds=(*QUEUE, *COHORT),
        paths=(f"{RESOURCES}.borrowingLimit", f"{RESOURCES}.lendingLimit"),
        effect=Effect.NONE,
        reason="jobs that run on what they borrowed go on; the limit counts when the next one is let in",
        link=TYPES,
    ),
    ChangeRule(
        code="GEN-CHG-504",
        kinds=(*QUEUE, *COHORT),
        paths=(f"{FLAVORS}.*", RESOURCES),
        effect=Effect.OUTAGE,
        reason="jobs that need it wait for ever; those that run are counted no more, and others are let in on the "
        "same nodes",
        instead="hold the queue (`stopPolicy: Hold`), wait until its jobs have ended, then take it out",
        link="https://github.com/kubernetes-sigs/kueue/issues/2678",
        when=went,
    ),
    ChangeRule(
        code="GEN-CHG-505",
        kinds=(*QUEUE, *COHORT),
        paths=(f"{FLAVORS}.*", RESOURCES),
        effect=Effect.NONE,
        reason="more jobs may start, on what was not shared out before",
        link=TYPES,
        when=came,
    ),
    ChangeRule(
        code="GEN-CHG-506",
        kinds=(*QUEUE, *COHORT),
        paths=(FLAVORS,),
        effect=Effect.NONE,
        reason="jobs that are let in from now on try the flavors in this order",
        link=TYPES,
        when=reordered,
    ),
    ChangeRule(
        code="GEN-CHG-507",
        kinds=(*QUEUE, *COHORT),
        paths=("spec.resourceGroups.*.coveredResources",),
        effect=Effect.OUTAGE,
        reason="jobs that ask for a resource which no queue counts wait for ever",
        link=TYPES,
        when=uncounted,
    ),
    ChangeRule(
        code="GEN-CHG-508",
        kinds=(*QUEUE, *COHORT),
        paths=("spec.resourceGroups.*.coveredResources",),
        effect=Effect.NONE,
        reason="more kinds of resources are counted, for jobs that are let in from now on",
        link=TYPES,
        when=all_counted,
    ),
)

POLICIES = (
    ChangeRule(
        code="GEN-CHG-510",
        kinds=(*QUEUE, *COHORT),
        paths=("spec.cohortName", "spec.parentName"),
        effect=Effect.PREEMPTS,
        reason="who borrows from whom changes: jobs on borrowed quota may be stopped for its owners",
        instead="when little is borrowed",
        link=TYPES,
    ),
    ChangeRule(
        code="GEN-CHG-517",
        kinds=(*QUEUE, *COHORT),
        paths=("spec.fairSharing",),
        effect=Effect.PREEMPTS,
        reason="with fair sharing who borrows more than its weight gives has to stop jobs for others that want it",
        instead="when little is borrowed",
        link=TYPES,
    ),
    ChangeRule(
        code="GEN-CHG-511",
        kinds=QUEUE,
        paths=("spec.preemption",),
        effect=Effect.PREEMPTS,
        reason="its waiting jobs may stop more of those that run than before, from the next round on",
        instead="tell the teams first: jobs without checkpoints lose their work",
        link=TYPES,
        when=loosened,
    ),
    ChangeRule(
        code="GEN-CHG-512",
        kinds=QUEUE,
        paths=("spec.preemption",),
        effect=Effect.NONE,
        reason="its waiting jobs may stop fewer of those that run than before",
        link=TYPES,
        when=tightened,
    ),
    ChangeRule(
        code="GEN-CHG-513",
        kinds=QUEUE,
        paths=("spec.queueingStrategy",),
        effect=Effect.NONE,
        reason="jobs that run go on; those that wait are tried in the other way",
        link=TYPES,
    ),
    ChangeRule(
        code="GEN-CHG-514",
        kinds=QUEUE,
        paths=("spec.namespaceSelector",),
        effect=Effect.OUTAGE,
        reason="jobs in namespaces that it no longer selects wait for ever; those that run go on",
        link=TYPES,
    ),
    ChangeRule(
        code="GEN-CHG-515",
        kinds=(*QUEUE, "kueue.x-k8s.io/LocalQueue"),
        paths=("spec.stopPolicy",),
        effect=Effect.OUTAGE,
        reason="no job starts through it any more; with HoldAndDrain those that run are stopped at once",
        instead="`Hold` lets those that run end",
        link=TYPES,
        when=held,
    ),
    ChangeRule(
        code="GEN-CHG-516",
        kinds=(*QUEUE, "kueue.x-k8s.io/LocalQueue"),
        paths=("spec.stopPolicy",),
        effect=Effect.NONE,
        reason="jobs that wait may start again",
        link=TYPES,
        when=released,
    ),
)

CHANGES = (*AMOUNTS, *POLICIES, *OBJECT_CHANGES)
