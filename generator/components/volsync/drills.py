"""Drills of volume backups: a part of each repository read back on a schedule, by who may do nothing else there.

They run in VolSync's namespace and not in the teams', who could change what they find.
"""

from collections.abc import Iterator
from functools import cache

from generator.components.component import Manifest, Patch, Secret
from generator.components.issuers import signed
from generator.components.parts import UNPRIVILEGED, resources
from generator.components.static import read_objects, read_text
from generator.components.volsync import able
from generator.components.volsync.names import NAMESPACE, repository
from generator.components.volsync.places import copied, given, trusted
from generator.components.volsync.sources import MEMORY
from generator.components.workflows import drill
from generator.components.workflows.reaching import authorities
from generator.components.workflows.scheduled import drill_workflow
from generator.components.workflows.scheduled import given as told
from generator.components.workflows.steps import image_operations, patch_of
from generator.components.workflows.targets import PROXY, elsewhere, ways
from generator.model.backup import VolumeBackup
from generator.model.cluster import Cluster

NAME = "volume-drill"
CA = f"{NAME}-client"
ELSEWHERE = "/elsewhere"
"""Where a pod has who signed the certificates of services elsewhere."""
LABELS = {"app.kubernetes.io/name": NAME, "app.kubernetes.io/part-of": "volsync"}


@cache
def workflow_template(image: str) -> Manifest:
    """Return the WorkflowTemplate. What it tells is told as by drills of buckets, so that the same alerts judge it."""
    (made,) = read_objects("volsync/drill.yaml")
    (step,), metrics = made["spec"]["templates"], drill.workflow_template()["spec"]["metrics"]
    container = {
        **step["container"],
        "image": image,
        "resources": resources("500m", MEMORY, "4Gi"),
        "securityContext": UNPRIVILEGED,
    }
    return {**made, "spec": {**made["spec"], "metrics": metrics, "templates": [{**step, "container": container}]}}


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
            **_way(cluster, one),
        }
        spec = {"workflowTemplateRef": {"name": NAME}, **told(arguments)}
        yield drill_workflow(one, NAMESPACE, LABELS, spec)


def _way(cluster: Cluster, backup: VolumeBackup) -> dict[str, str]:
    """Return what a drill is told of its way to a service elsewhere; nothing for MinIO, which the template knows."""
    place, ca = elsewhere(cluster, backup), trusted(cluster, backup)
    if place is None:
        return {}
    through = {name: value for name, value in ways(cluster, place).items() if name in PROXY}
    return {"ca": f"{ELSEWHERE}/{ca.key}" if ca else "", **through}


def authorities_of(cluster: Cluster) -> list[Manifest]:
    """Return the ConfigMap with whom drills trust elsewhere."""
    return authorities(cluster, able(cluster), LABELS, NAMESPACE)


def secrets(cluster: Cluster) -> Iterator[Secret]:
    """Yield what drills read: each repository's keys and password once more, and MinIO's CA."""
    yield signed(CA, NAMESPACE, NAME)
    for one in able(cluster):
        if one.target.at:
            yield given(one)
        yield copied(cluster, one, NAMESPACE, NAME)
