"""Drills of volume backups: a part of each repository read back on a schedule, by who may do nothing else there.

They run in VolSync's namespace and not in the teams', who could change what they find.
"""

from collections.abc import Iterator
from functools import cache

from generator.components.component import Manifest, Patch, Secret
from generator.components.issuers import signed
from generator.components.parts import UNPRIVILEGED, resources
from generator.components.static import read_objects, read_text
from generator.components.volsync.names import NAMESPACE, repository
from generator.components.volsync.sources import MEMORY, able, copied
from generator.components.workflows import drill
from generator.components.workflows.scheduled import drill_workflow, given
from generator.components.workflows.steps import image_operations, patch_of
from generator.model.cluster import Cluster

NAME = "volume-drill"
CA = f"{NAME}-client"
LABELS = {"app.kubernetes.io/name": NAME, "app.kubernetes.io/part-of": "volsync"}


@cache
def workflow_template(image: str) -> Manifest:
    """Return the WorkflowTemplate. What it tells is told as by drills of buckets, so that the same alerts judge it."""
    (made,) = read_objects("volsync/drill.yaml")
    (step,), told = made["spec"]["templates"], drill.workflow_template()["spec"]["metrics"]
    container = {
        **step["container"],
        "image": image,
        "resources": resources("500m", MEMORY, "4Gi"),
        "securityContext": UNPRIVILEGED,
    }
    return {**made, "spec": {**made["spec"], "metrics": told, "templates": [{**step, "container": container}]}}


def scripts() -> Manifest:
    """Return the ConfigMap with what the step runs."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{NAME}-scripts", "namespace": NAMESPACE, "labels": LABELS},
        "data": {"drill.py": read_text("volsync/drill.py.txt")},
    }


def own_image(shared: str, image: str) -> tuple[Patch, ...]:
    """Return the patch of the shared template for a cluster whose VolSync is not the catalogue's first."""
    if image == shared:
        return ()
    template = workflow_template(shared)
    return (patch_of(template, image_operations(template, image)),)


def schedules(cluster: Cluster) -> Iterator[Manifest]:
    """Yield the CronWorkflow that tries each backup."""
    for one in able(cluster):
        arguments = {
            "name": one.name,
            "secret": repository(one),
            "sample": str(one.drill.objects),
            "sample-bytes": str(one.drill.bytes.value),
            "too-old": str(one.too_old),
        }
        spec = {"workflowTemplateRef": {"name": NAME}, **given(arguments)}
        yield drill_workflow(one, NAMESPACE, LABELS, spec)


def secrets(cluster: Cluster) -> Iterator[Secret]:
    """Yield what drills read: each repository's keys and password once more, and MinIO's CA."""
    yield signed(CA, NAMESPACE, NAME)
    for one in able(cluster):
        yield copied(one, NAMESPACE, NAME)
