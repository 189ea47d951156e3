"""What runs, put together by what made it: each unit is one object on a twin, with the nodes of its pods."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from generator.components.component import Manifest
from generator.model.fields import condition, dig, holds, mapping, sequence
from generator.rehearsal.jobs import GANG, PRIORITY, QUEUE
from generator.rehearsal.simulation.reading import LOADS, MAKERS, PODS, State
from generator.rehearsal.simulation.shape import template

UNIT = "twin.test/unit"
"""A label of pods on a twin: the number of their unit."""
BY = "kueue.x-k8s.io/workload"
"""An annotation of pods: by whose admission they run."""
MIRROR = "kubernetes.io/config.mirror"
Key = tuple[str, str, str]


class Unit(Struct, frozen=True, kw_only=True):
    """One object that makes pods: `named` is what it is called in the cluster, `places` are the nodes of its pods by
    their names there, `sick` those that are not Ready. A gang is let in by a queue, at `since`; without places it
    waits. `note` says how it is played.
    """

    named: str
    manifest: Manifest
    places: Mapping[str, str]
    sick: frozenset[str] = frozenset()
    gang: bool = False
    since: str = ""
    note: str = ""

    @property
    def nodes(self) -> list[str]:
        """The nodes of its pods."""
        return sorted({*self.places.values()})


def units(state: State) -> list[Unit]:
    """Return all that has pods which leave a node when it is emptied, and what waits in a queue; gangs in the order in
    which they were let in.
    """
    owners = {one["metadata"]["uid"]: one for path in MAKERS.values() for one in state[path]}
    loads = {(one["metadata"]["namespace"], one["metadata"]["name"]): one for one in state[LOADS]}
    groups: dict[Key, list[Manifest]] = {}
    for pod in filter(leaves, state[PODS]):
        groups.setdefault(_made_by(pod, owners, loads), []).append(pod)
    waiting = [(space, "Workload", name) for (space, name), one in loads.items() if _waits(one)]
    found: list[Unit] = []
    for key in (*groups, *(one for one in waiting if one not in groups)):
        found.append(_unit(key, groups.get(key, []), owners, loads, str(len(found))))
    return sorted(found, key=lambda one: (one.gang, not one.places, one.since))


def number_of(one: Unit) -> str:
    """Return the number that a unit's pods bear."""
    labels = dig(one.manifest, "spec", "template", "metadata", "labels") or dig(one.manifest, "metadata", "labels")
    return str(labels[UNIT])


def leaves(pod: Manifest) -> bool:
    """Tell whether a pod must go when its node is emptied, and runs there."""
    phase, meta = dig(pod, "status", "phase"), pod["metadata"]
    stays = MIRROR in mapping(meta.get("annotations")) or controller(pod).get("kind") == "DaemonSet"
    alive = phase not in ("Succeeded", "Failed") and "deletionTimestamp" not in meta
    return bool(alive and not stays and dig(pod, "spec", "nodeName"))


def controller(one: Manifest) -> Manifest:
    """Return who makes an object again, nothing where nobody does."""
    return next((each for each in sequence(one["metadata"].get("ownerReferences")) if each.get("controller")), {})


def whole(load: Manifest) -> bool:
    """Tell whether a Workload is stopped whole: that of a single pod is not."""
    owners = sequence(load["metadata"].get("ownerReferences"))
    return bool(owners) and not (len(owners) == 1 and owners[0]["kind"] == "Pod")


def owned_by(load: Manifest) -> str:
    """Return what a Workload is called by people: kind, namespace and name of what it lets in."""
    (first, *_) = sequence(load["metadata"].get("ownerReferences"))
    return f"{first['kind']} {load['metadata']['namespace']}/{first['name']}"


def _waits(load: Manifest) -> bool:
    ended = holds(load, "Finished") or dig(load, "spec", "active") is False
    return whole(load) and not ended and not holds(load, "QuotaReserved")


def _made_by(pod: Manifest, owners: Mapping[str, Manifest], loads: Mapping[tuple[str, str], Manifest]) -> Key:
    space = pod["metadata"]["namespace"]
    load = mapping(pod["metadata"].get("annotations")).get(BY, "")
    if (space, load) in loads and whole(loads[space, load]):
        return space, "Workload", load
    owner, one = controller(pod), pod
    while owner.get("uid") in owners:
        one, owner = owners[owner["uid"]], controller(owners[owner["uid"]])
    if one is not pod:
        return space, "maker", one["metadata"]["uid"]
    return (space, owner["kind"], owner["name"]) if owner else (space, "Pod", pod["metadata"]["name"])


