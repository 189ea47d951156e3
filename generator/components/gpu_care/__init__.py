"""Sick GPUs found, reported, and kept from jobs until they were repaired."""

from collections.abc import Iterator

from generator.components.common import CLUSTER_ROLES, release_of
from generator.components.component import Component, Manifest, Operation, Tier
from generator.components.definition import Definition, Evidence, Shown
from generator.components.gpu_care.names import NAME, SCRIPTS
from generator.components.gpu_care.rights import rights
from generator.components.gpu_care.templates import schedules, scripts, templates
from generator.components.gpu_operator import NAMESPACE as GPU_OPERATOR
from generator.components.gpu_operator.network import EXPORTER, EXPORTER_PORT
from generator.components.node_operations.names import NAMESPACE
from generator.components.parts import network_policy, pods_of, tcp
from generator.components.rule_files import read_rules
from generator.model.cluster import Cluster
from generator.model.compared import named


def gpu_care(cluster: Cluster) -> Component:
    """Return what looks after GPUs. It runs beside operations on nodes: they hinder each other by the same locks."""
    return Component(
        name=DEFINITION.name,
        tier=DEFINITION.tier,
        summary="Operations: sick GPUs found, marked, and left by jobs",
        version="v1",
        objects=(*rights(cluster), *let_in(cluster), *(schedules(cluster.gpu_care) if cluster.gpu_care else ())),
        operations=(Operation(name=NAME, templates=(scripts(), *templates())),),
        needs=("argo-workflows", "node-operations", "gpu-operator"),
    )


def let_in(cluster: Cluster) -> Iterator[Manifest]:
    """Let its pods ask the exporters, which are shut for others where gen shuts them: alone, this would shut them."""
    if not cluster.settings("gpu-operator").managed:
        return
    _, namespace = release_of(cluster, "gpu-operator", GPU_OPERATOR)
    pods = pods_of(NAMESPACE, {"app.kubernetes.io/part-of": NAME})
    allowed = {"from": [pods], "ports": [tcp(EXPORTER_PORT)]}
    yield network_policy(f"{NAME}-asks", namespace, EXPORTER, ingress=[allowed])


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
