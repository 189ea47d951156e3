"""What holds for objects of every kind."""

from functools import partial

from generator.kinds.defaults import changes_nothing, is_the_servers
from generator.model.change import ANY, ChangeRule, Effect
from generator.model.compared import is_protected

SOURCE = "https://github.com/kubernetes/kubernetes/blob/v1.35.3/pkg/apis"
"""Where the validation of each group lies."""

BACKGROUND = ("metadata.ownerReferences", "metadata.finalizers", "metadata.generateName")


of_all = partial(ChangeRule, kinds=(ANY,))

GENERAL = (
    of_all(
        code="GEN-CHG-001",
        paths=("metadata.labels", "metadata.annotations"),
        effect=Effect.NONE,
        reason="labels and annotations of the object itself start nothing; what chooses objects by them follows",
    ),
    of_all(
        code="GEN-CHG-002",
        on="moved",
        effect=Effect.MOVES,
        reason="the Application that no longer names it deletes it, the other makes it again",
        instead="protect the object with `Prune=false` in a commit of its own before it moves; then see GEN-CHG-161",
    ),
    of_all(
        code="GEN-CHG-161",
        on="moved",
        effect=Effect.BY_HAND,
        reason="it is protected and stays, with the mark of the Application that had it: the other one refuses to sync "
        "as long as the mark is there (`FailOnSharedResource=true`)",
        instead="`kubectl annotate KIND NAME argocd.argoproj.io/tracking-id-` after the merge; then sync",
        link="https://github.com/argoproj/argo-cd/blob/v3.5.1/controller/sync.go",
        when=is_protected,
        settles=2,
    ),
    of_all(
        code="GEN-CHG-003",
        on="removed",
        effect=Effect.NONE,
        reason="it is protected (`Prune=false`): it stays in the cluster as it is, and nobody manages it any more",
        instead="`kubectl delete` it, if it is to go",
        link="https://argo-cd.readthedocs.io/en/stable/user-guide/sync-options/#no-prune-resources",
        when=is_protected,
        settles=2,
    ),
    of_all(
        code="GEN-CHG-004",
        effect=Effect.NONE,
        reason="the API server fills in the same where nothing is written",
        link=f"{SOURCE}/core/v1/defaults.go",
        when=changes_nothing,
        settles=2,
    ),
    of_all(
        code="GEN-CHG-007",
        paths=BACKGROUND,
        effect=Effect.NONE,
        reason="it counts when the object is made, or when it is deleted",
        armed=True,
    ),
    of_all(
        code="GEN-CHG-742",
        paths=("status",),
        effect=Effect.NONE,
        reason="the state of an object is its controllers': the API server drops what Git says of it",
        link="https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/"
        "api-conventions.md#spec-and-status",
        when=is_the_servers,
        settles=2,
    ),
)
