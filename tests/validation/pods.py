"""Pods that objects of ours ask for."""

import json
import re
from collections.abc import Iterator

from validation.build import Built, Object

__all__ = ["GIVEN", "containers", "pods", "workloads"]

GIVEN = "given-at-submission"
"""What stands for a parameter of a workflow that is told only when a person submits it."""

TEMPLATES = {
    "Deployment": ("spec", "template"),
    "StatefulSet": ("spec", "template"),
    "DaemonSet": ("spec", "template"),
    "Job": ("spec", "template"),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
}
WORKFLOWS = {"WorkflowTemplate", "CronWorkflow"}


def workloads(built: Built) -> Iterator[tuple[str, Object, Object]]:
    """Yield each pod of the cluster, with its Application and the object that makes it."""
    for application, manifest in built.all():
        for one in pods(manifest, built):
            yield application, manifest, one


def pods(manifest: Object, built: Built) -> Iterator[Object]:
    """Yield each pod that an object makes, as a Pod of its own."""
    kind = manifest["kind"]
    if kind == "Pod":
        yield manifest
    elif kind in TEMPLATES:
        template = manifest
        for key in TEMPLATES[kind]:
            template = template[key]
        yield pod(manifest, template.get("metadata", {}), {**template["spec"], "volumes": volumes(manifest, template)})
    elif kind in WORKFLOWS:
        yield from steps(manifest, built)


def containers(one: Object) -> list[Object]:
    """Return all containers of a pod."""
    return [*one["spec"].get("initContainers", ()), *one["spec"]["containers"]]


def volumes(manifest: Object, template: Object) -> list[Object]:
    """Return a pod's volumes; a StatefulSet gives each of its pods claims of its own."""
    claims = [one["metadata"]["name"] for one in manifest["spec"].get("volumeClaimTemplates", ())]
    own = [{"name": name, "emptyDir": {}} for name in claims]
    return [*template["spec"].get("volumes", ()), *own]


def pod(manifest: Object, metadata: Object, spec: Object, suffix: str = "") -> Object:
    own = manifest["metadata"]
    named = {**metadata, "name": own["name"] + suffix, "namespace": own.get("namespace", "default")}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": named, "spec": spec}


def steps(manifest: Object, built: Built) -> Iterator[Object]:
    """Yield a pod for each container or script of a workflow, less what Argo Workflows adds. A template that
    something calls with parameters makes its pods there.
    """
    whole = manifest["spec"].get("workflowSpec", manifest["spec"])
    arguments = {}
    if called := whole.get("workflowTemplateRef"):
        space = manifest["metadata"]["namespace"]
        template = next(one for _, one in built.of("WorkflowTemplate") if named(one) == (space, called["name"]))
        arguments = parameters(template["spec"])
        whole = {**template["spec"], **{key: value for key, value in whole.items() if key != "arguments"}}
    arguments |= parameters(manifest["spec"].get("workflowSpec", manifest["spec"]))
    whole = filled(whole, arguments)
    for template in whole.get("templates", ()):
        if main := template.get("container") or template.get("script"):
            yield pod(manifest, metadata(whole, template), step(whole, template, main), f"-{template['name']}")


def named(manifest: Object) -> tuple[str, str]:
    return manifest["metadata"]["namespace"], manifest["metadata"]["name"]


def parameters(workflow: Object) -> dict[str, str]:
    """Return the values of a workflow's parameters; of one without, a stand-in."""
    given = workflow.get("arguments", {}).get("parameters", ())
    return {one["name"]: one.get("value", GIVEN) for one in given}


def filled(workflow: Object, arguments: dict[str, str]) -> Object:
    """Put parameters where the workflow names them. What only a running workflow knows becomes a stand-in."""
    text = json.dumps(workflow)
    for name, value in arguments.items():
        text = text.replace(f"{{{{workflow.parameters.{name}}}}}", json.dumps(value)[1:-1])
    found: Object = json.loads(re.sub(r"\{\{[^}]*\}\}", GIVEN, text))
    return found


def metadata(whole: Object, template: Object) -> Object:
    shared, own = whole.get("podMetadata", {}), template.get("metadata", {})
    return {"labels": {**shared.get("labels", {}), **own.get("labels", {})}}


def step(whole: Object, template: Object, main: Object) -> Object:
    """Return the pod's spec: what a template does not say, the workflow says."""
    keys = ("serviceAccountName", "priorityClassName", "securityContext", "nodeSelector", "hostNetwork", "affinity")
    said = {key: part[key] for key in keys for part in (whole, template) if key in part}
    return {
        **said,
        "automountServiceAccountToken": whole.get("automountServiceAccountToken", True),
        "tolerations": [*whole.get("tolerations", ()), *template.get("tolerations", ())],
        "volumes": [*whole.get("volumes", ()), *template.get("volumes", ())],
        "initContainers": template.get("initContainers", []),
        "containers": [{**{key: main[key] for key in main if key != "source"}, "name": "main"}],
        "restartPolicy": "Never",
    }
