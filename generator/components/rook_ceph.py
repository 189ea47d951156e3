"""Rook: the operator that runs Ceph, and the operator that runs Ceph's CSI drivers."""

from collections.abc import Iterator

from generator.components.common import CLUSTER_ROLES, CRD
from generator.components.component import Chart, Component, Manifest, Namespace, Release, Tier
from generator.components.definition import Definition, Evidence, Version, Versions
from generator.components.operated import OWN, Api, Made, MadePods, Named, OperatedKind, name_of
from generator.components.parts import tolerations
from generator.components.rule_files import read_rules
from generator.model.cluster import Cluster
from generator.model.fields import dig, mapping, sequence
from generator.model.versions import goes_to_the_next_minor, of, skips_a_minor

VERSIONS = Versions(
    "rook-ceph",
    (
        Version(
            version="v1.20.6",
            charts=(Chart(name="rook-ceph", repository="https://charts.rook.io/release", version="v1.20.6"),),
            images={"operator": "docker.io/rook/ceph:v1.20.6"},
            schemas=("rook/v1.20.6",),
        ),
    ),
)


NAMESPACE = "rook-ceph"
"""The operators, the CSI drivers and the Ceph cluster share it: CSI driver and provisioner names begin with it."""
ENDPOINTS = "rook-ceph-mon-endpoints"
"""The ConfigMap that says which monitors there are, where they run and at which addresses."""
GATEWAYS = {"app": "rook-ceph-rgw"}
"""Labels of the pods that serve S3."""
GATEWAY_PORTS = (8080, 8443)
"""Where these listen, without and with TLS; their Service says 80."""
NFS_SERVERS = {"app": "rook-ceph-nfs"}
"""Labels of the pods that serve NFS (Rook, pkg/operator/ceph/nfs: AppName)."""
NFS_PORT = 2049
METRICS_SERVICE = f"rook-ceph-mgr.{NAMESPACE}.svc"
METRICS_PORT = 9283
"""Ceph's own metrics, from its active manager."""
PARAMETERS = (
    ("fsName", "CephFilesystem", "clusterID"),
    ("pool", "CephPool", "clusterID"),
    ("dataPool", "CephPool", "clusterID"),
    ("nfsCluster", "CephNFS", "clusterID"),
    ("objectStoreName", "CephObjectStore", "objectStoreNamespace"),
)
"""Parameters of classes that name what Rook has made, and those that name its namespace."""


def rook_ceph(cluster: Cluster) -> Component:
    """Install Rook's operator with its CRDs and the CSI operator below it (facts: Rook 1.20 needs three charts;
    this is the first).
    """
    version = VERSIONS.of(cluster)
    return Component(
        name="rook-ceph",
        tier=DEFINITION.tier,
        summary="Operator for Ceph",
        version=version.version,
        namespaces=(Namespace(NAMESPACE, security="privileged"),),
        releases=(Release(version.chart("rook-ceph"), "rook-ceph", NAMESPACE, values(cluster)),),
        kinds=DEFINITION.chart_kinds,
    )


def values(cluster: Cluster) -> Manifest:
    """Return the chart's values. Claims are served in every namespace, whatever `enableOBCWatchOperatorNamespace`
    says, which is only the first part of the provisioner's name (v1.20.6: `bucket.NewBucketController`): teams have no
    right to make any, and an admission policy refuses theirs.
    """
    tolerated = tolerations(cluster.ceph_hosts)
    return {
        # Turned off later, Helm would delete the CRDs and Ceph with them (facts: storage 2.1).
        "crds": {"enabled": True},
        "csi": {"installCsiOperator": True},
        "currentNamespaceOnly": True,
        "enableOBCWatchOperatorNamespace": True,
        "obcAllowAdditionalConfigFields": ",".join(claim_fields(cluster)),
        "resources": {"requests": {"cpu": "200m", "memory": "512Mi"}, "limits": {"memory": "2Gi"}},
        "priorityClassName": "system-cluster-critical",
        "tolerations": tolerated,
        "monitoring": {"enabled": cluster.monitoring.prometheus is not None},
        "ceph-csi-operator": {
            "kubernetesClusterDomain": cluster.kubernetes.dns_domain,
            "controllerManager": {"tolerations": tolerated, "manager": {"env": {"watchNamespace": NAMESPACE}}},
        },
    }


def claim_fields(cluster: Cluster) -> Iterator[str]:
    """Yield what claims of buckets may say. Where backups read Ceph's buckets, that is a policy: the reader is not the
    owner; where logs are kept there, it is the owner, whose keys Loki has.
    """
    logs = cluster.monitoring.logs
    yield from ("maxObjects", "maxSize")
    if cluster.ceph_backups:
        yield "bucketPolicy"
    if logs and logs.store and not logs.to:
        yield "bucketOwner"


