"""What changes of Envoy Gateway and of its Envoys mean (v1.9.0)."""

from generator.components.envoy_gateway.layout import GROUP, NAMESPACE
from generator.model.change import ChangeRule, Effect, FieldChange, ObjectChange

ENVOYS = (f"{GROUP}/EnvoyProxy",)


def own(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether it is its own Deployment."""
    return change.namespace == NAMESPACE


CHANGES = (
    ChangeRule(
        code="GEN-CHG-870",
        kinds=ENVOYS,
        paths=("spec",),
        effect=Effect.ROLLING,
        reason="Envoys are replaced a few at a time; those that go finish what they have within a minute, longer "
        "connections (streams, websockets) break",
    ),
    ChangeRule(
        code="GEN-CHG-871",
        kinds=ENVOYS,
        paths=("spec.provider.kubernetes.envoyService",),
        effect=Effect.OUTAGE,
        reason="the Service of the Gateway changes with it; with another address all hosts of all teams are away until "
        "the site's DNS leads there and clients have forgotten the old one",
        instead="lower the lifetime (TTL) of the names in the site's DNS days before, and change both in the same hour",
    ),
    ChangeRule(
        code="GEN-CHG-872",
        kinds=ENVOYS,
        on="removed",
        effect=Effect.OUTAGE,
        reason="the Gateway is no longer accepted, and its Envoys get an address that nobody knows or go",
        instead="tell the teams first; let it go with the Gateway",
    ),
    ChangeRule(
        code="GEN-CHG-873",
        kinds=("apps/Deployment",),
        on="removed",
        effect=Effect.OUTAGE,
        reason="Envoys go on with what they were told; new pods, routes and certificates reach none of them any more",
        instead="let another controller serve the Gateway first",
        when=own,
    ),
)
