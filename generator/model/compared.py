"""How one field of a change is looked at more closely: conditions of `ChangeRule.when` that several rules share."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from generator.model.change import ABSENT, FieldChange, ObjectChange, value_at
from generator.model.fields import dig, mapping, sequence
from generator.model.quantity import Quantity

Condition: TypeAlias = Callable[[ObjectChange, FieldChange], object]

OPTIONS = "argocd.argoproj.io/sync-options"
KEEP = "helm.sh/resource-policy"
CASCADE = "resources-finalizer.argocd.argoproj.io"


def options(manifest: object) -> set[str]:
    """Return the options of Argo CD that an object is annotated with."""
    found: object = dig(manifest, "metadata", "annotations", OPTIONS)
    return {one.strip() for one in str(found or "").split(",")}


def is_protected(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether Argo CD was told to leave the object when it leaves Git."""
    return "Prune=false" in options(change.old)


def stays(change: ObjectChange) -> bool:
    """Tell whether Argo CD leaves in the cluster what leaves Git."""
    return change.on == "removed" and "Prune=false" in options(change.old)


def asks_first(change: ObjectChange) -> bool:
    """Tell whether Argo CD waits for a person's word before it deletes what leaves Git."""
    return change.on == "removed" and "Prune=confirm" in options(change.old)


def cascades(application: object) -> bool:
    """Tell whether an Application takes what it holds with it when it is deleted, in foreground or background."""
    finalizers = sequence(dig(application, "metadata", "finalizers"))
    return any(str(one).partition("/")[0] == CASCADE for one in finalizers)


def outlives(manifest: object) -> bool:
    """Tell whether Argo CD was told to leave the object when its Application is deleted."""
    return "Delete=false" in options(manifest) or dig(manifest, "metadata", "annotations", KEEP) == "keep"


def unprotected(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object as it is where nobody told Argo CD how to treat it."""
    metadata = mapping(manifest.get("metadata"))
    notes = {key: value for key, value in mapping(metadata.get("annotations")).items() if key != OPTIONS}
    return {**manifest, "metadata": {**metadata, "annotations": notes}}


def came(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether the field was not there before."""
    return field.old is ABSENT


def went(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether the field is no longer there."""
    return field.new is ABSENT


def stayed(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether the field is there before and after."""
    return field.old is not ABSENT and field.new is not ABSENT


def turned_on(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a flag is set now, as a truth or as text."""
    return str(field.new).lower() == "true"


def turned_off(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a flag was set and is not any more."""
    return str(field.old).lower() == "true" and str(field.new).lower() != "true"


def lowered(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether an amount is less now, however both are written."""
    old, new = _amount(field.old), _amount(field.new)
    return old is not None and new is not None and new < old


def raised(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether an amount is more now, however both are written."""
    old, new = _amount(field.old), _amount(field.new)
    return old is not None and new is not None and new > old


def same_amount(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether an amount is only written otherwise."""
    old = _amount(field.old)
    return old is not None and old == _amount(field.new)


def reordered(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a list holds the same as before in another order."""
    lists = [value for value in (field.old, field.new) if isinstance(value, list)]
    return len(lists) == 2 and sorted(map(str, lists[0])) == sorted(map(str, lists[1]))


def every(*conditions: Condition) -> Condition:
    """Return the condition that all of these hold."""
    return lambda change, field: all(one(change, field) for one in conditions)


def named(namespace: str, *names: str) -> Condition:
    """Return the condition that an object has one of these names in a namespace, any name where none is given."""
    return lambda change, _field: change.namespace == namespace and (not names or change.name in names)


def labelled(key: str, value: str = "") -> Condition:
    """Return the condition that an object has a label, on either side, with this value unless that is empty."""

    def holds(change: ObjectChange, _field: FieldChange) -> bool:
        found = [value_at(side, f"metadata.labels[{key}]") for side in (change.old, change.new)]
        return any(one is not None and value in ("", one) for one in found)

    return holds


def _amount(value: Any) -> Quantity | None:
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    try:
        return Quantity.parse(value)
    except ValueError:
        return None
