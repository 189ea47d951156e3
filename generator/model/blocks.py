"""Blocks of addresses as text, held against others."""

from collections.abc import Collection
from ipaddress import IPv4Network, IPv6Network, ip_network


def within(inner: Collection[str], outer: Collection[str]) -> bool:
    """Tell whether each network lies in one of others; what is no network only in what is written alike."""
    return all(any(_lies_in(one, other) for other in outer) for one in inner)


def _lies_in(inner: str, outer: str) -> bool:
    one, other = _network(inner), _network(outer)
    if isinstance(one, IPv4Network) and isinstance(other, IPv4Network):
        return one.subnet_of(other)
    if isinstance(one, IPv6Network) and isinstance(other, IPv6Network):
        return one.subnet_of(other)
    return inner == outer


def _network(text: str) -> IPv4Network | IPv6Network | None:
    try:
        return ip_network(text, strict=False)
    except ValueError:
        return None
