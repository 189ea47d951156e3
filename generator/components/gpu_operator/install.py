"""NVIDIA's GPU Operator: drivers, container toolkit, device plugin, MIG and GPU metrics."""

from collections.abc import Iterator

from generator.components.common import prometheus_crds
from generator.components.component import Component, Health, Ignore, Manifest, Namespace, Release
from generator.components.gpu_operator import DEFINITION, NAMESPACE, VERSIONS, time_sliced, turns, values
from generator.components.gpu_operator.network import shut
from generator.components.node_feature_discovery import feature_rule
from generator.components.static import read_text
from generator.model.cluster import Cluster
from generator.model.gpus import VENDOR
from generator.model.nodes import Machine

# The API server fills these in, and the chart never writes them.
FILLED_IN = ("/spec/cdi/default", "/spec/hostPaths/kubeletRootDir")


def install(cluster: Cluster) -> Component:
    """Install the operator where there are GPUs. Device plugin and DCGM exporter come with it alone."""
    version = VERSIONS.of(cluster)
    return Component(
        name="gpu-operator",
        tier=DEFINITION.tier,
        summary="GPU drivers, device plugin and metrics",
        version=version.version,
        namespaces=(Namespace(NAMESPACE, security="privileged"),),
        objects=(*mig_rules(cluster.gpu_nodes), *time_slicing_rules(cluster.gpu_nodes), *shut(cluster, NAMESPACE)),
        releases=(
            Release(
                version.chart("gpu-operator"),
                "gpu-operator",
                NAMESPACE,
                values(cluster),
                # Deletes GPU claims when the chart goes; there are none, and nothing may go with an Application.
                hooks={"gpu-operator-cleanup-gpucluster": "drop"},
            ),
        ),
        needs=("node-feature-discovery", *prometheus_crds(cluster)),
        # `ignored` is the state of a second policy: there may be one.
        health=(Health("nvidia.com", "ClusterPolicy", read_text("gpu_operator/health.lua")),),
        ignore=(Ignore(group="nvidia.com", kind="ClusterPolicy", pointers=FILLED_IN),),
        kinds=DEFINITION.chart_kinds,
    )


def time_slicing_rules(machines: tuple[Machine, ...]) -> Iterator[Manifest]:
    """Yield for each number of turns the rule that labels its nodes."""
    for slices, nodes in time_sliced(machines).items():
        labels, names = {f"{VENDOR}device-plugin.config": turns(slices)}, sorted(machine.name for machine in nodes)
        yield feature_rule(turns(slices), f"{slices} pods on a GPU", labels, "system.name", {"nodename": names})


def mig_rules(machines: tuple[Machine, ...]) -> Iterator[Manifest]:
    """Yield for each MIG profile the rule that labels its nodes. The manager splits GPUs by that label, and the
    operator itself sets no other than `all-disabled` (read in its source).
    """
    names: dict[str, list[str]] = {}
    for machine in machines:
        if machine.hardware.gpu and machine.hardware.gpu.mig:
            names.setdefault(machine.hardware.gpu.mig.profile, []).append(machine.name)
    for profile, nodes in sorted(names.items()):
        labels, named = {f"{VENDOR}mig.config": profile}, {"nodename": sorted(nodes)}
        yield feature_rule(f"mig-{profile.lower()}", f"MIG {profile}", labels, "system.name", named)
