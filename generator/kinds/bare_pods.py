"""Pods that nothing made: nearly all of them stands for good."""

from functools import partial

from generator.kinds.general import SOURCE
from generator.model.change import ABSENT, ChangeRule, Effect, FieldChange, ObjectChange

POD = ("/Pod",)


def image_only(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether it is an image of a container that both have."""
    return field.path[-1] == "image" and ABSENT not in (field.old, field.new)


def may_change(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a field of a pod changes as it may: tolerations come, a deadline comes nearer."""
    old, new = field.old, field.new
    if field.path[1] == "tolerations":
        return (old is ABSENT and len(field.path) <= len(("spec", "tolerations", "[key]"))) or (
            isinstance(new, list) and isinstance(old, list) and all(one in new for one in old)
        )
    return field.path[1] == "activeDeadlineSeconds" and (old is ABSENT or (isinstance(new, int) and new < old))


of_pods = partial(ChangeRule, kinds=POD)

BARE_PODS = (
    of_pods(
        code="GEN-CHG-027",
        paths=("spec",),
        effect=Effect.IMPOSSIBLE,
        reason="the API server refuses nearly every change of a pod; its Application stops there",
        instead="give it a new name, or make it of a Deployment",
        link=f"{SOURCE}/core/validation/validation.go",
    ),
    of_pods(
        code="GEN-CHG-028",
        paths=("spec.containers.*.image", "spec.initContainers.*.image"),
        effect=Effect.RESTART,
        reason="the container starts again in place, on the same node",
        link=f"{SOURCE}/core/validation/validation.go",
        when=image_only,
    ),
    of_pods(
        code="GEN-CHG-008",
        paths=("spec.tolerations", "spec.activeDeadlineSeconds"),
        effect=Effect.NONE,
        reason="it is one of the few fields of a pod that may change so",
        link=f"{SOURCE}/core/validation/validation.go",
        when=may_change,
        settles=1,
    ),
    of_pods(
        code="GEN-CHG-724",
        paths=("metadata.labels",),
        effect=Effect.UNKNOWN,
        reason="Services, network policies and budgets choose pods by their labels, and follow at once",
        link="https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/",
    ),
)
