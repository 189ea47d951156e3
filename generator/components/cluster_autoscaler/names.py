"""What others must know of the Cluster Autoscaler: what it is called, where it runs, how it is asked for machines."""

from generator.model.cluster import Cluster

NAME = "cluster-autoscaler"
NAMESPACE = "cluster-autoscaler"
GROUP = "autoscaling.x-k8s.io"
CLASS = f"best-effort-atomic-scale-up.{GROUP}"
"""Of a ProvisioningRequest: machines for all of its pods at once, or none (FAQ of v1.35.2)."""
GPU_LABEL = "cluster-api/accelerator"
"""On a node with GPUs: until they are offered it counts as one that is still starting (clusterapi_provider.go)."""


def scaled(cluster: Cluster) -> list[str]:
    """Return the pools of which Cluster API makes machines, in the order of the file."""
    return [name for name, pool in cluster.pools.items() if pool.scaling] if cluster.autoscaler else []
