"""What changes of Ceph's filesystems, object stores and users mean, as Rook acts on them.

Read in Rook v1.20.6, `pkg/operator/ceph/{file,object,pool}`, and in the rules of its CRDs.
"""

from generator.components.ceph_cluster.bucket_changes import looser, tighter
from generator.components.ceph_cluster.pool_changes import pool_of
from generator.components.rule_files import read_rules
from generator.model.change import FieldChange, ObjectChange
from generator.model.compared import is_protected, stayed
from generator.model.fields import mapping


def pool_joined(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a filesystem gets another pool."""
    return not pool_of(change.old, field)


def pool_left(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a filesystem no longer names a pool."""
    return not pool_of(change.new, field)


def counted_anew(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether pools without names came or went."""
    return len(field.path) == 2 and stayed(_change, field)


def deletes_pools(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether what Argo CD deletes takes its pools with it."""
    spec = mapping(change.old.get("spec"))
    preserved = spec.get("preserveFilesystemOnDelete") or spec.get("preservePoolsOnDelete")
    return not is_protected(change, field) and not preserved


STORE_CHANGES = read_rules(
    "ceph_cluster/store_changes.yaml", pool_joined, pool_left, counted_anew, tighter, looser, deletes_pools
)
