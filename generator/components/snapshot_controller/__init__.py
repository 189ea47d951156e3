"""The snapshot controller: one for the cluster, for every CSI driver that can take snapshots (Ceph)."""

from generator.components.common import CLUSTER_ROLES, CRD
from generator.components.component import Component, Namespace, Patch, Tier
from generator.components.definition import Definition, Evidence, Version, Versions
from generator.components.operated import Api, OperatedKind
from generator.components.parts import UNPRIVILEGED, deployment, pod_security, resources, tolerations
from generator.components.rule_files import read_rules
from generator.components.static import read_objects
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
    version = VERSIONS.of(cluster)
    return Component(
        name="snapshot-controller",
        tier=DEFINITION.tier,
        summary="Volume snapshots",
        version=version.version,
        namespaces=(Namespace(NAMESPACE, security=None),),
        base=read_objects("snapshot_controller/disruption-budget.yaml"),
        manifests=version.manifests,
        patches=(finished(cluster, version.images["controller"]),),
        kinds=DEFINITION.chart_kinds,
    )


def finished(cluster: Cluster, image: str) -> Patch:
    """Finish upstream's Deployment: its tag still runs the image of the release before, its log level is that of a
    debugging session, and it has no resources, priority or security context.
    """
    pod, container = "/spec/template/spec", "/spec/template/spec/containers/0"
    return Patch(
        target=deployment("snapshot-controller", NAMESPACE),
        operations=(
            {"op": "replace", "path": f"{container}/image", "value": image},
            {"op": "replace", "path": f"{container}/args", "value": ["--v=2", "--leader-election=true"]},
            # For 50 nodes and some thousand snapshots.
            {"op": "add", "path": f"{container}/resources", "value": resources("10m", "64Mi", "512Mi")},
            {"op": "add", "path": f"{container}/securityContext", "value": UNPRIVILEGED},
            # The user of upstream's image, which has no shell and writes no file.
            {"op": "add", "path": f"{pod}/securityContext", "value": pod_security(65532)},
            {"op": "add", "path": f"{pod}/priorityClassName", "value": "system-cluster-critical"},
            {"op": "add", "path": f"{pod}/tolerations", "value": tolerations(cluster.control_plane)},
        ),
    )


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
