"""Queues that let nothing in: tried with the smallest job of each team's shapes, once nothing else is there."""

from collections.abc import Sequence
from time import monotonic, sleep

from msgspec import structs

from generator.live.api import Request
from generator.live.running import RunningCluster
from generator.model.fields import dig, holds, sequence
from generator.rehearsal.jobs import KUEUE, Share, admitted, job, send
from generator.rehearsal.standin import StandIn

PATIENCE = 12.0
"""Seconds in which a job is let in that is alone; it takes one or two."""
NAME = "probe"


def probe(cluster: RunningCluster, standin: StandIn, had: Sequence[Share]) -> dict[str, str]:
    """Take all jobs away and send each team's queue the smallest jobs of the shapes that it `had`; return the queues
    that let none in, with Kueue's words. Raises UsageError.
    """
    queues = {
        (one["metadata"]["namespace"], one["metadata"]["name"]): str(dig(one, "spec", "clusterQueue"))
        for one in cluster.items(f"{KUEUE}/localqueues")
    }
    some = [_smallest(one) for one in had if (one.team, one.queue) in queues]
    _clear(cluster, standin, {one.team for one in some})
    refused = dict.fromkeys(send(cluster, [(one, job(one, f"{NAME}-{one.flavor}", 1)) for one in some]))
    waiting = {one.team for one in some}
    end = monotonic() + PATIENCE
    while waiting and monotonic() < end:
        standin.round()
        waiting -= {one["metadata"]["namespace"] for one in cluster.items(f"{KUEUE}/workloads") if admitted(one)}
        sleep(0.3)
    closed = {one.team: f"ClusterQueue {queues[one.team, one.queue]}" for one in some if one.team in waiting}
    return {queue: _why(cluster, team, [*refused]) for team, queue in sorted(closed.items())}


def _smallest(share: Share) -> Share:
    limits = share.limits if share.device == "cpu" else share.limits | {share.device: "1"}
    return structs.replace(share, limits=limits | {"cpu": "1", "memory": "1Gi"})


def _clear(cluster: RunningCluster, standin: StandIn, teams: set[str]) -> None:
    for team in teams:
        for path in (f"/apis/batch/v1/namespaces/{team}/jobs", f"{KUEUE}/namespaces/{team}/workloads"):
            cluster.api.ask(Request(path=f"{path}?propagationPolicy=Background", method="DELETE"))
    end = monotonic() + PATIENCE
    while monotonic() < end and any(holds(one, "QuotaReserved") for one in cluster.items(f"{KUEUE}/workloads")):
        standin.round()
        sleep(0.3)


def _why(cluster: RunningCluster, team: str, refused: list[str]) -> str:
    """Return why nothing is let in: what the API server said to the job, else what Kueue says to the workload."""
    loads = cluster.items(f"{KUEUE}/namespaces/{team}/workloads")
    states = (one for load in loads for one in sequence(dig(load, "status", "conditions")))
    waits = (str(one.get("message")) for one in states if one["type"] == "QuotaReserved" and one["status"] != "True")
    said = [*(one for one in refused if one.startswith(f"{team}/")), *waits]
    return said[0] if said else "Kueue gives no reason"
