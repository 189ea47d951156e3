"""Services: who answers."""

from functools import lru_cache, partial
from typing import Any, Literal, TypeAlias

from generator.build.difference import ORDER
from generator.build.objects import Built, Object
from generator.build.pods import Pod, pods
from generator.model.change import ABSENT, Beside, ChangeRule, Effect, FieldChange, ObjectChange
from generator.model.fields import dig, mapping

Side: TypeAlias = Literal["old", "new"]

SERVICE, INGRESS = ("/Service",), ("networking.k8s.io/Ingress",)
VERSIONED = ("metadata.labels[app.kubernetes.io/version]", "metadata.labels[helm.sh/chart]")
"""Labels that change with each version of what has them: nobody chooses by them."""
ENDPOINTS = ("/Endpoints", "discovery.k8s.io/EndpointSlice")
SERVICES = "https://kubernetes.io/docs/concepts/services-networking/service"


@lru_cache(maxsize=4)
def pods_beside(beside: Beside, side: Side) -> tuple[Pod, ...]:
    """Return the pods that the objects of a side ask for."""
    manifests = beside.old if side == "old" else beside.new
    objects = tuple(Object(one, "", "") for kind in manifests.values() for one in kind)
    return pods(Built(name="", cluster=None, objects=objects))


def selected(change: ObjectChange, selector: Any, beside: Beside, side: Side) -> list[Pod]:
    """Return the pods in an object's namespace that have all labels of a plain selector."""
    wanted = mapping(selector).items()
    there = (pod for pod in pods_beside(beside, side) if pod.namespace == (change.namespace or "default"))
    return [pod for pod in there if wanted and wanted <= pod.labels.items()]


def selects_the_same(change: ObjectChange, _field: FieldChange, beside: Beside) -> bool:
    """Tell whether both selectors fit the same pods, and some."""
    chosen = [
        {(pod.maker.kind, pod.maker.name) for pod in found}
        for found in (_selected_before(change, beside), _selected_after(change, beside))
    ]
    return bool(chosen[0]) and chosen[0] == chosen[1]


def selects_nothing(change: ObjectChange, _field: FieldChange, beside: Beside) -> bool:
    """Tell whether pods that were meant are there, and none is meant any more."""
    return bool(_selected_before(change, beside)) and not _selected_after(change, beside)


def _selected_before(change: ObjectChange, beside: Beside) -> list[Pod]:
    return selected(change, dig(change.old, "spec", "selector"), beside, "old")


def _selected_after(change: ObjectChange, beside: Beside) -> list[Pod]:
    return selected(change, dig(change.new, "spec", "selector"), beside, "new")


def only_added(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a port came where none was, whole."""
    return field.old is ABSENT and len(field.path) == 3


def only_named(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether only the order, a hint of the protocol or a port on nodes changes, which nobody sees who uses it."""
    return field.path[-1] == ORDER or (field.path[-1] in ("appProtocol", "nodePort") and field.old is ABSENT)


def to_local(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether only pods on the same node answer from now on."""
    return bool(field.new == "Local")


def was_early(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether pods were found before they were ready, and no longer are."""
    return field.old is True


of_services = partial(ChangeRule, kinds=SERVICE)

NETWORK = (
    of_services(
        code="GEN-CHG-060",
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
    of_services(
        code="GEN-CHG-727",
        paths=("spec.sessionAffinity",),
        effect=Effect.OUTAGE,
        reason="the next connection of a client may end at another pod, which knows nothing of its session",
        link="https://kubernetes.io/docs/reference/networking/virtual-ips/#session-affinity",
        when=lambda _change, field: field.old == "ClientIP",
    ),
    of_services(
        code="GEN-CHG-065",
        paths=("spec.selector",),
        effect=Effect.OUTAGE,
        reason="other pods answer, if any; connections to the old ones are not kept up",
        link=f"{SERVICES}/#services-without-selectors",
    ),
    of_services(
        code="GEN-CHG-066",
        paths=("spec.selector",),
        effect=Effect.NONE,
        reason="the same pods answer",
        beside=selects_the_same,
    ),
    of_services(
        code="GEN-CHG-067",
        paths=("spec.selector",),
        effect=Effect.OUTAGE,
        reason="no pod has these labels: nothing answers any more",
        instead="labels of the pods' template",
        beside=selects_nothing,
        settles=1,
    ),
    of_services(
        code="GEN-CHG-068",
        paths=("spec.ports",),
        effect=Effect.OUTAGE,
        reason="who uses the port as it was no longer gets an answer",
        instead="add the new port beside the old one first",
    ),
    of_services(
        code="GEN-CHG-069",
        paths=("spec.ports.*",),
        effect=Effect.NONE,
        reason="the ports that were there stay as they are",
        when=lambda change, field: only_added(change, field) or only_named(change, field),
        settles=1,
    ),
    of_services(
        code="GEN-CHG-070",
        paths=("spec.externalTrafficPolicy", "spec.internalTrafficPolicy"),
        effect=Effect.OUTAGE,
        reason="nodes without a ready pod of it no longer answer",
        link="https://kubernetes.io/docs/reference/networking/virtual-ips/#traffic-policies",
        when=to_local,
    ),
    of_services(
        code="GEN-CHG-071",
        paths=("spec.publishNotReadyAddresses",),
        effect=Effect.OUTAGE,
        reason="pods that are not ready are no longer found: members that wait for each other never become ready",
        when=was_early,
    ),
    ChangeRule(
        code="GEN-CHG-073",
        kinds=(*SERVICE, *INGRESS, *ENDPOINTS),
        on="removed",
        effect=Effect.OUTAGE,
        reason="nobody reaches by it any more what it stood for",
    ),
    of_services(
        code="GEN-CHG-741",
        paths=("metadata.labels",),
        but=VERSIONED,
        effect=Effect.UNKNOWN,
        reason="who gives out addresses, announces them or watches Services may choose them by their labels",
    ),
    ChangeRule(
        code="GEN-CHG-074",
        kinds=(*SERVICE, *INGRESS),
        paths=("metadata.annotations",),
        effect=Effect.UNKNOWN,
        reason="annotations are settings of the controller that serves it, addresses among them",
    ),
)
