"""The snapshot controller: one for the cluster, for every CSI driver that can take snapshots (Ceph)."""

from generator.components.common import tolerations
from generator.components.component import Component, Manifest, Namespace, Patch, Tier
from generator.model.cluster import Cluster
from generator.model.versions import version_of

__all__ = ["snapshot_controller"]

NAMESPACE = "kube-system"


def snapshot_controller(cluster: Cluster) -> Component | None:
    """Install upstream's manifests where Ceph takes snapshots."""
    if cluster.storage.ceph is None:
        return None
    version = version_of("snapshot-controller", cluster)
    return Component(
        name="snapshot-controller",
        tier=Tier.STORAGE,
        summary="Volume snapshots",
        version=version.version,
        namespaces=(Namespace(NAMESPACE, security=None),),
        base=(disruption_budget(),),
        manifests=version.manifests,
        patches=(deployment(cluster, version.images["controller"]),),
        needs=(cluster.networks.cni,),
        kinds=(
            "apiextensions.k8s.io/CustomResourceDefinition",
            "rbac.authorization.k8s.io/ClusterRole",
            "rbac.authorization.k8s.io/ClusterRoleBinding",
        ),
    )


def deployment(cluster: Cluster, image: str) -> Patch:
    """Finish upstream's Deployment: its tag still runs the image of the release before, its log level is that of a
    debugging session, and it has no resources, priority or security context.
    """
    pod, container = "/spec/template/spec", "/spec/template/spec/containers/0"
    return Patch(
        target={
            "group": "apps",
            "version": "v1",
            "kind": "Deployment",
            "name": "snapshot-controller",
            "namespace": NAMESPACE,
        },
        operations=(
            {"op": "replace", "path": f"{container}/image", "value": image},
            {"op": "replace", "path": f"{container}/args", "value": ["--v=2", "--leader-election=true"]},
            {"op": "add", "path": f"{container}/resources", "value": resources()},
            {"op": "add", "path": f"{container}/securityContext", "value": container_security()},
            {"op": "add", "path": f"{pod}/securityContext", "value": pod_security()},
            {"op": "add", "path": f"{pod}/priorityClassName", "value": "system-cluster-critical"},
            {"op": "add", "path": f"{pod}/tolerations", "value": tolerations(cluster.control_plane)},
        ),
    )


def resources() -> Manifest:
    """Return what 50 nodes and some thousand snapshots need."""
    return {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "512Mi"}}


def pod_security() -> Manifest:
    """Return the user of upstream's image, which has no shell and writes no file."""
    return {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}}


def container_security() -> Manifest:
    """Return the strictest container that there is."""
    return {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}


def disruption_budget() -> Manifest:
    """Keep one of the two replicas while nodes are drained."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "snapshot-controller", "namespace": NAMESPACE},
        "spec": {
            "maxUnavailable": 1,
            "selector": {"matchLabels": {"app.kubernetes.io/name": "snapshot-controller"}},
        },
    }
