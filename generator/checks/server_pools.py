"""Rules about MinIO's server pools: which nodes it is on, and whether they keep its promise together."""

from collections.abc import Iterator

from generator.checks.places import listed_twice, unknown
from generator.checks.tiers import server_pools
from generator.model.capacity import erasure_set, objects_drives
from generator.model.cluster import Cluster
from generator.model.finding import Finding
from generator.model.rule import rule

# With half of each erasure set as parity, two lost nodes lose no data from here on.
_FEWEST = 4


@rule("GEN-OBJ-001", "MinIO's pools of nodes exist")
def pool_known(cluster: Cluster) -> Iterator[Finding]:
    """MinIO takes the disks with `use: objects` of these pools' nodes.

    Wrong:
        objects: {pool: nass}
    Right:
        objects: {pool: nas}
    """
    for at, pool in server_pools(cluster):
        if pool not in cluster.pools:
            message, cause = f"there is no pool {pool}", f"pool {pool} is not described"
            otherwise = f"one of {', '.join(cluster.pools)}"
            yield unknown(at, pool, cluster.pools, message, otherwise, also=("pools",), cause=cause)


@rule("GEN-OBJ-002", "each of MinIO's server pools has four nodes or more")
def enough_nodes(cluster: Cluster) -> Iterator[Finding]:
    """With four nodes and half of each erasure set as parity, two lost nodes lose no data and reads go on; writes
    stop until three are there. With five or more, writes go on as well. Three nodes keep data through one loss only.
    Nodes cannot be added one by one later: MinIO grows by another pool of nodes, named in `expansions`.

    Wrong:
        # three nodes in the pool of storage.objects
    Right:
        # four nodes in the pool of storage.objects
    """
    for at, pool in server_pools(cluster):
        count = len(cluster.in_pools(pool))
        if pool in cluster.pools and count < _FEWEST:
            message = f"MinIO needs {_FEWEST} nodes or more in a pool, and pool {pool} has {count}"
            fix = f"add {_FEWEST - count}, so that two lost nodes lose no data"
            yield Finding(at=at, also=("pools", pool), message=message, fix=fix)


@rule("GEN-OBJ-012", "erasure sets that keep two lost nodes' data, alike in all server pools")
def sets_alike(cluster: Cluster) -> Iterator[Finding]:
    """MinIO makes erasure sets of up to 16 drives that lie alike on all nodes of a pool; with 17 nodes of one drive
    there are none. Parity is one number for all server pools, and MinIO refuses more than half of a set: with sets of
    16 and of 12 drives, either half would not be parity, or it does not start.

    Wrong:
        # pool nas: four nodes with 4 drives each; pool nas-2: four nodes with 3
        objects: {pool: nas, expansions: [nas-2]}
    Right:
        # both pools: four nodes with 4 drives each
        objects: {pool: nas, expansions: [nas-2]}
    """
    first = 0
    for at, pool in server_pools(cluster):
        nodes, drives = len(cluster.in_pools(pool)), objects_drives(cluster, pool)
        found = erasure_set(nodes, drives)
        size = found.drives if found else 0
        if nodes < _FEWEST or not drives:
            continue
        first = first or size
        if size < _FEWEST:
            message = f"no erasure set of {_FEWEST} to 16 drives lies alike on the {nodes} nodes of pool {pool}"
            yield Finding(at=at, also=("pools", pool), message=message, fix=f"{nodes // 4 * 4} nodes")
        elif size != first:
            message = (
                f"{nodes} nodes with {drives} drives make erasure sets of {size}, and the first pool's have {first}"
            )
            yield Finding(at=at, also=("pools", pool), message=message, fix="as many drives on each node as there")


@rule("GEN-OBJ-013", "MinIO's server pools are given once")
def pools_once(cluster: Cluster) -> Iterator[Finding]:
    """A node runs one server: the second pool's would wait for ever for a place.

    Wrong:
        objects: {pool: nas, expansions: [nas]}
    Right:
        objects: {pool: nas, expansions: [nas-2]}
    """
    items = ((pool, at) for at, pool in server_pools(cluster))
    return listed_twice(items, "pool {} is given to MinIO twice")
