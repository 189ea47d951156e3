"""The order of installation, computed from what components need."""

from collections.abc import Mapping, Sequence

from generator.components.component import Component


class CycleError(ValueError):
    """Components need each other in a circle; the text names it."""


def needed(components: Sequence[Component]) -> set[str]:
    """Return the components that another one needs. All others hold up nobody."""
    names = {component.name for component in components}
    return {need for component in components for need in _needs(component, names)}


def waves(components: Sequence[Component]) -> dict[str, int]:
    """Return each component's sync wave: 1 where nothing is needed (the namespaces come in wave 0), else one more than
    the latest of what it needs. Raises CycleError; KeyError for a need that no component bears the name of.
    """
    names = {component.name for component in components}
    needs = {component.name: _needs(component, names) for component in components}
    found: dict[str, int] = {}
    for name in needs:
        _visit(name, needs, found, ())
    return found


def _needs(component: Component, names: set[str]) -> list[str]:
    # A Secret that another component makes must be there first as well; what somebody else installs makes its own.
    makers = {secret.by for secret in component.secrets if secret.by and secret.by != component.name}
    return [*component.needs, *sorted(makers & names)]


def _visit(name: str, needs: Mapping[str, Sequence[str]], found: dict[str, int], path: tuple[str, ...]) -> int:
    if name in path:
        raise CycleError(" -> ".join((*path[path.index(name) :], name)))
    if name not in found:
        found[name] = 1 + max((_visit(need, needs, found, (*path, name)) for need in needs[name]), default=0)
    return found[name]
