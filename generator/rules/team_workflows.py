"""Rules about workflows that teams bring: what the admission rules of their namespaces refuse, told before."""

from collections.abc import Iterator
from typing import Any

from generator.build.objects import Built, Object
from generator.components.argo_workflows import WORKFLOWS
from generator.components.kueue import QUEUE
from generator.components.tenants.pods import PIPELINE
from generator.model.fields import dig, existing, mapping, sequence
from generator.model.finding import Finding, Path
from generator.model.rule import rule
from generator.rules.queues import teams


@rule("GEN-QUEUE-011", "a team's workflow puts its pods into the queue")
def queued(built: Built) -> Iterator[Finding]:
    """Argo makes a pod for each step, and Kueue holds each by itself: by the label of the queue, which is the pods' and
    not the workflow's. The API server refuses a workflow without it in namespaces of teams.

    Wrong:
        kind: WorkflowTemplate
        metadata: {labels: {kueue.x-k8s.io/queue-name: default}}
    Right:
        kind: WorkflowTemplate
        spec: {podMetadata: {labels: {kueue.x-k8s.io/queue-name: default}}}
    """
    for one, at, workflow in of_teams(built):
        if sequence(workflow.get("templates")) and not dig(workflow, "podMetadata", "labels", QUEUE):
            there = existing(one.manifest, (*at, "podMetadata", "labels"))
            message = f"its pods name no queue, and run in the namespace of team {one.namespace}"
            yield one.finding(message, *there, fix=f"podMetadata: {{labels: {{{QUEUE}: default}}}}")


@rule("GEN-QUEUE-012", "a team's workflow runs as the account of workflows")
def accounts(built: Built) -> Iterator[Finding]:
    """What became of a step is told by the executor beside it, with the pod's account. In namespaces of teams that is
    `pipeline`, which may do no more; the API server refuses others.

    Wrong:
        spec: {serviceAccountName: default}
    Right:
        spec: {serviceAccountName: pipeline}
    """
    for one, at, workflow in of_teams(built):
        templates = sequence(workflow.get("templates"))
        layers: list[tuple[Path, Any]] = [(at, workflow)]
        layers += [((*at, "templates", index), each) for index, each in enumerate(templates)]
        if templates and not workflow.get("serviceAccountName"):
            message = "names no serviceAccountName, and the default account may not tell what became of a step"
            yield one.finding(message, *at, fix=f"serviceAccountName: {PIPELINE}")
        for way, layer in layers:
            named = mapping(layer).get("serviceAccountName")
            if named and named != PIPELINE and "{{" not in str(named):
                message = f"runs as {named}, which is not the account of workflows"
                yield one.finding(message, *way, "serviceAccountName", fix=f"serviceAccountName: {PIPELINE}")


@rule("GEN-QUEUE-013", "a team's workflow is made of a template")
def of_a_template(built: Built) -> Iterator[Finding]:
    """The controller runs only what names a WorkflowTemplate, so that what a schedule or a person starts is a template
    that others can read. The API server refuses other workflows in namespaces of teams.

    Wrong:
        kind: Workflow
        spec: {entrypoint: main, templates: [...]}
    Right:
        kind: Workflow
        spec: {workflowTemplateRef: {name: train}}
    """
    for one, at, workflow in of_teams(built):
        if one.kind != "WorkflowTemplate" and not dig(workflow, "workflowTemplateRef", "name"):
            message = "names no WorkflowTemplate, and the controller runs no other workflow"
            yield one.finding(message, *at, fix="make a WorkflowTemplate of this `spec`, and name it")


def of_teams(built: Built) -> Iterator[tuple[Object, Path, dict[str, Any]]]:
    """Yield the workflows in namespaces of teams, with the way to what they run."""
    spaces = teams(built) if built.cluster else set()
    for one in built.objects:
        at = WORKFLOWS.get(one.kind)
        if at and one.group == "argoproj.io" and one.namespace in spaces:
            yield one, at, mapping(dig(one.manifest, *at))
