"""Other hardware in nodes and pools that are there, as exact edits of the file's text."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from generator.edits.source import NODES, Source
from generator.errors import UsageError
from generator.model.finding import Path
from generator.spec.edit_keys import append_item, put_value
from generator.spec.reader import read

Plain = Mapping[str, Any]


class Change(Struct, frozen=True, kw_only=True):
    """What is other: `gpus` is how many GPUs a node has, `disks` are entries as the file has them, which come to those
    that are there.
    """

    cpu: int | None = None
    memory: str | None = None
    gpus: int | None = None
    gpu_model: str | None = None
    gpu_memory: str | None = None
    disks: tuple[Plain, ...] = ()


def disk(text: str) -> Plain:
    """Read a disk as the file has it; raises UsageError."""
    document = read(f"disk: {text}\n", "--disk")
    value = document.value.get("disk")
    if document.findings or not isinstance(value, dict) or type(value.get("count", 1)) is not int:
        raise UsageError(
            f"--disk {text}: write it as in the file, '{{use: ceph, model: MODEL, count: 2, size: 7680G}}'"
        )
    return value


def set_nodes(source: Source, names: Sequence[str], change: Change, rack: str | None) -> str:
    """Write what is other into the lines of nodes: what they do not say themselves is taken from their pool."""
    if change == Change() and rack is None:
        raise UsageError(f"say what is other: gen node set {names[0]} --gpus 8, --disk, --cpu, --memory or --rack")
    text = source.text
    for name in names:
        machine = source.machine(name)
        at: Path = (*NODES, machine.index)
        raw, shared = source.nodes[machine.index], source.pools[machine.pool]
        text = put_value(text, (*at, "rack"), rack) if rack else text
        text = change_hardware(text, (*at, "hardware"), change, raw.get("hardware", {}), shared["hardware"])
    return text


def change_hardware(text: str, at: Path, change: Change, own: Plain, shared: Plain) -> str:
    """Write what is other into the section `hardware` at the path. It says `own`; for the rest `shared` counts."""
    for key in ("cpu", "memory"):
        value = getattr(change, key)
        text = text if value is None else put_value(text, (*at, key), value)
    text = _with_gpus(text, at, change, own, shared)
    return _with_disks(text, at, change, own, shared) if change.disks else text


def _with_gpus(text: str, at: Path, change: Change, own: Plain, shared: Plain) -> str:
    given = {"model": change.gpu_model, "count": change.gpus, "memory": change.gpu_memory}
    new = {key: value for key, value in given.items() if value is not None}
    there = own.get("gpu", shared.get("gpu", {}))
    if missing := [key for key in given if new and key not in {**there, **new}]:
        options = {"model": "--gpu-model", "count": "--gpus", "memory": "--gpu-memory"}
        raise UsageError(f"there are no GPUs yet, so say all of them: {', '.join(options[key] for key in missing)} too")
    if new and "gpu" not in own:
        return put_value(text, (*at, "gpu"), {**there, **new})
    for key, value in new.items():
        text = put_value(text, (*at, "gpu", key), value)
    return text


def _with_disks(text: str, at: Path, change: Change, own: Plain, shared: Plain) -> str:
    """Write more disks: those of a model that is there are counted there, others are an entry of their own."""
    disks = [dict(each) for each in own.get("disks", shared.get("disks", []))]
    for new in change.disks:
        same = next((number for number, each in enumerate(disks) if _kind(each) == _kind(new)), None)
        counted = new.get("model") is not None and same is not None
        if same is not None and counted:
            disks[same]["count"] = disks[same].get("count", 1) + new.get("count", 1)
            text = put_value(text, (*at, "disks", same, "count"), disks[same]["count"]) if "disks" in own else text
        else:
            disks.append(dict(new))
            text = append_item(text, (*at, "disks"), new) if own.get("disks") else text
    return text if own.get("disks") else put_value(text, (*at, "disks"), disks)


def _kind(entry: Plain) -> Plain:
    return {key: str(value) for key, value in entry.items() if key != "count"}
