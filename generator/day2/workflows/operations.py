"""What can be run: the templates of operations and their schedules, as they stand in the cluster."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, structs

from generator.components import compose
from generator.components.common import OWN_LABELS
from generator.components.component import Manifest
from generator.components.reports.described import DESCRIPTION, OF_THE_CLUSTER, title
from generator.components.reports.templates import workflow_templates
from generator.day2.workflows.ways import Way
from generator.errors import UsageError
from generator.model.cluster import Cluster
from generator.model.fields import dig, mapping, sequence
from generator.spec.near import suggest, there_are

AGAIN = f"{OWN_LABELS}/again"
"""An annotation of a run: the one that it does once more."""
SCHEDULED = "workflows.argoproj.io/cron-workflow"
"""The label of a schedule's runs, which it owns as well: while one of them works, Argo Workflows leaves the next out.
That one would wait for the lock of the first at the head of the queue for a target, and other backups behind it.
"""

_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
_OF_RUN = ("workflowTemplateRef", "arguments")


class Parameter(Struct, frozen=True):
    """What a run may be told; `value` is None where it must be, `choices` are all that it can be, if known. The cluster
    file answers what is `of_cluster`.
    """

    name: str
    value: str | None
    choices: tuple[str, ...] = ()
    description: str = ""
    of_cluster: bool = False


class Operation(Struct, frozen=True, kw_only=True):
    """What can be run under a name: a template, or a schedule, which is a template with values. `title` and
    `description` say what it does. `labels` are those of
    its runs, and `more` is what else a schedule says of them, such as tolerations. `owners` are those of its runs.
    """

    name: str
    namespace: str
    template: str
    parameters: tuple[Parameter, ...]
    labels: Mapping[str, str]
    more: Manifest = {}
    owners: tuple[Manifest, ...] = ()
    schedule: str = ""
    suspended: bool = False
    title: str = ""
    description: str = ""


def namespaces(cluster: Cluster) -> list[str]:
    """Return the namespaces of the operations that gen writes for a cluster."""
    return sorted({one["metadata"]["namespace"] for one in templates(cluster)})


def templates(cluster: Cluster) -> Iterator[Manifest]:
    """Yield the WorkflowTemplates of the operations that gen writes for a cluster."""
    return (one for component in compose(cluster) for one in workflow_templates(component))


def operations(way: Way, spaces: Sequence[str]) -> list[Operation]:
    """Return what can be run in namespaces: templates, then schedules. Raises UsageError."""
    return [one for space in spaces for one in _operations(way.templates(space), way.schedules(space))]


def written(cluster: Cluster) -> Iterator[tuple[str, Operation]]:
    """Yield what can be run as gen writes it for a cluster, each with its component: patches of the user's may have it
    otherwise in the cluster.
    """
    for component in compose(cluster):
        found = [*workflow_templates(component), *_of_kind("CronWorkflow", component.objects)]
        for space in sorted({one["metadata"]["namespace"] for one in found}):
            mine = [one for one in found if one["metadata"]["namespace"] == space]
            for one in _operations(_of_kind("WorkflowTemplate", mine), _of_kind("CronWorkflow", mine)):
                yield component.name, one


def _of_kind(kind: str, manifests: Iterable[Manifest]) -> list[Manifest]:
    return [one for one in manifests if one["kind"] == kind]


def _operations(given: Iterable[Manifest], schedules: Iterable[Manifest]) -> Iterator[Operation]:
    templates = {one["metadata"]["name"]: one for one in given}
    yield from map(of_template, templates.values())
    for one in schedules:
        named = str(dig(one, "spec", "workflowSpec", "workflowTemplateRef", "name"))
        if named in templates:
            yield _scheduled(one, named, templates[named])


def of_template(template: Manifest) -> Operation:
    """Return what a template can be told."""
    metadata = template["metadata"]
    return Operation(
        name=metadata["name"],
        namespace=metadata["namespace"],
        template=metadata["name"],
        parameters=tuple(_parameters(template.get("spec")).values()),
        labels=_labels(mapping(dig(template, "spec", "workflowMetadata", "labels"))),
        title=_title(template),
        description=_description(template),
    )


def _scheduled(schedule: Manifest, named: str, template: Manifest) -> Operation:
    spec = schedule["spec"]
    known, given = _parameters(template.get("spec")), _parameters(spec["workflowSpec"])
    # A schedule says values alone.
    values = {name: structs.replace(known.get(name, one), value=one.value) for name, one in given.items()}
    parameters = known | values
    return Operation(
        name=schedule["metadata"]["name"],
        namespace=schedule["metadata"]["namespace"],
        template=named,
        parameters=tuple(parameters.values()),
        labels={SCHEDULED: schedule["metadata"]["name"], **_labels(mapping(dig(spec, "workflowMetadata", "labels")))},
        more={name: value for name, value in spec["workflowSpec"].items() if name not in _OF_RUN},
        owners=owners(schedule),
        schedule=", ".join(map(str, sequence(spec.get("schedules")))),
        suspended=bool(spec.get("suspend")),
        title=_title(template),
        description=_description(template),
    )


def _title(template: Manifest) -> str:
    return title(template["metadata"]["name"], mapping(dig(template, "metadata", "annotations")))


def _description(template: Manifest) -> str:
    return " ".join(str(dig(template, "metadata", "annotations", DESCRIPTION) or "").split())


def owners(schedule: Manifest) -> tuple[Manifest, ...]:
    """Return the owners of a schedule's runs: the schedule itself, which has its `uid` from the cluster."""
    kind = {"apiVersion": "argoproj.io/v1alpha1", "kind": "CronWorkflow", "controller": True}
    return ({**kind, "name": schedule["metadata"]["name"], "uid": str(schedule["metadata"].get("uid"))},)


