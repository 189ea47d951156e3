"""Merge patches, as API servers make them."""

from copy import deepcopy
from typing import Any


def merged(there: Any, change: Any) -> Any:
    """Return a value with a merge patch made (RFC 7396)."""
    if not isinstance(change, dict):
        return deepcopy(change)
    found = dict(there) if isinstance(there, dict) else {}
    for key, value in change.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = merged(found.get(key), value)
    return found
