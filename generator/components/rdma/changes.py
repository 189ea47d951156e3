"""What changes of the policy that gives pods InfiniBand mean (network-operator v26.4.1: `pkg/state`)."""

import json
from typing import Any

from generator.model.change import ChangeRule, Effect, FieldChange, ObjectChange
from generator.model.fields import mapping, sequence

POLICY = ("mellanox.com/NicClusterPolicy",)
OFED = "https://github.com/Mellanox/network-operator/blob/v26.4.1/docs/automatic-ofed-upgrade.md"


def offers_less(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a resource is called otherwise, or fewer pods may share it."""
    old, new = (_offered(value) for value in (field.old, field.new))
    return any(new.get(name, -1) < count for name, count in old.items())


def _offered(config: object) -> dict[str, int]:
    """Return how many pods may share each resource; nothing for what is no configuration."""
    try:
        found: Any = json.loads(str(config))
    except json.JSONDecodeError:
        return {}
    listed = map(mapping, sequence(mapping(found).get("configList")))
    return {str(one.get("resourceName")): int(most) for one in listed if isinstance(most := one.get("rdmaHcaMax"), int)}


CHANGES = (
    ChangeRule(
        code="GEN-CHG-301",
        kinds=POLICY,
        paths=("spec.rdmaSharedDevicePlugin", "spec.tolerations"),
        effect=Effect.ROLLING,
        reason="the device plugin is replaced node by node; pods keep the devices that they have",
    ),
    ChangeRule(
        code="GEN-CHG-302",
        kinds=POLICY,
        paths=("spec.rdmaSharedDevicePlugin.config",),
        effect=Effect.BY_HAND,
        reason="nodes no longer offer what they did: pods that run keep their devices, new ones that ask for it by "
        "the old name, or for more of it than there is, wait for ever",
        instead="quotas and the users' jobs must ask for the new name in the same breath",
        when=offers_less,
    ),
    ChangeRule(
        code="GEN-CHG-303",
        kinds=POLICY,
        paths=("spec.ofedDriver",),
        effect=Effect.DRAIN,
        reason="the node's network cards are away while their modules are loaded anew, and storage on them hangs",
        instead="`upgradePolicy` with `maxParallelUpgrades: 1` (0 is all nodes at once) and drain, one failure domain "
        "at a time",
        link=OFED,
    ),
    ChangeRule(
        code="GEN-CHG-304",
        kinds=POLICY,
        paths=("spec.nodeAffinity",),
        effect=Effect.BY_HAND,
        reason="the device plugin comes to the nodes that are chosen and goes from all others: there new pods that "
        "ask for RDMA wait for ever",
        instead="pools that jobs with RDMA are sent to must be those that are chosen",
    ),
    ChangeRule(
        code="GEN-CHG-305",
        kinds=POLICY,
        on="removed",
        effect=Effect.OUTAGE,
        reason="the device plugin goes from every node: no new pod gets InfiniBand; pods that run keep it",
    ),
)
