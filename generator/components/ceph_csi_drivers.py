"""Ceph's CSI drivers: what mounts RBD images and CephFS on the nodes."""

from collections.abc import Iterator

from generator.components.common import CLUSTER_ROLES
from generator.components.component import Chart, Component, Manifest, Release, Tier
from generator.components.definition import Definition, Evidence, Shown, Version, Versions
from generator.components.operated import Made, OperatedKind, name_of
from generator.components.parts import tolerations
from generator.components.rook_ceph import NAMESPACE
from generator.components.rule_files import read_rules
from generator.model.change import FieldChange, ObjectChange
from generator.model.cluster import Cluster
from generator.model.storage import Ceph

VERSIONS = Versions(
    "ceph-csi-drivers",
    (
        Version(
            version="1.0.4",
            charts=(
                Chart(name="ceph-csi-drivers", repository="https://ceph.github.io/ceph-csi-operator", version="1.0.4"),
            ),
            schemas=("ceph-csi-operator/v1.0.4", "rook/v1.20.6"),
        ),
    ),
)

RBD_DRIVER = f"{NAMESPACE}.rbd.csi.ceph.com"
CEPHFS_DRIVER = f"{NAMESPACE}.cephfs.csi.ceph.com"
NFS_DRIVER = f"{NAMESPACE}.nfs.csi.ceph.com"


def ceph_csi_drivers(cluster: Cluster) -> Component:
    """Install the drivers (facts: the second of three charts; without it no mount works). A Driver object has no
    status, so there is nothing for a health check to read.
    """
    ceph = cluster.storage.ceph
    assert ceph
    version = VERSIONS.of(cluster)
    return Component(
        name="ceph-csi-drivers",
        tier=DEFINITION.tier,
        summary="CSI drivers for RBD and CephFS",
        version=version.version,
        releases=(Release(version.chart("ceph-csi-drivers"), "ceph-csi-drivers", NAMESPACE, values(cluster, ceph)),),
        needs=("rook-ceph", "snapshot-controller"),
        kinds=DEFINITION.chart_kinds,
    )


def values(cluster: Cluster, ceph: Ceph) -> Manifest:
    """Return the chart's values: tolerations for every taint of every node, because every node mounts Ceph."""
    node = {"tolerations": tolerations(cluster.machines)}
    controller = {"tolerations": tolerations(cluster.ceph_hosts), "replicas": min(2, len(cluster.ceph_hosts))}
    mode = {"ms_mode": "secure" if ceph.encryption.transit else "prefer-crc"}
    return {
        "operatorConfig": {
            "namespace": NAMESPACE,
            "driverSpecDefaults": {
                "imageSet": {"name": "rook-csi-operator-image-set-configmap"},
                "clusterName": cluster.name,
                "nodePlugin": {**node, "priorityClassName": "system-node-critical", "resources": node_resources()},
                "controllerPlugin": {
                    **controller,
                    "priorityClassName": "system-cluster-critical",
                    "resources": controller_resources(),
                },
            },
        },
        "drivers": {
            "rbd": driver(RBD_DRIVER, node, controller),
            "cephfs": {**driver(CEPHFS_DRIVER, node, controller), "kernelMountOptions": mode},
            "nfs": driver(NFS_DRIVER, node, controller) if served(cluster) else {"enabled": False},
            "nvmeof": {"enabled": False},
        },
    }


def served(cluster: Cluster) -> bool:
    """Tell whether Ceph is the server of `storage.nfs`. Only then is its third driver there: Rook calls it
    experimental, without a promise that its volumes outlive an upgrade.
    """
    nfs = cluster.storage.nfs
    return nfs is not None and not nfs.outside


def driver(name: str, node: Manifest, controller: Manifest) -> Manifest:
    """Return one driver. Tolerations and replicas are repeated here: the chart writes an empty list and 1 on each
    Driver, and the operator then takes those for set and passes over the defaults of OperatorConfig. Snapshots
    as well: the chart's `none` for RBD leaves the snapshotter out.
    """
    return {
        "enabled": True,
        "name": name,
        "snapshotPolicy": "volumeSnapshot",
        "nodePlugin": node,
        "controllerPlugin": controller,
    }


def node_resources() -> Manifest:
    """Return requests and limits on every node; the plugin's memory grows with the number of mounts."""
    return {
        "plugin": {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}},
        "registrar": {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"memory": "128Mi"}},
        "logRotator": {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"memory": "128Mi"}},
    }


def controller_resources() -> Manifest:
    """Return requests and limits of what makes, attaches, grows and snapshots volumes for the whole cluster: without
    any it is the first to be ended on a full node, and no volume is mounted any more.
    """
    sidecar = {"requests": {"cpu": "20m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}}
    plugin = {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}}
    # All that the chart knows: it writes null for those that are left out.
    sidecars = (
        "addons",
        "attacher",
        "liveness",
        "logRotator",
        "omapGenerator",
        "provisioner",
        "resizer",
        "snapshotter",
    )
    return {"plugin": plugin, **dict.fromkeys(sidecars, sidecar)}


def csi_driver(manifest: Manifest) -> Iterator[Made]:
    """Yield what the operator registers for a Driver."""
    if str(manifest.get("apiVersion")).startswith("csi.ceph.io/"):
        yield Made("CSIDriver", name_of(manifest))


def of_the_drivers(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether a chart is the one of Ceph's drivers."""
    return change.application == "ceph-csi-drivers"


DEFINITION = Definition(
    name="ceph-csi-drivers",
    tier=Tier.STORAGE,
    make=ceph_csi_drivers,
    wanted=lambda cluster: cluster.storage.ceph,
    absence="there is no storage.ceph",
    versions=VERSIONS,
    namespaces=(NAMESPACE,),
    chart_kinds=CLUSTER_ROLES,
    changes=lambda: read_rules("ceph_csi_drivers_changes.yaml", of_the_drivers),
    brings=tuple(Made("CSIDriver", name) for name in (CEPHFS_DRIVER, NFS_DRIVER, RBD_DRIVER)),
    kinds=(
        OperatedKind(kind="Driver", makes=csi_driver),
        OperatedKind(kind="OperatorConfig", tolerations=("spec", "driverSpecDefaults", "nodePlugin", "tolerations")),
    ),
    shown_by=Evidence(objects=(Shown("csi.ceph.io", "drivers"),)),
)
