"""What changes of Volcano's scheduler and queues mean.

Read in Volcano v1.14.1, `pkg/scheduler/scheduler.go`: the configuration is watched, and with the flag that we set one
that cannot be read ends the scheduler.
"""

from generator.model.change import CHART, ChangeRule, Effect, FieldChange, ObjectChange, named

SOURCE = "https://github.com/volcano-sh/volcano/blob/v1.14.1"
QUEUE = ("scheduling.volcano.sh/Queue",)
KINDS = ("/ConfigMap", CHART)
PLACES = ("data.*", "values.custom.scheduler_config_override")
CONFIGURATION = ("volcano-scheduler.conf", "scheduler_config_override")
QUEUEING = ("enqueue", "overcommit", "proportion", "capacity", "drf")
"""Actions and plugins that are a second queue beside Kueue's (facts: scheduling 1.3)."""
STOPPING = ("preempt", "reclaim")
"""Actions that stop single pods of a gang (facts: scheduling 1.4)."""


def of_the_scheduler(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a field is the scheduler's configuration."""
    return field.path[-1] in CONFIGURATION


def _new_words(field: FieldChange) -> set[str]:
    old, new = (set(str(value).replace('"', " ").replace(",", " ").split()) for value in (field.old, field.new))
    return new - old


def queues_twice(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether Volcano gets a queue of its own."""
    return of_the_scheduler(change, field) and bool(_new_words(field) & set(QUEUEING))


def stops_pods(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether Volcano may stop pods that run, and has no queue of its own."""
    stops = bool(_new_words(field) & set(STOPPING))
    return of_the_scheduler(change, field) and stops and not queues_twice(change, field)


CHANGES = (
    ChangeRule(
        code="GEN-CHG-550",
        kinds=KINDS,
        paths=PLACES,
        effect=Effect.ROLLING,
        reason="the scheduler takes it with its next round, for pods that wait; one that it cannot read ends it, and "
        "then no gang starts",
        instead="try it on a cluster that does not matter",
        link=f"{SOURCE}/pkg/scheduler/scheduler.go",
        when=of_the_scheduler,
    ),
    ChangeRule(
        code="GEN-CHG-551",
        kinds=KINDS,
        paths=PLACES,
        effect=Effect.OUTAGE,
        reason="Volcano becomes a second queue: the gang of a job that Kueue stopped keeps its resources there, and "
        "the job let in instead waits for ever",
        instead="leave queues and quotas to Kueue",
        link=f"{SOURCE}/pkg/scheduler/scheduler.go",
        when=queues_twice,
    ),
    ChangeRule(
        code="GEN-CHG-552",
        kinds=KINDS,
        paths=PLACES,
        effect=Effect.PREEMPTS,
        reason="Volcano stops single pods for others from its next round on, and the rest of their gangs hangs",
        instead="leave it to Kueue, which stops whole jobs",
        link=f"{SOURCE}/pkg/scheduler/scheduler.go",
        when=stops_pods,
    ),
    ChangeRule(
        code="GEN-CHG-553",
        kinds=QUEUE,
        paths=("spec.capability", "spec.deserved", "spec.guarantee", "spec.weight", "spec.reclaimable", "spec.parent"),
        effect=Effect.PREEMPTS,
        reason="the shares of Volcano's queues change: where it reclaims, pods of others are stopped",
        link=f"{SOURCE}/pkg/webhooks/admission/queues/validate/validate_queue.go",
    ),
    ChangeRule(
        code="GEN-CHG-386",
        kinds=QUEUE,
        on="removed",
        effect=Effect.IMPOSSIBLE,
        reason="Volcano's webhook refuses it: `root` holds all queues, and `default` takes what names none; the "
        "Application fails until it is back",
        instead="leave it, and give it no share",
        link=f"{SOURCE}/pkg/webhooks/admission/queues/validate/validate_queue.go",
        when=named("root", "default"),
    ),
    ChangeRule(
        code="GEN-CHG-554",
        kinds=QUEUE,
        on="removed",
        effect=Effect.OUTAGE,
        reason="gangs that name it are not placed any more; pods that run go on",
        link=f"{SOURCE}/pkg/webhooks/admission/queues/validate/validate_queue.go",
    ),
)
