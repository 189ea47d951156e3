"""What changes of the disks that Ceph takes mean, as Rook acts on them.

Read in Rook v1.20.6: `pkg/operator/ceph/cluster/osd`, and its documentation of OSDs.
"""

from typing import Any

from generator.components.rule_files import read_rules
from generator.model.change import FieldChange, ObjectChange, value_at
from generator.model.fields import dig, sequence


def _node_of(manifest: dict[str, Any], field: FieldChange) -> bool:
    """Tell whether the node that a field is about is one of those with disks."""
    nodes = sequence(value_at(manifest, "spec.storage.nodes"))
    return any(f"[{dig(node, 'name')}]" == field.path[3] for node in nodes)


def node_left(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether Ceph's disks of a whole node are no longer named."""
    return _node_of(change.old, field) and not _node_of(change.new, field)


def node_joined(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a whole node brings disks."""
    return _node_of(change.new, field) and not _node_of(change.old, field)


def _node_stays(change: ObjectChange, field: FieldChange) -> bool:
    return _node_of(change.old, field) and _node_of(change.new, field)


def classes_follow(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether Rook changes the class of OSDs that are there."""
    return _node_stays(change, field) and value_at(change.new, "spec.storage.allowDeviceClassUpdate") is True


def class_kept(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether OSDs that are there keep their class, whatever is said."""
    return _node_stays(change, field) and not classes_follow(change, field)


DISK_CHANGES = read_rules(
    "ceph_cluster/disk_changes.yaml", node_left, node_joined, _node_stays, class_kept, classes_follow
)
