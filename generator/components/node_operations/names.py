"""Where operations on nodes run, and what their objects are known by."""

NAMESPACE = "node-operations"
EXPANSION, REMOVAL, REPLACEMENT = "node-expansion", "node-removal", "node-replacement"
OSD_REPLACEMENT, DRIVE_REPLACEMENT = "osd-replacement", "drive-replacement"
UPGRADE = "kubernetes-upgrade"
DRIVER_UPGRADE = "driver-upgrade"
LEASES = "kube-node-lease"
"""The namespace where kubelets tell every few seconds that they are there."""
SCRIPTS = "node-operations-scripts"


def labels(name: str) -> dict[str, str]:
    """Return the labels of an object."""
    return {"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": NAMESPACE}
