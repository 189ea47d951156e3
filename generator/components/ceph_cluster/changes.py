"""What changes of Ceph's cluster mean, but for its disks, as Rook acts on them.

Read in Rook v1.20.6: what it does in `pkg/operator/ceph`, what it says in `Documentation/CRDs`.
"""

import re

from generator.components.rule_files import read_rules
from generator.model.change import FieldChange, ObjectChange, value_at
from generator.model.compared import (
    is_protected,
    lowered,
    stayed,
    went,
)

_RELEASE = re.compile(r":v(\d+)\.(\d+)\.(\d+)")


def _release(image: object) -> tuple[int, ...]:
    found = _RELEASE.search(str(image))
    return tuple(map(int, found.groups())) if found else ()


def older(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether an image is of an older release of Ceph."""
    return () < _release(field.new) < _release(field.old)


def not_older(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether an image is of the same release of Ceph, or a newer one."""
    return () < _release(field.old) <= _release(field.new)


def below_three(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether fewer monitors are wanted than can lose one."""
    return field.new in (1, 2)


def between_providers(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether the network changes from one named provider to another, which the CRD refuses."""
    return bool(stayed(_change, field) and field.old and field.new)


def lowered_or_gone(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a number is less than before, or is left out."""
    return lowered(change, field) or went(change, field)


def confirmed(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether the word is given that lets Rook wipe disks."""
    return isinstance(field.new, str) and bool(field.new)


def wipes_unprotected(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether the object goes, and was confirmed to wipe the disks then."""
    return bool(value_at(change.old, "spec.cleanupPolicy.confirmation")) and not is_protected(change, field)


CLUSTER_CHANGES = read_rules(
    "ceph_cluster/changes.yaml",
    below_three,
    between_providers,
    not_older,
    older,
    lowered_or_gone,
    confirmed,
    wipes_unprotected,
)
