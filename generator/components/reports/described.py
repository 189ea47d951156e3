"""What operations are, told where people choose them: `gen workflow list` and `show`, and Argo's own page.

Argo shows a WorkflowTemplate's annotations `title`, in place of its name, and `description`, and the `description` of a
parameter (v4.0: `docs/title-and-description.md`, `workflow_types.go`).
"""

from collections.abc import Mapping

from generator.components.component import Component, Manifest
from generator.components.reports.templates import changed
from generator.components.static import read_objects
from generator.model.fields import dig

TITLE, DESCRIPTION = "workflows.argoproj.io/title", "workflows.argoproj.io/description"
OF_THE_CLUSTER = "Of the cluster: "
"""Begins what is told of a parameter that the cluster file answers."""


def described(component: Component) -> Component:
    """Return a component whose operations say what they do, and what their parameters mean."""
    return changed(component, _told)


def _told(template: Manifest) -> Manifest:
    """Return a WorkflowTemplate with its name in its title, and with what its file leaves to `parameters.yaml`."""
    metadata, spec = template["metadata"], template["spec"]
    annotations = metadata.get("annotations", {})
    if TITLE in annotations:
        annotations = {**annotations, TITLE: f"{metadata['name']}: {annotations[TITLE]}"}
    if dig(spec, "arguments", "parameters"):
        parameters = [_parameter(one) for one in spec["arguments"]["parameters"]]
        spec = {**spec, "arguments": {**spec["arguments"], "parameters": parameters}}
    return {**template, "metadata": {**metadata, "annotations": annotations}, "spec": spec}


def _parameter(one: Manifest) -> Manifest:
    (shared,) = read_objects("reports/parameters.yaml")
    known = {"description": shared[one["name"]]} if one["name"] in shared else {}
    return {"name": one["name"], **known, **one}


def title(name: str, annotations: Mapping[str, object]) -> str:
    """Return what an operation does, in some words; nothing where nobody says it."""
    return str(annotations.get(TITLE, "")).removeprefix(f"{name}: ")
