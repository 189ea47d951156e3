"""What changes of Zabbix mean, as `configure.py` and Zabbix itself carry them out.

Templates and hosts are imported so that what a file no longer names is deleted, with all values that it stored.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from generator.components.zabbix.names import COMPLETE, CONFIGURE, DATABASE, NAMESPACE, SERVER, TEMPLATES
from generator.model.change import ChangeRule, Effect, FieldChange, ObjectChange
from generator.model.compared import every, is_protected, named
from generator.model.fields import dig, sequence

KINDS = ("/ConfigMap",)
MANUAL = "https://www.zabbix.com/documentation/7.0/en/manual"
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


IMAGES = ("spec.template.spec.containers.*.image",)
IMPORT = (
    ChangeRule(
        code="GEN-CHG-560",
        kinds=KINDS,
        paths=("data.*",),
        effect=Effect.DATA_LOSS,
        reason="Zabbix deletes items, templates and hosts that are no longer named, with all values they stored; a new "
        "name, or a new key of an item, is another one",
        instead="keep names and keys",
        link=f"{MANUAL}/xml_export_import/templates",
        when=every(is_imported, history_lost),
    ),
    ChangeRule(
        code="GEN-CHG-561",
        kinds=KINDS,
        paths=("data.*",),
        effect=Effect.NONE,
        reason="Zabbix takes it over with the sync, and keeps what it stored",
        link=f"{MANUAL}/xml_export_import/templates",
        when=every(is_imported, history_kept),
    ),
    ChangeRule(
        code="GEN-CHG-562",
        kinds=KINDS,
        paths=("data.*",),
        effect=Effect.DATA_LOSS,
        reason="values that are older than the fewer days now are deleted within hours",
        instead="keep the days",
        link=f"{MANUAL}/config/items/history_and_trends",
        when=every(is_settings, kept_shorter),
    ),
    ChangeRule(
        code="GEN-CHG-563",
        kinds=KINDS,
        paths=("data.*",),
        effect=Effect.OUTAGE,
        reason="with the sync an alert goes: who was told by it is told no more",
        when=every(is_settings, alerts_lost),
    ),
    ChangeRule(
        code="GEN-CHG-564",
        kinds=KINDS,
        paths=("data.*",),
        effect=Effect.NONE,
        reason="Zabbix takes it over with the sync",
        when=every(is_settings, set_anew),
    ),
)

PROGRAMS = (
    ChangeRule(
        code="GEN-CHG-565",
        kinds=("apps/Deployment",),
        paths=IMAGES,
        effect=Effect.OUTAGE,
        reason="the new server changes the database at its start: up to an hour without monitoring, and there "
        "is no way back",
        instead="save the database first (`pg_dump`), and tell who is on call",
        link=f"{MANUAL}/installation/upgrade",
        when=every(named(NAMESPACE, SERVER), newer),
    ),
    ChangeRule(
        code="GEN-CHG-566",
        kinds=("apps/Deployment",),
        paths=IMAGES,
        effect=Effect.OUTAGE,
        reason="a server refuses a database that a newer one has changed: no monitoring until it is newer again",
        instead="restore the database of that release beside it",
        link=f"{MANUAL}/installation/upgrade",
        when=every(named(NAMESPACE, SERVER), older),
    ),
    ChangeRule(
        code="GEN-CHG-567",
        kinds=("apps/StatefulSet",),
        paths=IMAGES,
        effect=Effect.OUTAGE,
        reason="PostgreSQL does not start on the files of another major release: no monitoring until it is back",
        instead="`pg_dump` with the former image, an empty volume, then the new image and the dump",
        link="https://www.postgresql.org/docs/current/upgrading.html",
        when=every(named(NAMESPACE, DATABASE), other_major),
    ),
    ChangeRule(
        code="GEN-CHG-568",
        kinds=("apps/StatefulSet",),
        on="removed",
        effect=Effect.BY_HAND,
        reason="it is protected: the database runs on with all that was stored; the servers leave, and nobody watches "
        "the cluster any more",
        instead="save it (`pg_dump`) if it matters, then delete StatefulSet and claim by `kubectl`",
        when=every(named(NAMESPACE, DATABASE), is_protected),
    ),
    ChangeRule(
        code="GEN-CHG-569",
        kinds=("batch/Job",),
        on="removed",
        effect=Effect.NONE,
        reason="it only looks whether all Secrets are there; another template comes under another name",
        when=is_complete,
    ),
)

CHANGES = (*IMPORT, *PROGRAMS)
