"""The queue of acceptance: it owns nothing, borrows what is idle, and stops nobody's jobs."""

from collections.abc import Iterator

from generator.components.acceptance.names import JOBS, labels, priority
from generator.components.component import Manifest, Namespace
from generator.components.kueue import TEAM
from generator.components.queues import COHORT, flavors
from generator.components.queues.install import covered, flavor_quotas, group, kueue_object
from generator.components.tenants.pods import ALLOWED
from generator.model.capacity import NOTHING
from generator.model.cluster import Cluster


def namespace(cluster: Cluster) -> Namespace:
    """Return the namespace of the jobs. By these labels Kueue and the policies of teams hold for it, too."""
    lowest = priority(cluster)
    return Namespace(JOBS, "restricted", {TEAM: JOBS, **({f"{ALLOWED}{lowest}": "true"} if lowest else {})})


def queue(cluster: Cluster) -> Iterator[Manifest]:
    """Yield the ClusterQueue and the way into it. Without quota all that it has is borrowed: what teams lend, and give
    to nobody meanwhile; their own jobs take it back.
    """
    pools = flavors(cluster)
    kinds = covered(cluster, pools)
    own = {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": [JOBS]}]}
    yield kueue_object("ClusterQueue", JOBS) | {
        "spec": {
            "cohortName": COHORT,
            "queueingStrategy": "BestEffortFIFO",
            "namespaceSelector": own,
            "resourceGroups": group(kinds, [flavor_quotas(kinds, pool, NOTHING) for pool in pools]),
            "preemption": {"withinClusterQueue": "Never", "reclaimWithinCohort": "Never"},
        }
    }
    yield {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": {"name": "default", "namespace": JOBS, "labels": labels()},
        "spec": {"clusterQueue": JOBS},
    }
