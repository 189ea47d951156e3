"""Operations on nodes and their disks: taken in, emptied, replaced, patched, brought to a newer Kubernetes."""

from collections.abc import Iterator

from generator.components import gpu_operator
from generator.components.common import CLUSTER_ROLES
from generator.components.component import Component, Namespace, Operation, Tier
from generator.components.definition import Definition, Evidence, Shown
from generator.components.etcd_backup.names import NAMESPACE as BACKUPS
from generator.components.gpu_operator import NAMESPACE as GPU_OPERATOR
from generator.components.minio.layout import NAMESPACE as MINIO
from generator.components.node_operations.admission import policies
from generator.components.node_operations.facts import FACTS, config_maps, upgrade_facts
from generator.components.node_operations.names import (
    DRIVE_REPLACEMENT,
    DRIVER_UPGRADE,
    LEASES,
    MINIO_EXPANSION,
    NAMESPACE,
    OSD_REPLACEMENT,
    SCRIPTS,
)
from generator.components.node_operations.rights import rights
from generator.components.node_operations.templates import (
    drive_replacement,
    driver_upgrade,
    expansion,
    maintenance,
    minio_expansion,
    osd_replacement,
    removal,
    replacement,
    scripts,
    upgrade,
)
from generator.components.operated import MadePods
from generator.components.rook_ceph import NAMESPACE as ROOK
from generator.components.rule_files import read_rules
from generator.components.static import read_objects
from generator.model.cluster import Cluster
from generator.model.compared import labelled, named


def node_operations(cluster: Cluster) -> Component:
    """Return what takes nodes in, empties, replaces and upgrades them. Who may begin a workflow in this namespace can
    stop any job of the cluster, cordon its nodes, and take disks out of Ceph: nobody but administrators.
    """
    ceph = ("ceph-cluster",) if cluster.storage.ceph else ()
    objects = ("minio",) if cluster.storage.objects else ()
    return Component(
        name=DEFINITION.name,
        tier=DEFINITION.tier,
        summary="Operations: nodes taken in, tried, emptied, replaced, patched and upgraded",
        version="v1",
        namespaces=(Namespace(NAMESPACE),),
        base=read_objects("node_operations/base.yaml"),
        objects=(*config_maps(cluster), upgrade_facts(cluster), *policies(cluster), *rights(cluster)),
        operations=tuple(operations(cluster)),
        needs=("argo-workflows", *ceph, *objects),
    )


def operations(cluster: Cluster) -> Iterator[Operation]:
    """Yield what every cluster has, and apart from it, each for itself, what only some have: clusters share folders."""
    machines = (expansion(), removal(), replacement(), upgrade(), maintenance())
    yield Operation(name=NAMESPACE, templates=(scripts(), *machines))
    if gpu_operator.DEFINITION.wanted(cluster):
        yield Operation(name=DRIVER_UPGRADE, templates=(driver_upgrade(),))
    if cluster.storage.ceph:
        yield Operation(name=OSD_REPLACEMENT, templates=(osd_replacement(),))
    if cluster.storage.objects:
        yield Operation(name=DRIVE_REPLACEMENT, templates=(drive_replacement(),))
        yield Operation(name=MINIO_EXPANSION, templates=(minio_expansion(),))


DEFINITION = Definition(
    name="node-operations",
    tier=Tier.STORAGE,
    make=node_operations,
    wanted=lambda cluster: cluster.works_on_nodes,
    absence="there are no backups, and nobody looks after GPUs",
    namespaces=(NAMESPACE,),
    reach=(ROOK, MINIO, BACKUPS, LEASES, GPU_OPERATOR),
    own_kinds=(
        *CLUSTER_ROLES,
        "admissionregistration.k8s.io/ValidatingAdmissionPolicy",
        "admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding",
    ),
    pods=(MadePods({"app.kubernetes.io/name": "burn-in-nccl"}, NAMESPACE),),
    changes=lambda: read_rules(
        "node_operations/changes.yaml",
        of_operations=named(NAMESPACE),
        of_facts=labelled(FACTS),
        of_its_scripts=named(NAMESPACE, SCRIPTS),
    ),
    shown_by=Evidence(objects=(Shown("argoproj.io", "workflowtemplates", f"app.kubernetes.io/part-of={NAMESPACE}"),)),
    notes="Takes new nodes in by the operation `node-expansion`, empties nodes that leave by `node-removal`, and "
    "changes machines and disks by `node-replacement`, `osd-replacement` and `drive-replacement`: "
    "[operations.md](operations.md#adding-a-node). MinIO gets another pool by `minio-expansion`. "
    "Upgrades Kubernetes by `kubernetes-upgrade`, and "
    "drivers of GPUs by `driver-upgrade`: [operations.md](operations.md#upgrading-gpu-drivers). Patches, reboots, "
    "changed files and certificates come by `node-maintenance`.",
)
