"""How Argo CD tells that Ceph is well. It loads only the base and table libraries of Lua."""

from generator.components.component import Health
from generator.components.static import read_text

GROUP = "ceph.rook.io"
# Argo CD itself knows CephObjectStore and ObjectBucketClaim since 3.3.
WITH_PHASE = ("CephBlockPool", "CephFilesystem", "CephFilesystemSubVolumeGroup", "CephObjectStoreUser")


def health() -> tuple[Health, ...]:
    """Return the checks. Argo CD's own calls HEALTH_WARN degraded, and a new cluster warns for minutes: later waves
    would never start (facts: storage 12). Ours lets warnings pass and shows them.
    """
    phase = read_text("ceph_cluster/phase.lua")
    cluster = Health(GROUP, "CephCluster", read_text("ceph_cluster/cluster.lua"))
    return (cluster, *(Health(GROUP, kind, phase) for kind in WITH_PHASE))
