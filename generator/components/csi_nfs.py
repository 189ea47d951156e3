"""NFS from a server outside the cluster, as a storage class of its own."""

from collections.abc import Iterator

from generator.components.common import CLUSTER_ROLES, replicas
from generator.components.component import Chart, Component, Manifest, Namespace, Release, Tier
from generator.components.datasets import BOUND, on_nfs, volumes
from generator.components.definition import ALL_NODES, Definition, Evidence, Version, Versions
from generator.components.listening import Listener
from generator.components.rule_files import read_rules
from generator.model.change import named
from generator.model.cluster import Cluster
from generator.model.storage import Nfs

VERSIONS = Versions(
    "csi-nfs",
    (
        Version(
            version="4.13.4",
            charts=(
                Chart(
                    name="csi-driver-nfs",
                    repository="https://raw.githubusercontent.com/kubernetes-csi/csi-driver-nfs/master/charts",
                    version="4.13.4",
                ),
            ),
        ),
    ),
)

NAMESPACE = "csi-nfs"
DRIVER = "nfs.csi.k8s.io"
MOUNT = ("nfsvers=4.1", "hard")
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def csi_nfs(cluster: Cluster) -> Component:
    """Install the CSI driver where `storage.nfs` names a server."""
    nfs = cluster.storage.nfs
    assert nfs
    version = VERSIONS.of(cluster)
    return Component(
        name="csi-nfs",
        tier=DEFINITION.tier,
        summary="Volumes on an NFS server",
        version=version.version,
        namespaces=(Namespace(NAMESPACE, security="privileged"),),
        objects=(storage_class(nfs), *datasets(cluster, nfs)),
        ignore=(BOUND,) if any(on_nfs(cluster)) else (),
        releases=(Release(version.chart("csi-driver-nfs"), "csi-driver-nfs", NAMESPACE, values(cluster)),),
        kinds=DEFINITION.chart_kinds,
    )


def values(cluster: Cluster) -> Manifest:
    """Return the chart's values: its node plugin runs on every node whatever its taints, its resources are set. Its
    snapshots are tarballs on the same server, so they are off, as is its own snapshot controller. Controllers are on
    the host's network, where each listens on the same port for its probe: two on a node would never both be alive.
    """
    return {
        "controller": {
            "replicas": replicas(cluster),
            "enableSnapshotter": False,
            "affinity": {key: {REQUIRED: rule} for key, rule in apart().items()},
        },
        "externalSnapshotter": {"enabled": False},
    }


def apart() -> Manifest:
    """Keep controllers on different nodes. The chart takes no affinity that selects no nodes (4.13.4:
    csi-nfs-controller.yaml), hence the nodes that it selects anyway.
    """
    linux = {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}
    others = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "csi-nfs-controller"}}}
    return {
        "nodeAffinity": {"nodeSelectorTerms": [{"matchExpressions": [linux]}]},
        "podAntiAffinity": [others],
    }


def storage_class(nfs: Nfs) -> Manifest:
    """Give each volume a folder of its own, with a name that does not come again. A deleted volume's folder is
    renamed to `archived-...` and stays on the server: capacity is not enforced, and neither is an undo.
    """
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": nfs.storage_class},
        "provisioner": DRIVER,
        "parameters": {
            "server": nfs.server,
            "share": nfs.share,
            "subDir": "${pvc.metadata.namespace}-${pvc.metadata.name}-${pv.metadata.name}",
            "onDelete": "archive",
        },
        "mountOptions": [*MOUNT],
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "Immediate",
        "allowVolumeExpansion": True,
    }


def datasets(cluster: Cluster, nfs: Nfs) -> Iterator[Manifest]:
    """Yield the volumes of datasets, which are folders of the server that are there already."""
    for dataset in on_nfs(cluster):
        source = {"driver": DRIVER, "volumeAttributes": {"server": nfs.server, "share": dataset.share}}
        yield from volumes(cluster, dataset, source, *MOUNT)


def listens(_cluster: Cluster) -> Iterator[Listener]:
    """Yield the ports of its probes, on the host's network (4.13.4, `--http-endpoint=localhost:...`)."""
    loopback = "it listens on loopback, where the kubelet asks"
    yield Listener(name="csi-nfs-controller-health", port=29652, closed=loopback)
    yield Listener(name="csi-nfs-node-health", port=29653, closed=loopback)


DEFINITION = Definition(
    name="csi-nfs",
    tier=Tier.STORAGE,
    make=csi_nfs,
    wanted=lambda cluster: cluster.storage.nfs and cluster.storage.nfs.outside,
    absence="storage.nfs names no server outside the cluster",
    versions=VERSIONS,
    namespaces=(NAMESPACE,),
    chart_kinds=(*CLUSTER_ROLES, "storage.k8s.io/CSIDriver"),
    listens=listens,
    own_kinds=("/PersistentVolume", "storage.k8s.io/StorageClass"),
    daemons_on=ALL_NODES,
    changes=lambda: read_rules("csi_nfs_changes.yaml", of_the_driver=named("csi-driver-nfs")),
    shown_by=Evidence(images=("sig-storage/nfsplugin",)),
)
