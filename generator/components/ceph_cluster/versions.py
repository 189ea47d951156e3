"""The versions of ceph-cluster that gen knows."""

from generator.components.definition import Version, Versions
from generator.model.change import VERSION, ChangeRule, Effect, FieldChange, ObjectChange, value_at
from generator.model.versions import goes_back, majors, next_minor, of

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


JUMPS = (
    ChangeRule(
        code="GEN-CHG-349",
        kinds=(VERSION,),
        paths=("version",),
        effect=Effect.DATA_LOSS,
        reason="Ceph never goes back: daemons of {old} have written what those of {new} cannot read, and Rook only "
        "warns",
        instead="stay at {old}, or go up again",
        link="https://github.com/rook/rook/blob/v1.20.6/pkg/operator/ceph/cluster/version.go",
        when=of("ceph-cluster", goes_back),
        words=next_minor,
    ),
    ChangeRule(
        code="GEN-CHG-350",
        kinds=(VERSION,),
        paths=("version",),
        effect=Effect.IMPOSSIBLE,
        reason="Ceph goes up at most two major versions at once, and ends one upgrade (`ceph osd "
        "require-osd-release`) before the next",
        instead="the major version between first",
        link="https://github.com/rook/rook/blob/v1.20.6/Documentation/Upgrade/ceph-upgrade.md",
        when=of("ceph-cluster", skips_two_majors),
    ),
    ChangeRule(
        code="GEN-CHG-351",
        kinds=(VERSION,),
        paths=("version",),
        effect=Effect.IMPOSSIBLE,
        reason="upstream forbids to move Rook and Ceph together: the old operator would begin with the new image, and "
        "neither is known good when the other fails",
        instead="two commits: Rook first; Ceph when the operator is new on all nodes and Ceph says HEALTH_OK",
        link="https://github.com/rook/rook/blob/v1.20.6/Documentation/Upgrade/ceph-upgrade.md",
        when=moves_with_rook,
    ),
)
