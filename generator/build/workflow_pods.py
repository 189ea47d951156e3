"""Pods of Argo's workflows: what a template does not say, its workflow says, and parameters stand for values."""

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from generator.build.objects import Built, Object
from generator.components.argo_workflows import WORKFLOWS
from generator.components.component import Manifest
from generator.model.fields import dig, mapping, sequence
from generator.model.finding import Path

AT_SUBMISSION = "given-at-submission"
"""What stands for a value that is known only when somebody submits the workflow, or while it runs."""

# What a pod has of a workflow or a template, whichever says it last.
KEYS = (
    "serviceAccountName", "priorityClassName", "securityContext", "nodeSelector", "hostNetwork", "affinity",
    "schedulerName", "automountServiceAccountToken",
)  # fmt: skip

PLACEHOLDER = re.compile(r"\{\{(?:\s*workflow\.parameters\.([^}\s]+)\s*|[^}]*)\}\}")

Layer = tuple[Object, Path, Manifest]
"""An object, a way into it, and what is there."""


class WorkflowPod(Struct, frozen=True):
    """A pod of a workflow, less what Argo adds to it (`Pod` tells what `places` are)."""

    metadata: Manifest
    spec: Manifest
    places: tuple[tuple[Path, Object, Path], ...]


def workflow_pods(one: Object, built: Built) -> Iterator[WorkflowPod]:
    """Yield a pod for each container, script or set of containers of a workflow."""
    layers = layers_of(one, built)
    arguments = {name: text for _, _, part in layers for name, text in parameters(part).items()}
    filled_in = [(maker, at, mapping(filled(part, arguments))) for maker, at, part in layers]
    maker, at, part = next((layer for layer in reversed(filled_in) if layer[2].get("templates")), filled_in[-1])
    for index, template in enumerate(sequence(part.get("templates"))):
        last = (maker, (*at, "templates", index), mapping(template))
        if main_containers(last):
            yield pod_of_template([*filled_in, last])


def layers_of(one: Object, built: Built) -> list[Layer]:
    """Return what a workflow is made of: the template that it refers to, where there is one, and itself."""
    at = WORKFLOWS[one.kind]
    own = (one, at, mapping(dig(one.manifest, *at)))
    called = mapping(own[2].get("workflowTemplateRef"))
    kind = "ClusterWorkflowTemplate" if called.get("clusterScope") is True else "WorkflowTemplate"
    for template in built.of(kind) if called else ():
        if template.name == called.get("name") and template.namespace in {"", one.namespace}:
            return [(template, ("spec",), template.spec), own]
    return [own]


def parameters(workflow: Manifest) -> dict[str, str]:
    """Return the values of a workflow's parameters; a stand-in for those without."""
    given = map(mapping, sequence(dig(workflow, "arguments", "parameters")))
    return {str(one.get("name")): str(one.get("value", AT_SUBMISSION)) for one in given}


def filled(part: Any, arguments: dict[str, str]) -> Any:
    """Put parameters where they are named; what only a running workflow knows becomes a stand-in."""
    if isinstance(part, dict):
        return {key: filled(value, arguments) for key, value in part.items()}
    if isinstance(part, list):
        return [filled(value, arguments) for value in part]
    if isinstance(part, str) and "{{" in part:
        return PLACEHOLDER.sub(lambda found: arguments.get(found[1] or "", AT_SUBMISSION), part)
    return part


def main_containers(template: Layer) -> list[tuple[Path, Manifest]]:
    """Return the main containers of a template with their paths in the object; none where it makes no pod."""
    _, at, part = template
    for key in ("container", "script"):
        if isinstance(part.get(key), dict):
            said = {name: value for name, value in part[key].items() if name != "source"}
            return [((*at, key), {"name": "main", **said})]
    found = sequence(dig(part, "containerSet", "containers"))
    return [((*at, "containerSet", "containers", index), mapping(each)) for index, each in enumerate(found)]


def pod_of_template(layers: list[Layer]) -> WorkflowPod:
    """Return the pod of a template, the last of the layers."""
    maker, at, _ = layers[-1]
    spec: Manifest = {"restartPolicy": "Never"}
    places: list[tuple[Path, Object, Path]] = [((), maker, at), (("spec",), maker, at)]
    for key in KEYS:
        for owner, way, part in [layer for layer in layers if key in layer[2]][-1:]:
            spec[key] = part[key]
            places.append((("spec", key), owner, (*way, key)))
    found: dict[str, list[tuple[Object, Path, Any]]] = {
        "tolerations": both(layers, "tolerations"),
        "volumes": both(layers, "volumes"),
        "initContainers": listed(layers[-1], "initContainers"),
        "containers": [(maker, way, each) for way, each in main_containers(layers[-1])]
        + listed(layers[-1], "sidecars"),
    }
    for key, items in found.items():
        spec[key] = [value for _, _, value in items]
        places += [(("spec", key, index), owner, way) for index, (owner, way, _) in enumerate(items)]
    return WorkflowPod({"labels": labels(layers)}, spec, tuple(places))


def both(layers: list[Layer], key: str) -> list[tuple[Object, Path, Any]]:
    """Return the items of a list that a workflow and its template add up."""
    workflow = next((layer for layer in reversed(layers[:-1]) if key in layer[2]), layers[0])
    return [*listed(workflow, key), *listed(layers[-1], key)]


def listed(layer: Layer, key: str) -> list[tuple[Object, Path, Any]]:
    """Return the items of a list with where they are written."""
    owner, way, part = layer
    return [(owner, (*way, key, index), value) for index, value in enumerate(sequence(part.get(key)))]


def labels(layers: list[Layer]) -> dict[str, str]:
    """Return the labels of a template's pods."""
    shared = [mapping(dig(part, "podMetadata", "labels")) for _, _, part in layers[:-1]]
    own = mapping(dig(layers[-1][2], "metadata", "labels"))
    return {key: value for found in (*shared, own) for key, value in found.items()}
