"""What changes of Ceph's filesystems, object stores and users mean, as Rook acts on them.

Read in Rook v1.20.6, `pkg/operator/ceph/{file,object,pool}`, and in the rules of its CRDs.
"""

from generator.components.ceph_cluster.bucket_changes import BUCKET, BUCKETS, looser, tighter
from generator.components.ceph_cluster.changes import DOCUMENTATION, SOURCE
from generator.components.ceph_cluster.pool_changes import POOL_CRD, POOLS, pool_of
from generator.model.change import ChangeRule, Effect, FieldChange, ObjectChange
from generator.model.compared import came, every, is_protected, stayed, turned_off, turned_on, went
from generator.model.fields import mapping

BLOCK_POOL, FILESYSTEM, STORE = POOLS
SUBVOLUMES = "ceph.rook.io/CephFilesystemSubVolumeGroup"
NAMESPACES = "ceph.rook.io/CephBlockPoolRadosNamespace"
CLIENT = "ceph.rook.io/CephClient"
USER = "ceph.rook.io/CephObjectStoreUser"
EVERY = (*POOLS, SUBVOLUMES, NAMESPACES, CLIENT, USER, BUCKET)

FILESYSTEM_CRD = f"{DOCUMENTATION}/CRDs/Shared-Filesystem/ceph-filesystem-crd.md"
STORE_CRD = f"{DOCUMENTATION}/CRDs/Object-Storage/ceph-object-store-crd.md"


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


FILESYSTEMS = (
    ChangeRule(
        code="GEN-CHG-445",
        kinds=(FILESYSTEM,),
        paths=("spec.dataPools.*",),
        effect=Effect.NONE,
        reason="the pool is added to the filesystem; nothing moves into it by itself",
        link=f"{SOURCE}/file/filesystem.go",
        when=pool_joined,
    ),
    ChangeRule(
        code="GEN-CHG-446",
        kinds=(FILESYSTEM,),
        paths=("spec.dataPools.*",),
        effect=Effect.BY_HAND,
        reason="the pool stays in Ceph, and in the filesystem, with all its data; Rook only forgets it",
        instead="move the files first, then `ceph fs rm_data_pool` and delete the pool",
        link=f"{SOURCE}/file/filesystem.go",
        when=pool_left,
    ),
    ChangeRule(
        code="GEN-CHG-447",
        kinds=(FILESYSTEM,),
        paths=("spec.dataPools",),
        effect=Effect.MOVES,
        reason="pools without names are called by their place: each later one gets the settings of its neighbour",
        instead="give every pool the name that it has in Ceph, in a commit before this one",
        link=FILESYSTEM_CRD,
        when=counted_anew,
    ),
    ChangeRule(
        code="GEN-CHG-448",
        kinds=(FILESYSTEM,),
        paths=("spec.metadataServer.activeCount",),
        effect=Effect.RESTART,
        reason="a metadata server gives its part of the tree to another: clients wait for seconds",
        link=f"{SOURCE}/file/filesystem.go",
    ),
    ChangeRule(
        code="GEN-CHG-449",
        kinds=(FILESYSTEM,),
        paths=("spec.metadataServer",),
        effect=Effect.ROLLING,
        reason="Rook replaces the metadata servers one after the other; a standby takes over within seconds",
        link=FILESYSTEM_CRD,
    ),
)

STORES = (
    ChangeRule(
        code="GEN-CHG-450",
        kinds=(STORE,),
        paths=("spec.gateway",),
        effect=Effect.ROLLING,
        reason="Rook replaces or adds gateways one after the other; requests go to those that are there",
        link=STORE_CRD,
    ),
    ChangeRule(
        code="GEN-CHG-451",
        kinds=(STORE,),
        paths=("spec.gateway.port", "spec.gateway.securePort", "spec.gateway.sslCertificateRef"),
        effect=Effect.OUTAGE,
        reason="clients that have the former address, or speak plain HTTP, reach the gateways no more",
        instead="open the other port beside it first, move the clients, then close this one",
        link=STORE_CRD,
    ),
    ChangeRule(
        code="GEN-CHG-452",
        kinds=(STORE, "ceph.rook.io/CephObjectZone"),
        paths=("spec.sharedPools.metadataPoolName", "spec.sharedPools.dataPoolName"),
        effect=Effect.IMPOSSIBLE,
        reason="the API server refuses other shared pools for a store that is there",
        instead="a new store on the other pools, and the objects copied",
        link=STORE_CRD,
        when=stayed,
    ),
    ChangeRule(
        code="GEN-CHG-453",
        kinds=(SUBVOLUMES, NAMESPACES, CLIENT),
        paths=(
            "spec.blockPoolName",
            "spec.clusterID",
            "spec.csiMetadataRadosNamespace",
            "spec.filesystemName",
            "spec.name",
            "spec.secretName",
        ),
        effect=Effect.IMPOSSIBLE,
        reason="the API server refuses it: these fields say which part of Ceph the object is",
        instead="a new object under another name",
        link=f"{DOCUMENTATION}/CRDs/Shared-Filesystem/ceph-fs-subvolumegroup-crd.md",
        when=stayed,
    ),
    ChangeRule(
        code="GEN-CHG-454",
        kinds=(BUCKET,),
        paths=("spec.additionalConfig",),
        effect=Effect.NONE,
        reason="Rook sets the bucket's policy and limits; objects stay",
        link=BUCKETS,
        when=came,
    ),
    ChangeRule(
        code="GEN-CHG-455",
        kinds=(BUCKET,),
        paths=("spec.additionalConfig.bucketPolicy",),
        effect=Effect.OUTAGE,
        reason="who reads the bucket by its policy, as backups do, is refused from now on",
        link=BUCKETS,
        when=went,
    ),
)

