"""What Gateways and routes name, and what Cilium writes to their status once they are well."""

from collections.abc import Iterator
from typing import Any

from generator.components.component import Manifest
from generator.components.exposure.layout import GATEWAY, GROUP, NAMESPACE, REDIRECT
from generator.components.operated import OWN, Named, OperatedKind
from generator.model.fields import dig, mapping, sequence, spots
from generator.model.finding import Path

CONTROLLER = "io.cilium/gateway-controller"
WHEN = "2026-01-01T00:00:00Z"
BACKENDS = (
    "spec.rules.*.backendRefs.*",
    "spec.rules.*.filters.*.requestMirror.backendRef",
    "spec.rules.*.backendRefs.*.filters.*.requestMirror.backendRef",
)
"""Where a route says what answers."""


def true(*types: str) -> list[Manifest]:
    """Return conditions that hold."""
    return [
        {
            "type": one,
            "status": "True",
            "reason": one,
            "message": "",
            "lastTransitionTime": WHEN,
            "observedGeneration": 1,
        }
        for one in types
    ]


def leads_to(manifest: Manifest) -> Iterator[Named]:
    """Yield the Gateways that a route is for, and the Services that answer."""
    for at, kind, part in (*_parts(manifest, "spec.parentRefs.*", "Gateway"), *_services(manifest)):
        if kind in {"Gateway", "Service"}:
            space = part.get("namespace")
            yield Named((*at, "name"), kind, part.get("name"), str(space) if space else OWN)


def _services(manifest: Manifest) -> Iterator[tuple[Path, str, dict[str, Any]]]:
    for way in BACKENDS:
        yield from _parts(manifest, way, "Service")


def _parts(manifest: Manifest, way: str, usual: str) -> Iterator[tuple[Path, str, dict[str, Any]]]:
    """Yield references at a way, each with its kind: the usual one where none is said."""
    for at, part in spots(manifest, way):
        if part is not None:
            yield at, str(dig(part, "kind") or usual), mapping(part)


def certificates(manifest: Manifest) -> Iterator[Named]:
    """Yield the Secrets with a Gateway's certificates."""
    for number, listener in enumerate(sequence(dig(manifest, "spec", "listeners"))):
        for at, part in spots(listener, "tls.certificateRefs.*"):
            space = dig(part, "namespace")
            where: Path = ("spec", "listeners", number, *at, "name")
            yield Named(where, "Secret", dig(part, "name"), str(space) if space else OWN)


_PARENT = {"name": GATEWAY, "namespace": NAMESPACE, "sectionName": REDIRECT}
_ATTACHED = {"parentRef": _PARENT, "controllerName": CONTROLLER, "conditions": true("Accepted", "ResolvedRefs")}
KINDS = (
    OperatedKind(
        kind="Gateway",
        group=GROUP,
        status={"conditions": true("Accepted", "Programmed")},
        names=(("GatewayClass", "spec.gatewayClassName"),),
        also_names=certificates,
    ),
    OperatedKind(kind="GatewayClass", group=GROUP, status={"conditions": true("Accepted")}),
    OperatedKind(kind="GRPCRoute", group=GROUP, also_names=leads_to),
    OperatedKind(kind="HTTPRoute", group=GROUP, status={"parents": [_ATTACHED]}, also_names=leads_to),
)
