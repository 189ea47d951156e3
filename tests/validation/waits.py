"""Whether a wave could wait for ever on what a later one brings."""

from collections.abc import Iterator
from typing import Any

from validation.build import Built, told
from validation.references import waves

__all__ = ["addressless"]

IGNORED = "argocd.argoproj.io/ignore-healthcheck"


def addressless(built: Built) -> list[str]:
    """Return Ingresses and Services that Argo CD calls unhealthy until they have an address, where none comes before.

    An address comes from `load-balancer`; only it is known here. An Ingress of a controller that somebody else runs
    may never be told its address.
    """
    order = waves(built)
    return [
        f"{who}: may wait for an address for ever"
        for application, who, ours, annotations in waiting(built)
        if annotations.get(IGNORED) != "true" and not (ours and order.get("load-balancer", 99) < order[application])
    ]


def waiting(built: Built) -> Iterator[tuple[str, str, bool, dict[str, str]]]:
    """Yield what wants an address: its Application, its name, whether Cilium gives it one, and its annotations."""
    for application, one in built.of("Ingress", "Service"):
        ours = one["kind"] == "Service" or one["spec"].get("ingressClassName") == "cilium"
        if one["kind"] == "Ingress" or one["spec"].get("type") == "LoadBalancer":
            yield application, told(application, one), ours, one["metadata"].get("annotations", {})
    for (component, release), values in built.values.items():
        for path, one in ingresses(values, ""):
            who = f"{component}: values of {release}: {path}"
            yield component, who, one.get("ingressClassName") == "cilium", one.get("annotations", {})


def ingresses(part: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each Ingress that a chart is told to make."""
    if not isinstance(part, dict):
        return
    for key, value in part.items():
        here = f"{path}.{key}".lstrip(".")
        if key == "ingress" and isinstance(value, dict) and value.get("enabled"):
            yield here, value
        else:
            yield from ingresses(value, here)
