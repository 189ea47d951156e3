"""Pools of nodes that are alike, and what single nodes have otherwise."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from generator.live.survey.machines import Seat, in_gib
from generator.live.survey.notes import Notes
from generator.model.resolve import DEFAULT_TAINTS
from generator.model.versions import numbers

Plain: TypeAlias = dict[str, Any]
SPREAD = 1.05
"""How much memory machines of one kind differ by at most: firmware and kernels keep some for themselves."""


def pooled(found: Sequence[Seat], notes: Notes) -> tuple[dict[str, Plain], list[Plain]]:
    """Return the pools by name, and the lines of the nodes: control plane first, then as their names come."""
    groups = _groups(found)
    for name, members in groups.items():
        _mixed(name, members, notes)
    pools = {name: _pool(name, members, notes) for name, members in groups.items()}
    nodes = [_node(seat, name, members) for name, members in groups.items() for seat in members]
    return pools, nodes


def _groups(found: Sequence[Seat]) -> dict[str, list[Seat]]:
    """Return nodes by pool: as gen labels them, else those that are alike."""
    groups: dict[str, list[Seat]] = {}
    for seat in sorted(found, key=lambda one: not one.control):
        mine = next((name for name, members in groups.items() if _belongs(seat, members[0])), None)
        groups.setdefault(mine or _name(seat, groups), []).append(seat)
    return groups


def _belongs(seat: Seat, first: Seat) -> bool:
    if seat.pool or first.pool:
        return seat.pool == first.pool and seat.control == first.control
    same = ("control", "cpu", "gpu", "taints", "hcas", "hint")
    return all(getattr(seat, key) == getattr(first, key) for key in same) and _alike(seat, first)


def _name(seat: Seat, taken: Mapping[str, Any]) -> str:
    """Return a name for a pool of which this node is the first."""
    usual = "system" if seat.control else f"gpu-{seat.gpu['model']}" if seat.gpu else "cpu"
    base = seat.pool or seat.hint or "".join(one if one.isalnum() else "-" for one in usual.lower()).strip("-")
    return next(name for name in (base, *(f"{base}-{number}" for number in range(2, 9999))) if name not in taken)


def _mixed(name: str, members: Sequence[Seat], notes: Notes) -> None:
    models = {seat.gpu["model"] for seat in members if seat.gpu}
    if len(models) > 1:
        notes.found(("pools", name), f"its nodes have GPUs of several models: {', '.join(sorted(models))}")


def _oldest(members: Sequence[Seat]) -> str:
    """Return the oldest kernel that runs on nodes."""
    return min((seat.kernel for seat in members if seat.kernel), key=numbers, default="")


def _pool(name: str, members: Sequence[Seat], notes: Notes) -> Plain:
    first = members[0]
    role = "control-plane" if first.control else "worker"
    pool: Plain = {"role": role} if first.control else {}
    pool["hardware"] = _hardware(first, min(seat.memory for seat in members if _alike(seat, first)))
    if labels := _shared(members):
        pool["labels"] = labels
    if list(first.taints) != [str(taint) for taint in DEFAULT_TAINTS[role]]:
        pool["taints"] = list(first.taints)
    if kernel := _oldest(members):
        pool["kernel"] = kernel
    offered = sorted({resource for seat in members for resource in seat.hcas})
    if offered:
        text = "how the kernel names the HCAs (as in mlx5_0), and which switch they are plugged into"
        notes.unknown(("pools", name), f"hardware.hcas: its nodes offer {', '.join(offered)}; {text}")
    return pool


def _alike(seat: Seat, first: Seat) -> bool:
    return max(seat.memory, first.memory) <= SPREAD * min(seat.memory, first.memory)


def _hardware(seat: Seat, memory: int) -> Plain:
    return {"cpu": seat.cpu, "memory": in_gib(memory), **({"gpu": seat.gpu} if seat.gpu else {})}


def _shared(members: Sequence[Seat]) -> dict[str, str]:
    return {
        key: value for key, value in members[0].labels.items() if all(seat.labels.get(key) == value for seat in members)
    }


def _node(seat: Seat, pool: str, members: Sequence[Seat]) -> Plain:
    first, shared = members[0], _shared(members)
    item: Plain = {"name": seat.name, "pool": pool, "address": seat.address}
    own = {"address6": seat.address6, "rack": seat.rack}
    item |= {key: value for key, value in own.items() if value}
    if labels := {key: value for key, value in seat.labels.items() if shared.get(key) != value}:
        item["labels"] = labels
    if set(seat.taints) != set(first.taints):
        item["taints"] = list(seat.taints)
    if hardware := _differing(seat, first):
        item["hardware"] = hardware
    return item


def _differing(seat: Seat, first: Seat) -> Plain:
    found: Plain = {"cpu": seat.cpu} if seat.cpu != first.cpu else {}
    if not _alike(seat, first):
        found["memory"] = in_gib(seat.memory)
    if seat.gpu != first.gpu:
        found["gpu"] = seat.gpu or {**first.gpu, "count": 0}
    return found
