"""RDMA for pods: every pod that asks for one `rdma/<resource>` gets the HCAs of its node."""

import json

from generator.components.common import POOL
from generator.components.component import Component, Health, Manifest, Namespace
from generator.components.network_operator import NAMESPACE, VERSIONS, hosts
from generator.components.node_feature_discovery import INFINIBAND, MELLANOX
from generator.components.parts import on_nodes, resources, tolerations
from generator.components.rdma import DEFINITION, PREFIX
from generator.components.static import read_text
from generator.model.cluster import Cluster
from generator.model.nodes import Machine, Rdma


def install(cluster: Cluster) -> Component:
    """Run the shared RDMA device plugin on the nodes with GPUs and HCAs."""
    machines = hosts(cluster)
    assert cluster.fabric
    version = VERSIONS.of(cluster)
    return Component(
        name="rdma",
        tier=DEFINITION.tier,
        summary="InfiniBand devices for pods",
        version=version.version,
        namespaces=(Namespace(NAMESPACE, security="privileged"),),
        objects=(policy(machines, cluster.fabric.rdma, version.images["rdma"]),),
        needs=("network-operator",),
        # `ignore` is the state of a policy by any other name than the one the operator looks for.
        health=(Health("mellanox.com", "NicClusterPolicy", read_text("rdma/health.lua")),),
    )


def policy(machines: tuple[Machine, ...], settings: Rdma, image: str) -> Manifest:
    """Return the one policy there may be; the operator knows it by its name. No driver container: the host's
    drivers serve InfiniBand, and no second network: NCCL needs verbs and the pod network only.
    """
    path, _, tag = image.rpartition(":")
    repository, _, name = path.rpartition("/")
    return {
        "apiVersion": "mellanox.com/v1alpha1",
        "kind": "NicClusterPolicy",
        "metadata": {"name": "nic-cluster-policy"},
        "spec": {
            "nodeAffinity": affinity(machines),
            "tolerations": tolerations(machines),
            "rdmaSharedDevicePlugin": {
                "repository": repository,
                "image": name,
                "version": tag,
                "config": configuration(settings),
                "containerResources": [{"name": "rdma-shared-dp", **resources("10m", "32Mi", "128Mi")}],
            },
        },
    }


def affinity(machines: tuple[Machine, ...]) -> Manifest:
    """Keep to the GPU pools, and there to nodes whose link is InfiniBand: the operator alone would take every
    node with a card of that vendor.
    """
    return on_nodes({INFINIBAND: ["true"], POOL: sorted({machine.pool for machine in machines})})


def configuration(settings: Rdma) -> str:
    """Return the plugin's configuration. `linkTypes` reads the type of the HCA's network device, so ib_ipoib must
    be loaded (bootstrap does). A count only bounds how many pods share a node's HCAs: each sees all of them.
    """
    resource = {
        "resourceName": settings.resource,
        "resourcePrefix": PREFIX,
        "rdmaHcaMax": settings.max_pods,
        "selectors": {"vendors": [MELLANOX], "linkTypes": ["infiniband"]},
    }
    return json.dumps({"periodicUpdateInterval": 300, "configList": [resource]})
