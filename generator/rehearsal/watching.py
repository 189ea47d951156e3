"""What runs on a twin at one moment, and what a change did to it."""

from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from generator.components.component import Manifest
from generator.live.api import Request
from generator.live.running import RunningCluster
from generator.model.fields import condition, dig, sequence
from generator.rehearsal.jobs import KUEUE, admitted

POLICY = "/apis/policy/v1"
Pods = dict[str, tuple[str, str]]


class Moment(Struct, frozen=True, kw_only=True):
    """What runs: pods by uid with who made them ("Deployment argocd/x") and their names; jobs that were let in, by
    namespace and name, with the uid of their Workload; queues that let nothing in, budgets that let no pod go, and
    where evicted jobs stand in words.
    """

    pods: Pods
    jobs: dict[str, str]
    closed: dict[str, str]
    blocked: dict[str, str]
    evicted: dict[str, str]

    @property
    def owners(self) -> set[str]:
        """Who has pods."""
        return {owner for owner, _ in self.pods.values()}


def look(cluster: RunningCluster) -> Moment:
    """Take down what runs now. Raises UsageError."""
    loads = [*cluster.items(f"{KUEUE}/workloads")]
    return Moment(
        pods=dict(_pods(cluster)),
        jobs={_job(one): one["metadata"]["uid"] for one in loads if admitted(one)},
        closed=dict(_closed(cluster)),
        blocked=dict(_blocked(cluster)),
        evicted={_job(one): text for one in loads if (text := _evicted(one))},
    )


def _pods(cluster: RunningCluster) -> Iterator[tuple[str, tuple[str, str]]]:
    sets = {one["metadata"]["uid"]: _owner(one, {}) for one in cluster.items("/apis/apps/v1/replicasets")}
    for one in cluster.items("/api/v1/pods"):
        if "deletionTimestamp" not in one["metadata"]:
            yield one["metadata"]["uid"], (_owner(one, sets), one["metadata"]["name"])


def _owner(one: Manifest, sets: dict[str, str]) -> str:
    meta = one["metadata"]
    owner = next((each for each in sequence(meta.get("ownerReferences")) if each.get("controller")), None)
    if owner is None:
        return f"Pod {meta['namespace']}/{meta['name']}"
    return sets.get(owner["uid"]) or f"{owner['kind']} {meta['namespace']}/{owner['name']}"


def _job(workload: Manifest) -> str:
    owners = sequence(workload["metadata"].get("ownerReferences"))
    name = owners[0]["name"] if owners else workload["metadata"]["name"]
    return f"{workload['metadata']['namespace']}/{name}"


def _evicted(workload: Manifest) -> str:
    """Return why a workload was stopped, if it ever was."""
    for kind in ("Preempted", "Evicted"):
        one = condition(workload, kind)
        if one.get("status") == "True":
            return f"{one.get('reason', kind)}: {one.get('message', '')}"
    return ""


def _closed(cluster: RunningCluster) -> Iterator[tuple[str, str]]:
    for kind, named in (("clusterqueues", "ClusterQueue"), ("localqueues", "LocalQueue")):
        for one in cluster.items(f"{KUEUE}/{kind}"):
            found = condition(one, "Active")
            if found.get("status") != "True":
                meta = one["metadata"]
                why = str(found.get("message") or found["reason"]) if found else "Kueue has not looked at it"
                yield f"{named} {'/'.join(filter(None, (meta.get('namespace'), meta['name'])))}", why


def _blocked(cluster: RunningCluster) -> Iterator[tuple[str, str]]:
    """Ask the API server itself, as a drain would, to evict a pod of each budget; nothing is evicted."""
    for budget in cluster.items(f"{POLICY}/poddisruptionbudgets"):
        meta = budget["metadata"]
        if not dig(budget, "status", "expectedPods") or dig(budget, "status", "disruptionsAllowed"):
            continue
        labels = dig(budget, "spec", "selector", "matchLabels") or {}
        selector = ",".join(f"{key}={value}" for key, value in labels.items())
        pods = [*cluster.items(f"/api/v1/namespaces/{meta['namespace']}/pods", labelSelector=selector)]
        answer = eviction_refused(cluster, pods[0]) if pods else ""
        if answer:
            yield f"PodDisruptionBudget {meta['namespace']}/{meta['name']}", answer


def eviction_refused(cluster: RunningCluster, pod: Manifest) -> str:
    """Return why the API server would not evict a pod now, nothing where it would: nothing is evicted."""
    meta = {"name": pod["metadata"]["name"], "namespace": pod["metadata"]["namespace"]}
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta}
    path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/eviction?dryRun=All"
    answer = cluster.api.ask(Request(path=path, method="POST", body=body | {"deleteOptions": {"dryRun": ["All"]}}))
    causes = [str(dig(one, "message")) for one in sequence(dig(answer.body, "details", "causes"))]
    return "" if answer.good else " ".join((answer.message, *causes))


def replaced(before: Moment, after: Moment) -> dict[str, tuple[int, int]]:
    """Return, by who made them, how many pods are gone that ran before, of how many; those of jobs apart."""
    had = Counter(owner for owner, _ in before.pods.values())
    gone = Counter(owner for uid, (owner, _) in before.pods.items() if uid not in after.pods)
    return {owner: (count, had[owner]) for owner, count in sorted(gone.items()) if not owner.startswith("Job ")}


def stopped(before: Moment, after: Moment) -> dict[str, str]:
    """Return the jobs that ran before and do not run any more, or anew, with Kueue's reason."""
    return {
        name: after.evicted.get(name, "it is gone")
        for name in sorted(before.jobs)
        if name not in after.jobs or (name in after.evicted and name not in before.evicted)
    }
