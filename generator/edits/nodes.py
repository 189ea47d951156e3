"""Nodes that come, go and change, as exact edits of the file's text. Each function returns the new text, or raises
UsageError; whether the cluster is right afterwards is for the rules to say.
"""

from collections.abc import Iterable, Mapping, Sequence
from ipaddress import IPv4Address
from typing import Any

from msgspec import Struct

from generator.edits.free import Free
from generator.edits.mentions import refuse_mentioned
from generator.edits.source import NODES, Source
from generator.errors import UsageError
from generator.model.base import is_label
from generator.model.cluster import Cluster
from generator.model.finding import Path
from generator.model.nodes import Machine
from generator.spec.edit import insert_items, remove_items, set_value
from generator.spec.edit_keys import put_value


class Wanted(Struct, frozen=True, kw_only=True):
    """Nodes to add: like another one, the first at `address`; `racks` are dealt to them in turn."""

    names: Sequence[str]
    address: IPv4Address | None = None
    racks: Sequence[str] = ()
    mac: str | None = None
    pool: str | None = None


def add_nodes(source: Source, like_name: str, wanted: Wanted) -> str:
    """Write a line for each new node behind the one that they are like, with the next free addresses and ports."""
    like = source.machine(like_name)
    refuse_known(source, wanted.names)
    if wanted.mac and len(wanted.names) > 1:
        raise UsageError(
            "--mac is one node's: add the nodes without it, then `gen node replace NAME --mac MAC` for each"
        )
    _refuse_servers(source, like.pool, wanted.names[0])
    return insert_items(source.text, NODES, copies(source, like, wanted), after=like.index)


def copies(source: Source, like: Machine, wanted: Wanted) -> list[dict[str, Any]]:
    """Return the lines of new nodes as values, with keys in the order of the node that they are like."""
    free, last, last6 = Free(source.cluster, source.elsewhere), like.address, like.address6
    items = []
    for number, name in enumerate(wanted.names):
        given = wanted.address if number == 0 else None
        found = free.given(like, given) if given else free.addresses(like, last, name)
        last, last6 = found["node"], free.address6(last6, name) if last6 else None
        item = _copy(source.nodes[like.index], like, name, free)
        item |= {"address": str(last)} | ({"address6": str(last6)} if last6 else {})
        items.append(_addressed(source.cluster, item, found) | _own(wanted, number))
    return items


def _addressed(cluster: Cluster, item: dict[str, Any], found: Mapping[str, IPv4Address]) -> dict[str, Any]:
    """Return a node's values with these addresses, without those in networks that follow."""
    following = [name for name, network in cluster.networks.declared.items() if network.follow]
    own = {network: str(found[network]) for network in item.get("addresses", {}) if network not in following}
    rest = {key: value for key, value in item.items() if key != "addresses"}
    return {key: own if key == "addresses" else value for key, value in item.items()} if own else rest


def _own(wanted: Wanted, number: int) -> dict[str, Any]:
    rack = wanted.racks[number % len(wanted.racks)] if wanted.racks else None
    given = {"pool": wanted.pool, "rack": rack, "mac": wanted.mac}
    return {key: value for key, value in given.items() if value is not None}


def _copy(raw: Mapping[str, Any], like: Machine, name: str, free: Free) -> dict[str, Any]:
    """Return a node's values with another name and cables of its own, but not those that are one machine's alone."""
    item = {key: value for key, value in raw.items() if key != "mac"} | {"name": name}
    served = free.served(like) if "port" in raw else set[str]()
    if own := {hca: like.fabric[hca] for hca in raw.get("fabric", {}) if hca not in served}:
        item["fabric"] = free.cables(own, name)
    else:
        item.pop("fabric", None)
    return _plugged(item, like, name, free) if "port" in raw else item


def _plugged(item: dict[str, Any], like: Machine, name: str, free: Free) -> dict[str, Any]:
    """Return a node's values with a port of its own, and the unit where that is not the one of `like`."""
    unit, port = free.unit_port(like, name)
    said = {"unit": unit} if unit != like.unit else {}
    plugged: dict[str, Any] = {}
    for key, value in item.items():
        plugged |= said | {"port": port} if key == "port" else {key: value}
    return plugged | said


