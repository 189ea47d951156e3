"""Selectors: where an object selects, and what they match."""

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

from generator.build.objects import Built, Object
from generator.build.pods import pods
from generator.components import CATALOGUE, OPERATED
from generator.model.fields import dig, mapping, sequence, spots
from generator.model.finding import Path
from generator.rules.mentions import namespace_of

Labels: TypeAlias = dict[str, Any]

_NAME = "kubernetes.io/metadata.name"
_APP = "app.kubernetes.io/name"

_STATIC = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
"""Pods of the control plane that kubeadm makes."""

_ADDED = ("statefulset.kubernetes.io/", "apps.kubernetes.io/pod-index", "batch.kubernetes.io/")
"""Labels that controllers put on the pods they make."""


_SERVICES: tuple[tuple[str, Labels, tuple[str, ...]], ...] = (
    ("default", {"component": "apiserver", "provider": "kubernetes"}, ("https",)),
    ("kube-system", {"k8s-app": "kube-dns"}, ("dns", "dns-tcp", "metrics")),
    ("kube-system", {"k8s-app": "kubelet", _APP: "kubelet"}, ("https-metrics", "http-metrics", "cadvisor")),
)


class Selection(NamedTuple):
    """What an object selects: pods (or Services) of these namespaces by labels; `spaces` None is every namespace."""

    at: Path
    spaces: frozenset[str] | None
    selector: Labels
    services: bool = False


def selections(one: Object, built: Built) -> Iterator[Selection]:
    """Yield where an object selects, and by what. A selector without labels means all, and needs nothing."""
    spec, own = one.spec, frozenset({one.namespace})
    if one.kind == "Service" and mapping(spec.get("selector")):
        yield Selection(("spec", "selector"), own, {"matchLabels": spec["selector"]})
    elif one.kind == "PodDisruptionBudget" and mapping(spec.get("selector")):
        yield Selection(("spec", "selector"), own, spec["selector"])
    elif one.kind == "NetworkPolicy":
        yield from _of_policy(one, built)
    elif one.kind in {"ServiceMonitor", "PodMonitor"} and mapping(spec.get("selector")):
        spaces = mapping(spec.get("namespaceSelector"))
        named = frozenset(map(str, sequence(spaces.get("matchNames")))) or own
        wanted = None if spaces.get("any") is True else named
        yield Selection(("spec", "selector"), wanted, spec["selector"], services=one.kind == "ServiceMonitor")


def _of_policy(one: Object, built: Built) -> Iterator[Selection]:
    """Yield the pods that a NetworkPolicy is for and those it names as others."""
    spec = one.spec
    if mapping(spec.get("podSelector")):
        yield Selection(("spec", "podSelector"), frozenset({one.namespace}), spec["podSelector"])
    for way in ("spec.ingress.*.from.*", "spec.egress.*.to.*"):
        for at, peer in spots(one.manifest, way):
            if mapping(dig(peer, "podSelector")):
                yield Selection((*at, "podSelector"), _spaces(peer, one, built), peer["podSelector"])


def _spaces(peer: Labels, one: Object, built: Built) -> frozenset[str]:
    if "namespaceSelector" not in peer:
        return frozenset({one.namespace})
    return namespaces(mapping(peer["namespaceSelector"]), built)


def namespaces(selector: Labels, built: Built) -> frozenset[str]:
    """Return the names of the namespaces that a selector matches."""
    labels = {one.name: one.labels for one in built.of("Namespace")}
    labels = {"kube-system": {}, "default": {}, **labels}
    return frozenset(name for name, found in labels.items() if matches(selector, {**found, _NAME: name}))


def pods_there(built: Built) -> list[tuple[str, Labels]]:
    """Return namespace and labels of every kind of pod; in a cluster those of kubeadm and of operators as well."""
    found = [(pod.namespace, pod.labels) for pod in pods(built)]
    if built.cluster:
        found += [("kube-system", {"component": name, "tier": "control-plane"}) for name in _STATIC]
        found += [("kube-system", {"k8s-app": name}) for name in ("kube-dns", "kube-proxy")]
        found += [(made.namespace, made.labels) for one in CATALOGUE.values() for made in one.pods]
    return found + [pod for one in built.objects for pod in _operated(one)]


def _operated(one: Object) -> Iterator[tuple[str, Labels]]:
    """Yield namespace and labels of the pods that an operator makes of an object."""
    for kind in OPERATED.get(one.kind, ()):
        yield from ((namespace_of(made.namespace, one.namespace), made.labels) for made in kind.pods(one.manifest))


def services_there(built: Built) -> list[tuple[str, Labels, Any]]:
    """Return namespace, labels and ports of every Service; in a cluster those of the API server, the DNS and the
    kubelets as well (the Prometheus operator makes the last).
    """
    found = [(one.namespace, one.labels, sequence(one.spec.get("ports"))) for one in built.of("Service")]
    if built.cluster:
        found += [(space, labels, [{"name": name} for name in names]) for space, labels, names in _SERVICES]
    return found


def matches(selector: Labels, labels: Labels) -> bool:
    """Tell whether a label selector matches; labels that controllers add to pods are taken as there."""
    wanted = mapping(selector.get("matchLabels")).items()
    exact = all(labels.get(key) == value for key, value in wanted if not str(key).startswith(_ADDED))
    return exact and all(holds(mapping(rule), labels) for rule in sequence(selector.get("matchExpressions")))


def holds(rule: Labels, labels: Labels) -> bool:
    """Tell whether one expression of a selector holds; one that is no expression is the schema's to tell."""
    key, operator = str(rule.get("key")), rule.get("operator")
    if operator in ("In", "NotIn"):
        listed = labels.get(key) in sequence(rule.get("values"))
        return listed if operator == "In" else not listed
    there = key in labels
    return there if operator == "Exists" else not there if operator == "DoesNotExist" else True
