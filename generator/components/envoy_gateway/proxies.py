"""What the Envoys of the Gateway are like."""

import json

from generator.components.cilium import ROUTING
from generator.components.common import replicas
from generator.components.component import Manifest
from generator.components.envoy_gateway.layout import GROUP, PROXIES, VERSIONS
from generator.components.exposure.layout import GATEWAY, metadata
from generator.components.parts import apart, resources
from generator.model.cluster import Cluster
from generator.model.mirror import at_mirror

LONGEST_ANSWER = "1h"
"""From the last byte of a request to the last of its answer."""


def envoy_proxy(cluster: Cluster) -> Manifest:
    """Return what Envoys of the Gateway are like. Their Service asks for the address of the file by Calico's own
    annotation: an address in the Gateway would become an external one of the Service, which nobody announces.
    """
    declared, image = cluster.networks.exposure, VERSIONS.of(cluster).images["envoy"]
    address = {"projectcalico.org/loadBalancerIPs": json.dumps([str(declared.address)])} if declared else {}
    kubernetes = {
        "envoyDeployment": {
            "replicas": max(2, replicas(cluster)),
            # Without it what teams run would come first where a node is full.
            "pod": {"affinity": apart(PROXIES), "priorityClassName": "system-cluster-critical"},
            "container": {
                "image": at_mirror(image, cluster.site.images),
                "resources": resources("100m", "256Mi", "1Gi"),
            },
        },
        "envoyPDB": {"maxUnavailable": 1},
        "envoyService": {"type": "LoadBalancer", "externalTrafficPolicy": "Cluster", "annotations": address},
    }
    return {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "EnvoyProxy",
        "metadata": metadata(GATEWAY),
        "spec": {"provider": {"type": "Kubernetes", "kubernetes": kubernetes}},
    }


def answers() -> Manifest:
    """Let an answer of any route take as long as `LONGEST_ANSWER`. Else it has Envoy's own bound (v1.9.0:
    `internal/xds/translator/route.go`): 15 seconds, in which no language model is at its end. An HTTPRoute may say
    another, a GRPCRoute cannot. Cilium's Envoys have none.
    """
    gateway = {"group": ROUTING, "kind": "Gateway", "name": GATEWAY}
    return {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "BackendTrafficPolicy",
        "metadata": metadata(GATEWAY),
        "spec": {"targetRefs": [gateway], "timeout": {"http": {"requestTimeout": LONGEST_ANSWER}}},
    }
