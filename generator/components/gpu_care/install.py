"""Sick GPUs found, reported, and kept from jobs until they were repaired."""

from collections.abc import Iterator

from generator.components.common import release_of
from generator.components.component import Component, Manifest, Operation
from generator.components.gpu_care import DEFINITION
from generator.components.gpu_care.names import NAME
from generator.components.gpu_care.rights import rights
from generator.components.gpu_care.templates import schedules, scripts, templates
from generator.components.gpu_operator import EXPORTER, EXPORTER_PORT
from generator.components.gpu_operator import NAMESPACE as GPU_OPERATOR
from generator.components.node_operations.names import NAMESPACE
from generator.components.parts import network_policy, pods_of, tcp
from generator.model.cluster import Cluster


def install(cluster: Cluster) -> Component:
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
