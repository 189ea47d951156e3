"""Who a rule lets in, held against who another one does."""

from typing import Any

from generator.build.difference import same
from generator.model.blocks import within
from generator.model.fields import dig, mapping, sequence


def selects_all_of(outer: Any, inner: Any) -> bool:
    """Tell whether a selector of labels takes in all that another one does: it asks for nothing more."""
    labels, others = (mapping(mapping(one).get("matchLabels")) for one in (outer, inner))
    wanted, given = (sequence(mapping(one).get("matchExpressions")) for one in (outer, inner))
    return labels.items() <= others.items() and all(any(same(one, other) for other in given) for one in wanted)


def allows_all_of(new: Any, old: Any, peers: str) -> bool:
    """Tell whether a rule of a NetworkPolicy lets through all that another one does: `from` or `to` and `ports`, each
    open to all where nothing is listed.
    """
    return _each_is_in(old, new, peers, _peer_in) and _each_is_in(old, new, "ports", _port_in)


def _each_is_in(old: Any, new: Any, key: str, lies_in: Any) -> bool:
    inner, outer = (sequence(mapping(one).get(key)) for one in (old, new))
    return not outer or (bool(inner) and all(any(lies_in(one, other) for other in outer) for one in inner))


def _peer_in(inner: Any, outer: Any) -> bool:
    if dig(inner, "ipBlock") is not None or dig(outer, "ipBlock") is not None:
        return _block_in(mapping(dig(inner, "ipBlock")), mapping(dig(outer, "ipBlock")))
    spaces, others = (mapping(one).get("namespaceSelector") for one in (outer, inner))
    # Without a selector of namespaces the policy's own one is meant.
    if (spaces is None) != (others is None):
        return False
    return selects_all_of(spaces, others) and selects_all_of(dig(outer, "podSelector"), dig(inner, "podSelector"))


def _block_in(inner: Any, outer: Any) -> bool:
    if not inner or not outer or not within([str(inner.get("cidr"))], [str(outer.get("cidr"))]):
        return False
    shut, also = ([str(one) for one in sequence(block.get("except"))] for block in (outer, inner))
    return within(shut, also)


def _port_in(inner: Any, outer: Any) -> bool:
    if (dig(inner, "protocol") or "TCP") != (dig(outer, "protocol") or "TCP"):
        return False
    first, last = _ports(outer)
    if first is None:
        return True
    start, end = _ports(inner)
    if isinstance(first, int) and isinstance(last, int) and isinstance(start, int) and isinstance(end, int):
        return first <= start and end <= last
    return bool(first == start)


def _ports(port: Any) -> tuple[Any, Any]:
    first = dig(port, "port")
    return first, dig(port, "endPort") or first
