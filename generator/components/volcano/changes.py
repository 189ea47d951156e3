"""What changes of Volcano's scheduler and queues mean.

Read in Volcano v1.14.1, `pkg/scheduler/scheduler.go`: the configuration is watched, and with the flag that we set one
that cannot be read ends the scheduler.
"""

from generator.components.rule_files import read_rules
from generator.model.change import FieldChange, ObjectChange, named

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


CHANGES = read_rules(
    "volcano/changes.yaml", of_the_scheduler, queues_twice, stops_pods, of_its_own=named("root", "default")
)
