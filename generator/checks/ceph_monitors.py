"""Rules about Ceph's monitors: how many, and where."""

from collections.abc import Iterator

from generator.checks.tiers import CEPH, ceph_pools
from generator.model.cluster import Cluster
from generator.model.finding import Finding, put
from generator.model.rule import rule, warning


@rule("GEN-CEPH-006", "an odd number of monitors, three or more")
def monitors_odd(cluster: Cluster) -> Iterator[Finding]:
    """More than half of the monitors must agree, or all of Ceph stops: one or two survive no loss, and four survive
    no more than three do.

    Wrong:
        ceph: {monitors: 4}
    Right:
        ceph: {monitors: 5}
    """
    count = cluster.storage.ceph.monitors if cluster.storage.ceph else 3
    if count < 3 or count % 2 == 0:
        lost = (count - 1) // 2
        edits = put((*CEPH, "monitors"), 3 if count < 5 else count - 1)
        message = f"{count} monitor{'s' * (count > 1)} survive{'s' * (count == 1)} the loss of {lost}"
        message += f", as {count - 1} would" if count > 2 else ""
        yield Finding(at=(*CEPH, "monitors"), message=message, edits=edits)


@rule("GEN-CEPH-007", "a host for each monitor")
def monitors_placed(cluster: Cluster) -> Iterator[Finding]:
    """Monitors run on the nodes with Ceph's disks, or on those of `monitorPools`, one on each; one without a node stays
    pending, and Rook does not go on.

    Wrong:
        ceph: {monitors: 5}
        # and four nodes with disks for ceph
    Right:
        ceph: {monitors: 3}
    """
    hosts, ceph = len(cluster.monitor_hosts), cluster.storage.ceph
    if ceph and _own_nodes(cluster) and hosts < ceph.monitors:
        message = f"{ceph.monitors} monitors need as many nodes, and monitorPools has {hosts}"
        edits = put((*CEPH, "monitors"), hosts - 1 + hosts % 2) if hosts >= 3 else ()
        fix = "" if edits else "add pools to monitorPools, for 3 nodes at least"
        yield Finding(at=(*CEPH, "monitorPools"), also=(*CEPH, "monitors"), message=message, fix=fix, edits=edits)
    elif ceph and not ceph.monitor_pools and 3 <= hosts < ceph.monitors:
        message = f"{ceph.monitors} monitors need as many nodes with Ceph's disks, and there are {hosts}"
        edits = put((*CEPH, "monitors"), hosts - 1 + hosts % 2)
        yield Finding(at=(*CEPH, "monitors"), also=(*CEPH, "pools"), message=message, edits=edits)


@warning("GEN-CEPH-008", "five monitors on a big cluster")
def five_monitors(cluster: Cluster) -> Iterator[Finding]:
    """While one node is down for service, three monitors survive no other loss; among many nodes that will happen.

    Wrong:
        ceph: {monitors: 3}
        # and 28 nodes with disks for ceph
    Right:
        ceph: {monitors: 5}
    """
    hosts, ceph = len(cluster.ceph_hosts), cluster.storage.ceph
    if ceph and hosts >= 10 and ceph.monitors == 3:
        message = f"3 monitors for {hosts} nodes: with one in service, the loss of another stops all storage"
        enough = len(cluster.monitor_hosts) > 4
        fix, edits = ("", put((*CEPH, "monitors"), 5)) if enough else ("take five monitors, on as many nodes", ())
        yield Finding(at=(*CEPH, "monitors"), also=(*CEPH, "pools"), message=message, fix=fix, edits=edits)


@warning("GEN-CEPH-015", "monitors outlast a rack where data does")
def monitors_outlast_rack(cluster: Cluster) -> Iterator[Finding]:
    """Pools that keep their copies in racks of their own go on when a rack is lost, but only with more than half of the
    monitors: on nodes of two racks, one of them holds at least half.

    Wrong:
        ceph: {monitors: 3, monitorPools: [system]}
        # and the nodes of pool system are in two racks
    Right:
        # the nodes of pool system are in three racks
    """
    racks = {machine.rack for machine in cluster.monitor_hosts if machine.rack}
    by_rack = next((placed for placed in ceph_pools(cluster) if placed.pool.failure_domain == "rack"), None)
    if by_rack and len(racks) < 3 and _own_nodes(cluster):
        message = f"{by_rack.name} outlasts a rack, and the monitors do not: their nodes are in {len(racks)}"
        also = (*by_rack.at, "failureDomain")
        yield Finding(at=(*CEPH, "monitorPools"), also=also, message=message, fix="take nodes of three racks or more")


def _own_nodes(cluster: Cluster) -> bool:
    """Tell whether monitors have nodes of their own, in pools that exist."""
    ceph = cluster.storage.ceph
    return bool(ceph and ceph.monitor_pools and all(name in cluster.pools for name in ceph.monitor_pools))
