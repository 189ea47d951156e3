"""What changes of Gateways and routes mean, as Cilium acts on them (v1.20.0: `operator/pkg/gateway-api`), and Envoy
Gateway.
"""

from generator.components.cilium import ROUTES
from generator.components.exposure.layout import GROUP
from generator.model.change import ABSENT, ChangeRule, Effect, FieldChange, ObjectChange
from generator.model.fields import sequence

GATEWAY = (f"{GROUP}/Gateway",)
ROUTE = tuple(f"{GROUP}/{kind}" for kind in ROUTES)


def comes_whole(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a listener is there that was not: the third step of the way names it."""
    return len(field.path) == 3 and field.old is ABSENT


def comes_beside(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether all hosts of a list are still in it."""
    return isinstance(field.new, list) and all(one in field.new for one in sequence(field.old))


CHANGES = (
    ChangeRule(
        code="GEN-CHG-650",
        kinds=GATEWAY,
        paths=("spec",),
        effect=Effect.OUTAGE,
        reason="who uses a host, port or certificate that left gets no answer any more, on connections that stand as "
        "well; routes of a team that lost a listener lead nowhere, though they stay",
        instead="let the new host come beside the old one first, and the old one go when nobody uses it",
    ),
    ChangeRule(
        code="GEN-CHG-651",
        kinds=GATEWAY,
        paths=("spec.listeners.*",),
        effect=Effect.NONE,
        reason="it comes beside those that are there; it answers once its certificate is signed and a route leads on",
        instead="the site's DNS must lead the new name to the Gateway's address",
        when=comes_whole,
        settles=1,
    ),
    ChangeRule(
        code="GEN-CHG-652",
        kinds=GATEWAY,
        paths=("spec.addresses",),
        effect=Effect.OUTAGE,
        reason="the Service gets the new address at once and answers no more at the old one: all hosts of all teams "
        "are away until the site's DNS leads to it and clients have forgotten the old one",
        instead="lower the lifetime (TTL) of the names in the site's DNS days before, and change both in the same hour",
    ),
    ChangeRule(
        code="GEN-CHG-653",
        kinds=GATEWAY,
        on="removed",
        effect=Effect.OUTAGE,
        reason="its Service goes, and with it its address: no host of any team answers",
        instead="tell the teams first; their routes stay, and lead nowhere",
    ),
    ChangeRule(
        code="GEN-CHG-654",
        kinds=ROUTE,
        paths=("spec",),
        effect=Effect.OUTAGE,
        reason="requests go another way from the next one on; who uses a host or path that left gets 404",
        instead="let the new host, path or Service come beside the old one first",
    ),
    ChangeRule(
        code="GEN-CHG-655",
        kinds=ROUTE,
        paths=("spec.hostnames",),
        effect=Effect.NONE,
        reason="the host comes beside those that are there",
        when=comes_beside,
    ),
    ChangeRule(
        code="GEN-CHG-656",
        kinds=ROUTE,
        on="removed",
        effect=Effect.OUTAGE,
        reason="its hosts and paths answer 404, unless another route has them",
    ),
)
