"""Why an Application is not as it should be."""

from collections.abc import Iterator, Mapping, Sequence

from generator.components.component import Manifest
from generator.live.applications import ROOT, Application, Resource, syncs_by_itself
from generator.live.messages import meaning, shortened
from generator.live.status.causes import Cause
from generator.live.status.pod_causes import Space, owner, pod_causes
from generator.live.why import WELL, failures
from generator.model.fields import dig
from generator.model.plural import plural

ERRORS = {"ComparisonError", "InvalidSpecError", "SyncError", "UnknownError", "DeletionError"}
WARNINGS = {"SharedResourceWarning", "RepeatedResourceWarning", "ExcludedResourceWarning", "OrphanedResourceWarning"}
SHORT = 9
"""Characters of a commit that are shown."""
CREATING = ("ReplicaSet", "StatefulSet", "DaemonSet", "Job")
"""Kinds that make pods, and complain where they may not."""


def well(one: Application) -> bool:
    """Tell whether an Application is as Git has it and does what it should."""
    conditions = {kind for kind, _ in one.conditions}
    return (
        one.sync == "Synced"
        and one.health in WELL
        and one.phase in {"", "Succeeded"}
        and not ERRORS & conditions
        and not any(_asks(each) for each in one.resources)
    )


def _asks(one: Resource) -> bool:
    """Tell whether an object waits for a person who confirms that it may go."""
    return one.leaving and one.unconfirmed


def troubled(one: Application) -> list[Resource]:
    """Return the objects of an Application that are not as they should be; those of root are Applications that speak
    for themselves.
    """
    return [
        each
        for each in one.resources
        if (each.health not in WELL or each.sync != "Synced") and (one.name, each.kind) != (ROOT, "Application")
    ]


def namespaces(one: Application) -> set[str]:
    """Return the namespaces in which to look for why an Application is not well: those of its objects, and where it
    goes when an object is in none.
    """
    home = str(dig(one.manifest, "spec", "destination", "namespace") or "")
    return {each.namespace or home for each in troubled(one) if each.health not in WELL} - {""}


def application_causes(
    one: Application, spaces: Mapping[str, Space], ours: set[tuple[str, str, str]], cluster: str, shut: str = ""
) -> Iterator[Cause]:
    """Yield why an Application is not well. `spaces` hold what was read of namespaces, `ours` are kind, namespace and
    name of all that Applications hold: pods of those are told where their Application is. `shut` says which window is
    in its way.
    """
    if shut:
        yield Cause(component=one.name, objects=(), why=shut, command=f"gen sync {one.name} --cluster {cluster}")
    told = [*_conditions(one, cluster), *_operation(one, cluster), *_objects(one, spaces, ours, cluster)]
    yield from told or (() if shut else _differing(one, cluster))


def _objects(
    one: Application, spaces: Mapping[str, Space], ours: set[tuple[str, str, str]], cluster: str
) -> Iterator[Cause]:
    """Yield why objects are not healthy: what stands behind them, else what is said of them."""
    unwell = [each for each in troubled(one) if each.health not in WELL]
    below = [cause for each in unwell for cause in _below(one, each, spaces, ours, cluster)]
    yield from below
    explained = {name for cause in below for name in cause.objects}
    for each in unwell:
        if each.full_name not in explained and each.health != "Missing":
            found = meaning(each.message or f"it is {each.health}", one.name, cluster)
            known = found.why != shortened(each.message)
            yield Cause(
                component=one.name,
                objects=(each.full_name,),
                why=found.why,
                command=found.command if known else _look(each),
            )


def _cause(one: Application, objects: tuple[str, ...], text: str, cluster: str) -> Cause:
    found = meaning(text, one.name, cluster)
    return Cause(component=one.name, objects=objects, why=found.why, command=found.command)


def _look(one: Resource) -> str:
    space = f"--namespace {one.namespace} " if one.namespace else ""
    kind = f"{one.kind}.{one.group}" if "." in one.group else one.kind
    return f"kubectl {space}describe {kind.lower()} {one.name}"


def _conditions(one: Application, cluster: str) -> Iterator[Cause]:
    failed = failures(one)
    for kind, message in one.conditions:
        # A sync that failed is told by what failed in it.
        if kind in ERRORS | WARNINGS and not (kind == "SyncError" and failed):
            yield _cause(one, (), message, cluster)


