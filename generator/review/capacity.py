"""What a cluster has room for, before and after: GPUs, storage, ports, and quota that nobody owns. Pure."""

from collections.abc import Iterator

from msgspec import Struct

from generator.checks.cables import FreePorts
from generator.components.queues import flavors, remainder
from generator.model.capacity import ceph_usable, objects_usable
from generator.model.cluster import Cluster
from generator.model.quantity import Quantity
from generator.model.storage import CephPool


class CapacityRow(Struct, frozen=True, kw_only=True):
    """One amount on both sides, None where there is no such thing. `unit` is "bytes", or empty for a count."""

    name: str
    unit: str
    old: int | None
    new: int | None

    @property
    def text(self) -> str:
        """The row for people: `GPUs H100 120 -> 112`."""
        return f"{self.name} {self.told(self.old)} -> {self.told(self.new)}"

    def told(self, amount: int | None) -> str:
        """Return an amount of this row for people."""
        if amount is None:
            return "none"
        return Quantity.of(amount).human() if self.unit else str(amount)


Amounts = dict[str, int]


def capacity(old: Cluster, new: Cluster) -> list[CapacityRow]:
    """Return every amount that either side has."""
    return [
        *_rows("", _gpus(old), _gpus(new)),
        *_together(_rows("bytes", _ceph(old), _ceph(new))),
        *_rows("bytes", _objects(old), _objects(new)),
        *_rows("", _ports(old), _ports(new)),
        *_rows("", _headroom(old), _headroom(new)),
    ]


def _rows(unit: str, old: Amounts, new: Amounts) -> list[CapacityRow]:
    names = dict.fromkeys((*old, *new))
    return [CapacityRow(name=name, unit=unit, old=old.get(name), new=new.get(name)) for name in names]


def _gpus(cluster: Cluster) -> Amounts:
    """Return the GPUs by model: cards, however they are shared."""
    found: Amounts = {}
    for machine in cluster.gpu_nodes:
        gpu = machine.hardware.gpu
        name = f"GPUs {gpu.model}" if gpu and gpu.model else "GPUs"
        found[name] = found.get(name, 0) + machine.gpus
    return found


def _ceph(cluster: Cluster) -> Amounts:
    """Return what each pool can hold if it had its class of disks to itself."""
    return {name: ceph_usable(cluster, pool).value for name, pool in _pools(cluster)}


def _pools(cluster: Cluster) -> Iterator[tuple[str, CephPool]]:
    ceph = cluster.storage.ceph
    if ceph:
        yield from ((pool.name, pool) for pool in ceph.block_pools)
        yield from ((f"{one.name}-{pool.name}", pool) for one in ceph.filesystems for pool in one.data)
        yield from ((store.name, store.data) for store in ceph.object_stores)


def _together(rows: list[CapacityRow]) -> list[CapacityRow]:
    """Return one row for all pools that hold as much on both sides: they lie on the same disks in the same way."""
    names: dict[tuple[int | None, int | None], list[str]] = {}
    for row in rows:
        names.setdefault((row.old, row.new), []).append(row.name)
    return [
        CapacityRow(name=f"Ceph usable for {', '.join(pools)}", unit="bytes", old=old, new=new)
        for (old, new), pools in names.items()
    ]


def _objects(cluster: Cluster) -> Amounts:
    return {"MinIO usable": objects_usable(cluster).value} if cluster.storage.objects else {}


def _ports(cluster: Cluster) -> Amounts:
    if not cluster.fabric:
        return {}
    used = sum(len(machine.fabric) for machine in cluster.machines)
    return {
        "InfiniBand ports in use": used,
        "InfiniBand ports free": sum(FreePorts(cluster).rooms().values()),
    }


def _headroom(cluster: Cluster) -> Amounts:
    """Return what no team owns of each pool: GPUs where it has some, else cores."""
    found: Amounts = {}
    for pool in flavors(cluster):
        left = remainder(cluster, pool)
        found |= {f"{_short(name)} in {pool} that nobody owns": count for name, count in left.devices.items()}
        if not left.devices:
            found[f"CPUs in {pool} that nobody owns"] = left.milli_cpu // 1000
    return found


def _short(device: str) -> str:
    return "GPUs" if device.endswith("/gpu") else device.rpartition("/")[2]
