"""The snapshot controller: one for the cluster, for every CSI driver that can take snapshots (Ceph)."""

from generator.components.component import Component, Namespace, Patch
from generator.components.parts import UNPRIVILEGED, deployment, pod_security, resources, tolerations
from generator.components.snapshot_controller import DEFINITION, NAMESPACE, VERSIONS
from generator.components.static import read_objects
from generator.model.cluster import Cluster


def install(cluster: Cluster) -> Component:
    """Install upstream's manifests where Ceph takes snapshots."""
    version = VERSIONS.of(cluster)
    return Component(
        name="snapshot-controller",
        tier=DEFINITION.tier,
        summary="Volume snapshots",
        version=version.version,
        namespaces=(Namespace(NAMESPACE, security=None),),
        base=read_objects("snapshot_controller/disruption-budget.yaml"),
        manifests=version.manifests,
        patches=(finished(cluster, version.images["controller"]),),
        kinds=DEFINITION.chart_kinds,
    )


def finished(cluster: Cluster, image: str) -> Patch:
    """Finish upstream's Deployment: its tag still runs the image of the release before, its log level is that of a
    debugging session, and it has no resources, priority or security context.
    """
    pod, container = "/spec/template/spec", "/spec/template/spec/containers/0"
    return Patch(
        target=deployment("snapshot-controller", NAMESPACE),
        operations=(
            {"op": "replace", "path": f"{container}/image", "value": image},
            {"op": "replace", "path": f"{container}/args", "value": ["--v=2", "--leader-election=true"]},
            # For 50 nodes and some thousand snapshots.
            {"op": "add", "path": f"{container}/resources", "value": resources("10m", "64Mi", "512Mi")},
            {"op": "add", "path": f"{container}/securityContext", "value": UNPRIVILEGED},
            # The user of upstream's image, which has no shell and writes no file.
            {"op": "add", "path": f"{pod}/securityContext", "value": pod_security(65532)},
            {"op": "add", "path": f"{pod}/priorityClassName", "value": "system-cluster-critical"},
            {"op": "add", "path": f"{pod}/tolerations", "value": tolerations(cluster.control_plane)},
        ),
    )
