"""Pools of nodes that are alike, and what single nodes have otherwise."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from generator.model.quantity import whole_gib
from generator.model.resolve import DEFAULT_TAINTS
from generator.model.versions import numbers
from generator.survey.machines import SeenNode
from generator.survey.notes import Notes

Plain: TypeAlias = dict[str, Any]
SPREAD = 1.05
"""How much memory machines of one kind differ by at most: firmware and kernels keep some for themselves."""


def pooled(found: Sequence[SeenNode], notes: Notes) -> tuple[dict[str, Plain], list[Plain]]:
    """Return the pools by name, and the lines of the nodes: control plane first, then as their names come."""
    groups = _groups(found)
    for name, members in groups.items():
        _mixed(name, members, notes)
    pools = {name: _pool(name, members, notes) for name, members in groups.items()}
    nodes = [_node(machine, name, members) for name, members in groups.items() for machine in members]
    return pools, nodes


def _groups(found: Sequence[SeenNode]) -> dict[str, list[SeenNode]]:
    """Return nodes by pool: as gen labels them, else those that are alike."""
    groups: dict[str, list[SeenNode]] = {}
    for machine in sorted(found, key=lambda one: not one.control):
        mine = next((name for name, members in groups.items() if _belongs(machine, members[0])), None)
        groups.setdefault(mine or _name(machine, groups), []).append(machine)
    return groups


def _belongs(machine: SeenNode, first: SeenNode) -> bool:
    if machine.pool or first.pool:
        return machine.pool == first.pool and machine.control == first.control
    same = ("control", "cpu", "gpu", "taints", "hcas", "hint")
    return all(getattr(machine, key) == getattr(first, key) for key in same) and _alike(machine, first)


def _name(machine: SeenNode, taken: Mapping[str, Any]) -> str:
    """Return a name for a pool of which this node is the first."""
    usual = "system" if machine.control else f"gpu-{machine.gpu['model']}" if machine.gpu else "cpu"
    plain = "".join(one if one.isalnum() else "-" for one in usual.lower())
    base = machine.pool or machine.hint or plain[:50].strip("-")
    numbered = (f"{base[:50].strip('-')}-{number}" for number in range(2, 9999))
    return next(name for name in (base, *numbered) if name not in taken)


def _mixed(name: str, members: Sequence[SeenNode], notes: Notes) -> None:
    models = {machine.gpu["model"] for machine in members if machine.gpu}
    if len(models) > 1:
        notes.found(("pools", name), f"its nodes have GPUs of several models: {', '.join(sorted(models))}")


def _oldest(members: Sequence[SeenNode]) -> str:
    """Return the oldest kernel that runs on nodes."""
    return min((machine.kernel for machine in members if machine.kernel), key=numbers, default="")


def _pool(name: str, members: Sequence[SeenNode], notes: Notes) -> Plain:
    first = members[0]
    role = "control-plane" if first.control else "worker"
    pool: Plain = {"role": role} if first.control else {}
    pool["hardware"] = _hardware(first, min(machine.memory for machine in members if _alike(machine, first)))
    if labels := _shared(members):
        pool["labels"] = labels
    if list(first.taints) != [str(taint) for taint in DEFAULT_TAINTS[role]]:
        pool["taints"] = list(first.taints)
    if kernel := _oldest(members):
        pool["kernel"] = kernel
    offered = sorted({resource for machine in members for resource in machine.hcas})
    if offered:
        text = "how the kernel names the HCAs (as in mlx5_0), and which switch they are plugged into"
        notes.unknown(("pools", name), f"hardware.hcas: its nodes offer {', '.join(offered)}; {text}")
    return pool


def _alike(machine: SeenNode, first: SeenNode) -> bool:
    return max(machine.memory, first.memory) <= SPREAD * min(machine.memory, first.memory)


def _hardware(machine: SeenNode, memory: int) -> Plain:
    return {"cpu": machine.cpu, "memory": whole_gib(memory), **({"gpu": machine.gpu} if machine.gpu else {})}


def _shared(members: Sequence[SeenNode]) -> dict[str, str]:
    return {
        key: value
        for key, value in members[0].labels.items()
        if all(machine.labels.get(key) == value for machine in members)
    }


def _node(machine: SeenNode, pool: str, members: Sequence[SeenNode]) -> Plain:
    first, shared = members[0], _shared(members)
    item: Plain = {"name": machine.name, "pool": pool, "address": machine.address}
    own = {"address6": machine.address6, "rack": machine.rack}
    item |= {key: value for key, value in own.items() if value}
    if labels := {key: value for key, value in machine.labels.items() if shared.get(key) != value}:
        item["labels"] = labels
    if set(machine.taints) != set(first.taints):
        item["taints"] = list(machine.taints)
    if hardware := _differing(machine, first):
        item["hardware"] = hardware
    return item


def _differing(machine: SeenNode, first: SeenNode) -> Plain:
    found: Plain = {"cpu": machine.cpu} if machine.cpu != first.cpu else {}
    if not _alike(machine, first):
        found["memory"] = whole_gib(machine.memory)
    if machine.gpu != first.gpu:
        found["gpu"] = machine.gpu or {**first.gpu, "count": 0}
    return found
