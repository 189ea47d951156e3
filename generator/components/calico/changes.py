"""What changes of Calico's objects mean. Of pools in the Installation: tigera/operator v1.42.3,
`pkg/controller/ippool/pool_controller.go`.
"""

from generator.model.change import CHART, ChangeRule, Effect, lower, named

INSTALLATION = ("operator.tigera.io/Installation",)
MIGRATE = "https://docs.tigera.io/calico/latest/networking/ipam/migrate-pools"
OF_POOLS = "spec.calicoNetwork.ipPools.*"

CHANGES = (
    ChangeRule(
        code="GEN-CHG-263",
        kinds=INSTALLATION,
        paths=(f"{OF_POOLS}.cidr",),
        effect=Effect.OUTAGE,
        reason="not refused: the operator knows pools by their network, makes a new one and deletes the old one, "
        "under the pods that have addresses of it",
        instead="add the new pool beside the old one, give the old one `nodeSelector: '!all()'`, make all pods anew, "
        "and only then take it out",
        link=MIGRATE,
    ),
    ChangeRule(
        code="GEN-CHG-264",
        kinds=INSTALLATION,
        paths=(f"{OF_POOLS}.blockSize",),
        effect=Effect.IMPOSSIBLE,
        reason="the pool refuses another block size, and the operator stays degraded",
        instead="a new pool beside the old one, as for another network",
        link=MIGRATE,
    ),
    ChangeRule(
        code="GEN-CHG-265",
        kinds=INSTALLATION,
        paths=(f"{OF_POOLS}.encapsulation",),
        effect=Effect.OUTAGE,
        reason="each node changes its tunnels in its own time: traffic between nodes fails until all have",
        instead="in a maintenance window; from IPIP to VXLAN or back the setting of BGP belongs to it",
    ),
    ChangeRule(
        code="GEN-CHG-266",
        kinds=INSTALLATION,
        paths=("spec.calicoNetwork.mtu",),
        effect=Effect.ROLLING,
        reason="calico-node is restarted node by node; new pods get it, those that run keep the smaller one",
        instead="the network below must carry it first, on every switch and node",
        link="https://github.com/projectcalico/calico/issues/2831",
    ),
    ChangeRule(
        code="GEN-CHG-267",
        kinds=INSTALLATION,
        paths=("spec.calicoNetwork.mtu",),
        effect=Effect.OUTAGE,
        reason="pods that run keep the larger one until they are made anew: their large packets vanish, and "
        "connections hang",
        instead="make all pods anew, node by node: drain, uncordon",
        link="https://github.com/projectcalico/calico/issues/2831",
        when=lower,
    ),
    ChangeRule(
        code="GEN-CHG-268",
        kinds=INSTALLATION,
        paths=("spec.calicoNetwork.linuxDataplane",),
        effect=Effect.OUTAGE,
        reason="connections through Services break on each node as it switches; kube-proxy, which only people change, "
        "must be of the same mode or be gone",
        instead="node by node: drain, switch, restart the node, uncordon; or choose it before the cluster is made",
    ),
    ChangeRule(
        code="GEN-CHG-269",
        kinds=INSTALLATION,
        paths=("spec.registry", "spec.controlPlaneReplicas"),
        effect=Effect.ROLLING,
        reason="the operator replaces its pods one after the other",
    ),
    ChangeRule(
        code="GEN-CHG-270",
        kinds=("projectcalico.org/IPPool",),
        paths=("spec.cidr", "spec.blockSize"),
        effect=Effect.IMPOSSIBLE,
        reason="the API server refuses it",
        instead="a new pool under a name of its own",
        link=MIGRATE,
    ),
    ChangeRule(
        code="GEN-CHG-271",
        kinds=(CHART,),
        on="removed",
        effect=Effect.OUTAGE,
        reason="its operator goes; the Installation is protected and what it installed runs on, but nobody heals or "
        "changes it any more, and another network beside it takes the nodes' pods one by one",
        instead="node by node with both networks beside each other on different pod networks, or a new cluster",
        when=named("calico"),
    ),
)
