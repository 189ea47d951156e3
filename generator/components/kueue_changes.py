"""What changes of Kueue's manager mean: it reads its configuration when it starts, and the chart restarts it for that.

Read in Kueue v0.18.3: `charts/kueue/templates/manager`, `apis/config/v1beta2`, and its webhooks, which fail closed.
"""

import re

from generator.model.change import CHART, VERSION, ChangeRule, Effect, FieldChange, ObjectChange
from generator.model.compared import every
from generator.model.versions import goes_to_the_next_minor, next_minor, of, skips_a_minor

KINDS = ("/ConfigMap", CHART)
PLACES = ("data.*", "values.managerConfig.controllerManagerConfigYaml")
KEYS = ("controller_manager_config.yaml", "controllerManagerConfigYaml")
TYPES = "https://github.com/kubernetes-sigs/kueue/blob/v0.18.3/apis/config/v1beta2/configuration_types.go"

_LISTED = re.compile(r"^ +- +(\S+)$", re.MULTILINE)
_TIMEOUT = re.compile(r"^ +timeout: (\d+)m", re.MULTILINE)


JUMPS = (
    ChangeRule(
        code="GEN-CHG-344",
        kinds=(VERSION,),
        paths=("version",),
        effect=Effect.UNKNOWN,
        reason="between {old} and {new} lie notes on urgent upgrades that speak of one minor version each; while the "
        "manager restarts, its webhooks refuse new jobs",
        instead="{old} to the newest of {next} first, wait until all of it runs, and so on",
        link="https://github.com/kubernetes-sigs/kueue/tree/main/CHANGELOG",
        when=of("kueue", skips_a_minor),
        words=next_minor,
    ),
    ChangeRule(
        code="GEN-CHG-345",
        kinds=(VERSION,),
        paths=("version",),
        effect=Effect.OUTAGE,
        reason="the manager restarts; until it answers, its webhooks refuse new Jobs, and Pods of the namespaces that "
        "it manages",
        instead="read upstream's urgent upgrade notes of {new} first, and give no large job in meanwhile",
        link="https://github.com/kubernetes-sigs/kueue/tree/main/CHANGELOG",
        when=of("kueue", goes_to_the_next_minor),
        words=next_minor,
    ),
)


def of_the_manager(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a field is the manager's configuration."""
    return field.path[-1] in KEYS


def holds_all_jobs(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether jobs that name no queue are held from now on."""
    said = "manageJobsWithoutQueueName: true"
    return said in str(field.new) and said not in str(field.old)


def shares_otherwise(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether fair sharing comes or goes."""
    return ("fairSharing:" in str(field.old)) != ("fairSharing:" in str(field.new))


def _frameworks(value: object) -> set[str]:
    return set(_LISTED.findall(str(value).partition("frameworks:")[2].partition("\nresources:")[0]))


def kinds_let_go(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a kind of jobs is held no more."""
    return bool(_frameworks(field.old) - _frameworks(field.new))


def _minutes(value: object) -> int:
    found = _TIMEOUT.search(str(value).partition("waitForPodsReady:")[2])
    return int(found[1]) if found else 0


def waits_shorter(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether jobs that were let in have less time to start."""
    return 0 < _minutes(field.new) < (_minutes(field.old) or _minutes(field.new) + 1)


CHANGES = (
    ChangeRule(
        code="GEN-CHG-533",
        kinds=KINDS,
        paths=PLACES,
        effect=Effect.ROLLING,
        reason="Kueue's manager starts anew with it; while no replica answers, new jobs and pods of teams are refused",
        link=TYPES,
        when=of_the_manager,
    ),
    ChangeRule(
        code="GEN-CHG-534",
        kinds=KINDS,
        paths=PLACES,
        effect=Effect.OUTAGE,
        reason="jobs that name no queue, which started by themselves so far, are held from now on",
        instead="have jobs name a queue first",
        link=TYPES,
        when=every(of_the_manager, holds_all_jobs),
    ),
    ChangeRule(
        code="GEN-CHG-535",
        kinds=KINDS,
        paths=PLACES,
        effect=Effect.PREEMPTS,
        reason="with fair sharing other jobs are stopped for those that wait than without",
        instead="when little is borrowed",
        link=TYPES,
        when=every(of_the_manager, shares_otherwise),
    ),
    ChangeRule(
        code="GEN-CHG-536",
        kinds=KINDS,
        paths=PLACES,
        effect=Effect.OUTAGE,
        reason="jobs of a kind that is no longer listed start past the queues and take what others own; those that "
        "wait never start",
        instead="let those that wait start first",
        link=TYPES,
        when=every(of_the_manager, kinds_let_go),
    ),
    ChangeRule(
        code="GEN-CHG-537",
        kinds=KINDS,
        paths=PLACES,
        effect=Effect.PREEMPTS,
        reason="jobs that were let in and have not all pods ready within the shorter time are stopped, and wait again",
        instead="a time in which images of the largest job are pulled",
        link=TYPES,
        when=every(of_the_manager, waits_shorter),
    ),
)
