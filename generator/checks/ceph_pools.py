"""Rules about how Ceph's pools lie on its disks: copies, chunks, classes."""

from collections.abc import Iterator

from msgspec import structs

from generator.checks.tiers import CEPH, ceph_pools, failure_domains, filesystems
from generator.model.capacity import ceph_raw
from generator.model.cluster import Cluster
from generator.model.finding import Edit, Finding, Path, in_words, put, remove
from generator.model.rule import rule, warning
from generator.model.storage import CephPool


def _places(cluster: Cluster, pool: CephPool) -> int:
    """Return the number of failure domains, 0 where another rule has found what is wrong with them."""
    unknown = pool.failure_domain == "rack" and not all(host.rack for host in cluster.ceph_hosts)
    return 0 if unknown else failure_domains(cluster, pool)


@rule("GEN-CEPH-020", "a failure domain for each copy")
def copies_placed(cluster: Cluster) -> Iterator[Finding]:
    """Each copy lies on a host or rack of its own; without enough of them writes never complete.

    Wrong:
        - {name: rbd, deviceClass: nvme, replicas: 3, failureDomain: rack}
        # and nvme in two racks
    Right:
        - {name: rbd, deviceClass: nvme, replicas: 3, failureDomain: host}
    """
    for name, at, pool, _ in ceph_pools(cluster):
        copies, unit = pool.replicas, pool.failure_domain
        if not pool.erasure and 0 < (places := _places(cluster, pool)) < copies:
            need = f"{copies} {unit}s with {pool.device_class} disks: {places} have them"
            message = f"{copies} replicas of {name} need {need}"
            by_host = failure_domains(cluster, structs.replace(pool, failure_domain="host"))
            edits = put((*at, "failureDomain"), "host") if by_host >= copies else ()
            fix = "" if edits else f"have {copies} hosts, better {copies + 1}"
            yield Finding(at=(*at, "replicas"), also=(*CEPH, "pools"), message=message, fix=fix, edits=edits)


@rule("GEN-CEPH-021", "more than one copy")
def copies_several(cluster: Cluster) -> Iterator[Finding]:
    """One copy is lost with its disk, and a pool that has lost a part is lost as a whole.

    Wrong:
        - {name: rbd, deviceClass: nvme, replicas: 1}
    Right:
        - {name: rbd, deviceClass: nvme, replicas: 3}
    """
    for name, at, pool, _ in ceph_pools(cluster):
        if not pool.erasure and pool.replicas == 1:
            message = f"{name} has 1 replica: the first disk that fails takes data with it"
            fix, edits = _three(cluster, at, pool)
            yield Finding(at=(*at, "replicas"), message=message, fix=fix, edits=edits)


def _three(cluster: Cluster, at: Path, pool: CephPool) -> tuple[str, tuple[Edit, ...]]:
    """Return how a pool gets three copies; they need as many domains, so that it is no edit where these are fewer."""
    edits = put((*at, "replicas"), 3)
    if 0 < (places := failure_domains(cluster, pool)) < 3:
        unit = pool.failure_domain
        return f"replicas: 3, on 3 {unit}s with {pool.device_class} disks: {places} {_have(places)} them", ()
    return in_words(edits), edits


def _have(count: int) -> str:
    return "has" if count == 1 else "have"


@warning("GEN-CEPH-022", "data survives a second loss")
def second_loss(cluster: Cluster) -> Iterator[Finding]:
    """While a lost host is made good, which takes hours, another disk must be allowed to fail; and with two copies a
    single one is not enough to go on writing.

    Wrong:
        - {name: rbd, deviceClass: nvme, replicas: 2}
    Right:
        - {name: rbd, deviceClass: nvme, replicas: 3}
    """
    for name, at, pool, _ in ceph_pools(cluster):
        if pool.erasure and pool.erasure.coding == 1:
            message = f"{name} has 1 coding chunk: a second disk that fails takes data with it"
            # One more than it needs, to heal.
            fits = failure_domains(cluster, pool) > pool.erasure.data + 2
            code = put((*at, "erasure"), {"data": pool.erasure.data, "coding": 2})
            fix, edits = (in_words(code), code) if fits else _code(cluster, at, pool)
            yield Finding(at=(*at, "erasure"), message=message, fix=fix, edits=edits)
        elif not pool.erasure and pool.replicas == 2:
            message = f"{name} has 2 replicas: a second disk that fails takes data with it"
            fix, edits = _three(cluster, at, pool)
            yield Finding(at=(*at, "replicas"), message=message, fix=fix, edits=edits)


