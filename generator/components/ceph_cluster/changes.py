"""What changes of Ceph's cluster mean, but for its disks, as Rook acts on them.

Read in Rook v1.20.6: what it does in `pkg/operator/ceph`, what it says in `Documentation/CRDs`.
"""

import re

from generator.model.change import ChangeRule, Effect, FieldChange, ObjectChange, value_at
from generator.model.compared import (
    is_protected,
    lowered,
    raised,
    stayed,
    turned_on,
    went,
)

DOCUMENTATION = "https://github.com/rook/rook/blob/v1.20.6/Documentation"
SOURCE = "https://github.com/rook/rook/blob/v1.20.6/pkg/operator/ceph"
CLUSTER_CRD = f"{DOCUMENTATION}/CRDs/Cluster/ceph-cluster-crd.md"
KINDS = ("ceph.rook.io/CephCluster",)
HOLDING = (
    "CephBlockPool",
    "CephBlockPoolRadosNamespace",
    "CephFilesystem",
    "CephFilesystemSubVolumeGroup",
    "CephObjectStore",
)
"""What Rook does not let go as long as something is stored in it, unless it is told to."""

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


MONITORS = (
    ChangeRule(
        code="GEN-CHG-400",
        kinds=KINDS,
        paths=("spec.mon.count",),
        effect=Effect.ROLLING,
        reason="Rook takes monitors away one by one, each only while all are in quorum; fewer lost nodes stop Ceph",
        link=f"{SOURCE}/cluster/mon/health.go",
        when=lowered,
    ),
    ChangeRule(
        code="GEN-CHG-401",
        kinds=KINDS,
        paths=("spec.mon.count",),
        effect=Effect.ROLLING,
        reason="Rook starts the new monitors one after another; an even number bears no more losses than one less",
        link=f"{SOURCE}/cluster/mon/health.go",
        when=raised,
    ),
    ChangeRule(
        code="GEN-CHG-402",
        kinds=KINDS,
        paths=("spec.mon.count",),
        effect=Effect.OUTAGE,
        armed=True,
        reason="with one or two monitors, the loss of one stops all of Ceph until it is back",
        instead="keep three",
        link=f"{DOCUMENTATION}/Storage-Configuration/Advanced/ceph-mon-health.md",
        when=below_three,
    ),
)

NETWORK = (
    ChangeRule(
        code="GEN-CHG-413",
        kinds=KINDS,
        paths=("spec.network",),
        but=("spec.network.connections",),
        effect=Effect.OUTAGE,
        reason="monitors and OSDs keep their addresses until each is made anew; Rook does not support this change and "
        "expects a cluster that does not work",
        instead="leave it; another network needs another cluster, and the data copied",
        link=CLUSTER_CRD,
    ),
    ChangeRule(
        code="GEN-CHG-414",
        kinds=KINDS,
        paths=("spec.network.provider",),
        effect=Effect.IMPOSSIBLE,
        reason="the API server refuses the way from one network provider to another",
        link=CLUSTER_CRD,
        when=between_providers,
    ),
    ChangeRule(
        code="GEN-CHG-415",
        kinds=KINDS,
        paths=("spec.network.connections",),
        effect=Effect.ROLLING,
        reason="Ceph's daemons restart one by one; clients that are connected reconnect",
        link=CLUSTER_CRD,
    ),
    ChangeRule(
        code="GEN-CHG-416",
        kinds=KINDS,
        paths=("spec.network.connections.encryption.enabled", "spec.network.connections.requireMsgr2"),
        effect=Effect.OUTAGE,
        reason="volumes that are mounted without it cannot reconnect once a daemon has restarted: their pods hang; "
        "kernels before 5.11 cannot mount at all",
        instead="drain the nodes that hold volumes of Ceph, so that all are mounted anew",
        link=CLUSTER_CRD,
        when=turned_on,
    ),
    ChangeRule(
        code="GEN-CHG-417",
        kinds=KINDS,
        paths=("spec.csi",),
        effect=Effect.NONE,
        reason="volumes that are mounted stay as they are; those mounted from now on follow",
        link=CLUSTER_CRD,
    ),
)

