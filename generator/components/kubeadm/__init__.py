"""The cluster before Argo CD: kubeadm files, what a node needs, and the steps in order."""

from generator.components.kubeadm.disks import disk_scripts
from generator.components.kubeadm.endpoint import endpoint_files
from generator.components.kubeadm.images import kubeadm_images
from generator.components.kubeadm.init import audit_policy, init_documents, join_document
from generator.components.kubeadm.node import node_files
from generator.components.kubeadm.steps import steps

__all__ = [
    "audit_policy", "disk_scripts", "endpoint_files", "init_documents", "join_document", "kubeadm_images",
    "node_files", "steps",
]  # fmt: skip