@rule("GEN-CEPH-023", "a failure domain for each chunk")
def chunks_placed(cluster: Cluster) -> Iterator[Finding]:
    """Each of the k+m chunks lies on a host or rack of its own; without enough of them writes never complete.

    Wrong:
        erasure: {data: 8, coding: 3}
        # and ten hosts
    Right:
        erasure: {data: 4, coding: 2}
    """
    for name, at, pool, _ in ceph_pools(cluster):
        code, unit = pool.erasure, pool.failure_domain
        if code and 0 < (places := _places(cluster, pool)) < code.data + code.coding:
            need = f"{code.data + code.coding} {unit}s with {pool.device_class} disks: {places} have them"
            message = f"{code.data}+{code.coding} of {name} needs {need}"
            fix, edits = _code(cluster, at, pool)
            yield Finding(at=(*at, "erasure"), also=(*CEPH, "pools"), message=message, fix=fix, edits=edits)


def _code(cluster: Cluster, at: Path, pool: CephPool) -> tuple[str, tuple[Edit, ...]]:
    """Return an erasure code that leaves one domain to heal, else replicas."""
    data = next((size for size in (8, 4, 2) if size + 2 < failure_domains(cluster, pool)), 0)
    if data:
        edits = put((*at, "erasure"), {"data": data, "coding": 2})
        return in_words(edits), edits
    fix, edits = _three(cluster, at, pool)
    return f"{fix} instead of `erasure`", (*remove((*at, "erasure")), *edits) if edits else ()


@warning("GEN-CEPH-024", "a spare failure domain, to heal")
def chunks_heal(cluster: Cluster) -> Iterator[Finding]:
    """With exactly k+m hosts, the chunks of a lost one have nowhere to go until that very host is back.

    Wrong:
        erasure: {data: 4, coding: 2}
        # and six hosts
    Right:
        erasure: {data: 4, coding: 2}
        # and seven hosts
    """
    for name, at, pool, _ in ceph_pools(cluster):
        code, unit = pool.erasure, pool.failure_domain
        if code and (places := _places(cluster, pool)) == code.data + code.coding:
            message = f"{name} uses all {places} {unit}s: with one lost, its chunks cannot be made again elsewhere"
            fix, edits = _code(cluster, at, pool)
            fix = f"{fix}, or have {places + 1} {unit}s"
            yield Finding(at=(*at, "erasure"), also=(*CEPH, "pools"), message=message, fix=fix, edits=edits)


@warning("GEN-CEPH-035", "copies in racks of their own where there are enough")
def racks_used(cluster: Cluster) -> Iterator[Finding]:
    """By `host`, several copies or chunks of the same data may lie in one rack: with its switch or its power gone, that
    data is neither read nor written until it is back. Where there are as many racks as copies, Ceph can part them.

    Wrong:
        - {name: bulk, deviceClass: hdd, erasure: {data: 4, coding: 2}}
        # and 28 hosts in seven racks
    Right:
        - {name: bulk, deviceClass: hdd, erasure: {data: 4, coding: 2}, failureDomain: rack}
    """
    for name, at, pool, _ in ceph_pools(cluster):
        hosts = [host for host in cluster.ceph_hosts if ceph_raw(host, pool.device_class)]
        racks = {host.rack for host in hosts}
        apart = pool.parts
        if pool.failure_domain == "host" and None not in racks and apart <= len(racks) < len(hosts):
            message = f"{name} keeps {apart} parts apart by host, and {len(hosts)} hosts are in {len(racks)} racks"
            yield Finding(at=at, message=message, edits=put((*at, "failureDomain"), "rack"))


@rule("GEN-CEPH-025", "disks of the pool's class")
def class_present(cluster: Cluster) -> Iterator[Finding]:
    """A pool lies on disks of one class; without such disks it is never ready, and all that waits for it waits.

    Wrong:
        - {name: rbd, deviceClass: ssd}
        # and all of Ceph's disks are nvme
    Right:
        - {name: rbd, deviceClass: nvme}
    """
    hosts = cluster.ceph_hosts
    present = sorted({disk.class_ for machine in hosts for disk in machine.disks_for("ceph")})
    for name, at, pool, _ in ceph_pools(cluster):
        if present and pool.device_class not in present:
            message = f"{name} is on {pool.device_class}, and Ceph's disks are {' and '.join(present)}"
            edits = put((*at, "deviceClass"), present[-1])
            yield Finding(at=(*at, "deviceClass"), also=(*CEPH, "pools"), message=message, edits=edits)


