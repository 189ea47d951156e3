"""What changes of Kueue's manager mean: it reads its configuration when it starts, and the chart restarts it for that.

Read in Kueue v0.18.3: `charts/kueue/templates/manager`, `apis/config/v1beta2`, and its webhooks, which fail closed.
"""

import re

from generator.components.rule_files import read_rules
from generator.model.change import FieldChange, ObjectChange
from generator.model.versions import goes_to_the_next_minor, of, skips_a_minor

KEYS = ("controller_manager_config.yaml", "controllerManagerConfigYaml")

_LISTED = re.compile(r"^ +- +(\S+)$", re.MULTILINE)
_TIMEOUT = re.compile(r"^ +timeout: (\d+)m", re.MULTILINE)


JUMPS = read_rules(
    "kueue_changes_jumps.yaml",
    skips_a_minor=of("kueue", skips_a_minor),
    goes_to_the_next_minor=of("kueue", goes_to_the_next_minor),
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


CHANGES = read_rules(
    "kueue_changes.yaml", of_the_manager, holds_all_jobs, shares_otherwise, kinds_let_go, waits_shorter
)
