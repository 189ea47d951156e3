"""What changes of a bucket's claim mean, as Rook acts on them, and of what limits it.

Read in Rook v1.20.6, `pkg/operator/ceph/object`, and in the provisioner that it carries.
"""

from generator.components.ceph_cluster.changes import DOCUMENTATION
from generator.model.change import ChangeRule, Effect, FieldChange, ObjectChange
from generator.model.compared import came, lowered, stayed

BUCKET = "objectbucket.io/ObjectBucketClaim"
BUCKETS = f"{DOCUMENTATION}/Storage-Configuration/Object-Storage-RGW/ceph-object-bucket-claim.md"
LIMITS = ("spec.additionalConfig.maxObjects", "spec.additionalConfig.maxSize")


def tighter(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a limit lets in less than before."""
    return came(change, field) or lowered(change, field)


def looser(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a limit lets in as much as before, or more."""
    return not tighter(change, field)


BUCKET_CHANGES = (
    ChangeRule(
        code="GEN-CHG-464",
        kinds=(BUCKET,),
        paths=LIMITS,
        effect=Effect.OUTAGE,
        reason="what is there stays; a bucket that holds more takes no further writes until objects are deleted",
        instead="look at what it holds first: `radosgw-admin user stats --uid USER --sync-stats`",
        link=BUCKETS,
        when=tighter,
    ),
    ChangeRule(
        code="GEN-CHG-468",
        kinds=(BUCKET,),
        paths=LIMITS,
        effect=Effect.NONE,
        reason="Rook gives the owner of the bucket the other quota; objects stay",
        link=BUCKETS,
        when=looser,
    ),
    ChangeRule(
        code="GEN-CHG-469",
        kinds=(BUCKET,),
        paths=("spec.bucketName", "spec.storageClassName"),
        effect=Effect.IMPOSSIBLE,
        reason="Rook passes it by: of a claim that is there it takes other limits and another policy alone",
        instead="another bucket beside it, and the objects copied",
        link="https://github.com/kube-object-storage/lib-bucket-provisioner/blob/d1a8c34382f1/pkg/provisioner/controller.go",
        when=stayed,
    ),
)
