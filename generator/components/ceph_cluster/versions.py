"""The versions of ceph-cluster that gen knows."""

from generator.components.definition import Version, Versions
from generator.components.rule_files import read_rules
from generator.model.change import ChangeRule, FieldChange, ObjectChange, value_at
from generator.model.versions import goes_back, majors, of

VERSIONS = Versions(
    "ceph-cluster",
    (
        Version(
            version="v20.2.4",
            images={"ceph": "quay.io/ceph/ceph:v20.2.4-20260818"},
            schemas=("rook/v1.20.6", "external-snapshotter/v8.6.0", "cert-manager/v1.21.1"),
        ),
    ),
)


def moves_with_rook(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether the operator moves in the same change."""
    operators = [value_at(side, "components.rook-ceph") for side in (change.old, change.new)]
    return change.name == "ceph-cluster" and None not in operators and operators[0] != operators[1]


def skips_two_majors(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether it goes over more than one major version."""
    return majors(field) > 2


def jump_rules() -> tuple[ChangeRule, ...]:
    """Return what it means when its version moves."""
    return read_rules(
        "ceph_cluster/jumps.yaml",
        moves_with_rook,
        goes_back=of("ceph-cluster", goes_back),
        skips_two_majors=of("ceph-cluster", skips_two_majors),
    )