DAEMONS = (
    ChangeRule(
        code="GEN-CHG-418",
        kinds=KINDS,
        paths=("spec.cephVersion.image",),
        effect=Effect.ROLLING,
        reason="Rook replaces monitors, managers, OSDs, MDS and gateways in this order, one by one while Ceph is well; "
        "there is no way back",
        instead="in a commit of its own, with HEALTH_OK before it, and Rook's own upgrade before that",
        link=f"{DOCUMENTATION}/Upgrade/ceph-upgrade.md",
        when=not_older,
    ),
    ChangeRule(
        code="GEN-CHG-419",
        kinds=KINDS,
        paths=("spec.cephVersion.image",),
        effect=Effect.DATA_LOSS,
        reason="Rook only warns and does it; Ceph's daemons cannot read what a newer release has written",
        instead="stay, or go forward to a release that is mended",
        link=f"{SOURCE}/cluster/version.go",
        when=older,
    ),
    ChangeRule(
        code="GEN-CHG-420",
        kinds=KINDS,
        paths=(
            "spec.placement",
            "spec.resources",
            "spec.priorityClassNames",
            "spec.annotations",
            "spec.labels",
            "spec.logCollector",
            "spec.mgr.count",
        ),
        effect=Effect.ROLLING,
        reason="Rook restarts the daemons that it is about one by one, OSDs only while Ceph can spare them",
        link=CLUSTER_CRD,
    ),
    ChangeRule(
        code="GEN-CHG-421",
        kinds=KINDS,
        paths=("spec.dashboard", "spec.healthCheck", "spec.mgr.modules", "spec.monitoring"),
        effect=Effect.NONE,
        reason="the managers turn their modules and warnings on or off; what is stored feels nothing",
        link=CLUSTER_CRD,
    ),
    ChangeRule(
        code="GEN-CHG-422",
        kinds=KINDS,
        paths=("spec.dataDirHostPath",),
        effect=Effect.IMPOSSIBLE,
        reason="the API server refuses it: monitors keep their store there, on each node",
        link=CLUSTER_CRD,
        when=stayed,
    ),
    ChangeRule(
        code="GEN-CHG-423",
        kinds=KINDS,
        paths=(
            "spec.security.cephx.csi.keyGeneration",
            "spec.security.cephx.daemon.keyGeneration",
            "spec.security.cephx.rbdMirrorPeer.keyGeneration",
        ),
        effect=Effect.IMPOSSIBLE,
        reason="the API server refuses a key generation that is lower, or taken away",
        link=CLUSTER_CRD,
        when=lowered_or_gone,
    ),
)

SETTINGS = (
    ChangeRule(
        code="GEN-CHG-428",
        kinds=KINDS,
        paths=("spec.cephConfig",),
        effect=Effect.NONE,
        reason="Rook tells it to the monitors, and the daemons take it over as they run; a few settings want a restart",
        link=CLUSTER_CRD,
    ),
)

LEAVING = (
    ChangeRule(
        code="GEN-CHG-739",
        kinds=(*KINDS, *(f"ceph.rook.io/{kind}" for kind in HOLDING)),
        paths=("metadata.annotations[rook.io/force-deletion]",),
        effect=Effect.DATA_LOSS,
        armed=True,
        reason="when it is deleted, Rook no longer waits until nothing is stored in it any more: that goes with it",
        instead="leave the annotation to whoever deletes it, by hand",
        link="https://rook.io/docs/rook/latest/Getting-Started/ceph-teardown/#force-delete-resources",
        when=turned_on,
    ),
    ChangeRule(
        code="GEN-CHG-424",
        kinds=KINDS,
        paths=("spec.cleanupPolicy.confirmation",),
        effect=Effect.DATA_LOSS,
        reason="Rook stops looking after the cluster at once, and wipes all its disks when the object is deleted",
        instead="leave it out until the data is no longer needed",
        link=CLUSTER_CRD,
        when=confirmed,
    ),
    ChangeRule(
        code="GEN-CHG-425",
        kinds=KINDS,
        on="removed",
        effect=Effect.BY_HAND,
        reason="it is protected: Ceph stays and runs on with all data, and Git says nothing of it any more; where Rook "
        "leaves with it, nobody replaces a lost monitor or updates a daemon",
        instead="copy the data, delete what uses Ceph, then the CephCluster by `kubectl`, and Rook in a later commit",
        link=f"{DOCUMENTATION}/Getting-Started/ceph-teardown.md",
        when=is_protected,
    ),
    ChangeRule(
        code="GEN-CHG-426",
        kinds=KINDS,
        on="removed",
        effect=Effect.OUTAGE,
        reason="Rook holds it back while volumes, pools or stores are there, and then ends all of Ceph; the disks keep "
        "their content",
        instead="protect it with `Prune=false`, in a commit before this one",
        link=f"{SOURCE}/cluster/controller.go",
    ),
    ChangeRule(
        code="GEN-CHG-427",
        kinds=KINDS,
        on="removed",
        effect=Effect.DATA_LOSS,
        reason="its cleanupPolicy is confirmed: Rook wipes every disk of Ceph",
        instead="take the confirmation out first",
        link=CLUSTER_CRD,
        when=wipes_unprotected,
    ),
)

CLUSTER_CHANGES = (*MONITORS, *NETWORK, *DAEMONS, *SETTINGS, *LEAVING)