DATASETS = (
    ChangeRule(
        code="GEN-CHG-443",
        kinds=(SUBVOLUMES,),
        paths=("spec.quota",),
        effect=Effect.OUTAGE,
        reason="who writes there finds it full earlier; where it holds more already, Ceph refuses the change "
        "(`--no-shrink`), Rook tries again without end, and the Application stays unhealthy",
        instead="look at what it holds first, and delete what is too much",
        link="https://github.com/rook/rook/blob/v1.20.6/pkg/daemon/ceph/client/subvolumegroup.go",
        when=tighter,
    ),
    ChangeRule(
        code="GEN-CHG-444",
        kinds=(SUBVOLUMES,),
        paths=("spec.quota",),
        effect=Effect.NONE,
        reason="Rook gives the group the other quota; files stay",
        link=f"{DOCUMENTATION}/CRDs/Shared-Filesystem/ceph-fs-subvolumegroup-crd.md",
        when=every(looser, stayed),
    ),
)

LEAVING = (
    ChangeRule(
        code="GEN-CHG-456",
        kinds=EVERY,
        on="removed",
        effect=Effect.BY_HAND,
        reason="it is protected: it stays with data, keys and the room it takes; Rook, if it stays, goes on serving it",
        instead="when nobody needs it any more, delete the object by `kubectl`",
        link=STORE_CRD,
        when=is_protected,
    ),
    ChangeRule(
        code="GEN-CHG-457",
        kinds=(*POOLS, SUBVOLUMES, NAMESPACES),
        on="removed",
        effect=Effect.OUTAGE,
        reason="Rook holds it back while volumes or buckets are in it, and the Application waits for it; then "
        "nobody serves it any more, and its pools stay",
        instead="protect it with `Prune=false`, in a commit before this one",
        link=STORE_CRD,
    ),
    ChangeRule(
        code="GEN-CHG-458",
        kinds=POOLS,
        on="removed",
        effect=Effect.DATA_LOSS,
        reason="Rook deletes its pools with all that is in them, once no volume, snapshot or bucket holds it back",
        instead="protect it with `Prune=false`, in a commit before this one",
        link=f"{SOURCE}/pool/controller.go",
        when=deletes_pools,
    ),
    ChangeRule(
        code="GEN-CHG-459",
        kinds=(FILESYSTEM, STORE),
        paths=("spec.preserveFilesystemOnDelete", "spec.preservePoolsOnDelete"),
        effect=Effect.DATA_LOSS,
        armed=True,
        reason="who deletes the object deletes its pools with all that is in them",
        instead="leave it set, and delete the pools by hand when they are empty",
        link=FILESYSTEM_CRD,
        when=turned_off,
    ),
    ChangeRule(
        code="GEN-CHG-460",
        kinds=(FILESYSTEM, STORE),
        paths=("spec.preserveFilesystemOnDelete", "spec.preservePoolsOnDelete"),
        effect=Effect.NONE,
        reason="its pools stay when the object is deleted",
        link=FILESYSTEM_CRD,
        when=turned_on,
    ),
    ChangeRule(
        code="GEN-CHG-461",
        kinds=(USER, CLIENT),
        on="removed",
        effect=Effect.OUTAGE,
        reason="its keys end at once: whoever uses them is refused",
        instead="take the keys out of their users first",
        link=f"{SOURCE}/object/user/controller.go",
    ),
    ChangeRule(
        code="GEN-CHG-462",
        kinds=(BUCKET,),
        on="removed",
        effect=Effect.DATA_LOSS,
        reason="where its class says `reclaimPolicy: Delete` the bucket goes with all objects; its keys always end",
        instead="protect the claim with `Prune=false`, or have its class retain",
        link=BUCKETS,
    ),
    ChangeRule(
        code="GEN-CHG-463",
        kinds=EVERY,
        on="renamed",
        effect=Effect.BY_HAND,
        reason="nothing in Ceph is renamed: an empty one of the new name is made, the former one stays with all data",
        instead="keep the name; or copy the data, then delete the former one by `kubectl`",
        link=POOL_CRD,
        when=is_protected,
    ),
)

STORE_CHANGES = (*FILESYSTEMS, *DATASETS, *STORES, *LEAVING)
