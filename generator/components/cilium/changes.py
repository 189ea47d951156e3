"""What changes of Cilium's settings mean: those of its chart, and of the ConfigMap that the chart makes of them."""

from typing import Any

from generator.components.cilium.policy_changes import POLICY_CHANGES
from generator.model.change import (
    CHART,
    VERSION,
    ChangeRule,
    Effect,
    FieldChange,
    ObjectChange,
    named,
    value_at,
)
from generator.model.change import lower as comes_down
from generator.model.versions import minors, next_minor, of, skips_a_minor

SETTINGS = (CHART, "/ConfigMap")
OURS = named("cilium", "cilium-config")
UPGRADE = "https://github.com/cilium/cilium/blob/v1.20.0/Documentation/operations/upgrade.rst"


def lower(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether the MTU comes down."""
    return OURS(change, field) and comes_down(change, field)


def appends(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether networks are added behind those that nodes have slices of."""
    old, new = _listed(field.old), _listed(field.new)
    return OURS(change, field) and bool(old) and len(new) > len(old) and new[: len(old)] == old


def _listed(value: object) -> list[Any]:
    """Return what a list has in the chart, and in the ConfigMap as one text."""
    return value.split() if isinstance(value, str) else value if isinstance(value, list) else []


def takes_away(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a network that nodes may have slices of goes, or their size changes."""
    return OURS(change, field) and not appends(change, field)


def stays(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether agents are not restarted with their settings."""
    return change.name == "cilium" and value_at(change.new, "values.rollOutCiliumPods") is False


def leaves(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a device is no longer among those that Cilium binds to."""
    old, new = _listed(field.old), _listed(field.new)
    return OURS(change, field) and bool(new) and any(device not in new for device in old)


def up_a_minor(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether the version moves by one minor."""
    return change.name == "cilium" and minors(field) in {1, -1}


SETTING_RULES = (
    ChangeRule(
        code="GEN-CHG-250",
        kinds=SETTINGS,
        paths=("values", "data"),
        effect=Effect.ROLLING,
        reason="agents, Envoy and the operator read their settings when they start: they are restarted for it, two "
        "nodes at a time; pods keep their connections and wait some seconds for new ones",
        when=OURS,
    ),
    ChangeRule(
        code="GEN-CHG-251",
        kinds=(CHART,),
        paths=("values",),
        effect=Effect.BY_HAND,
        reason="with `rollOutCiliumPods: false` the change is Synced, Healthy and on no node: agents read it when they "
        "start",
        instead="`kubectl -n kube-system rollout restart daemonset cilium`, and the operator likewise",
        when=stays,
    ),
    ChangeRule(
        code="GEN-CHG-252",
        kinds=SETTINGS,
        paths=("values.ipam.mode", "data.ipam"),
        effect=Effect.IMPOSSIBLE,
        reason="upstream forbids it on a running cluster: pods lose their connections for good",
        instead="a new cluster",
        link="https://docs.cilium.io/en/stable/network/concepts/ipam/",
        when=OURS,
    ),
    ChangeRule(
        code="GEN-CHG-253",
        kinds=SETTINGS,
        paths=(
            "values.ipam.operator.clusterPoolIPv4PodCIDRList",
            "values.ipam.operator.clusterPoolIPv6PodCIDRList",
            "values.ipam.operator.clusterPoolIPv4MaskSize",
            "values.ipam.operator.clusterPoolIPv6MaskSize",
            "data.cluster-pool-ipv4-cidr",
            "data.cluster-pool-ipv6-cidr",
            "data.cluster-pool-ipv4-mask-size",
            "data.cluster-pool-ipv6-mask-size",
        ),
        effect=Effect.IMPOSSIBLE,
        reason="each node keeps the slice that it has (its CiliumNode): with the old network gone, addresses are given "
        "twice or not at all",
        instead="add a network behind those that are there, or make a new cluster",
        when=takes_away,
    ),
    ChangeRule(
        code="GEN-CHG-254",
        kinds=SETTINGS,
        paths=(
            "values.ipam.operator.clusterPoolIPv4PodCIDRList",
            "values.ipam.operator.clusterPoolIPv6PodCIDRList",
            "data.cluster-pool-ipv4-cidr",
            "data.cluster-pool-ipv6-cidr",
        ),
        effect=Effect.UNKNOWN,
        reason="nodes keep their slices, and new ones take from the network that was added; nobody has tried this here",
        instead="try it on a test cluster; kubeadm's `podSubnet` and firewalls must know the new network as well",
        when=appends,
    ),
    ChangeRule(
        code="GEN-CHG-255",
        kinds=SETTINGS,
        paths=("values.MTU", "data.mtu"),
        effect=Effect.ROLLING,
        reason="Cilium's own devices and new pods get the larger MTU, with a restart of the agents; pods that run keep "
        "the smaller one: slower, nothing breaks",
        instead="the network below must carry it first, on every switch and node",
        when=OURS,
    ),
    ChangeRule(
        code="GEN-CHG-256",
        kinds=SETTINGS,
        paths=("values.MTU", "data.mtu"),
        effect=Effect.OUTAGE,
        reason="pods that run keep the larger MTU until they are made anew: packets that are too large for the new one "
        "are dropped, and connections hang",
        instead="node by node: drain it, restart its Cilium agent, uncordon it: so no pod runs with the larger MTU",
        when=lower,
    ),
    ChangeRule(
        code="GEN-CHG-257",
        kinds=SETTINGS,
        paths=("values.devices", "data.devices"),
        effect=Effect.OUTAGE,
        reason="traffic to NodePorts, and from pods to the outside, fails on the device that leaves",
        instead="first make sure that nothing comes or goes by it: routes of the nodes, addresses of load balancers",
        when=leaves,
    ),
    ChangeRule(
        code="GEN-CHG-258",
        kinds=SETTINGS,
        paths=("values.kubeProxyReplacement", "data.kube-proxy-replacement"),
        effect=Effect.OUTAGE,
        reason="connections through Services break on each node as it switches, and rules of the old one stay until "
        "they are cleaned up",
        instead="node by node: drain, switch, restart the node, uncordon; kube-proxy must come or go in the same "
        "breath",
        link="https://github.com/cilium/cilium/issues/16139",
        when=OURS,
    ),
    ChangeRule(
        code="GEN-CHG-259",
        kinds=SETTINGS,
        paths=(
            "values.routingMode",
            "values.tunnelProtocol",
            "values.tunnelPort",
            "data.routing-mode",
            "data.tunnel-protocol",
            "data.tunnel-port",
        ),
        effect=Effect.OUTAGE,
        reason="old and new agents do not understand each other: traffic between nodes fails until the last one is "
        "restarted, and the MTU of pods differs by the tunnel",
        instead="in a maintenance window, with jobs stopped",
        when=OURS,
    ),
    ChangeRule(
        code="GEN-CHG-260",
        kinds=SETTINGS,
        paths=("values.encryption", "data.enable-wireguard", "data.enable-ipsec", "data.encrypt-node"),
        effect=Effect.OUTAGE,
        reason="until every agent has it, some traffic between nodes fails, and pods that run keep an MTU without room "
        "for it",
        instead="in a maintenance window; pods made anew afterwards have the smaller MTU",
        when=OURS,
    ),
    ChangeRule(
        code="GEN-CHG-261",
        kinds=(CHART,),
        paths=("values.k8sServiceHost", "values.k8sServicePort"),
        effect=Effect.ROLLING,
        reason="every agent is restarted and asks the API server there: the first ones fail where it does not answer "
        "yet",
        instead="let the old and the new address answer, both in the API server's certificate, before this is merged",
        when=named("cilium"),
    ),
    ChangeRule(
        code="GEN-CHG-262",
        kinds=(CHART,),
        on="removed",
        effect=Effect.OUTAGE,
        reason="the pod network goes: pods keep their interfaces until they end, and no new one gets an address before "
        "another network is there",
        instead="node by node with both networks beside each other on different pod networks, by upstream's guide to "
        "migrating, or a new cluster",
        link="https://docs.cilium.io/en/stable/installation/k8s-install-migration/",
        when=named("cilium"),
    ),
)

JUMPS = (
    ChangeRule(
        code="GEN-CHG-340",
        kinds=(VERSION,),
        paths=("version",),
        effect=Effect.IMPOSSIBLE,
        reason="upstream supports only one minor version at a time, up or down: {old} to {new} goes over one",
        instead="{old} to the newest of {next} first, wait until every agent runs it, and so on",
        link=UPGRADE,
        when=of("cilium", skips_a_minor),
        words=next_minor,
    ),
    ChangeRule(
        code="GEN-CHG-341",
        kinds=(VERSION,),
        paths=("version",),
        effect=Effect.ROLLING,
        reason="agents are restarted on all nodes; connections through Ingress, Gateway and L7 policies break "
        "meanwhile",
        instead="upstream's checks before: images pulled, policies valid, `upgradeCompatibility` at the first version",
        link=UPGRADE,
        when=up_a_minor,
    ),
)

CHANGES = (*SETTING_RULES, *POLICY_CHANGES)
