"""Deployments, StatefulSets and DaemonSets."""

from functools import partial
from typing import Any

from generator.kinds.bare_pods import POD
from generator.kinds.general import SOURCE
from generator.model.change import ChangeRule, Effect, FieldChange, ObjectChange
from generator.model.fields import dig, mapping

DEPLOYMENT = ("apps/Deployment", "apps/ReplicaSet", "/ReplicationController")
STATEFUL, DAEMON = ("apps/StatefulSet",), ("apps/DaemonSet",)
ALL = ("apps/Deployment", *DAEMON, *STATEFUL)
UPDATES = f"{SOURCE}/apps/validation/validation.go"
STRATEGIES = "https://kubernetes.io/docs/concepts/workloads/controllers"


def replicas(manifest: Any) -> int:
    """Return how many pods are wanted; 1 where it is not said."""
    found: object = dig(manifest, "spec", "replicas")
    return found if isinstance(found, int) else 1


def to_none(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether no pod is left."""
    return replicas(change.new) == 0 < replicas(change.old)


def fewer(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether some pods go."""
    return replicas(change.new) < replicas(change.old)


def loses_claims(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether the claims of pods that go are deleted with them."""
    kept = dig(change.new, "spec", "persistentVolumeClaimRetentionPolicy", "whenScaled")
    return fewer(change, field) and kept == "Delete"


def takes_claims(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether the claims of its pods are deleted with a StatefulSet."""
    kept: object = dig(change.old, "spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted")
    return kept == "Delete"


def _strategy(manifest: Any) -> dict[str, Any]:
    spec = mapping(dig(manifest, "spec"))
    return mapping(spec.get("strategy") or spec.get("updateStrategy"))


def all_at_once(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether the old pods go before new ones come."""
    strategy, spec = _strategy(change.new), mapping(dig(change.new, "spec"))
    if change.kind == "apps/StatefulSet":
        return replicas(change.new) == 1
    no_surge = dig(strategy, "rollingUpdate", "maxSurge") in (0, "0", "0%")
    return strategy.get("type") == "Recreate" or (no_surge and spec.get("replicas", 1) == 1)


def waits_for_people(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether pods stay as they are until somebody deletes them."""
    return _strategy(change.new).get("type") == "OnDelete" or dig(change.new, "spec", "paused") is True


def in_part(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether pods of low ordinals stay as they are."""
    part: object = dig(_strategy(change.new), "rollingUpdate", "partition")
    return isinstance(part, int) and part > 0


def none_runs(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether no pod is wanted, before and after."""
    return change.kind != "apps/DaemonSet" and replicas(change.old) == replicas(change.new) == 0


def deletes(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether something is to be deleted from now on."""
    return bool(field.new == "Delete")


def resumes(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether what waited goes on."""
    return field.old is True


of_sets = partial(ChangeRule, kinds=STATEFUL)
of_workloads = partial(ChangeRule, kinds=ALL)
of_replicated = partial(ChangeRule, kinds=(*DEPLOYMENT, *STATEFUL))

WORKLOADS = (
    of_sets(
        code="GEN-CHG-010",
        paths=("spec",),
        but=(
            "spec.replicas",
            "spec.ordinals",
            "spec.template",
            "spec.updateStrategy",
            "spec.revisionHistoryLimit",
            "spec.persistentVolumeClaimRetentionPolicy",
            "spec.minReadySeconds",
        ),
        effect=Effect.IMPOSSIBLE,
        reason="the API server refuses any other change of a StatefulSet; its Application stops there",
        instead="`kubectl delete statefulset NAME --cascade=orphan`, then sync: pods and claims stay",
        link=UPDATES,
    ),
    of_workloads(
        code="GEN-CHG-011",
        paths=("spec.template",),
        effect=Effect.ROLLING,
        reason="its pods are replaced one after the other",
        link=STRATEGIES,
    ),
    ChangeRule(
        code="GEN-CHG-012",
        kinds=(*ALL, *DEPLOYMENT[1:], *POD),
        on="removed",
        effect=Effect.OUTAGE,
        reason="its pods go, and nothing starts them again",
    ),
    of_sets(
        code="GEN-CHG-723",
        on="removed",
        effect=Effect.DATA_LOSS,
        reason="its pods go, and their claims with what is stored in them (`whenDeleted: Delete`)",
        instead="set `whenDeleted: Retain` in a commit before",
        link="https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#persistentvolumeclaim-retention",
        when=takes_claims,
    ),
    ChangeRule(
        code="GEN-CHG-013",
        kinds=("apps/Deployment", "apps/ReplicaSet", *DAEMON),
        paths=("spec.selector",),
        effect=Effect.IMPOSSIBLE,
        reason="the API server refuses another selector; its Application stops there",
        instead="give it a new name; or `kubectl delete --cascade=orphan` it, sync, and delete the old pods",
        link=UPDATES,
    ),
    of_workloads(
        code="GEN-CHG-014",
        paths=("spec.template",),
        effect=Effect.RESTART,
        reason="all its pods stop before new ones start: it has one, or its strategy says so",
        instead="two replicas, or a rolling update with `maxSurge: 1`, where the program bears two of it",
        link=STRATEGIES,
        when=all_at_once,
    ),
    of_workloads(
        code="GEN-CHG-015",
        paths=("spec.template",),
        effect=Effect.BY_HAND,
        reason="pods that run stay as they are: it is paused, or replaces a pod only when somebody deletes it",
        instead="delete its pods one by one, each when the one before is ready",
        link=STRATEGIES,
        when=lambda change, field: waits_for_people(change, field) or in_part(change, field),
    ),
    of_workloads(
        code="GEN-CHG-016",
        paths=("spec.template",),
        effect=Effect.NONE,
        reason="no pod of it runs",
        when=none_runs,
        settles=1,
    ),
    of_replicated(
        code="GEN-CHG-017",
        paths=("spec.replicas",),
        effect=Effect.NONE,
        reason="more pods of it start, where there is room",
    ),
    of_replicated(
        code="GEN-CHG-018",
        paths=("spec.replicas",),
        effect=Effect.RESTART,
        reason="pods of it stop for good, of a StatefulSet those with the highest numbers",
        instead="where members hold data or votes, take each out by the program's own means first",
        when=fewer,
    ),
    of_replicated(
        code="GEN-CHG-019",
        paths=("spec.replicas",),
        effect=Effect.OUTAGE,
        reason="no pod of it is left",
        when=to_none,
        settles=1,
    ),
    of_sets(
        code="GEN-CHG-020",
        paths=("spec.replicas",),
        effect=Effect.DATA_LOSS,
        reason="the claims of pods that go are deleted with them (`whenScaled: Delete`)",
        instead="set `whenScaled: Retain` in a commit before",
        link="https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#persistentvolumeclaim-retention",
        when=loses_claims,
        settles=1,
    ),
    of_sets(
        code="GEN-CHG-021",
        paths=("spec.persistentVolumeClaimRetentionPolicy",),
        effect=Effect.NONE,
        reason="claims stay where pods or the StatefulSet go",
    ),
    of_sets(
        code="GEN-CHG-022",
        paths=("spec.persistentVolumeClaimRetentionPolicy.*",),
        effect=Effect.DATA_LOSS,
        reason="from now on claims, and what is stored in them, go with the StatefulSet or with pods that it loses",
        instead="`Retain`, and delete claims by hand",
        link="https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#persistentvolumeclaim-retention",
        armed=True,
        when=deletes,
    ),
    of_sets(
        code="GEN-CHG-023",
        paths=("spec.ordinals",),
        effect=Effect.RESTART,
        reason="pods get other numbers: those out of the range stop, new ones start with claims of their own, empty",
        link="https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#start-ordinal",
    ),
    ChangeRule(
        code="GEN-CHG-024",
        kinds=(*ALL, *DEPLOYMENT[1:]),
        paths=(
            "spec.strategy",
            "spec.updateStrategy",
            "spec.minReadySeconds",
            "spec.revisionHistoryLimit",
            "spec.progressDeadlineSeconds",
        ),
        effect=Effect.NONE,
        reason="it counts from the next change of its pods",
    ),
    ChangeRule(
        code="GEN-CHG-025",
        kinds=("apps/Deployment",),
        paths=("spec.paused",),
        effect=Effect.NONE,
        reason="changes of its pods wait from now on",
        armed=True,
    ),
    ChangeRule(
        code="GEN-CHG-026",
        kinds=("apps/Deployment",),
        paths=("spec.paused",),
        effect=Effect.ROLLING,
        reason="what changed while it was paused rolls out now",
        when=resumes,
    ),
    ChangeRule(
        code="GEN-CHG-009",
        kinds=DEPLOYMENT[1:],
        paths=("spec.template",),
        effect=Effect.BY_HAND,
        reason="it counts for pods that are made from now on; those that run stay as they are",
        instead="make it a Deployment",
    ),
)
