"""NFS that Ceph serves: its server (Ganesha), the class of volumes on it, and who reaches it."""

from collections.abc import Iterator

from generator.components.ceph_cluster.classes import secrets_of
from generator.components.ceph_cluster.daemons import on_ceph_hosts, rook_object
from generator.components.ceph_csi_drivers import NFS_DRIVER
from generator.components.component import Manifest
from generator.components.parts import resources
from generator.components.rook_ceph import NAMESPACE, NFS_PORT, NFS_SERVERS
from generator.model.cluster import Cluster
from generator.model.storage import CephFilesystem, Nfs


def nfs(cluster: Cluster) -> Iterator[Manifest]:
    """Yield the objects, if `storage.nfs` names a filesystem that is there; a rule reports others."""
    ceph, wanted = cluster.storage.ceph, cluster.storage.nfs
    for filesystem in ceph.filesystems if ceph and wanted else ():
        if wanted and wanted.filesystem == filesystem.name:
            yield server(cluster, filesystem)
            yield storage_class(wanted, filesystem)
            # Calico masks what a node sends to a pod elsewhere with an address among those of pods: there no rule tells
            # nodes from pods, and what keeps teams out is that their own policies let nothing out to it.
            if cluster.networks.cni == "cilium":
                yield policy()


def server(cluster: Cluster, filesystem: CephFilesystem) -> Manifest:
    """Return the one server. A second would not make it last longer: when one is away the others may wait for it
    (Rook, ceph-nfs-crd.md). On the pod network, because only then does its Service have an address that stays when
    the server moves to another node; on the host network it has none.
    """
    spec = {
        "server": {
            "active": 1,
            "hostNetwork": False,
            "placement": on_ceph_hosts(cluster),
            "priorityClassName": "system-cluster-critical",
            "resources": resources("1", "4Gi", "8Gi"),
        }
    }
    return rook_object("CephNFS", filesystem.name, spec)


def storage_class(wanted: Nfs, filesystem: CephFilesystem) -> Manifest:
    """Return the class: each volume is a subvolume of its size on the first data pool, with an export of its own.
    The Secrets are those of CephFS (facts: storage 2.4).
    """
    pool = filesystem.data[0]
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": wanted.storage_class},
        "provisioner": NFS_DRIVER,
        "parameters": {
            "nfsCluster": filesystem.name,
            "server": f"rook-ceph-nfs-{filesystem.name}-a",
            "clusterID": NAMESPACE,
            "fsName": filesystem.name,
            "pool": f"{filesystem.name}-{pool.name}",
            **secrets_of("rook-csi-cephfs"),
        },
        "mountOptions": ["nfsvers=4.1", "hard"],
        "reclaimPolicy": pool.reclaim,
        "allowVolumeExpansion": True,
        "volumeBindingMode": "Immediate",
    }


def policy() -> Manifest:
    """Let nodes alone reach the server: it believes whoever asks which user they are, so a pod that speaks NFS by
    itself would read the volumes of all teams.
    """
    ports = [{"ports": [{"port": str(NFS_PORT), "protocol": "TCP"}]}]
    return {
        "apiVersion": "cilium.io/v2",
        "kind": "CiliumNetworkPolicy",
        "metadata": {"name": NFS_SERVERS["app"], "namespace": NAMESPACE},
        "spec": {
            "endpointSelector": {"matchLabels": NFS_SERVERS},
            "ingress": [{"fromEntities": ["host", "remote-node"], "toPorts": ports}],
        },
    }
