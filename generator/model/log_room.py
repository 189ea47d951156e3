"""How much the nodes of a cluster log, and what it takes to keep that."""

from generator.model.cluster import Cluster
from generator.model.monitoring import Logs

COPIES = 3
"""Lokis that each line goes to where there are several: one may be away, and nothing is lost."""
COMPRESSED = 5
"""In Loki's chunks (snappy) logs of programs are about a fifth as large; how much exactly, the lines decide."""
EACH = 20 * 10**9
"""Bytes a day that one Loki takes (Loki 3.7, get-started/deployment-modes.md: "approximately 20GB per day")."""
MOST = 21
"""Lokis up to which one program for everything is the right way; beyond, upstream wants each part by itself."""


def daily(cluster: Cluster, logs: Logs) -> int:
    """Return how many bytes all nodes write a day."""
    return len(cluster.machines) * logs.daily_per_node.value


def copies(cluster: Cluster) -> int:
    """Return how many Lokis have each line until it is in the bucket: one on clusters that one node stops anyway."""
    return COPIES if len(cluster.control_plane) > 1 else 1


def lokis(cluster: Cluster, logs: Logs) -> int:
    """Return how many Lokis there are: none takes more than it can, its copies of what others take included."""
    taken = copies(cluster) * daily(cluster, logs)
    return max(copies(cluster), -(-taken // EACH))


def kept(cluster: Cluster, logs: Logs) -> int:
    """Return the bytes in the bucket after `keep_days`. Each Loki writes its own copy: their chunks are cut at other
    times, so that few of them are the same, and counted as if none was.
    """
    return daily(cluster, logs) * logs.keep_days * copies(cluster) // COMPRESSED
