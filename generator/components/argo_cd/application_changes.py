"""What changes of an Application itself mean, beside what it holds (Argo CD v3.5.3, `docs/user-guide`)."""

from collections.abc import Mapping
from typing import Any

from generator.components.argo_cd.changes import APPLICATION, DOCS
from generator.model.change import Beside, ChangeRule, Effect, FieldChange, ObjectChange, value_at
from generator.model.fields import mapping, sequence

GUIDE = f"{DOCS}/user-guide"
FIELDS = ("jsonPointers", "jqPathExpressions", "managedFieldsManagers")


def _left_out(manifest: Mapping[str, Any]) -> set[tuple[str, ...]]:
    """Return each field, and each writer of fields, that comparisons leave out, with the objects that are meant."""
    found = set()
    for one in map(mapping, sequence(value_at(manifest, "spec.ignoreDifferences"))):
        meant = tuple(str(one.get(key) or "") for key in ("group", "kind", "namespace", "name"))
        ways = (str(way) for key in FIELDS for way in sequence(one.get(key)))
        found |= {(*meant, way) for way in ways}
    return found


def says_more(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether more is left out of comparisons."""
    return not _left_out(change.new) <= _left_out(change.old)


def says_less(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether something is no longer left out of comparisons."""
    return not _left_out(change.old) <= _left_out(change.new)


def holds_unseen(change: ObjectChange, _field: FieldChange, beside: Beside) -> bool:
    """Tell whether what an Application holds was not built, so that none of it is told by itself."""
    return change.name not in beside.built


APPLICATION_CHANGES = (
    ChangeRule(
        code="GEN-CHG-170",
        kinds=APPLICATION,
        paths=("spec.ignoreDifferences",),
        effect=Effect.BY_HAND,
        reason="more is left out where Argo CD compares: a difference in it starts no sync, and with "
        "`RespectIgnoreDifferences=true` no sync brings what Git says of it",
        instead="name the fields that controllers write, of the objects that they write them in, and nothing more",
        link=f"{GUIDE}/diffing/",
        when=says_more,
    ),
    ChangeRule(
        code="GEN-CHG-718",
        kinds=APPLICATION,
        paths=("spec.ignoreDifferences",),
        effect=Effect.NONE,
        reason="the same is left out where Argo CD compares, in other words",
        link=f"{GUIDE}/diffing/",
    ),
    ChangeRule(
        code="GEN-CHG-171",
        kinds=APPLICATION,
        paths=("spec.ignoreDifferences",),
        effect=Effect.UNKNOWN,
        reason="fields that controllers or people write are set back to what Git says, again and again",
        link=f"{GUIDE}/diffing/",
        when=says_less,
    ),
    ChangeRule(
        code="GEN-CHG-172",
        kinds=APPLICATION,
        paths=("spec.destination.namespace",),
        effect=Effect.DATA_LOSS,
        reason="objects that name no namespace are made in this one, empty, and go from the old one with what they "
        "hold; what this Application holds was not built here",
        instead="have each object name its namespace, in a commit before",
        beside=holds_unseen,
    ),
    ChangeRule(
        code="GEN-CHG-708",
        kinds=APPLICATION,
        paths=("spec.destination.namespace",),
        effect=Effect.NONE,
        reason="objects that name no namespace are made in this one, and go from the old one: they are told one by one",
        beside=lambda change, field, beside: not holds_unseen(change, field, beside),
    ),
    ChangeRule(
        code="GEN-CHG-173",
        kinds=APPLICATION,
        paths=("spec.project",),
        effect=Effect.UNKNOWN,
        reason="where the other project does not allow its source, its destination or a kind, it moves no more; what "
        "runs goes on",
        link=f"{GUIDE}/projects/",
    ),
)
