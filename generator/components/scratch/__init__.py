"""Tier 1: local NVMe of nodes as volumes that vanish with their claim."""

from generator.components.common import CLUSTER_ROLES, SCRATCH
from generator.components.component import Chart, Component, Tier
from generator.components.definition import Definition, Evidence, Version, Versions
from generator.model.cluster import Cluster
from generator.model.nodes import Machine

VERSIONS = Versions(
    "scratch",
    (
        Version(
            version="v2.9.0",
            charts=(
                Chart(
                    name="local-static-provisioner",
                    repository="https://kubernetes-sigs.github.io/sig-storage-local-static-provisioner",
                    version="2.9.0",
                ),
            ),
            images={"node-cleanup": "registry.k8s.io/sig-storage/local-volume-node-cleanup:v2.8.0"},
            schemas=("local-static-provisioner/v2.9.0",),
        ),
    ),
)

NAMESPACE = "scratch"
NO_PROVISIONER = "kubernetes.io/no-provisioner"


def hosts(cluster: Cluster) -> tuple[Machine, ...]:
    """Return the nodes that have disks for scratch; none where the cluster file has no such tier."""
    return tuple(machine for machine in cluster.machines if cluster.storage.scratch and machine.disks_for("scratch"))


def scratch(cluster: Cluster) -> Component:
    """Install the static provisioner on the nodes with scratch disks."""
    from generator.components.scratch.install import install  # noqa: PLC0415 - only a render makes it

    return install(cluster)


DEFINITION = Definition(
    name="scratch",
    tier=Tier.STORAGE,
    make=scratch,
    wanted=hosts,
    absence="no node has disks for storage.scratch",
    versions=VERSIONS,
    namespaces=(NAMESPACE,),
    chart_kinds=CLUSTER_ROLES,
    own_kinds=("storage.k8s.io/StorageClass",),
    one_node_volumes=(NO_PROVISIONER,),
    daemons_on=SCRATCH,
    shown_by=Evidence(images=("sig-storage/local-volume-provisioner",)),
    notes="One volume for each disk, found by its mount point; wiped when its claim goes. A second small Deployment "
    "deletes claims whose node is gone, otherwise their pods wait for ever.",
)