def _operation(one: Application, cluster: str) -> Iterator[Cause]:
    """Yield why a sync does not end. What waits for the health of an object is told by that object."""
    if one.phase in {"", "Succeeded"}:
        return
    failed = failures(one)
    for name, message in failed:
        yield _cause(one, (name,), message, cluster)
    if not failed and one.said and "healthy state of" not in one.said:
        found = meaning(one.said, one.name, cluster)
        yield Cause(component=one.name, objects=(), why=f"{found.why}{_beside(one)}", command=found.command)


def _beside(one: Application) -> str:
    """Return how often a sync was tried, and whether Git has gone on meanwhile."""
    said = [f"tried {plural(one.retries, 'time')}"] if one.retries else []
    if one.asked and one.revision and one.asked != one.revision:
        said.append(f"this sync is of {one.asked[:SHORT]}, and Git is at {one.revision[:SHORT]}")
    return f" ({'; '.join(said)})" if said else ""


def _below(
    one: Application, each: Resource, spaces: Mapping[str, Space], ours: set[tuple[str, str, str]], cluster: str
) -> Iterator[Cause]:
    """Yield what stands behind an object that is not healthy: its pods, or those that its operator makes."""
    home = str(dig(one.manifest, "spec", "destination", "namespace") or "")
    space = spaces.get(each.namespace or home)
    if space is None:
        return
    pods = [pod for pod in space.pods if _belongs(pod, each, space.name, ours)]
    yield from _refused(space, each, one.name, cluster)
    yield from pod_causes(space, one.name, pods, cluster)
    if each.kind == "PersistentVolumeClaim":
        yield from _claim(space, each.name, one.name)


def _belongs(pod: Manifest, each: Resource, namespace: str, ours: set[tuple[str, str, str]]) -> bool:
    kind, name = owner(pod)
    if each.group in {"", "apps", "batch"}:
        return (kind, name) == (each.kind, each.name)
    return (kind, namespace, name) not in ours


def _refused(space: Space, each: Resource, component: str, cluster: str) -> Iterator[Cause]:
    """Yield why the pods of a workload are not even made."""
    for event in space.events:
        about, name = (str(dig(event, "involvedObject", key)) for key in ("kind", "name"))
        mine = name == each.name or (about == "ReplicaSet" and name.rpartition("-")[0] == each.name)
        if dig(event, "reason") == "FailedCreate" and about in CREATING and mine:
            found = meaning(str(dig(event, "message")), component, cluster)
            yield Cause(component=component, objects=(each.full_name,), why=found.why, command=found.command)


def _claim(space: Space, name: str, component: str) -> Iterator[Cause]:
    said = space.warnings("PersistentVolumeClaim", name)
    if said:
        look = f"kubectl --namespace {space.name} describe pvc {name}"
        named = f"PersistentVolumeClaim {space.name}/{name}"
        yield Cause(
            component=component, objects=(named,), why=f"its volume is not made: {shortened(said[0])}", command=look
        )


def _differing(one: Application, cluster: str) -> Iterator[Cause]:
    """Yield what is known where nothing is said to fail."""
    waiting = tuple(each.full_name for each in one.resources if _asks(each))
    differs = tuple(each.full_name for each in one.resources if each.sync == "OutOfSync" and not _asks(each))
    if waiting:
        why = "it left Git, and goes only when a person confirms it"
        yield Cause(component=one.name, objects=waiting, why=why, command=f"gen sync --cluster {cluster}")
    elif one.name == ROOT:
        return  # it waits for the others, which speak for themselves
    elif differs and not one.acting:
        alone = not syncs_by_itself(one.manifest)
        why = "it differs from Git" + (", and moves only when it is told to" if alone else "")
        command = f"gen sync {one.name} --cluster {cluster}" if alone else f"gen drift --cluster {cluster}"
        yield Cause(component=one.name, objects=differs, why=why, command=command)
    else:
        under_way = f"its sync is under way since {one.began}" if one.acting and one.began else ""
        yield _cause(one, (), one.message or one.said or under_way or "Argo CD has not judged it yet", cluster)


def held_causes(one: Application) -> Iterator[Cause]:
    """Yield what somebody suspended: it does nothing, and nothing is wrong with it."""
    for each in one.resources:
        if each.health == "Suspended" and (one.name, each.kind) != (ROOT, "Application"):
            why = shortened(each.message) or "it is suspended"
            yield Cause(component=one.name, objects=(each.full_name,), why=why, command=_look(each))


def every_object(found: Sequence[Application]) -> set[tuple[str, str, str]]:
    """Return kind, namespace and name of all that Applications hold."""
    return {(each.kind, each.namespace, each.name) for one in found for each in one.resources}
