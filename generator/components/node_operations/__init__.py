"""Operations on nodes and their disks: taken in, emptied, replaced, patched, brought to a newer Kubernetes."""

from generator.components.common import CLUSTER_ROLES
from generator.components.component import Component, Tier
from generator.components.definition import Definition, Evidence, Shown
from generator.components.etcd_backup import NAMESPACE as BACKUPS
from generator.components.gpu_operator import NAMESPACE as GPU_OPERATOR
from generator.components.minio.layout import NAMESPACE as MINIO
from generator.components.node_operations.names import FACTS, LEASES, NAMESPACE, SCRIPTS
from generator.components.operated import MadePods
from generator.components.rook_ceph import NAMESPACE as ROOK
from generator.components.rule_files import read_rules
from generator.model.cluster import Cluster
from generator.model.compared import labelled, named


def node_operations(cluster: Cluster) -> Component:
    """Return what takes nodes in, empties, replaces and upgrades them."""
    from generator.components.node_operations.install import install  # noqa: PLC0415 - only a render makes it

    return install(cluster)


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
