"""Workflows of a team's own: whose rights their steps have, and what Argo's controller must not do for a team.

Argo makes a pod for each step, and Kueue holds each by itself: what such a pod must not be is said of pods. Here stands
what is told at once, before anything has waited, and what no pod shows.
"""

from collections.abc import Iterator

from generator.components.component import Manifest
from generator.components.kueue import QUEUE
from generator.components.rbac import binding
from generator.components.tenants.pods import PIPELINE
from generator.components.tenants.policy import BY_CONTROLLER, BY_PIPELINES, ENTERING, policy, resources
from generator.components.tenants.rbac import STEPS
from generator.model.teams import Team

WORKFLOWS = ("argoproj.io", ["cronworkflows", "workflows", "workflowtemplates"])
"""What members of a team with pipelines make, by its group."""
_ACCOUNTS = f"{['', PIPELINE]}"
_INLINE = (
    "variables.layers.all(t, t.?steps.orValue([]).all(some, some.all(one, !has(one.inline)))"
    " && t.?dag.?tasks.orValue([]).all(one, !has(one.inline)))"
)
_PEOPLE = f"!({BY_CONTROLLER} || {BY_PIPELINES})"


def account(team: Team) -> Iterator[Manifest]:
    """Yield the account of a team's steps, and its only right."""
    metadata = {"name": PIPELINE, "namespace": team.name}
    yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    yield binding(metadata, "ClusterRole", STEPS, [{"kind": "ServiceAccount", **metadata}])


def workflows() -> Manifest:
    """Demand of workflows that their pods name the queue and have the account of steps. A lock may be named in any
    namespace, and metrics are the controller's own: by these a team could hold the platform's backups back, or tell
    that they went well (v4.0.2: `workflow/sync/lock_name.go`; `docs/metrics.md`).
    """
    group, plurals = WORKFLOWS
    return policy(
        "gen-workflows",
        [resources(group, plurals, "CREATE", "UPDATE")],
        validations={
            "object.kind == 'WorkflowTemplate' || has(variables.workflow.workflowTemplateRef)":
            "make a WorkflowTemplate of it, and name that in spec.workflowTemplateRef: the controller runs no other"
            " workflow",
            f"variables.templates.size() == 0 || variables.workflow.?podMetadata.?labels[?'{QUEUE}'].orValue('') != ''":
            f"put the label {QUEUE}: default into spec.podMetadata.labels: each step starts through the team's queue",
            "variables.templates.size() == 0 || variables.workflow.?serviceAccountName.orValue('') != ''":
            f"say spec.serviceAccountName: {PIPELINE}: others may not tell what became of a step",
            f"variables.layers.all(each, each.?serviceAccountName.orValue('') in {_ACCOUNTS}"
            f" && each.?executor.?serviceAccountName.orValue('') in {_ACCOUNTS})":
            f"leave every serviceAccountName out but {PIPELINE}, the account of workflows",
            "variables.layers.all(each, !each.?hostNetwork.orValue(false))":
            "leave hostNetwork out: pods of teams have addresses of their own",
            f"variables.layers.all(each, {_here('semaphores')} && {_here('mutexes')})":
            "leave the namespace of locks out: those of other namespaces are others'",
            "variables.layers.all(each, !has(each.metrics))":
            "leave metrics out: they are told by the controller, among those of the platform's backups",
            _INLINE: "write each step as a template of its own, without inline",
        },
        variables={
            "workflow": "object.kind == 'CronWorkflow' ? object.spec.workflowSpec : object.spec",
            "templates": "variables.workflow.?templates.orValue([])",
            "layers": "[variables.workflow, variables.workflow.?templateDefaults.orValue({})] + variables.templates",
        },
        conditions={
            "entering": ENTERING,
            "new": "request.operation == 'CREATE' || object.spec != oldObject.spec",
        },
    )  # fmt: skip


def _here(locks: str) -> str:
    """Return what asks whether all locks of a kind are in the workflow's own namespace."""
    return f"each.?synchronization.?{locks}.orValue([]).all(lock, !has(lock.namespace))"


def statuses() -> Manifest:
    """Leave to the controller what became of a workflow: it goes by that, also after locks that a workflow is said to
    hold in any namespace, and after the steps that it is said to have.
    """
    group, plurals = WORKFLOWS
    was = "request.operation == 'CREATE' ? {} : oldObject.?status.orValue({})"
    return policy(
        "gen-workflow-status",
        [resources(group, [one for plural in plurals for one in (plural, f"{plural}/status")], "CREATE", "UPDATE")],
        validations={
            f"object.?status.orValue({{}}) == ({was})":
            "leave the status to the controller: submit the workflow again, and have its steps go on from what they"
            " kept",
        },
        conditions={"by-people": _PEOPLE},
    )  # fmt: skip
