"""What a policy or a binding of admission judges, held against what another one does."""

from typing import Any

from generator.kinds.reaching import selects_all_of
from generator.model.fields import dig, sequence

_LISTS = ("apiGroups", "apiVersions", "operations", "resources")


def judges_less(old: Any, new: Any) -> bool:
    """Tell whether rules of matching take in no more than others do; without any rule all is taken in."""
    return (
        _rules_in(sequence(dig(new, "resourceRules")), sequence(dig(old, "resourceRules")), where_none=True)
        and _rules_in(sequence(dig(old, "excludeResourceRules")), sequence(dig(new, "excludeResourceRules")))
        and all(selects_all_of(dig(old, key), dig(new, key)) for key in ("namespaceSelector", "objectSelector"))
        and _said(old, "matchPolicy", "Equivalent") == _said(new, "matchPolicy", "Equivalent")
    )


def _rules_in(inner: list[Any], outer: list[Any], *, where_none: bool = False) -> bool:
    """Tell whether each rule lies in one of others; `where_none` tells that no rule stands for all there is."""
    if where_none and not (inner and outer):
        return not outer
    return all(any(_lies_in(one, other) for other in outer) for one in inner)


def _lies_in(inner: Any, outer: Any) -> bool:
    names, others = (sequence(dig(one, "resourceNames")) for one in (inner, outer))
    lists = all(_listed_in(sequence(dig(inner, key)), sequence(dig(outer, key))) for key in _LISTS)
    named = not others or (bool(names) and _listed_in(names, others))
    return lists and named and _said(outer, "scope", "*") in {"*", _said(inner, "scope", "*")}


def _listed_in(inner: list[Any], outer: list[Any]) -> bool:
    return "*" in outer or all(one in outer for one in inner)


def _said(part: Any, key: str, otherwise: str) -> str:
    return str(dig(part, key) or otherwise)
