"""Runs of a cluster: found, begun, stopped, done once more."""

from collections.abc import Mapping, Sequence

from msgspec import structs

from generator.components.component import Manifest
from generator.day2.workflows.operations import SCHEDULED, of_template, owners, run_of
from generator.day2.workflows.runs import Run, run
from generator.day2.workflows.ways import Way
from generator.errors import UsageError
from generator.model.base import is_label
from generator.spec.near import suggest


def all_runs(way: Way, namespaces: Sequence[str]) -> list[Run]:
    """Return the runs that are kept, the newest first. Raises UsageError."""
    found = [run(one) for space in namespaces for one in way.runs(space)]
    return sorted(found, key=lambda one: one.created, reverse=True)


def find_run(way: Way, namespaces: Sequence[str], name: str) -> Run | None:
    """Return a run by its name; None where there is none. Raises UsageError."""
    if not all(is_label(part, 253) for part in name.split(".")):  # nothing can be called that
        return None
    found = (way.run(space, name) for space in namespaces)
    return next((run(one) for one in found if one), None)


def the_run(way: Way, namespaces: Sequence[str], name: str) -> Run:
    """Return a run by its name. Raises UsageError that names the nearest one."""
    if found := find_run(way, namespaces, name):
        return found
    names = [one.name for one in all_runs(way, namespaces)]
    raise UsageError(f"there is no run {name} (any more); {suggest(name, names, '`gen workflow list` tells all')}")


def begin(way: Way, workflow: Manifest, *, dry_run: bool = False) -> Run:
    """Create a run, or with `dry_run` let the server judge it. Raises UsageError."""
    return run(way.create(workflow, dry_run=dry_run))


def halt(way: Way, found: Run, *, terminate: bool) -> None:
    """Ask a run to stop; with `terminate` its exit handler does not run. Raises UsageError."""
    way.shut_down(found.namespace, found.name, terminate=terminate)


def again(way: Way, found: Run, given: Mapping[str, str]) -> Run:
    """Do once more what a run did, with its parameters or others. Raises UsageError for one that still runs."""
    if not found.ended:
        raise UsageError(f"{found.name} still runs: `gen workflow stop {found.name}` first")
    if not found.template:
        raise UsageError(f"{found.name} names no template: what it did is no operation of gen's")
    template = way.template(found.namespace, found.template)
    if template is None:
        raise UsageError(f"the cluster has no template {found.template} in {found.namespace} any more")
    labels = {k: value for k, value in found.labels.items() if k == SCHEDULED or "workflows.argoproj.io/" not in k}
    known_by = [one for one in way.schedules(found.namespace) if one["metadata"]["name"] == labels.get(SCHEDULED)]
    owned = tuple(each for one in known_by for each in owners(one))
    name = found.name.rpartition("-")[0]
    operation = structs.replace(of_template(template), name=name, labels=labels, owners=owned)
    known = {one.name for one in operation.parameters}
    values = {name: value for name, value in found.parameters.items() if name in known}
    return begin(way, run_of(operation, {**values, **given}, again=found.name))
