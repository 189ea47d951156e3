"""What changes of the server of NFS mean. Read in Rook v1.20.6, `pkg/operator/ceph/nfs`."""

from generator.components.ceph_cluster.changes import DOCUMENTATION
from generator.model.change import ChangeRule, Effect

NFS_CHANGES = (
    ChangeRule(
        code="GEN-CHG-494",
        kinds=("ceph.rook.io/CephNFS",),
        paths=("spec.server.resources", "spec.server.placement", "spec.server.priorityClassName"),
        effect=Effect.ROLLING,
        reason="the one server starts anew: for some minutes whoever reads or writes on NFS waits, and then goes on",
        link=f"{DOCUMENTATION}/CRDs/ceph-nfs-crd.md",
    ),
    ChangeRule(
        code="GEN-CHG-495",
        kinds=("ceph.rook.io/CephNFS",),
        paths=("spec.server.hostNetwork", "spec.server.port"),
        effect=Effect.OUTAGE,
        reason="the server is no longer where it was mounted from: pods with a volume of NFS hang until they are made "
        "anew on a node that has let go of it",
        instead="stop them before, and start them after",
        link=f"{DOCUMENTATION}/CRDs/ceph-nfs-crd.md",
    ),
)
