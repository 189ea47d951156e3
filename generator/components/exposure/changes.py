"""What changes of Gateways and routes mean, as Cilium acts on them (v1.20.0: `operator/pkg/gateway-api`), and Envoy
Gateway.
"""

from generator.components.rule_files import read_rules
from generator.model.change import ABSENT, FieldChange, ObjectChange
from generator.model.fields import sequence


def comes_whole(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a listener is there that was not: the third step of the way names it."""
    return len(field.path) == 3 and field.old is ABSENT


def comes_beside(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether all hosts of a list are still in it."""
    return isinstance(field.new, list) and all(one in field.new for one in sequence(field.old))


CHANGES = read_rules("exposure/changes.yaml", comes_whole, comes_beside)
