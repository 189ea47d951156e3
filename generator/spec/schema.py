"""The JSON Schema of the cluster file, made from its types."""

import json
import re
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any, Literal, get_args, get_origin

import msgspec

from generator.model.base import Section, camel
from generator.model.cluster import ClusterFile
from generator.model.quantity import Quantity
from generator.model.text import AddressRange, Port, Taint

# Each custom type's format name and what it is, for people. The decoder's own parsers check it.
FORMATS: dict[type, tuple[str, str]] = {
    AddressRange: ("address-range", "IPv4 addresses, as in 10.0.0.0/28 or 10.0.0.1-10.0.0.9"),
    IPv4Address: ("ipv4-address", "an IPv4 address, as in 10.0.0.1"),
    IPv4Network: ("ipv4-network", "an IPv4 network, as in 10.0.0.0/24"),
    IPv6Address: ("ipv6-address", "an IPv6 address, as in fd00::1"),
    IPv6Network: ("ipv6-network", "an IPv6 network, as in fd00::/64"),
    Port: ("switch-port", "a switch and one of its ports, as in ib-leaf-1/12"),
    Taint: ("taint", "a taint, as in nvidia.com/gpu=present:NoSchedule"),
    Quantity: ("quantity", "an amount as Kubernetes writes it, as in 128, 500m or 1.5Ti"),
}


def schema() -> dict[str, Any]:
    """Return the schema as data, tidied so that each mistake in a file breaks one rule of it."""
    made = msgspec.json.schema(ClusterFile, schema_hook=_hook)
    tidied = _tidy(made)
    assert isinstance(tidied, dict)  # noqa: S101 - for the type checker
    for section, name, keys in _closed_maps(Section):
        if section in tidied["$defs"]:
            _close(tidied["$defs"][section]["properties"][name], keys)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "gen cluster file", **tidied}


def text() -> bytes:
    """Return the schema as it is published in `schemas/cluster.schema.json`."""
    return (json.dumps(schema(), indent=2, ensure_ascii=False) + "\n").encode()


def _hook(kind: type) -> dict[str, Any]:
    name, description = FORMATS[kind]
    if kind is Quantity:
        return {"type": ["string", "integer"], "format": name, "pattern": Quantity.PATTERN, "description": description}
    return {"type": "string", "format": name, "description": description}


def _closed_maps(section: type[Section]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield the maps with known keys: the section, the key that holds the map, and the map's keys. msgspec's schema
    lets any key stand there.
    """
    for field in msgspec.structs.fields(section):
        keys, *_ = get_args(field.type) if get_origin(field.type) is dict else (None,)
        if get_origin(keys) is Literal:
            yield section.__name__, field.encode_name, get_args(keys)
    for below in section.__subclasses__():
        yield from _closed_maps(below)


def _close(found: dict[str, Any], keys: tuple[str, ...]) -> None:
    found["properties"] = dict.fromkeys(keys, found["additionalProperties"])
    found["additionalProperties"] = False


def _prose(docstring: str) -> str:
    """Write a docstring for the file's author: one line, fields named as the file names them."""
    return re.sub(r"`([a-z]+(?:_[a-z0-9]+)+)`", lambda match: f"`{camel(match[1])}`", " ".join(docstring.split()))


def _tidy(value: Any) -> Any:
    """Write `X or null` as X: a key is left out, never null. Docstrings become one line each."""
    if isinstance(value, list):
        return [_tidy(item) for item in value]
    if not isinstance(value, dict):
        return value
    found = {key: _tidy(item) for key, item in value.items() if not (key == "default" and item is None)}
    if isinstance(found.get("description"), str):
        found["description"] = _prose(found["description"])
    choices = [choice for choice in found.pop("anyOf", ()) if choice != {"type": "null"}]
    if len(choices) > 1:
        return {**found, "anyOf": choices}
    return {**found, **choices[0]} if choices else found
