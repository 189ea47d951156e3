"""The pods of operations that MinIO's client carries out: what a step says, and what all steps have in common."""

from collections.abc import Iterable, Iterator

from generator.components.component import Manifest, Patch
from generator.components.minio.layout import URL
from generator.components.minio.settings import CLIENT_IMAGE
from generator.components.static import read_objects
from generator.components.workflows.targets import WAY
from generator.model.fields import dig

OF_BACKUP = "workflows/backup-step.yaml"
"""What all steps of a backup have in common; those of other operations are secured so, and mount the same."""


def whole(step: Manifest, in_common: str, image: str, *env: Manifest) -> Manifest:
    """Return a step with what this file says of all steps of its operation."""
    (common,), (of_backup,) = read_objects(in_common), read_objects(OF_BACKUP)
    own, shared = step["container"], common["container"]
    container = {
        "image": image,
        "command": shared["command"],
        **({"args": own["args"]} if "args" in own else {}),
        "env": [*shared["env"], *own.get("env", []), *env, *way()],
        "resources": own["resources"],
        "securityContext": of_backup["container"]["securityContext"],
        "volumeMounts": of_backup["container"]["volumeMounts"],
    }
    return {"name": step["name"], "retryStrategy": common["retryStrategy"], **step, "container": container}


def way() -> Iterator[Manifest]:
    """Yield the variables by which a pod comes to a service elsewhere: all are empty on the way to MinIO."""
    for parameter, variable in WAY.items():
        yield {"name": variable, "value": f"{{{{workflow.parameters.{parameter}}}}}"}


def reaching_minio(template: Manifest, parameter: str) -> Manifest:
    """Return a template whose parameter of this name says by default where MinIO answers."""
    asked = template["spec"]["arguments"]["parameters"]
    told = [{**one, "value": URL} if one["name"] == parameter else one for one in asked]
    return {**template, "spec": {**template["spec"], "arguments": {"parameters": told}}}


def image_operations(template: Manifest, image: str) -> list[Manifest]:
    """Return what gives the pods of a shared template that run MinIO's client another image of it."""
    images = enumerate(dig(one, "container", "image") for one in template["spec"]["templates"])
    paths = (f"/spec/templates/{number}/container/image" for number, one in images if one == CLIENT_IMAGE)
    return [{"op": "replace", "path": path, "value": image} for path in paths]


def patch_of(template: Manifest, operations: Iterable[Manifest]) -> Patch:
    """Return the patch of a shared template for one cluster."""
    name = template["metadata"]["name"]
    target = {"group": "argoproj.io", "version": "v1alpha1", "kind": "WorkflowTemplate", "name": name}
    return Patch(target=target, operations=tuple(operations))
