"""What changes of the disks that Ceph takes mean, as Rook acts on them.

Read in Rook v1.20.6: `pkg/operator/ceph/cluster/osd`, and its documentation of OSDs.
"""

from typing import Any

from generator.components.ceph_cluster.changes import CLUSTER_CRD, DOCUMENTATION, KINDS, SOURCE
from generator.model.change import ChangeRule, Effect, FieldChange, ObjectChange, value_at
from generator.model.compared import came, every, reordered, stayed, turned_on, went
from generator.model.fields import dig, sequence

OSDS = f"{DOCUMENTATION}/Storage-Configuration/Advanced/ceph-osd-mgmt.md"


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


DISK_CHANGES = (
    ChangeRule(
        code="GEN-CHG-403",
        kinds=KINDS,
        paths=("spec.storage.nodes.*",),
        effect=Effect.BY_HAND,
        reason="Rook leaves the OSDs of this node alone: they run on with all data and are updated no more",
        instead="before the node leaves: `ceph osd out` its OSDs, wait until all PGs are active+clean, purge them",
        link=f"{SOURCE}/cluster/osd/update.go",
        when=node_left,
    ),
    ChangeRule(
        code="GEN-CHG-404",
        kinds=KINDS,
        paths=("spec.storage.nodes.*",),
        effect=Effect.MOVES,
        reason="its empty disks become OSDs, and Ceph moves data onto them, which takes from the speed of all",
        link=OSDS,
        when=node_joined,
    ),
    ChangeRule(
        code="GEN-CHG-405",
        kinds=KINDS,
        paths=("spec.storage.nodes.*.devices",),
        effect=Effect.BY_HAND,
        reason="Rook leaves OSDs alone whose disk is no longer named: they run on with all data",
        instead="`ceph osd out` them first, wait until all PGs are active+clean, purge them, then take the disk out",
        link=OSDS,
        when=every(went, _node_stays),
    ),
    ChangeRule(
        code="GEN-CHG-406",
        kinds=KINDS,
        paths=("spec.storage.nodes.*.devices",),
        effect=Effect.MOVES,
        reason="the disk, if it is empty, becomes an OSD, and Ceph moves data onto it",
        link=OSDS,
        when=every(came, _node_stays),
    ),
    ChangeRule(
        code="GEN-CHG-407",
        kinds=KINDS,
        paths=("spec.storage.nodes.*.devicePathFilter",),
        effect=Effect.BY_HAND,
        reason="empty disks that it fits now become OSDs; those that it fits no more stay OSDs, updated no more",
        instead="`ceph osd out` and purge the OSDs of disks that shall leave, before this is merged",
        link=OSDS,
        when=_node_stays,
    ),
    ChangeRule(
        code="GEN-CHG-408",
        kinds=KINDS,
        paths=("spec.storage.nodes.*.config.deviceClass", "spec.storage.nodes.*.devices.*.config.deviceClass"),
        effect=Effect.BY_HAND,
        reason="an OSD keeps the class that it was made with: only OSDs made later get this one",
        instead="`ceph osd crush rm-device-class`, then `set-device-class`: its data moves to where the pools want it",
        link=CLUSTER_CRD,
        when=every(stayed, class_kept),
    ),
    ChangeRule(
        code="GEN-CHG-409",
        kinds=KINDS,
        paths=("spec.storage.nodes.*.config.deviceClass", "spec.storage.nodes.*.devices.*.config.deviceClass"),
        effect=Effect.MOVES,
        reason="with allowDeviceClassUpdate the OSD changes its class, and all data of pools on either class moves",
        link=CLUSTER_CRD,
        when=every(stayed, classes_follow),
    ),
    ChangeRule(
        code="GEN-CHG-410",
        kinds=KINDS,
        paths=("spec.storage.useAllDevices", "spec.storage.useAllNodes"),
        effect=Effect.MOVES,
        reason="Rook makes an OSD of every empty disk that it finds, from now on, and Ceph moves data onto them",
        instead="name nodes and disks",
        link=CLUSTER_CRD,
        when=turned_on,
    ),
    ChangeRule(
        code="GEN-CHG-411",
        kinds=KINDS,
        paths=("spec.storage.nodes",),
        effect=Effect.NONE,
        reason="the order of nodes and disks means nothing to Rook",
        when=reordered,
    ),
    ChangeRule(
        code="GEN-CHG-412",
        kinds=KINDS,
        paths=("spec.storage.config.encryptedDevice",),
        effect=Effect.BY_HAND,
        reason="OSDs on disks stay as they were made, encrypted or not; only those made from now on follow",
        instead="purge and make OSDs anew, one failure domain at a time, each after all PGs are active+clean",
        link=OSDS,
    ),
)
