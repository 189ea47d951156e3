"""Services: who answers, and by which address."""

from collections.abc import Iterator
from typing import Any

from generator.build.objects import Built, Object
from generator.build.pods import Pod, pods_of
from generator.model.change import ABSENT, Beside, ChangeRule, Effect, FieldChange, ObjectChange
from generator.model.fields import dig, mapping, sequence
from generator.review.kinds.general import SOURCE
from generator.review.kinds.reaching import within

SERVICE, INGRESS = ("/Service",), ("networking.k8s.io/Ingress",)
ENDPOINTS = ("/Endpoints", "discovery.k8s.io/EndpointSlice")
CORE = f"{SOURCE}/core/validation/validation.go"
SERVICES = "https://kubernetes.io/docs/concepts/services-networking/service"


def pods_beside(manifests: Any) -> Iterator[Pod]:
    """Yield the pods that objects ask for."""
    built = Built(
        name="", cluster=None, objects=tuple(Object(one, "", "") for kind in manifests.values() for one in kind)
    )
    for one in built.objects:
        yield from pods_of(one, built)


def selected(change: ObjectChange, selector: Any, manifests: Any) -> list[Pod]:
    """Return the pods in an object's namespace that have all labels of a plain selector."""
    wanted = mapping(selector).items()
    there = (pod for pod in pods_beside(manifests) if pod.namespace == (change.namespace or "default"))
    return [pod for pod in there if wanted and wanted <= pod.labels.items()]


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


def selects_the_same(change: ObjectChange, _field: FieldChange, beside: Beside) -> bool:
    """Tell whether both selectors fit the same pods, and some."""
    chosen = [
        {(pod.maker.kind, pod.maker.name) for pod in selected(change, dig(manifest, "spec", "selector"), manifests)}
        for manifest, manifests in ((change.old, beside.old), (change.new, beside.new))
    ]
    return bool(chosen[0]) and chosen[0] == chosen[1]


def selects_nothing(change: ObjectChange, _field: FieldChange, beside: Beside) -> bool:
    """Tell whether pods that were meant are there, and none is meant any more."""
    before = selected(change, dig(change.old, "spec", "selector"), beside.old)
    return bool(before) and not selected(change, dig(change.new, "spec", "selector"), beside.new)


