"""What changes of Zabbix mean, as `configure.py` and Zabbix itself carry them out.

Templates and hosts are imported so that what a file no longer names is deleted, with all values that it stored.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from generator.components.rule_files import read_rules
from generator.components.zabbix.names import COMPLETE, CONFIGURE, DATABASE, NAMESPACE, SERVER, TEMPLATES
from generator.model.change import FieldChange, ObjectChange
from generator.model.compared import named
from generator.model.fields import dig, sequence

NAMES = ("template", "host", "key", "name")
WITHIN = ("zabbix_export", "templates", "hosts", "items", "discovery_rules", "item_prototypes")
_TAG = re.compile(r":(?:[a-z]+-)?(\d+)\.(\d+)")

is_imported = named(NAMESPACE, TEMPLATES, *(f"zabbix-hosts-{number}" for number in range(100)))
is_settings = named(NAMESPACE, CONFIGURE)


def _json(value: object) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _stored(part: Any, place: str = "") -> Iterator[str]:
    """Yield what has values of its own in an export: hosts with their templates, templates with their items."""
    if isinstance(part, list):
        for one in part:
            yield from _stored(one, place)
    elif isinstance(part, dict):
        name = next((part[key] for key in NAMES if key in part), None)
        here = f"{place}/{name}" if name else place
        if name:
            yield here
        for key in WITHIN:
            yield from _stored(part.get(key), here)


def history_lost(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether an item, a template or a host is no longer named."""
    return bool({*_stored(_json(field.old))} - {*_stored(_json(field.new))})


def history_kept(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether all that was named still is."""
    return not history_lost(change, field)


def kept_shorter(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether values are kept for fewer days."""
    return any(_days(field.new, key) < _days(field.old, key) for key in ("history", "trends"))


def _days(value: object, key: str) -> int:
    text = str(dig(_json(value), key) or "").removesuffix("d")
    return int(text) if text.isdigit() else 0


def _alerts(value: object) -> set[str]:
    return {str(dig(one, "name")) for one in sequence(dig(_json(value), "alerts"))}


def alerts_lost(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether somebody is no longer told of something, and no values are lost with it."""
    return not kept_shorter(change, field) and bool(_alerts(field.old) - _alerts(field.new))


def set_anew(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a change of the settings takes nothing away."""
    return not kept_shorter(change, field) and not alerts_lost(change, field)


def _release(image: object) -> tuple[int, ...]:
    found = _TAG.search(str(image))
    return tuple(map(int, found.groups())) if found else ()


def newer(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether an image is of a newer release, not only of another patch."""
    return () < _release(field.old) < _release(field.new)


def older(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether an image is of an older release."""
    return () < _release(field.new) < _release(field.old)


def is_complete(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether it is the Job that looks for missing Secrets, under whichever name."""
    return change.namespace == NAMESPACE and change.name.startswith(COMPLETE)


def other_major(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether an image is of another major release."""
    old, new = _release(field.old)[:1], _release(field.new)[:1]
    return bool(old and new) and old != new


CHANGES = read_rules(
    "zabbix/changes.yaml",
    history_lost,
    history_kept,
    kept_shorter,
    alerts_lost,
    set_anew,
    newer,
    older,
    other_major,
    is_complete,
    is_imported=is_imported,
    is_settings=is_settings,
    of_the_server=named(NAMESPACE, SERVER),
    of_the_database=named(NAMESPACE, DATABASE),
)
