"""What changes of teams' namespaces mean, as the API server and the admission policies act on them."""

from generator.components.kueue import TEAM
from generator.components.rule_files import read_rules
from generator.components.tenants.pods import ALLOWED
from generator.model.change import FieldChange, ObjectChange, value_at


def was_a_teams(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether the namespace was a team's."""
    return value_at(change.old, f"metadata.labels[{TEAM}]") is not None


def of_a_class(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a label is one that opens a class of jobs to the team."""
    return str(field.path[-1]).startswith(ALLOWED)


def of_the_team(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a label is the one that makes a namespace a team's."""
    return field.path[-1] == TEAM


CHANGES = read_rules("tenants/changes.yaml", was_a_teams, of_a_class, of_the_team)