def _unit(
    key: Key,
    pods: Sequence[Manifest],
    owners: Mapping[str, Manifest],
    loads: Mapping[tuple[str, str], Manifest],
    number: str,
) -> Unit:
    space, kind, name = key
    places = {one["metadata"]["name"]: one["spec"]["nodeName"] for one in pods}
    sick = frozenset(one["metadata"]["name"] for one in pods if not holds(one, "Ready"))
    if kind == "Workload":
        return _gang(loads[space, name], places, number)
    if kind == "maker":
        owner = owners[name]
        named = f"{owner['kind']} {space}/{owner['metadata']['name']}"
        return Unit(named=named, manifest=_copied(owner, len(pods), number), places=places, sick=sick)
    if kind == "Pod":
        return Unit(named=f"Pod {space}/{name}", manifest=_bare(pods[0], number), places=places)
    note = f"{kind} {space}/{name}: its pods are played as those of a Deployment"
    return Unit(named=f"{kind} {space}/{name}", manifest=_other(name, pods, number), places=places, note=note)


def _gang(load: Manifest, places: Mapping[str, str], number: str) -> Unit:
    """Return a job that is let in whole. What made it may be of any kind: a Job of as many pods stands for it, with
    what the most of its pods ask for.
    """
    named, spec = owned_by(load), load["spec"]
    sets = sequence(spec.get("podSets"))
    most = max(sets, key=lambda one: int(one.get("count", 1)))
    count = len(places) or sum(int(one.get("count", 1)) for one in sets)
    kind, _, name = named.partition(" ")
    plain = kind == "Job" and len(sets) == 1
    return Unit(
        named=named,
        manifest=_job(load, name.partition("/")[2], count, template(most["template"], **{UNIT: number})),
        places=places,
        gang=True,
        since=str(condition(load, "QuotaReserved").get("lastTransitionTime", "")),
        note="" if plain else f"{named}: played as a Job of {count} pods, each like those of `{most.get('name')}`",
    )


def _job(load: Manifest, name: str, count: int, pod: Manifest) -> Manifest:
    priority = dig(load, "spec", "priorityClassRef")
    labels = {QUEUE: str(dig(load, "spec", "queueName"))}
    if dig(priority, "kind") == "WorkloadPriorityClass":
        labels[PRIORITY] = str(dig(priority, "name"))
    own = {"restartPolicy": "Never", "priorityClassName": pod["spec"].get("priorityClassName", "")}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": load["metadata"]["namespace"],
            "labels": labels,
            "annotations": {GANG: str(count)},
        },
        "spec": {
            "parallelism": count,
            "completions": count,
            "backoffLimit": 0,
            "template": {**pod, "spec": {**pod["spec"], **own}},
        },
    }


def _copied(owner: Manifest, count: int, number: str) -> Manifest:
    """Return a maker of pods that makes as many as there are."""
    spec, kind = owner["spec"], owner["kind"]
    made: Manifest = {"template": template(spec["template"], **{UNIT: number})}
    if kind == "Job":
        made |= {"parallelism": count, "completions": count, "backoffLimit": 0}
    else:
        # A pod that waits for a node counts for budgets as well.
        made |= {"replicas": max(count, spec.get("replicas", 1)), "selector": spec["selector"]}
        # It gives a label of its own, by which a ReplicaSet alone finds its pods.
        hashed = mapping(dig(spec, "template", "metadata", "labels"))
        made["template"]["metadata"]["labels"] |= hashed if kind == "ReplicaSet" else {}
    if kind == "StatefulSet":
        claims = sequence(spec.get("volumeClaimTemplates"))
        volumes = [{"metadata": {"name": one["metadata"]["name"]}, "spec": one["spec"]} for one in claims]
        made["serviceName"] = spec.get("serviceName", "")
        made |= {"podManagementPolicy": "Parallel", "volumeClaimTemplates": volumes}
    meta = owner["metadata"]
    metadata = {"name": meta["name"], "namespace": meta["namespace"], "labels": mapping(meta.get("labels"))}
    return {"apiVersion": "batch/v1" if kind == "Job" else "apps/v1", "kind": kind, "metadata": metadata, "spec": made}


def _bare(pod: Manifest, number: str) -> Manifest:
    """Return a pod that nobody makes again; one that a queue let in by itself is played without the queue."""
    made = template(pod, **{UNIT: number})
    labels = {key: one for key, one in made["metadata"]["labels"].items() if not key.startswith("kueue.x-k8s.io/")}
    metadata = {"name": pod["metadata"]["name"], "namespace": pod["metadata"]["namespace"], "labels": labels}
    spec = {**made["spec"], "nodeName": pod["spec"]["nodeName"]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _other(name: str, pods: Sequence[Manifest], number: str) -> Manifest:
    made = template(pods[0], **{UNIT: number})
    made["spec"]["restartPolicy"] = "Always"
    metadata = {"name": name, "namespace": pods[0]["metadata"]["namespace"]}
    spec = {"replicas": len(pods), "selector": {"matchLabels": {UNIT: number}}, "template": made}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
