"""Ceph's pools, filesystems and object stores."""

from collections.abc import Iterator

from msgspec import structs

from generator.components.ceph_cluster.daemons import on_ceph_hosts, rook_object
from generator.components.ceph_cluster.devices import device_classes
from generator.components.ceph_cluster.names import metadata_pool
from generator.components.component import Manifest
from generator.components.parts import apart, resources
from generator.components.rook_ceph import GATEWAY_PORTS, GATEWAYS, NAMESPACE
from generator.model.cluster import Cluster
from generator.model.storage import Ceph, CephFilesystem, CephObjectStore, CephPool


def mgr_pool(cluster: Cluster) -> Manifest:
    """Return the manager's own pool. A pool without a device class has a CRUSH root that overlaps all others, and the
    autoscaler then stops scaling them (facts: storage 2.3).
    """
    spec = {
        "name": ".mgr",
        "failureDomain": "host",
        "deviceClass": device_classes(cluster)[0],
        # Ceph makes this pool before Rook does: without this its class would never be set.
        "enableCrushUpdates": True,
        "replicated": {"size": 3, "requireSafeReplicaSize": True},
    }
    return rook_object("CephBlockPool", "builtin-mgr", spec)


def block_pools(ceph: Ceph) -> Iterator[Manifest]:
    """Yield the pools for RBD. RBD keeps its metadata in omap, which an erasure-coded pool cannot hold: such a pool
    gets a replicated one beside it.
    """
    for pool in ceph.block_pools:
        yield rook_object("CephBlockPool", pool.name, pool_spec(pool, bulk=True))
        if pool.erasure:
            replicated = structs.replace(pool, erasure=None, replicas=3, quota=None)
            yield rook_object("CephBlockPool", metadata_pool(pool), pool_spec(replicated))


def filesystems(cluster: Cluster, ceph: Ceph) -> Iterator[Manifest]:
    """Yield each CephFS and the group its volumes live in."""
    for filesystem in ceph.filesystems:
        yield rook_object("CephFilesystem", filesystem.name, filesystem_spec(cluster, filesystem))
        group = {"name": "csi", "filesystemName": filesystem.name, "pinning": {"distributed": 1}}
        yield rook_object("CephFilesystemSubVolumeGroup", f"{filesystem.name}-csi", group)


def filesystem_spec(cluster: Cluster, filesystem: CephFilesystem) -> Manifest:
    """Return a filesystem that survives its own object, each active MDS with a warm standby."""
    return {
        "metadataPool": pool_spec(filesystem.metadata),
        "dataPools": [{"name": pool.name, **pool_spec(pool, bulk=True)} for pool in filesystem.data],
        "preserveFilesystemOnDelete": True,
        "metadataServer": {
            "activeCount": filesystem.mds,
            "activeStandby": True,
            "placement": {**on_ceph_hosts(cluster), **apart({"app": "rook-ceph-mds"})},
            "priorityClassName": "system-cluster-critical",
            "resources": resources("2", "8Gi", "8Gi"),
        },
    }


def object_stores(cluster: Cluster, ceph: Ceph) -> Iterator[Manifest]:
    """Yield each object store. Its gateways keep to the pod network where the daemons use the nodes': S3 needs no
    port of the node.
    """
    for store in ceph.object_stores:
        spec = {
            "metadataPool": pool_spec(store.metadata),
            "dataPool": pool_spec(store.data, bulk=True),
            "preservePoolsOnDelete": True,
            "gateway": {
                **rgw_port(ceph, store),
                "instances": store.gateways,
                "placement": {**on_ceph_hosts(cluster), **apart(GATEWAYS)},
                "priorityClassName": "system-cluster-critical",
                "resources": resources("1", "2Gi", "4Gi"),
                **({"hostNetwork": False} if ceph.network == "host" else {}),
            },
        }
        yield rook_object("CephObjectStore", store.name, spec)


def rgw_port(ceph: Ceph, store: CephObjectStore) -> Manifest:
    """TLS only, where traffic is encrypted. 8443, because the gateway does not run as root."""
    if ceph.encryption.transit:
        return {"securePort": GATEWAY_PORTS[1], "sslCertificateRef": rgw_secret(store)}
    return {"port": 80}


def rgw_url(ceph: Ceph, store: CephObjectStore) -> str:
    """Return where a store answers within the cluster."""
    port = rgw_port(ceph, store)
    scheme, number = ("https", port["securePort"]) if "securePort" in port else ("http", port["port"])
    return f"{scheme}://{rgw_service(store)}.{NAMESPACE}.svc:{number}"


def rgw_secret(store: CephObjectStore) -> str:
    """Return the name of a store's TLS Secret."""
    return f"rgw-{store.name}-tls"


def rgw_deployment(store: CephObjectStore) -> str:
    """Return the name of the Deployment of a store's gateways: all of them are its pods (v1.20.6: object/rgw.go)."""
    return f"{rgw_service(store)}-a"


def rgw_service(store: CephObjectStore) -> str:
    """Return the name of the Service that Rook makes for a store."""
    return f"rook-ceph-rgw-{store.name}"


def pool_spec(pool: CephPool, *, bulk: bool = False) -> Manifest:
    """Return a pool's settings. `bulk` gives it all its placement groups at once: for the big pools only."""
    if pool.erasure:
        kept = {"erasureCoded": {"dataChunks": pool.erasure.data, "codingChunks": pool.erasure.coding}}
    else:
        safe = {"requireSafeReplicaSize": True} if pool.replicas > 1 else {}
        kept = {"replicated": {"size": pool.replicas, **safe}}
    return {
        "failureDomain": pool.failure_domain,
        "deviceClass": pool.device_class,
        "enableCrushUpdates": True,
        **kept,
        **({"parameters": {"bulk": "true"}} if bulk else {}),
        **({"quotas": {"maxSize": str(pool.quota)}} if pool.quota else {}),
    }
