"""What it means when a project allows Applications something else (Argo CD v3.5: `docs/user-guide/projects.md`)."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from generator.components.rule_files import read_rules
from generator.model.change import Beside, FieldChange, ObjectChange
from generator.model.fields import dig, mapping, sequence

PROJECT = ("argoproj.io/AppProject",)
ALL_WHERE_UNSAID = ("namespaceResourceWhitelist", "signatureKeys")
FORBIDDEN = ("clusterResourceBlacklist", "namespaceResourceBlacklist")


def _covers(outer: Any, inner: Any) -> bool:
    """Tell whether an entry, with its wildcards, takes in all that another one does."""
    if isinstance(outer, dict) and isinstance(inner, dict):
        keys = {*outer, *inner}
        return all(fnmatchcase(str(inner.get(key, "")), str(outer.get(key, ""))) for key in keys)
    return fnmatchcase(str(inner), str(outer))


def _refuses(entry: Any) -> bool:
    values = entry.values() if isinstance(entry, dict) else [entry]
    return any(str(value).startswith("!") for value in values)


def _takes_away(old: list[Any], new: list[Any]) -> bool:
    """Tell whether one list allows less than another: an entry that was covered is not, or one refuses more."""
    allowed, kept = ([one for one in entries if not _refuses(one)] for entries in (old, new))
    refused = [one for one in new if _refuses(one) and one not in old]
    return bool(refused) or not all(any(_covers(other, one) for other in kept) for one in allowed)


def narrows(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a project no longer allows something that it did."""
    key = str(field.path[1])
    old, new = (dig(one, "spec", key) for one in (change.old, change.new))
    if key in FORBIDDEN:
        return _takes_away(sequence(new), sequence(old))
    if key in ALL_WHERE_UNSAID and not (old and new):
        return bool(new) or (new is not None and old is None)
    return _takes_away(sequence(old), sequence(new))


def holds_back(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether a time comes in which nothing is synced, or one goes in which something was."""
    old, new = (sequence(dig(one, "spec", "syncWindows")) for one in (change.old, change.new))
    came, went = ([one for one in these if one not in others] for these, others in ((new, old), (old, new)))
    first = any(dig(one, "kind") == "allow" for one in new) and not any(dig(one, "kind") == "allow" for one in old)
    fewer = any(dig(one, "kind") == "allow" for one in went) and any(dig(one, "kind") == "allow" for one in new)
    return first or fewer or any(dig(one, "kind") != "allow" for one in came)


def _rights(manifest: Mapping[str, Any]) -> set[tuple[str, str, str]]:
    """Return each line, group and token of each role."""
    return {
        (str(dig(role, "name")), key, str(one))
        for role in map(mapping, sequence(dig(manifest, "spec", "roles")))
        for key in ("policies", "groups", "jwtTokens")
        for one in sequence(role.get(key))
    }


def takes_rights(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether a role loses a right, a group or a token."""
    return not _rights(change.old) <= _rights(change.new)


def still_named(change: ObjectChange, _field: FieldChange, beside: Beside) -> bool:
    """Tell whether an Application that stays has the project."""
    applications = beside.new.get("argoproj.io/Application", ())
    return any(dig(one, "spec", "project") == change.name for one in applications)


PROJECT_CHANGES = read_rules("argo_cd/project_changes.yaml", narrows, still_named, holds_back, takes_rights)
