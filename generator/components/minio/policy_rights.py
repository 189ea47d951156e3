"""What a policy of MinIO lets its user do, held against what another one does."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from generator.model.fields import mapping, sequence

_LISTS = ("Action", "Resource")


def loses_rights(old: object, new: object) -> bool:
    """Tell whether a policy lets its user do less than the one before: something allowed is allowed by none of its
    statements, or something more is denied. Wildcards take in what they match; a statement with conditions or with
    what it does not mean is only as good as the same one.
    """
    allowed, kept = (_statements(policy, "Allow") for policy in (old, new))
    denied, refused = (_statements(policy, "Deny") for policy in (old, new))
    return not (_each_lies_in(allowed, kept) and _each_lies_in(refused, denied))


def _statements(policy: object, effect: str) -> list[Mapping[str, Any]]:
    """Return what is allowed or denied, each action on each resource by itself where it is said without more."""
    found: list[Mapping[str, Any]] = []
    for one in map(mapping, sequence(mapping(policy).get("Statement"))):
        if one.get("Effect", "Allow") != effect:
            continue
        more = {key: value for key, value in one.items() if key not in {*_LISTS, "Sid", "Effect"}}
        actions, resources = (_listed(one.get(key)) for key in _LISTS)
        found += [{**more, "Action": action, "Resource": place} for action in actions for place in resources]
    return found


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _each_lies_in(inner: list[Mapping[str, Any]], outer: list[Mapping[str, Any]]) -> bool:
    return all(any(_lies_in(one, other) for other in outer) for one in inner)


def _lies_in(inner: Mapping[str, Any], outer: Mapping[str, Any]) -> bool:
    plain = all(inner.get(key) == outer.get(key) for key in {*inner, *outer} - {*_LISTS})
    return plain and all(_taken_in(inner.get(key), outer.get(key)) for key in _LISTS)


def _taken_in(inner: object, outer: object) -> bool:
    return inner == outer or (isinstance(inner, str) and isinstance(outer, str) and fnmatchcase(inner, outer))
