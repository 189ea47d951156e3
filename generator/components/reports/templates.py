"""The WorkflowTemplates of a component, those that it shares with other clusters and its own."""

from collections.abc import Callable, Iterator

from msgspec import structs

from generator.components.component import Component, Manifest


def workflow_templates(component: Component) -> Iterator[Manifest]:
    """Yield the WorkflowTemplates of a component."""
    shared = (template for one in component.operations for template in one.templates)
    yield from (one for one in (*shared, *component.objects) if one["kind"] == "WorkflowTemplate")


def changed(component: Component, change: Callable[[Manifest], Manifest]) -> Component:
    """Return a component with its WorkflowTemplates changed, and all else as it is."""

    def one(made: Manifest) -> Manifest:
        return change(made) if made["kind"] == "WorkflowTemplate" else made

    operations = (structs.replace(each, templates=tuple(map(one, each.templates))) for each in component.operations)
    return structs.replace(component, operations=tuple(operations), objects=tuple(map(one, component.objects)))
