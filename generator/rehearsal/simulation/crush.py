"""What Ceph would answer of its OSDs and pools, by the cluster file and what runs on a twin; judged by the script that
operations judge it with. Forms: room.py.txt.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from itertools import chain

from generator.checks.tiers import ceph_pools
from generator.components.common import RACK
from generator.components.component import Manifest
from generator.components.static import read_text
from generator.live.running import RunningCluster
from generator.model.capacity import NEARFULL, ceph_disks
from generator.model.cluster import Cluster
from generator.model.fields import dig, mapping
from generator.model.nodes import Disk
from generator.model.storage import CephPool
from generator.process import run
from generator.rehearsal.simulation.assuming import CLUSTER, DEPLOYMENTS, NUMBER
from generator.rehearsal.simulation.reading import CEPH, NODES

JUDGE = """
import json, sys
told, made = json.load(sys.stdin), {"__name__": "room"}
exec(told["script"], made)
json.dump([*dict.fromkeys(made["reasons"](told["answers"], {*told["leaving"]}))][:made["TOLD"]], sys.stdout)
"""
Osds = dict[str, list[int]]
"""The numbers of OSDs by their hosts."""


def lacking(twin: RunningCluster, cluster: Cluster, leaving: Sequence[int]) -> str:
    """Return as JSON what Ceph would lack without OSDs, as the pod that asks it tells it. Raises UsageError."""
    if cluster.storage.ceph is None:
        return "[]"
    told = {"answers": answers(twin, cluster), "leaving": [*leaving]}
    script = read_text("node_operations/room.py.txt")
    return run([sys.executable, "-c", JUDGE], stdin=json.dumps({**told, "script": script}))


def answers(twin: RunningCluster, cluster: Cluster) -> Manifest:
    """Return Ceph's answers. Raises UsageError."""
    hosts: Osds = {}
    for one in twin.items(DEPLOYMENTS, labelSelector="app=rook-ceph-osd"):
        hosts.setdefault(host_of(one), []).append(int(one["metadata"]["labels"][NUMBER]))
    racks = {one["metadata"]["name"]: mapping(one["metadata"].get("labels")).get(RACK, "") for one in twin.items(NODES)}
    used = _used(twin.get(f"{CEPH}/{CLUSTER}") or {})
    wanted = [one.pool for one in ceph_pools(cluster)]
    known = [
        {"pool": number, "pool_name": one.name, "size": one.parts, "crush_rule": number}
        for number, one in enumerate(wanted)
    ]
    up = [{"osd": number, "up": 1} for number in chain(*hosts.values())]
    told = {"pools": known, "osds": up, "nearfull_ratio": NEARFULL}
    rules = [_rule(number, one) for number, one in enumerate(wanted)]
    return {"map": told, "tree": {"nodes": [*_tree(hosts, racks, disks(cluster), used)]}, "rules": rules}


def host_of(osd: Manifest) -> str:
    """Return the host that what runs an OSD is pinned to."""
    return str(dig(osd, "spec", "template", "spec", "nodeSelector", "kubernetes.io/hostname"))


def disks(cluster: Cluster) -> dict[str, list[Disk]]:
    """Return the disks of each host of Ceph, one after the other."""
    return {
        one.name: [disk for disk in ceph_disks(one, cluster) for _ in range(disk.count)] for one in cluster.machines
    }


def _used(ceph: Manifest) -> float:
    """Return which part of Ceph is used, as Rook tells it; 0 where it does not."""
    told = mapping(dig(ceph, "status", "ceph", "capacity"))
    return int(told.get("bytesUsed") or 0) / max(1, int(told.get("bytesTotal") or 0))


def _tree(hosts: Osds, racks: dict[str, str], owned: dict[str, list[Disk]], used: float) -> Iterator[Manifest]:
    names = [*hosts, *sorted({racks.get(one, "") for one in hosts} - {""})]
    ids = {name: -2 - place for place, name in enumerate(names)}
    apart = [ids[one] for one in hosts if not racks.get(one)]
    yield _bucket(-1, "default", "root", [*apart, *(ids[one] for one in names[len(hosts) :])])
    for name in names[len(hosts) :]:
        yield _bucket(ids[name], name, "rack", [ids[one] for one in hosts if racks.get(one) == name])
    for name, numbers in hosts.items():
        yield _bucket(ids[name], name, "host", numbers)
        yield from map(_osd, sorted(numbers), _enough(owned.get(name, []), len(numbers)), [used] * len(numbers))


def _enough(found: list[Disk], count: int) -> list[Disk | None]:
    return [*found, *[None] * count][:count]


def _bucket(number: int, name: str, kind: str, children: list[int]) -> Manifest:
    return {"id": number, "name": name, "type": kind, "children": children}


def _osd(number: int, disk: Disk | None, used: float) -> Manifest:
    size = disk.size.value // 1024 if disk else 0
    own = {"id": number, "name": f"osd.{number}", "type": "osd", "device_class": disk.class_ if disk else ""}
    return {**own, "crush_weight": 1.0, "reweight": 1.0, "kb": size, "kb_used": int(used * size)}


def _rule(number: int, pool: CephPool) -> Manifest:
    take = {"op": "take", "item_name": f"default~{pool.device_class}"}
    choose = {"op": "chooseleaf_firstn", "num": 0, "type": pool.failure_domain}
    return {"rule_id": number, "steps": [take, choose, {"op": "emit"}]}
