"""Operations on nodes and their disks: taken in, emptied, replaced, patched, brought to a newer Kubernetes."""

from collections.abc import Iterator

from generator.components import gpu_operator
from generator.components.component import Component, Namespace, Operation
from generator.components.node_operations import DEFINITION
from generator.components.node_operations.admission import policies
from generator.components.node_operations.facts import config_maps, upgrade_facts
from generator.components.node_operations.names import (
    DRIVE_REPLACEMENT,
    DRIVER_UPGRADE,
    MINIO_EXPANSION,
    NAMESPACE,
    OSD_REPLACEMENT,
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
from generator.components.static import read_objects
from generator.model.cluster import Cluster


def install(cluster: Cluster) -> Component:
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
