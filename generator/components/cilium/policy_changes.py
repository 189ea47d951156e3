"""What changes of Cilium's own network policies mean."""

from collections.abc import Mapping
from typing import Any

from generator.components.rule_files import read_rules
from generator.model.change import (
    Beside,
    FieldChange,
    ObjectChange,
    value_at,
)
from generator.model.fields import mapping, sequence
from generator.model.unseen import is_unseen

POLICY_KINDS = ("cilium.io/CiliumNetworkPolicy", "cilium.io/CiliumClusterwideNetworkPolicy")
DIRECTIONS = ("ingress", "egress")


def is_the_first(change: ObjectChange, _field: FieldChange, beside: Beside) -> bool:
    """Tell whether pods may be there that no policy selects: where it comes there are objects, and no policies."""
    there = {
        kind for kind, manifests in beside.old.items() for one in manifests if _space(one) == change.namespace != ""
    }
    return not change.namespace or (bool(there) and not there & {*POLICY_KINDS, "networking.k8s.io/NetworkPolicy"})


def _space(manifest: Mapping[str, Any]) -> str:
    return str(value_at(manifest, "metadata.namespace") or "")


def _parts(manifest: Mapping[str, Any]) -> list[Any]:
    """Return the policies in an object: one, or several."""
    return [one for one in (manifest.get("spec"), *sequence(manifest.get("specs"))) if one is not None]


def only_allows_more(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether each policy in an object lets through all that it did, and shuts nothing more."""
    old, new = _parts(change.old), _parts(change.new)
    return len(old) == len(new) and all(map(_allows_more, old, new))


def _allows_more(old: Any, new: Any) -> bool:
    before, after = mapping(old), mapping(new)
    return _other_parts(before) == _other_parts(after) and all(
        _direction_allows_more(before, after, way) for way in DIRECTIONS
    )


def _other_parts(policy: Mapping[str, Any]) -> dict[str, Any]:
    """Return whom a policy is for, and all else but what it allows, what it denies and what it says to people."""
    rules = {*DIRECTIONS, *(f"{way}Deny" for way in DIRECTIONS), "description"}
    return {key: value for key, value in policy.items() if key not in rules}


def _direction_allows_more(old: Mapping[str, Any], new: Mapping[str, Any], way: str) -> bool:
    """Tell it of one direction: with its first rule, of either sort, a direction is shut for all else. Where it opens
    again, another policy may shut it still, and what this one allowed is cut.
    """
    allowed, denied = ((sequence(old.get(key)), sequence(new.get(key))) for key in (way, f"{way}Deny"))
    was_shut, is_shut = (any(map(policy.get, (way, f"{way}Deny"))) for policy in (old, new))
    kept = all(any(_covers(one, rule) for one in allowed[1]) for rule in allowed[0])
    return kept and (was_shut or not is_shut) and all(one in denied[0] for one in denied[1])


def _covers(new: Any, old: Any) -> bool:
    """Tell whether a rule has all that another one has; of the items of its lists any one is enough to be let in, but
    for those that are required.
    """
    before, after = mapping(old), mapping(new)
    return before.keys() == after.keys() and all(
        before[key] == after[key] or (not key.endswith("Requires") and _more(before[key], after[key])) for key in before
    )


def _more(old: Any, new: Any) -> bool:
    return bool(old) and isinstance(old, list) and all(one in sequence(new) for one in old)


POLICY_CHANGES = read_rules("cilium/policy_changes.yaml", only_allows_more, is_the_first, is_unseen)