def block_pool(manifest: Manifest) -> Iterator[Made]:
    """Yield the pool that Rook makes in Ceph."""
    yield Made("CephPool", str(mapping(manifest.get("spec")).get("name", name_of(manifest))), OWN)


def filesystem_pools(manifest: Manifest) -> Iterator[Made]:
    """Yield a filesystem's pools. Rook puts its name before theirs unless it is told to keep theirs."""
    spec = mapping(manifest.get("spec"))
    prefix = "" if spec.get("preservePoolNames") is True else f"{name_of(manifest)}-"
    for number, pool in enumerate(sequence(spec.get("dataPools"))):
        yield Made("CephPool", f"{prefix}{dig(pool, 'name') or f'data{number}'}", OWN)


def bucket(manifest: Manifest) -> Iterator[Made]:
    """Yield what a claim of a bucket becomes: its address and its keys."""
    yield from (Made(kind, name_of(manifest), OWN) for kind in ("ConfigMap", "Secret"))


def gateways(manifest: Manifest) -> Iterator[MadePods]:
    """Yield the pods of an object store."""
    yield MadePods({**GATEWAYS, "rook_object_store": name_of(manifest)})


def nfs_servers(manifest: Manifest) -> Iterator[MadePods]:
    """Yield the pods of a server of NFS."""
    yield MadePods({**NFS_SERVERS, "ceph_nfs": name_of(manifest)})


def ceph_parameters(manifest: Manifest) -> Iterator[Named]:
    """Yield what a class of volumes, snapshots or buckets takes of Ceph."""
    driver = manifest.get("provisioner" if manifest["kind"] == "StorageClass" else "driver")
    parameters = {str(name): value for name, value in mapping(manifest.get("parameters")).items()}
    for name, kind, beside in PARAMETERS if "rook" in str(driver) else ():
        yield Named(("parameters", name), kind, parameters.get(name), str(parameters.get(beside)))


GROUP, BUCKETS = "ceph.rook.io", "objectbucket.io"
READY = {"phase": "Ready"}
KINDS = (
    OperatedKind(kind="CephBlockPool", group=GROUP, status=READY, makes=block_pool),
    OperatedKind(
        kind="CephCluster",
        group=GROUP,
        status={**READY, "state": "Created", "ceph": {"health": "HEALTH_OK"}},
    ),
    OperatedKind(kind="CephFilesystem", group=GROUP, status=READY, makes=filesystem_pools),
    OperatedKind(
        kind="CephFilesystemSubVolumeGroup",
        group=GROUP,
        status=READY,
        names=(("CephFilesystem", "spec.filesystemName", OWN),),
    ),
    OperatedKind(kind="CephNFS", group=GROUP, status=READY, pods=nfs_servers),
    OperatedKind(
        kind="CephObjectStore",
        group=GROUP,
        status=READY,
        names=(("Secret", "spec.gateway.sslCertificateRef", OWN),),
        pods=gateways,
    ),
    OperatedKind(
        kind="CephObjectStoreUser",
        group=GROUP,
        status=READY,
        names=(("CephObjectStore", "spec.store", OWN),),
    ),
    OperatedKind(
        kind="ObjectBucketClaim",
        group=BUCKETS,
        status={"phase": "Bound"},
        names=(("StorageClass", "spec.storageClassName"),),
        makes=bucket,
    ),
    OperatedKind(kind="StorageClass", also_names=ceph_parameters),
    OperatedKind(kind="VolumeSnapshotClass", also_names=ceph_parameters),
)


DEFINITION = Definition(
    name="rook-ceph",
    tier=Tier.STORAGE,
    make=rook_ceph,
    wanted=lambda cluster: cluster.storage.ceph,
    absence="there is no storage.ceph",
    versions=VERSIONS,
    jumps=lambda: read_rules(
        "rook_ceph_jumps.yaml",
        skips_a_minor=of("rook-ceph", skips_a_minor),
        goes_to_the_next_minor=of("rook-ceph", goes_to_the_next_minor),
    ),
    namespaces=(NAMESPACE,),
    chart_kinds=(CRD, *CLUSTER_ROLES),
    apis=(Api(group=GROUP), Api(group=BUCKETS)),
    brings=(Made("ConfigMap", ENDPOINTS, NAMESPACE),),
    kinds=KINDS,
    shown_by=Evidence(images=("rook/ceph",)),
    notes="Only the operator. The CSI drivers and the cluster are components of their own, so that each moves in a "
    "commit of its own: Rook 1.20 expects the operator, its CSI drivers and the cluster from three charts.",
)