@rule("GEN-CEPH-026", "every Ceph node has a rack")
def racks_known(cluster: Cluster) -> Iterator[Finding]:
    """Ceph spreads copies over the racks it knows: a node without one takes none of the pool's data.

    Wrong:
        - {name: rbd, deviceClass: hdd, failureDomain: rack}
        # and
        - {name: n1, pool: cpu, address: 10.0.0.1}
    Right:
        - {name: n1, pool: cpu, address: 10.0.0.1, rack: r4}
    """
    by_rack = next((placed for placed in ceph_pools(cluster) if placed.pool.failure_domain == "rack"), None)
    for machine in cluster.ceph_hosts if by_rack else ():
        if by_rack and not machine.rack:
            message = f"{machine.name} has disks for ceph and no rack, and {by_rack.name} spreads over racks"
            also = (*by_rack.at, "failureDomain")
            yield Finding(at=("nodes", machine.index), also=also, message=message, fix="add `rack` to the node")


@rule("GEN-CEPH-027", "replicated pools where Ceph needs them")
def replicated_pools(cluster: Cluster) -> Iterator[Finding]:
    """Metadata is kept in a form that erasure-coded pools cannot hold; and a filesystem's first data pool has a part
    of every file.

    Wrong:
        metadata: {name: metadata, deviceClass: nvme, erasure: {data: 4, coding: 2}}
    Right:
        metadata: {name: metadata, deviceClass: nvme}
    """
    for name, at, pool, use in ceph_pools(cluster):
        if pool.erasure and (use == "metadata" or (use == "file" and at[-1] == 0)):
            fix, edits = _three(cluster, at, pool) if use == "metadata" else ("put a replicated pool before it", ())
            edits = (*remove((*at, "erasure")), *edits) if edits else ()
            yield Finding(at=(*at, "erasure"), message=f"{name} must be replicated", fix=fix, edits=edits)
    for at, filesystem in filesystems(cluster):
        if not filesystem.data:
            message, kind = f"filesystem {filesystem.name} has no data pool", filesystem.metadata.device_class
            edits = put((*at, "data"), [{"name": "data", "deviceClass": kind}])
            yield Finding(at=(*at, "data"), message=message, edits=edits)


@warning("GEN-CEPH-028", "metadata on a fast class")
def metadata_fast(cluster: Cluster) -> Iterator[Finding]:
    """Every file that is opened and every bucket that is listed waits for metadata: small reads, at random.

    Wrong:
        metadata: {name: metadata, deviceClass: hdd}
    Right:
        metadata: {name: metadata, deviceClass: nvme}
    """
    hosts = cluster.ceph_hosts
    fast = next((name for name in ("nvme", "ssd") if any(ceph_raw(machine, name) for machine in hosts)), "")
    for name, at, pool, use in ceph_pools(cluster):
        if use == "metadata" and pool.device_class == "hdd":
            edits = put((*at, "deviceClass"), fast) if fast else ()
            fix = "" if edits else "add nvme disks for it"
            yield Finding(at=(*at, "deviceClass"), message=f"{name} is on hdd", fix=fix, edits=edits)


@rule("GEN-CEPH-033", "the fastest disks on three hosts")
def manager_pool_placed(cluster: Cluster) -> Iterator[Finding]:
    """Ceph keeps a pool for itself (`.mgr`), three copies on the fastest class there is; without three hosts that have
    it, Ceph is never healthy and nothing after it is installed.

    Wrong:
        # four hosts with hdd, two of them with nvme too
    Right:
        # four hosts with hdd and nvme
    """
    hosts = cluster.ceph_hosts
    classes = {name: sum(1 for host in hosts if ceph_raw(host, name)) for name in ("nvme", "ssd", "hdd")}
    name = next((name for name, count in classes.items() if count), "")
    if len(hosts) > 2 and name and classes[name] < 3:
        message = f"Ceph's own pool needs 3 hosts with {name}, the fastest class, and {classes[name]} have it"
        yield Finding(at=(*CEPH, "pools"), message=message, fix=f"have {name} disks on 3 hosts, or on none")
