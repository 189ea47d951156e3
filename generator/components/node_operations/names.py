"""Where operations on nodes run, and what their objects are known by."""

NAMESPACE = "node-operations"
EXPANSION, REMOVAL, UPGRADE = "node-expansion", "node-removal", "kubernetes-upgrade"
SCRIPTS = "node-operations-scripts"


def labels(name: str) -> dict[str, str]:
    """Return the labels of an object."""
    return {"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": NAMESPACE}
