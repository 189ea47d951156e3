"""What changes of Kubernetes' own kinds mean, whoever made the objects.

What may not change was read in the validation of kube-apiserver 1.35.3 (`pkg/apis/<group>/validation`).
"""

from generator.model.change import ANY, ChangeRule, Effect
from generator.model.compared import is_protected

SOURCE = "https://github.com/kubernetes/kubernetes/blob/v1.35.3/pkg/apis"


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
        instead="protect the object with `Prune=false` in a commit of its own before it moves",
    ),
    ChangeRule(
        code="GEN-CHG-003",
        kinds=(ANY,),
        on="removed",
        effect=Effect.NONE,
        reason="it is protected: it stays in the cluster, and nobody manages it any more",
        when=is_protected,
    ),
)

WORKLOADS = (
    ChangeRule(
        code="GEN-CHG-010",
        kinds=("apps/StatefulSet",),
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
        link=f"{SOURCE}/apps/validation/validation.go",
    ),
    ChangeRule(
        code="GEN-CHG-011",
        kinds=("apps/Deployment", "apps/DaemonSet", "apps/StatefulSet"),
        paths=("spec.template",),
        effect=Effect.ROLLING,
        reason="its pods are replaced one after the other",
    ),
    ChangeRule(
        code="GEN-CHG-012",
        kinds=("apps/Deployment", "apps/DaemonSet", "apps/StatefulSet"),
        on="removed",
        effect=Effect.OUTAGE,
        reason="its pods go, and nothing starts them again",
    ),
)

STORAGE = (
    ChangeRule(
        code="GEN-CHG-030",
        kinds=("/PersistentVolumeClaim", "/Namespace"),
        on="removed",
        effect=Effect.DATA_LOSS,
        reason="with it goes what is stored in it",
    ),
)

RULES = (*GENERAL, *WORKLOADS, *STORAGE)