def remove_nodes(source: Source, names: Sequence[str]) -> str:
    """Take the lines of nodes out, unless one of them is named elsewhere or MinIO counts on its place."""
    machines = [source.machine(name) for name in names]
    for machine in machines:
        if machine.pool in _server_pools(source.cluster):
            raise UsageError(
                f"{machine.name} is one of MinIO's servers, whose drives know their place in the list: put another "
                f"machine in its place with `gen node replace {machine.name} NEW`"
            )
        refuse_mentioned(source.document, machine)
    return remove_items(source.text, NODES, [machine.index for machine in machines])


class Replacement(Struct, frozen=True, kw_only=True):
    """What takes a node's place: another machine under a new name, or a card, a controller or disks of the same."""

    name: str | None = None
    mac: str | None = None
    bmc: IPv4Address | None = None
    disks: Mapping[str, str] = {}


def replace_node(source: Source, old: str, new: Replacement) -> str:
    """Change what stands in a node's line, which keeps its place, its addresses and its ports."""
    machine = source.machine(old)
    at: Path = (*NODES, machine.index)
    if new == Replacement():
        raise UsageError(f"say what is new: gen node replace {old} NEW, or --mac, --bmc, --disk OLD=NEW")
    if new.name:
        _refuse_new(source, machine, new)
    text = source.text
    for place, disk in _disk_edits(source, machine, new).items():
        text = set_value(text, place, disk)
    if new.bmc:
        text = put_value(text, (*at, "addresses", "bmc"), str(new.bmc))
    if new.mac:
        text = put_value(text, (*at, "mac"), new.mac)
    return set_value(text, (*at, "name"), new.name) if new.name else text


def _refuse_new(source: Source, machine: Machine, new: Replacement) -> None:
    """Raise UsageError where another machine cannot come under this name, or what is its own is not said."""
    refuse_known(source, [str(new.name)])
    refuse_mentioned(source.document, machine, address=False)
    if machine.mac and not new.mac:
        raise UsageError(
            f"line {source.line(machine.index)} has the network card {machine.mac} of {machine.name}: say the new "
            "machine's with --mac"
        )


def _disk_edits(source: Source, machine: Machine, new: Replacement) -> dict[Path, str]:
    """Return the places of disks' ids and the new ids; those of another machine must all be said."""
    listed = source.nodes[machine.index].get("hardware", {}).get("disks", [])
    at: Path = (*NODES, machine.index, "hardware", "disks")
    ids = {disk["id"]: (*at, number, "id") for number, disk in enumerate(listed) if "id" in disk}
    for disk in new.disks:
        if disk not in ids:
            known = f"it names {', '.join(ids)}" if ids else "it names none by id"
            raise UsageError(f"the line of {machine.name} names no disk {disk}: {known}")
    left = [disk for disk in ids if disk not in new.disks]
    if new.name and left:
        raise UsageError(
            f"the line of {machine.name} names its disk {left[0]}: say which is in the new machine with "
            f"--disk {left[0]}=NEW (the same id if it moved along)"
        )
    return {ids[old]: new.disks[old] for old in new.disks}


def refuse_known(source: Source, names: Iterable[str]) -> None:
    """Raise UsageError for what cannot be the name of a new node."""
    lines = {node.name: index for index, node in enumerate(source.cluster.nodes)}
    seen: set[str] = set()
    for name in names:
        if not is_label(name):
            raise UsageError(f"`{name}` cannot be a node's name: small letters, digits and hyphens, as in gpu-016")
        if name in lines:
            raise UsageError(
                f"{name} is there already, in line {source.line(lines[name])}: choose another name, or change it with "
                f"`gen node set {name}` or `gen node replace {name}`"
            )
        if name in seen:
            raise UsageError(f"{name} is given twice")
        seen.add(name)


def _refuse_servers(source: Source, pool: str, name: str) -> None:
    if pool in _server_pools(source.cluster):
        raise UsageError(
            f"{name} cannot go into pool {pool}: MinIO takes no node more in a pool, and grows by another one: "
            f"`gen pool add NAME --like {pool} --nodes {name},...` with as many nodes"
        )


def _server_pools(cluster: Cluster) -> tuple[str, ...]:
    return cluster.storage.objects.pools if cluster.storage.objects else ()
