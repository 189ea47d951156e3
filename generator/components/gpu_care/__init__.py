"""Sick GPUs found, reported, and kept from jobs until they were repaired."""

from generator.components.common import CLUSTER_ROLES
from generator.components.component import Component, Tier
from generator.components.definition import Definition, Evidence, Shown
from generator.components.gpu_care.names import NAME, SCRIPTS
from generator.components.gpu_operator import NAMESPACE as GPU_OPERATOR
from generator.components.node_operations.names import NAMESPACE
from generator.components.rule_files import read_rules
from generator.model.cluster import Cluster
from generator.model.compared import named


def gpu_care(cluster: Cluster) -> Component:
    """Return what looks after GPUs."""
    from generator.components.gpu_care.install import install  # noqa: PLC0415 - only a render makes it

    return install(cluster)


DEFINITION = Definition(
    name=NAME,
    tier=Tier.STORAGE,
    make=gpu_care,
    wanted=lambda cluster: cluster.gpu_care and cluster.gpu_nodes,
    absence="`gpuCare` is left out, or no node has GPUs",
    namespaces=(),
    reach=(NAMESPACE, GPU_OPERATOR),
    own_kinds=CLUSTER_ROLES,
    changes=lambda: read_rules("gpu_care/changes.yaml", of_its_scripts=named(NAMESPACE, SCRIPTS)),
    shown_by=Evidence(objects=(Shown("argoproj.io", "workflowtemplates", f"app.kubernetes.io/part-of={NAME}"),)),
    notes="Looks at every GPU node every five minutes by the operation `gpu-care`, taints those with a sick GPU, and "
    "lets them in again by `gpu-cleared`: [operations.md](operations.md#sick-gpus).",
)
