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

BY_CHARTS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "argo-cd": (("API group", "", "argoproj.io"), ("Service", "argocd", "argocd-server")),
    "argo-workflows": (("API group", "", "argoproj.io of workflows"),),
    "calico": (("API group", "", "operator.tigera.io"), ("API group", "", "projectcalico.org")),
    "ceph-csi-drivers": (
        ("CSIDriver", "", "rook-ceph.cephfs.csi.ceph.com"),
        ("CSIDriver", "", "rook-ceph.rbd.csi.ceph.com"),
    ),
    "cert-manager": (("API group", "", "cert-manager.io"),),
    "cilium": (("API group", "", "cilium.io"), ("IngressClass", "", "cilium")),
    "csi-nfs": (("CSIDriver", "", "nfs.csi.k8s.io"),),
    "gpu-operator": (("API group", "", "nvidia.com"),),
    "kueue": (("API group", "", "kueue.x-k8s.io"), ("ClusterRole", "", "kueue-batch-user-role")),
    "network-operator": (("API group", "", "mellanox.com"),),
    "node-feature-discovery": (("API group", "", "nfd.k8s-sigs.io"),),
    "prometheus-crds": (("API group", "", "monitoring.coreos.com"),),
    "rook-ceph": (
        ("API group", "", "ceph.rook.io"),
        ("API group", "", "objectbucket.io"),
        ("CSIDriver", "", "rook-ceph.ceph.rook.io/bucket"),
        ("ConfigMap", "rook-ceph", "rook-ceph-mon-endpoints"),
        ("ServiceAccount", "rook-ceph", "rook-ceph-default"),
    ),
    "snapshot-controller": (("API group", "", "snapshot.storage.k8s.io"),),
}
"""By component: kind, namespace and name; an API group stands for its CRDs."""
