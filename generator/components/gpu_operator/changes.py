"""What changes of GPUs' software mean: by the operator's chart, by its policy, and by the labels that split GPUs.

Of drivers: gpu-operator v26.7.0, `assets/state-driver/0500_daemonset.yaml` (OnDelete) and
`controllers/upgrade_controller.go`.
"""

from typing import Any

from generator.components.rule_files import read_rules
from generator.model.change import CHART, FieldChange, ObjectChange, named, value_at

RELEASE = "gpu-operator"
SPLITTING = "nvidia.com/mig.config"


def ours(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether it is the operator's chart or its policy."""
    return change.kind != CHART or change.name == RELEASE


def upgrades_itself(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether the operator brings a new driver to nodes without waiting for people; its default."""
    top = "values" if change.kind == CHART else "spec"
    said: Any = value_at(change.new, f"{top}.driver.upgradePolicy.autoUpgrade")
    return ours(change, field) and said is not False


def goes_off(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether drivers are no longer the operator's."""
    return ours(change, field) and field.new is False


def comes_on(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether the operator begins to upgrade drivers by itself."""
    return ours(change, field) and field.new is True


def splits(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether the rule labels nodes for the MIG manager."""
    return SPLITTING in repr((change.old, change.new))


def slices(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether the rule labels nodes for the device plugin's configuration."""
    return "nvidia.com/device-plugin.config" in repr((change.old, change.new))


CHANGES = read_rules(
    "gpu_operator/changes.yaml", ours, upgrades_itself, goes_off, comes_on, splits, slices, of_the_chart=named(RELEASE)
)
