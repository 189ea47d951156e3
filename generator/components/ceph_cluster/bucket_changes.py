"""What changes of a bucket's claim mean, as Rook acts on them, and of what limits it.

Read in Rook v1.20.6, `pkg/operator/ceph/object`, and in the provisioner that it carries.
"""

from generator.components.rule_files import read_rules
from generator.model.change import FieldChange, ObjectChange
from generator.model.compared import came, lowered


def tighter(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a limit lets in less than before."""
    return came(change, field) or lowered(change, field)


def looser(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a limit lets in as much as before, or more."""
    return not tighter(change, field)


BUCKET_CHANGES = read_rules("ceph_cluster/bucket_changes.yaml", tighter, looser)
