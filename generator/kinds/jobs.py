"""Jobs, as hooks and as they are, and CronJobs."""

from functools import partial
from typing import Any

from generator.kinds.general import SOURCE
from generator.kinds.syncing import delete_policies, is_hook
from generator.model.change import ChangeRule, Effect, FieldChange, ObjectChange
from generator.model.fields import dig, mapping

JOB, CRON = ("batch/Job",), ("batch/CronJob",)
UPDATES = f"{SOURCE}/batch/validation/validation.go"


def _is_made_again(manifest: Any) -> bool:
    """Tell whether Argo CD deletes the Job before it makes it again, or when it is done."""
    return is_hook(manifest) and delete_policies(manifest) != {"hookfailed"}


def stays_a_hook(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether it is a hook on both sides."""
    return _is_made_again(change.old) and _is_made_again(change.new)


def was_suspended(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a field of the template may change as long as the Job has never started."""
    free = {"nodeSelector", "tolerations", "schedulingGates", "labels", "annotations", "nodeAffinity"}
    labels = [dig(manifest, "spec", "template", "metadata", "labels") for manifest in (change.old, change.new)]
    # Where all labels go, those that the server added go too, and it wants them.
    kept = labels[0] is None or labels[1] is not None
    return kept and dig(change.old, "spec", "suspend") is True and bool(free & set(map(str, field.path)))


def indexed_together(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether an Indexed Job gets as many completions as pods at once."""
    old, new = mapping(dig(change.old, "spec")), mapping(dig(change.new, "spec"))
    both = old.get("completionMode") == new.get("completionMode") == "Indexed"
    return both and new.get("completions") is not None and new.get("completions") == new.get("parallelism", 1)


def stops(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether it is suspended."""
    return field.new is True


of_jobs = partial(ChangeRule, kinds=JOB)

JOBS = (
    of_jobs(
        code="GEN-CHG-050",
        effect=Effect.NONE,
        reason="it is a hook: Argo CD deletes it and makes it again with each sync anyway",
        link="https://argo-cd.readthedocs.io/en/stable/user-guide/sync-waves/",
        when=stays_a_hook,
        settles=2,
    ),
    of_jobs(
        code="GEN-CHG-051",
        paths=(
            "spec.selector",
            "spec.template",
            "spec.completions",
            "spec.completionMode",
            "spec.podFailurePolicy",
            "spec.backoffLimitPerIndex",
            "spec.managedBy",
            "spec.successPolicy",
        ),
        effect=Effect.IMPOSSIBLE,
        reason="the API server refuses another template of a Job; its Application stops there",
        instead="give the Job a new name, or make it a hook of Argo CD",
        link=UPDATES,
    ),
    of_jobs(
        code="GEN-CHG-052",
        paths=("spec.template",),
        effect=Effect.UNKNOWN,
        reason="it is taken only while the Job is suspended and has never started, as one that waits in a queue",
        link=UPDATES,
        when=was_suspended,
        settles=2,
    ),
    of_jobs(
        code="GEN-CHG-053",
        paths=("spec",),
        effect=Effect.NONE,
        reason="it counts for the Job as it runs; one that is done stays done",
    ),
    of_jobs(
        code="GEN-CHG-054",
        paths=("spec.completions",),
        effect=Effect.NONE,
        reason="an Indexed Job grows and shrinks with its pods",
        link=UPDATES,
        when=indexed_together,
    ),
    of_jobs(
        code="GEN-CHG-055",
        paths=("spec.suspend",),
        effect=Effect.RESTART,
        reason="its pods are stopped; they begin anew when it is resumed",
        link="https://kubernetes.io/docs/concepts/workloads/controllers/job/#suspending-a-job",
        when=stops,
    ),
    ChangeRule(
        code="GEN-CHG-056",
        kinds=(*JOB, *CRON),
        on="removed",
        effect=Effect.OUTAGE,
        reason="it is deleted with its pods, also those that run",
    ),
    ChangeRule(
        code="GEN-CHG-057",
        kinds=CRON,
        paths=("spec",),
        effect=Effect.NONE,
        reason="it counts from the next run; what runs goes on",
        link="https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/",
    ),
    ChangeRule(
        code="GEN-CHG-058",
        kinds=CRON,
        paths=("spec.suspend",),
        effect=Effect.OUTAGE,
        reason="it no longer runs until somebody resumes it: what it did (a backup?) is not done",
        link="https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/#schedule-suspension",
        when=stops,
    ),
)
