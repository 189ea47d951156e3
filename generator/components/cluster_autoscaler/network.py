"""Whom the autoscaler's pods may talk to."""

from collections.abc import Iterator

from generator.components.cluster_autoscaler.names import NAME, NAMESPACE
from generator.components.component import Manifest
from generator.components.parts import TO_API_SERVER, api_server, beyond, tcp
from generator.model.cluster import Cluster
from generator.model.scaling import Autoscaler


def network(cluster: Cluster, settings: Autoscaler) -> Iterator[Manifest]:
    """Let nobody in, and out to the API server; to one elsewhere wherever that is, for the Secret alone says it."""
    rules = api_server(cluster)
    if settings.management == "kubeconfig":
        rules += [{"ports": [{"protocol": "UDP", "port": 53}, tcp(53)]}, beyond(cluster)]
    spec = {"podSelector": {}, "policyTypes": ["Ingress", "Egress"], "egress": rules}
    metadata = {"name": NAME, "namespace": NAMESPACE}
    yield {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": metadata, "spec": spec}
    if cluster.networks.cni == "cilium":
        named = {"endpointSelector": {}, "egress": [TO_API_SERVER]}
        yield {"apiVersion": "cilium.io/v2", "kind": "CiliumNetworkPolicy", "metadata": metadata, "spec": named}
