"""Services: by which addresses they are reached, and from where."""

from typing import Any

from generator.kinds.general import SOURCE
from generator.kinds.network import SERVICES, of_services
from generator.model.blocks import within
from generator.model.change import ABSENT, Effect, FieldChange, ObjectChange
from generator.model.fields import dig, sequence

CORE = f"{SOURCE}/core/validation/validation.go"


def _type(manifest: Any) -> str:
    return str(dig(manifest, "spec", "type") or "ClusterIP")


def stays_inside(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether a Service is none of another server's name, before and after."""
    return "ExternalName" not in (_type(change.old), _type(change.new))


def has_another_address(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a Service asks for another address than it had, or for none. What is left out is filled in."""
    return stays_inside(change, field) and field.new not in (ABSENT, None, "", [])


def has_another_family(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether the first family of addresses changes."""
    old, new = sequence(field.old), sequence(field.new)
    return stays_inside(change, field) and bool(old and new) and old[0] != new[0]


def still_balanced(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether a load balancer has the Service before and after."""
    return _type(change.old) == _type(change.new) == "LoadBalancer"


def has_health_port(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a port for the load balancer's questions is asked for that is another than it has."""
    local = all(dig(one, "spec", "externalTrafficPolicy") == "Local" for one in (change.old, change.new))
    return local and still_balanced(change, field) and field.new not in (ABSENT, None, 0)


def gives_up_address(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether others lose the way to it."""
    order = ["ClusterIP", "NodePort", "LoadBalancer"]
    kinds = [_type(change.old), _type(change.new)]
    return "ExternalName" in kinds or order.index(kinds[1]) < order.index(kinds[0]) if {*kinds} <= {*order} else True


def gives_up_family(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a Service keeps one of two families of addresses. What is left out stays as it is."""
    if field.path[-1] == "ipFamilyPolicy":
        return field.new == "SingleStack" and field.old is not ABSENT and stays_inside(change, field)
    return len(sequence(field.old)) == 2 and len(sequence(field.new)) == 1


def only_more_addresses(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether all addresses that lead to a Service, or are let in, still do or are. No range lets in all."""
    old, new = ([str(one) for one in sequence(value)] for value in (field.old, field.new))
    if field.path[1] == "externalIPs":
        return set(old) <= set(new)
    return not new or (bool(old) and within(old, new))


ADDRESSES = (
    of_services(
        code="GEN-CHG-061",
        paths=("spec.clusterIP", "spec.clusterIPs"),
        effect=Effect.IMPOSSIBLE,
        reason="the API server refuses another address, also from one to `None`; its Application stops there",
        instead="delete the Service, then sync: it is away for a moment; or make one of a new name",
        link=CORE,
        when=has_another_address,
    ),
    of_services(
        code="GEN-CHG-062",
        paths=("spec.ipFamilies",),
        effect=Effect.IMPOSSIBLE,
        reason="the API server refuses another first family of addresses; its Application stops there",
        instead="make a Service of a new name",
        link=CORE,
        when=has_another_family,
    ),
    of_services(
        code="GEN-CHG-063",
        paths=("spec.loadBalancerClass",),
        effect=Effect.IMPOSSIBLE,
        reason="the API server refuses another class while it is a LoadBalancer; its Application stops there",
        instead="make a Service of a new name, with an address of its own",
        link=CORE,
        when=still_balanced,
    ),
    of_services(
        code="GEN-CHG-059",
        paths=("spec.healthCheckNodePort",),
        effect=Effect.IMPOSSIBLE,
        reason="the API server refuses another port while the load balancer needs it; its Application stops there",
        instead="leave it out: the server keeps the one that it chose",
        link=CORE,
        when=has_health_port,
    ),
    of_services(
        code="GEN-CHG-064",
        paths=("spec.type",),
        effect=Effect.OUTAGE,
        reason="who reached it from outside no longer does: its address or its port on nodes is given back",
        link=f"{SERVICES}/#publishing-services-service-types",
        when=gives_up_address,
    ),
    of_services(
        code="GEN-CHG-725",
        paths=("spec.type",),
        effect=Effect.NONE,
        reason="who reached it still does; from now on it is reached from outside as well, by a port on every node or "
        "an address of its own",
        instead="NetworkPolicies that say who may, before",
        link=f"{SERVICES}/#publishing-services-service-types",
        when=lambda change, field: not gives_up_address(change, field),
    ),
    of_services(
        code="GEN-CHG-726",
        paths=("spec.ipFamilyPolicy", "spec.ipFamilies"),
        effect=Effect.OUTAGE,
        reason="its address of the second family is given back: who uses that one no longer gets an answer",
        link="https://kubernetes.io/docs/concepts/services-networking/dual-stack/",
        when=gives_up_family,
    ),
    of_services(
        code="GEN-CHG-072",
        paths=("spec.loadBalancerIP", "spec.externalIPs", "spec.loadBalancerSourceRanges", "spec.externalName"),
        effect=Effect.OUTAGE,
        reason="who reached it by the old address, or from an address that is no longer let in, no longer does",
        link=f"{SERVICES}/#loadbalancer",
    ),
    of_services(
        code="GEN-CHG-728",
        paths=("spec.externalIPs", "spec.loadBalancerSourceRanges"),
        effect=Effect.NONE,
        reason="who reached it still does; it is reached by more addresses, or from more, than before",
        link=f"{SERVICES}/#loadbalancer",
        when=only_more_addresses,
    ),
)
