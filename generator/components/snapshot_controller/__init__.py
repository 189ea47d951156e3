"""The snapshot controller: one for the cluster, for every CSI driver that can take snapshots (Ceph)."""

from generator.components.common import CLUSTER_ROLES, CRD
from generator.components.component import Component, Tier
from generator.components.definition import Definition, Evidence, Version, Versions
from generator.components.operated import Api, OperatedKind
from generator.components.rule_files import read_rules
from generator.model.cluster import Cluster

VERSIONS = Versions(
    "snapshot-controller",
    (
        Version(
            version="v8.6.0",
            manifests=tuple(
                f"https://raw.githubusercontent.com/kubernetes-csi/external-snapshotter/v8.6.0/{path}.yaml"
                for path in (
                    "client/config/crd/snapshot.storage.k8s.io_volumesnapshotclasses",
                    "client/config/crd/snapshot.storage.k8s.io_volumesnapshotcontents",
                    "client/config/crd/snapshot.storage.k8s.io_volumesnapshots",
                    "client/config/crd/groupsnapshot.storage.k8s.io_volumegroupsnapshotclasses",
                    "client/config/crd/groupsnapshot.storage.k8s.io_volumegroupsnapshotcontents",
                    "client/config/crd/groupsnapshot.storage.k8s.io_volumegroupsnapshots",
                    "deploy/kubernetes/snapshot-controller/rbac-snapshot-controller",
                    "deploy/kubernetes/snapshot-controller/setup-snapshot-controller",
                )
            ),
            images={"controller": "registry.k8s.io/sig-storage/snapshot-controller:v8.6.0"},
            schemas=("external-snapshotter/v8.6.0",),
        ),
    ),
)

NAMESPACE = "kube-system"


def snapshot_controller(cluster: Cluster) -> Component:
    """Install upstream's manifests where Ceph takes snapshots."""
    from generator.components.snapshot_controller.install import install  # noqa: PLC0415 - only a render makes it

    return install(cluster)


DEFINITION = Definition(
    name="snapshot-controller",
    tier=Tier.STORAGE,
    make=snapshot_controller,
    wanted=lambda cluster: cluster.storage.ceph,
    absence="there is no storage.ceph",
    versions=VERSIONS,
    changes=lambda: read_rules("snapshot_controller/changes.yaml"),
    namespaces=(NAMESPACE,),
    chart_kinds=(CRD, *CLUSTER_ROLES),
    apis=(Api(group="snapshot.storage.k8s.io"),),
    kinds=(OperatedKind(kind="VolumeSnapshot", names=(("VolumeSnapshotClass", "spec.volumeSnapshotClassName"),)),),
    shown_by=Evidence(images=("sig-storage/snapshot-controller", "mirrored-sig-storage-snapshot-controller")),
    notes="From upstream's manifests at a tag: Rook and other CSI drivers share the one controller and its CRDs.",
)
