"""How operations end, told to monitoring and to people: metrics and an exit handler for each WorkflowTemplate that gen
writes, whichever component writes it, and what the handler's pod needs in each namespace that has one.
"""

from collections.abc import Iterable

from msgspec import structs

from generator.components.component import Component, Manifest, Patch, Secret, Turn
from generator.components.reports.described import described
from generator.components.reports.exit_handler import operations
from generator.components.reports.metrics import measured
from generator.components.reports.objects import NAME, objects
from generator.components.reports.templates import workflow_templates
from generator.model.cluster import Cluster
from generator.model.monitoring import Operations


def reported(cluster: Cluster, components: Iterable[Component]) -> list[Component]:
    """Return the components whose operations say what they do, with the metrics, and with the exit handlers where the
    cluster file names a messenger. What handlers share in a namespace comes with the first component that has
    operations there: the others need it anyway.
    """
    told, settings = [measured(described(component)) for component in components], cluster.monitoring.operations
    if not settings:
        return told
    spaces: list[str] = []
    return [_told(cluster, settings, component, spaces) for component in told]


def _told(cluster: Cluster, settings: Operations, component: Component, spaces: list[str]) -> Component:
    """Return a component with its exit handlers; `spaces` are the namespaces that have what these share."""
    templates = [*workflow_templates(component)]
    patches = [_patch(settings, template) for template in templates]
    new = [*dict.fromkeys(one["metadata"]["namespace"] for one in templates if _space(one) not in spaces)]
    secrets = [_webhook(settings, component.name, space, (*spaces, *new)[0]) for space in new]
    spaces += new
    return structs.replace(
        component,
        objects=(*component.objects, *(one for space in new for one in objects(cluster, settings, space))),
        patches=(*component.patches, *patches),
        secrets=(*component.secrets, *secrets),
    )


def _space(template: Manifest) -> str:
    return str(template["metadata"]["namespace"])


def _patch(settings: Operations, template: Manifest) -> Patch:
    metadata = template["metadata"]
    target = {
        "group": "argoproj.io",
        "version": "v1alpha1",
        "kind": "WorkflowTemplate",
        "name": metadata["name"],
        "namespace": metadata["namespace"],
    }
    return Patch(target=target, operations=operations(settings, template))


def _webhook(settings: Operations, reader: str, space: str, first: str) -> Secret:
    """Declare the webhook's address, in the first namespace and as copies of that one in the others."""
    return Secret(
        name=NAME,
        namespace=space,
        keys=("url",),
        source="given",
        loss="harmless",
        rotate=f"make a new incoming webhook in {settings.via.capitalize()}, replace all copies, and delete the former",
        readers=(reader,),
        copy_of=None if space == first else f"{first}/{NAME}",
        turn=Turn(),
    )
