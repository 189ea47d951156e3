"""Where operations on nodes run, and what their objects are known by."""

from generator.components.common import OWN_LABELS

NAMESPACE = "node-operations"
EXPANSION, REMOVAL, REPLACEMENT = "node-expansion", "node-removal", "node-replacement"
OSD_REPLACEMENT, DRIVE_REPLACEMENT = "osd-replacement", "drive-replacement"
MINIO_EXPANSION = "minio-expansion"
UPGRADE, MAINTENANCE, DRIVER_UPGRADE = "kubernetes-upgrade", "node-maintenance", "driver-upgrade"
MACHINE = f"{OWN_LABELS}/machine"
"""An annotation of a node, by its machine: what operations must know of that (the script `maintaining.py`)."""
ACCEPTED, BURNED_IN = f"{OWN_LABELS}/accepted", f"{OWN_LABELS}/burned-in"
"""Annotations of a node: when it was let in, and when its devices were tried and were good (the script `api.py`)."""
LEASES = "kube-node-lease"
"""The namespace where kubelets tell every few seconds that they are there."""
SCRIPTS = "node-operations-scripts"
FACTS = f"{OWN_LABELS}/facts"


def labels(name: str) -> dict[str, str]:
    """Return the labels of an object."""
    return {"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": NAMESPACE}