def _labels(labels: Mapping[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in labels.items()}


def _parameters(spec: object) -> dict[str, Parameter]:
    found = sequence(dig(spec, "arguments", "parameters"))
    return {one.name: one for one in map(_parameter, found)}


def _parameter(one: object) -> Parameter:
    choices = tuple(map(str, sequence(dig(one, "enum"))))
    said = " ".join((_text(dig(one, "description")) or "").split())
    description = said.removeprefix(OF_THE_CLUSTER)
    return Parameter(str(dig(one, "name")), _text(dig(one, "value")), choices, description, description != said)


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def chosen(known: Sequence[Operation], name: str) -> Operation:
    """Return the operation of a name. Raises UsageError that names the nearest one."""
    found = [one for one in known if one.name == name]
    if not found:
        names = [one.name for one in known]
        others = there_are(names) if names else "the cluster has none: sync it first, `gen sync`"
        raise UsageError(f"the cluster has no operation {name}; {suggest(name, names, others)}")
    if len(found) > 1:
        spaces = ", ".join(one.namespace for one in found)
        raise UsageError(f"{name} is in several namespaces ({spaces}): name one with --namespace")
    return found[0]


def run_of(operation: Operation, given: Mapping[str, str], *, again: str = "") -> Manifest:
    """Return the Workflow that runs an operation with some of its parameters said otherwise; `again` is the run that
    this one does once more. Raises UsageError for parameters that it lacks, that are missing, or cannot be so.
    """
    known = {one.name: one.value for one in operation.parameters}
    for name in given:
        if name not in known:
            others = f"it has {', '.join(known)}" if known else "it has none"
            raise UsageError(f"{operation.name} has no parameter {name}; {suggest(name, known, others)}")
    values = {**known, **given}
    if missing := [name for name, value in values.items() if known[name] is None and not (value or "").strip()]:
        words = " ".join(f"-p {name}=..." for name in missing)
        raise UsageError(f"{operation.name} does not know {', '.join(missing)}: say {words}")
    _refuse_others(operation, values)
    parameters = [{"name": name, "value": value} for name, value in values.items()]
    metadata = {
        "generateName": f"{operation.name}-",
        "namespace": operation.namespace,
        "labels": dict(operation.labels),
        "annotations": {AGAIN: again} if again else {},
        **({"ownerReferences": list(operation.owners)} if operation.owners else {}),
    }
    own = {"workflowTemplateRef": {"name": operation.template}, "arguments": {"parameters": parameters}}
    spec = {**operation.more, **own}
    return {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": metadata, "spec": spec}


def values(template: Manifest, given: Mapping[str, str]) -> dict[str, str]:
    """Return all that a run of a template is told. Raises UsageError as `run_of`."""
    workflow = run_of(of_template(template), given)
    return {one["name"]: str(one["value"]) for one in workflow["spec"]["arguments"]["parameters"]}


def _refuse_others(operation: Operation, values: Mapping[str, str | None]) -> None:
    """Raise UsageError for a value that is none of its parameter's choices, or no number where it is one by default."""
    for one in operation.parameters:
        value = str(values[one.name])
        if value and _NUMBER.fullmatch(one.value or "") and not _NUMBER.fullmatch(value):
            raise UsageError(
                f"{operation.name}: {one.name} is {value}, and must be a number, as {one.value} is by default"
            )
        if one.choices and value not in one.choices:
            meant = suggest(value, one.choices, "")
            words = f"{operation.name}: {one.name} is {value}, and must be one of {', '.join(one.choices)}"
            raise UsageError(f"{words}; {meant}" if meant else words)
