"""Names that the parts of the store know each other by."""

from generator.components.ceph_cluster.names import READER
from generator.components.component import Manifest

NAMESPACE = READER
LABELS = {"app.kubernetes.io/name": "loki"}
PORT, GRPC, GOSSIP = 3100, 9095, 7946
MEMBERS = "loki-members"
URL = f"http://loki.{NAMESPACE}.svc:{PORT}"
"""Where Loki answers in the cluster: only whom its network policy names, for it believes whatever tenant it is told."""
CLIENT = "log-store-client"


def metadata(name: str, **more: Manifest) -> Manifest:
    """Return the metadata of an object of the store's."""
    return {"name": name, "namespace": NAMESPACE, "labels": LABELS, **more}
