"""Which of the fields that others than Argo CD added let somebody do more, whoever wrote them."""

import json
from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from typing import Any

from msgspec import structs

from generator.live.drift.managers import Added, value_of
from generator.model.change import NOTHING, ObjectChange
from generator.model.opening import OpeningRule, Opens
from generator.review.report import rules

OWN = ("f:caBundle", "f:kubernetes.io/metadata.name")
"""What programs write as their task: certificates of webhooks, and a namespace's own name as its label."""


def opens(change: ObjectChange, one: Added) -> bool:
    """Tell whether somebody gains something by a field: held against the same object without it, so that nothing else
    in it counts. Scripts are left out: programs write theirs.
    """
    if one.leaf[-1] in OWN:
        return False
    gained = structs.replace(change, old=_without(change.new, one))
    return any(rule.speaks_of(gained) and any(rule.gains(gained, NOTHING)) for rule in _openings())


@cache
def _openings() -> tuple[OpeningRule, ...]:
    return tuple(rule for rule in rules() if isinstance(rule, OpeningRule) and rule.opens is not Opens.CODE)


def _without(manifest: Mapping[str, Any], one: Added) -> dict[str, Any]:
    found = deepcopy(dict(manifest))
    *way, last = one.leaf
    part = value_of(found, way)
    if isinstance(part, dict) and last.startswith("f:"):
        part.pop(last[2:], None)
    elif isinstance(part, list):
        item = json.loads(last[2:]) if last.startswith("v:") else value_of(part, (last,))
        part[:] = [each for each in part if each != item]
    return found
