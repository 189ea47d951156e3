"""Ingresses and their classes, endpoints, and the ranges of Services' addresses."""

from functools import partial

from generator.build.difference import same
from generator.kinds.general import SOURCE
from generator.kinds.network import ENDPOINTS, INGRESS
from generator.model.change import ChangeRule, Effect, FieldChange, ObjectChange
from generator.model.fields import dig, sequence

INGRESS_CLASS, RANGES = ("networking.k8s.io/IngressClass",), ("networking.k8s.io/ServiceCIDR",)
NETWORKING = f"{SOURCE}/networking/validation/validation.go"


def keeps_items(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether all items of a list are still in it."""
    return isinstance(field.new, list) and all(
        any(same(one, other) for other in sequence(field.new)) for one in sequence(field.old)
    )


def only_reordered(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a list of rules or certificates has the same items as before."""
    old, new = (sequence(dig(one, "spec", str(field.path[1]))) for one in (change.old, change.new))
    return len(old) == len(new) and all(any(same(one, other) for other in new) for one in old)


of_ingresses = partial(ChangeRule, kinds=INGRESS)

INGRESSES = (
    of_ingresses(
        code="GEN-CHG-075",
        paths=("spec",),
        effect=Effect.OUTAGE,
        reason="who uses the old name, path, certificate or controller no longer gets an answer",
        instead="add the new rule beside the old one first; a new name needs its DNS entry",
    ),
    of_ingresses(
        code="GEN-CHG-076",
        paths=("spec.rules", "spec.rules.*.http.paths", "spec.tls"),
        effect=Effect.NONE,
        reason="it comes beside what is there",
        when=keeps_items,
        settles=1,
    ),
    of_ingresses(
        code="GEN-CHG-743",
        paths=("spec.rules", "spec.tls"),
        effect=Effect.NONE,
        reason="the same rules stand in another order, which none of them depends on",
        when=only_reordered,
        settles=1,
    ),
    ChangeRule(
        code="GEN-CHG-077",
        kinds=INGRESS_CLASS,
        paths=("spec.controller",),
        effect=Effect.IMPOSSIBLE,
        reason="the API server refuses another controller; its Application stops there",
        instead="make a class under a new name, and have Ingresses name it",
        link=NETWORKING,
    ),
    ChangeRule(
        code="GEN-CHG-078",
        kinds=RANGES,
        paths=("spec.cidrs",),
        effect=Effect.IMPOSSIBLE,
        reason="the API server refuses it but for a second family behind the first; its Application stops there",
        instead="make a ServiceCIDR under a new name beside it",
        link=NETWORKING,
        when=lambda _change, field: (
            not (len(sequence(field.old)) == 1 and sequence(field.old) == sequence(field.new)[:1])
        ),
    ),
    ChangeRule(
        code="GEN-CHG-089",
        kinds=RANGES,
        paths=("spec.cidrs",),
        effect=Effect.NONE,
        reason="Services may have addresses of the second family from now on",
        link="https://kubernetes.io/docs/tasks/network/extend-service-ip-ranges/",
    ),
    ChangeRule(
        code="GEN-CHG-079",
        kinds=(*INGRESS_CLASS, *ENDPOINTS),
        paths=("spec", "subsets", "endpoints", "ports"),
        effect=Effect.OUTAGE,
        reason="who is on the way by it goes another way from now on",
    ),
)
