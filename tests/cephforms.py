"""What Ceph answers of its hosts, OSDs, pools and rules, in the forms of its sources."""

from typing import Any

from generator.components.static import read_text

Object = dict[str, Any]
TIB = 1 << 30
"""In KiB, as `osd df` counts."""


def judge() -> Object:
    """Return what the judgement defines, as the pod that asks runs it."""
    made: Object = {"__name__": "room"}
    exec(_text(), made)
    return made


def _text() -> Any:
    return compile(read_text("node_operations/room.py.txt"), "room.py", "exec")


def forms(  # noqa: PLR0913 - each by its name
    hosts: dict[int, str],
    pools: list[Object],
    *,
    used: float = 0.5,
    racks: dict[str, str] | None = None,
    rules: list[Object] | None = None,
    sizes: dict[int, int] | None = None,
    kinds: dict[int, str] | None = None,
) -> Object:
    """Return the answers: OSDs by their hosts, which are in racks or below the root; each of 1 TiB and nvme."""
    names = sorted(set(hosts.values()))
    ids = {name: -2 - place for place, name in enumerate((*names, *sorted(set((racks or {}).values()))))}
    below = {
        name: [ids[host] for host in names if (racks or {}).get(host) == name] for name in {*(racks or {}).values()}
    }
    nodes = [bucket(-1, "default", "root", [ids[one] for one in below or names])]
    nodes += [bucket(ids[name], name, "rack", held) for name, held in below.items()]
    for name in names:
        held = [number for number, host in hosts.items() if host == name]
        nodes += [bucket(ids[name], name, "host", held)]
        nodes += [
            osd(number, (sizes or {}).get(number, TIB), used, (kinds or {}).get(number, "nvme")) for number in held
        ]
    known = [{"osd": number, "up": 1, "in": 1, "weight": 1} for number in hosts]
    cluster = {"nearfull_ratio": 0.85, "flags_set": ["sortbitwise"], "pools": pools, "osds": known}
    return {"map": cluster, "tree": {"nodes": nodes, "stray": []}, "rules": rules or [rule(0, "default~nvme", "host")]}


def bucket(number: int, name: str, kind: str, children: list[int]) -> Object:
    return {"id": number, "name": name, "type": kind, "reweight": -1, "kb": 0, "kb_used": 0, "children": children}


def osd(number: int, size: int, used: float, kind: str) -> Object:
    own = {"id": number, "device_class": kind, "name": f"osd.{number}", "type": "osd", "crush_weight": 1.0}
    return {**own, "reweight": 1.0, "kb": size, "kb_used": int(used * size), "kb_avail": 0, "pgs": 9, "status": "up"}


def pool(name: str, size: int, rule: int = 0) -> Object:
    return {"pool": 1, "pool_name": name, "type": 1, "size": size, "min_size": 2, "crush_rule": rule}


def rule(number: int, take: str, kind: str, num: int = 0, op: str = "chooseleaf_firstn") -> Object:
    steps = [
        {"op": "set_chooseleaf_tries", "num": 5},
        {"op": "take", "item": -2, "item_name": take},
        {"op": op, "num": num, "type": kind},
        {"op": "emit"},
    ]
    return {"rule_id": number, "rule_name": "one", "type": 1, "steps": steps}
