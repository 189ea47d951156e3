"""What another version of Kubernetes means. kubeadm v1.35.3: `cmd/kubeadm/app/phases/upgrade/policy.go`."""

from generator.components.rule_files import read_rules
from generator.model.change import FieldChange, ObjectChange, named
from generator.model.versions import goes_to_the_next_minor, minors, of, skips_a_minor


def down(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether it is the minor version of Kubernetes before."""
    return change.name == "kubernetes" and minors(field) == -1


RULES = read_rules(
    "kubeadm/version_changes.yaml",
    down,
    skips_a_minor=of("kubernetes", skips_a_minor),
    goes_to_the_next_minor=of("kubernetes", goes_to_the_next_minor),
    of_kubernetes=named("kubernetes"),
)
