"""What changes of teams' namespaces mean, as the API server and the admission policies act on them."""

from generator.components.kueue import TEAM
from generator.components.tenants.pods import ALLOWED
from generator.model.change import ChangeRule, Effect, FieldChange, ObjectChange, value_at
from generator.model.compared import came, every, is_protected, went

NAMESPACE = ("/Namespace",)


def was_a_teams(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether the namespace was a team's."""
    return value_at(change.old, f"metadata.labels[{TEAM}]") is not None


def of_a_class(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a label is one that opens a class of jobs to the team."""
    return str(field.path[-1]).startswith(ALLOWED)


def of_the_team(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a label is the one that makes a namespace a team's."""
    return field.path[-1] == TEAM


CHANGES = (
    ChangeRule(
        code="GEN-CHG-540",
        kinds=NAMESPACE,
        on="removed",
        effect=Effect.BY_HAND,
        reason="it is protected: the namespace stays, with its volumes and what runs; queue, quota, rights and network "
        "policies leave it, so that its jobs start no more, nobody of the team gets in, and its network is open",
        instead="save the data, then `kubectl delete namespace`",
        when=every(was_a_teams, is_protected),
    ),
    ChangeRule(
        code="GEN-CHG-541",
        kinds=NAMESPACE,
        on="renamed",
        effect=Effect.BY_HAND,
        reason="a namespace has no other name: an empty one is made, and the former one stays, with volumes and jobs, "
        "without queue, rights and network policies",
        instead="make the new team beside the former one, move data and jobs, take the former one out later",
        when=every(was_a_teams, is_protected),
    ),
    ChangeRule(
        code="GEN-CHG-542",
        kinds=NAMESPACE,
        paths=("metadata.labels.*",),
        effect=Effect.OUTAGE,
        reason="new jobs of this class are refused in the namespace; those that run or wait stay",
        when=every(of_a_class, went),
    ),
    ChangeRule(
        code="GEN-CHG-543",
        kinds=NAMESPACE,
        paths=("metadata.labels.*",),
        effect=Effect.NONE,
        reason="the team may name this class in new jobs",
        when=every(of_a_class, came),
    ),
    ChangeRule(
        code="GEN-CHG-544",
        kinds=NAMESPACE,
        paths=("metadata.labels.*",),
        effect=Effect.OUTAGE,
        reason="Kueue and the admission policies look at the namespace no more: its pods start past every queue, and "
        "take what others own",
        when=every(of_the_team, went),
    ),
)
