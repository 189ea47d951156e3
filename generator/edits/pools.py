"""Pools that come, as exact edits of the file's text."""

from msgspec import structs

from generator.edits.hardware import Change, change_hardware
from generator.edits.nodes import Wanted, copies, refuse_known
from generator.edits.source import NODES, Source
from generator.errors import UsageError
from generator.model.base import is_label
from generator.model.finding import Path
from generator.spec.edit import insert_items
from generator.spec.edit_keys import append_item, copy_key, put_value

POOLS: Path = ("spec", "pools")
STORAGE: Path = ("spec", "storage")


def add_pool(source: Source, name: str, like: str, nodes: Wanted, change: Change) -> str:
    """Write a pool behind the one that it is like, with that one's lines, and its nodes behind the nodes of that one.
    Where Ceph or MinIO is on that pool's nodes, it is on these as well.
    """
    _refuse(source, name, like)
    refuse_known(source, nodes.names)
    machines = source.cluster.in_pools(like)
    if not machines:
        raise UsageError(f"pool {like} has no node that the new ones could be like: write the first line by hand")
    hardware = source.pools[like]["hardware"]
    text = copy_key(source.text, (*POOLS, like), name)
    text = change_hardware(text, (*POOLS, name, "hardware"), change, hardware, {})
    text = _in_storage(source, text, name, like)
    items = copies(source, machines[-1], structs.replace(nodes, pool=name))
    return insert_items(text, NODES, items, after=machines[-1].index)


def _refuse(source: Source, name: str, like: str) -> None:
    source.refuse_pool(like)
    if not is_label(name):
        raise UsageError(f"`{name}` cannot be a pool's name: small letters, digits and hyphens, as in gpu-training")
    if name in source.cluster.pools:
        line = source.document.position((*POOLS, name), key=True).line
        raise UsageError(f"pool {name} is there already, in line {line}: `gen node add NAME --like NODE` adds to it")


def _in_storage(source: Source, text: str, name: str, like: str) -> str:
    storage = source.cluster.storage
    if storage.ceph and like in storage.ceph.pools:
        text = append_item(text, (*STORAGE, "ceph", "pools"), name)
    if storage.objects and like in storage.objects.pools:
        at: Path = (*STORAGE, "objects", "expansions")
        more = storage.objects.expansions
        text = append_item(text, at, name) if more else put_value(text, at, [name])
    return text
