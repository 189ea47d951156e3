"""What holds for objects of every kind."""

from generator.model.change import ANY, ChangeRule, Effect, FieldChange, ObjectChange
from generator.model.compared import OPTIONS, is_protected, options
from generator.review.defaults import changes_nothing

SOURCE = "https://github.com/kubernetes/kubernetes/blob/v1.35.3/pkg/apis"
"""Where the validation of each group lies."""

BACKGROUND = ("metadata.ownerReferences", "metadata.finalizers", "metadata.generateName")


def is_made_anew(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether Argo CD deletes the object and makes it again with each sync."""
    return {"Force=true", "Replace=true"} <= options(change.new)


def loses_protection(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether the object leaves the cluster when it leaves Git, from now on."""
    return is_protected(change, _field) and "Prune=false" not in options(change.new)


GENERAL = (
    ChangeRule(
        code="GEN-CHG-001",
        kinds=(ANY,),
        paths=("metadata.labels", "metadata.annotations"),
        effect=Effect.NONE,
        reason="labels and annotations of the object itself start nothing",
    ),
    ChangeRule(
        code="GEN-CHG-002",
        kinds=(ANY,),
        on="moved",
        effect=Effect.MOVES,
        reason="the Application that no longer names it deletes it, the other makes it again",
        instead="protect the object with `Prune=false` in a commit of its own before it moves; then see GEN-CHG-161",
    ),
    ChangeRule(
        code="GEN-CHG-161",
        kinds=(ANY,),
        on="moved",
        effect=Effect.BY_HAND,
        reason="it is protected and stays, with the mark of the Application that had it: the other one refuses to sync "
        "as long as the mark is there (`FailOnSharedResource=true`)",
        instead="`kubectl annotate KIND NAME argocd.argoproj.io/tracking-id-` after the merge; then sync",
        link="https://github.com/argoproj/argo-cd/blob/v3.5.1/controller/sync.go",
        when=is_protected,
        settles=1,
    ),
    ChangeRule(
        code="GEN-CHG-003",
        kinds=(ANY,),
        on="removed",
        effect=Effect.NONE,
        reason="it is protected (`Prune=false`): it stays in the cluster as it is, and nobody manages it any more",
        instead="`kubectl delete` it, if it is to go",
        link="https://argo-cd.readthedocs.io/en/stable/user-guide/sync-options/#no-prune-resources",
        when=is_protected,
        settles=1,
    ),
    ChangeRule(
        code="GEN-CHG-004",
        kinds=(ANY,),
        effect=Effect.NONE,
        reason="the API server fills in the same where nothing is written",
        link=f"{SOURCE}/core/v1/defaults.go",
        when=changes_nothing,
        settles=2,
    ),
    ChangeRule(
        code="GEN-CHG-005",
        kinds=(ANY,),
        effect=Effect.OUTAGE,
        reason="Argo CD deletes it and makes it again (`Force=true,Replace=true`), and what belongs to it goes with it",
        link="https://argo-cd.readthedocs.io/en/stable/user-guide/sync-options/#replace-resource-instead-of-applying-changes",
        when=is_made_anew,
        settles=2,
    ),
    ChangeRule(
        code="GEN-CHG-006",
        kinds=(ANY,),
        paths=(f"metadata.annotations[{OPTIONS}]",),
        effect=Effect.OUTAGE,
        reason="it is no longer protected: when it leaves Git, Argo CD deletes it with all that belongs to it",
        armed=True,
        when=loses_protection,
    ),
    ChangeRule(
        code="GEN-CHG-007",
        kinds=(ANY,),
        paths=BACKGROUND,
        effect=Effect.NONE,
        reason="it counts when the object is made, or when it or its owner is deleted",
        armed=True,
    ),
)
