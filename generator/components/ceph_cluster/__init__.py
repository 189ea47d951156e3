"""Tier 2: the Ceph cluster, its pools, filesystems, object stores, and the storage classes they make."""

from collections.abc import Iterator

from generator.components.ceph_csi_drivers import RBD_DRIVER
from generator.components.component import Component, Tier
from generator.components.definition import Definition, Evidence, Shown, Version, Versions
from generator.components.listening import CLUSTER, Listener
from generator.components.rook_ceph import NAMESPACE
from generator.components.rule_files import read_rules
from generator.model.change import ChangeRule, FieldChange, ObjectChange, value_at
from generator.model.cluster import Cluster
from generator.model.versions import goes_back, majors, of

VERSIONS = Versions(
    "ceph-cluster",
    (
        Version(
            version="v20.2.4",
            images={"ceph": "quay.io/ceph/ceph:v20.2.4-20260818"},
            schemas=("rook/v1.20.6", "external-snapshotter/v8.6.0", "cert-manager/v1.21.1"),
        ),
    ),
)


def ceph_cluster(cluster: Cluster) -> Component:
    """Describe Ceph to Rook in objects of our own."""
    from generator.components.ceph_cluster.install import install  # noqa: PLC0415 - only a render makes it

    return install(cluster)


def listens(cluster: Cluster) -> Iterator[Listener]:
    """Yield what the daemons listen on at their nodes, where they are on the host's network (facts: storage 1; Rook,
    `dashboard.port` and `cephExporter.port`; Ceph, mgr/prometheus/server_port). With `requireMsgr2` a monitor has no
    other port. Pods of the CSI drivers are clients as well.
    """
    ceph = cluster.storage.ceph
    if ceph is None or ceph.network == "pod":
        return
    pools = {*ceph.pools, *ceph.monitor_pools}

    def at(name: str, port: int, last: int | None = None) -> Listener:
        return Listener(name=name, port=port, last=last, peers=CLUSTER, on=lambda machine: machine.pool in pools)

    yield at("ceph-monitors", 3300)
    yield at("ceph-daemons", 6800, 7568)
    if ceph.dashboard:
        yield at("ceph-dashboard", 8443)
    if cluster.monitoring.prometheus:
        yield at("ceph-mgr-metrics", 9283)
        yield at("ceph-exporter", 9926)


def change_rules() -> tuple[ChangeRule, ...]:
    """Return what changes of its objects mean."""
    from generator.components.ceph_cluster.bucket_changes import BUCKET_CHANGES  # noqa: PLC0415 - for those who compare
    from generator.components.ceph_cluster.changes import CLUSTER_CHANGES  # noqa: PLC0415 - as above
    from generator.components.ceph_cluster.disk_changes import DISK_CHANGES  # noqa: PLC0415 - as above
    from generator.components.ceph_cluster.pool_changes import POOL_CHANGES  # noqa: PLC0415 - as above
    from generator.components.ceph_cluster.store_changes import STORE_CHANGES  # noqa: PLC0415 - as above

    return (
        *CLUSTER_CHANGES,
        *DISK_CHANGES,
        *POOL_CHANGES,
        *STORE_CHANGES,
        *BUCKET_CHANGES,
        *read_rules("ceph_cluster/nfs_changes.yaml"),
    )


def moves_with_rook(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether the operator moves in the same change."""
    operators = [value_at(side, "components.rook-ceph") for side in (change.old, change.new)]
    return change.name == "ceph-cluster" and None not in operators and operators[0] != operators[1]


def skips_two_majors(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether it goes over more than one major version."""
    return majors(field) > 2


def jump_rules() -> tuple[ChangeRule, ...]:
    """Return what it means when its version moves."""
    return read_rules(
        "ceph_cluster/jumps.yaml",
        moves_with_rook,
        goes_back=of("ceph-cluster", goes_back),
        skips_two_majors=of("ceph-cluster", skips_two_majors),
    )


DEFINITION = Definition(
    name="ceph-cluster",
    tier=Tier.STORAGE,
    make=ceph_cluster,
    wanted=lambda cluster: cluster.storage.ceph and cluster.ceph_hosts,
    absence="there is no storage.ceph",
    versions=VERSIONS,
    jumps=jump_rules,
    namespaces=(NAMESPACE,),
    # Rook's documentation, ceph-cluster-crd.md: general tags like `v20` follow the newest build.
    short_tags=("quay.io/ceph/ceph",),
    listens=listens,
    own_kinds=("/PersistentVolume", "snapshot.storage.k8s.io/VolumeSnapshotClass", "storage.k8s.io/StorageClass"),
    # ceph-csi: "multi node access modes are only supported on rbd `block` type volumes".
    one_node_volumes=(RBD_DRIVER,),
    changes=change_rules,
    shown_by=Evidence(objects=(Shown("ceph.rook.io", "cephclusters"),)),
    notes="Written as Rook's objects, not through the chart, which adds nothing to them. Its version is Ceph's. "
    'Disks are chosen by stable names, never "all devices". Objects that hold data are protected. HEALTH_WARN '
    "counts as healthy with a message, because a new cluster warns for minutes and would stop every later "
    "wave.",
)
