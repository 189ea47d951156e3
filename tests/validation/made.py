"""What charts, upstream manifests and Kubernetes itself make, and objects of ours name. Kept short: each line is a
promise that nothing here can prove.
"""

__all__ = ["BUILT_IN", "BY_CHARTS"]

BUILT_IN = {
    "Namespace": ("default", "kube-system", "kube-public"),
    "ClusterRole": ("admin", "cluster-admin", "edit", "view"),
    "PriorityClass": ("system-cluster-critical", "system-node-critical"),
    "CSIDriver": ("kubernetes.io/no-provisioner",),
}

BY_CHARTS: dict[str, tuple[tuple[str, str, str], ...]] = {}
"""By component: kind, namespace and name."""
