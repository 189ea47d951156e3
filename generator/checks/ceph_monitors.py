"""Rules about Ceph's monitors: how many, and where."""

from collections.abc import Iterator

from generator.checks.tiers import CEPH
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
    """Monitors run on the nodes with Ceph's disks, one on each; one without a node stays pending, and Rook does not
    go on.

    Wrong:
        ceph: {monitors: 5}
        # and four nodes with disks for ceph
    Right:
        ceph: {monitors: 3}
    """
    hosts, count = len(cluster.ceph_hosts), cluster.storage.ceph.monitors if cluster.storage.ceph else 0
    if 3 <= hosts < count:
        message = f"{count} monitors need as many nodes with Ceph's disks, and there are {hosts}"
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
        edits = put((*CEPH, "monitors"), 5)
        yield Finding(at=(*CEPH, "monitors"), also=(*CEPH, "pools"), message=message, edits=edits)
