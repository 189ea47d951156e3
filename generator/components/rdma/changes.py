"""What changes of the policy that gives pods InfiniBand mean (network-operator v26.4.1: `pkg/state`)."""

import json
from typing import Any

from generator.components.rule_files import read_rules
from generator.model.change import FieldChange, ObjectChange
from generator.model.fields import mapping, sequence


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


CHANGES = read_rules("rdma/changes.yaml", offers_less)
