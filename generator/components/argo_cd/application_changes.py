"""What changes of an Application itself mean, beside what it holds (Argo CD v3.5.3, `docs/user-guide`)."""

from collections.abc import Mapping
from typing import Any

from generator.components.rule_files import read_rules
from generator.model.change import Beside, FieldChange, ObjectChange, value_at
from generator.model.fields import mapping, sequence

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


APPLICATION_CHANGES = read_rules(
    "argo_cd/application_changes.yaml",
    says_more,
    says_less,
    holds_unseen,
    holds_nothing_unseen=lambda change, field, beside: not holds_unseen(change, field, beside),
)