def only_added(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a port came where none was, whole."""
    return field.old is ABSENT and len(field.path) == 3


def only_named(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether only a name or a hint of the protocol changes, which those behind the number do not see."""
    return field.path[-1] in ("appProtocol", "nodePort") and field.old is ABSENT


def to_local(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether only pods on the same node answer from now on."""
    return bool(field.new == "Local")


def was_early(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether pods were found before they were ready, and no longer are."""
    return field.old is True


NETWORK = (
    ChangeRule(
        code="GEN-CHG-060",
        kinds=SERVICE,
        paths=(
            "spec.sessionAffinity",
            "spec.sessionAffinityConfig",
            "spec.externalTrafficPolicy",
            "spec.internalTrafficPolicy",
            "spec.trafficDistribution",
            "spec.publishNotReadyAddresses",
            "spec.allocateLoadBalancerNodePorts",
            "spec.healthCheckNodePort",
            "spec.loadBalancerClass",
            "spec.clusterIP",
            "spec.clusterIPs",
            "spec.ipFamilies",
            "spec.ipFamilyPolicy",
        ),
        effect=Effect.NONE,
        reason="connections that stand stay, and the same pods answer new ones",
    ),
    ChangeRule(
        code="GEN-CHG-061",
        kinds=SERVICE,
        paths=("spec.clusterIP", "spec.clusterIPs"),
        effect=Effect.IMPOSSIBLE,
        reason="the API server refuses another address, also from one to `None`; its Application stops there",
        instead="delete the Service, then sync: it is away for a moment; or make one of a new name",
        link=CORE,
        when=has_another_address,
    ),
    ChangeRule(
        code="GEN-CHG-062",
        kinds=SERVICE,
        paths=("spec.ipFamilies",),
        effect=Effect.IMPOSSIBLE,
        reason="the API server refuses another first family of addresses; its Application stops there",
        instead="make a Service of a new name",
        link=CORE,
        when=has_another_family,
    ),
    ChangeRule(
        code="GEN-CHG-063",
        kinds=SERVICE,
        paths=("spec.loadBalancerClass",),
        effect=Effect.IMPOSSIBLE,
        reason="the API server refuses another class while it is a LoadBalancer; its Application stops there",
        instead="make a Service of a new name, with an address of its own",
        link=CORE,
        when=still_balanced,
    ),
    ChangeRule(
        code="GEN-CHG-059",
        kinds=SERVICE,
        paths=("spec.healthCheckNodePort",),
        effect=Effect.IMPOSSIBLE,
        reason="the API server refuses another port while the load balancer needs it; its Application stops there",
        instead="leave it out: the server keeps the one that it chose",
        link=CORE,
        when=has_health_port,
    ),
    ChangeRule(
        code="GEN-CHG-064",
        kinds=SERVICE,
        paths=("spec.type",),
        effect=Effect.OUTAGE,
        reason="who reached it from outside no longer does: its address or its port on nodes is given back",
        link=f"{SERVICES}/#publishing-services-service-types",
        when=gives_up_address,
    ),
    ChangeRule(
        code="GEN-CHG-725",
        kinds=SERVICE,
        paths=("spec.type",),
        effect=Effect.NONE,
        reason="who reached it still does; from now on it is reached from outside as well, by a port on every node or "
        "an address of its own",
        instead="NetworkPolicies that say who may, before",
        link=f"{SERVICES}/#publishing-services-service-types",
        when=lambda change, field: not gives_up_address(change, field),
    ),
    ChangeRule(
        code="GEN-CHG-726",
        kinds=SERVICE,
        paths=("spec.ipFamilyPolicy", "spec.ipFamilies"),
        effect=Effect.OUTAGE,
        reason="its address of the second family is given back: who uses that one no longer gets an answer",
        link="https://kubernetes.io/docs/concepts/services-networking/dual-stack/",
        when=gives_up_family,
    ),
    ChangeRule(
        code="GEN-CHG-727",
        kinds=SERVICE,
        paths=("spec.sessionAffinity",),
        effect=Effect.OUTAGE,
        reason="the next connection of a client may end at another pod, which knows nothing of its session",
        link="https://kubernetes.io/docs/reference/networking/virtual-ips/#session-affinity",
        when=lambda _change, field: field.old == "ClientIP",
    ),
    ChangeRule(
        code="GEN-CHG-065",
        kinds=SERVICE,
        paths=("spec.selector",),
        effect=Effect.OUTAGE,
        reason="other pods answer, if any; connections to the old ones are not kept up",
        link=f"{SERVICES}/#services-without-selectors",
    ),
    ChangeRule(
        code="GEN-CHG-066",
        kinds=SERVICE,
        paths=("spec.selector",),
        effect=Effect.NONE,
        reason="the same pods answer",
        beside=selects_the_same,
    ),
    ChangeRule(
        code="GEN-CHG-067",
        kinds=SERVICE,
        paths=("spec.selector",),
        effect=Effect.OUTAGE,
        reason="no pod has these labels: nothing answers any more",
        instead="labels of the pods' template",
        beside=selects_nothing,
        settles=1,
    ),
    ChangeRule(
        code="GEN-CHG-068",
        kinds=SERVICE,
        paths=("spec.ports",),
        effect=Effect.OUTAGE,
        reason="who uses the port as it was no longer gets an answer",
        instead="add the new port beside the old one first",
    ),
    ChangeRule(
        code="GEN-CHG-069",
        kinds=SERVICE,
        paths=("spec.ports.*",),
        effect=Effect.NONE,
        reason="the ports that were there stay as they are",
        when=lambda change, field: only_added(change, field) or only_named(change, field),
        settles=1,
    ),
    ChangeRule(
        code="GEN-CHG-070",
        kinds=SERVICE,
        paths=("spec.externalTrafficPolicy", "spec.internalTrafficPolicy"),
        effect=Effect.OUTAGE,
        reason="nodes without a ready pod of it no longer answer",
        link="https://kubernetes.io/docs/reference/networking/virtual-ips/#traffic-policies",
        when=to_local,
    ),
    ChangeRule(
        code="GEN-CHG-071",
        kinds=SERVICE,
        paths=("spec.publishNotReadyAddresses",),
        effect=Effect.OUTAGE,
        reason="pods that are not ready are no longer found: members that wait for each other never become ready",
        when=was_early,
    ),
    ChangeRule(
        code="GEN-CHG-072",
        kinds=SERVICE,
        paths=("spec.loadBalancerIP", "spec.externalIPs", "spec.loadBalancerSourceRanges", "spec.externalName"),
        effect=Effect.OUTAGE,
        reason="who reached it by the old address, or from an address that is no longer let in, no longer does",
        link=f"{SERVICES}/#loadbalancer",
    ),
    ChangeRule(
        code="GEN-CHG-728",
        kinds=SERVICE,
        paths=("spec.externalIPs", "spec.loadBalancerSourceRanges"),
        effect=Effect.NONE,
        reason="who reached it still does; it is reached by more addresses, or from more, than before",
        link=f"{SERVICES}/#loadbalancer",
        when=only_more_addresses,
    ),
    ChangeRule(
        code="GEN-CHG-073",
        kinds=(*SERVICE, *INGRESS, *ENDPOINTS),
        on="removed",
        effect=Effect.OUTAGE,
        reason="nobody reaches by it any more what it stood for",
    ),
    ChangeRule(
        code="GEN-CHG-074",
        kinds=(*SERVICE, *INGRESS),
        paths=("metadata.annotations",),
        effect=Effect.UNKNOWN,
        reason="annotations are settings of the controller that serves it, addresses among them",
    ),
)
