"""What charts are told to make, judged by their values: nothing of them is vendored here.

What a vendored chart makes is judged like every other object; these judges see mistakes before that.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

from generator.build.objects import Built, Object
from generator.components import compose
from generator.model.fields import dig
from generator.rules import placement, secrets
from generator.rules.mentions import Reference, reference
from generator.rules.nodes import Worker, workers
from generator.rules.providers import Providers, waves

GPU = "nvidia.com/gpu"

NAMING = {
    "cert-manager.io/cluster-issuer": "ClusterIssuer",
    "configSecret": "Secret",
    "existingConfigMap": "ConfigMap",
    "existingSecret": "Secret",
    "ingressClassName": "IngressClass",
    "priorityClassName": "PriorityClass",
    "secretName": "Secret",
    "storageClass": "StorageClass",
    "storageClassName": "StorageClass",
}
"""Keys of charts' values that name something."""

DAEMONS = {
    # Where charts take the tolerations of pods that run on every node with a label; without one on every node.
    ("ceph-csi-drivers", "operatorConfig.driverSpecDefaults.nodePlugin.tolerations"): "",
    ("gpu-operator", "daemonsets.tolerations"): GPU,
    ("kube-prometheus-stack", "prometheus-node-exporter.tolerations"): "",
    ("node-feature-discovery", "worker.tolerations"): "",
    ("scratch", "tolerations"): "gen.internal/scratch",
}
"""Daemons of charts. Those of Cilium, Calico and the NFS driver tolerate everything by default."""


class Chart(NamedTuple):
    """A release of a component."""

    name: str
    version: str
    namespace: str
    values: dict[str, Any]


Releases: TypeAlias = dict[tuple[str, str], Chart]
"""By component and release."""

Judge: TypeAlias = Callable[[Built, Releases], list[str]]


def releases(built: Built) -> Releases:
    """Return the releases of a cluster."""
    assert built.cluster
    return {
        (component.name, one.name): Chart(one.chart.name, one.chart.version, one.namespace, one.values)
        for component in compose(built.cluster)
        for one in component.releases
    }


def dangling(built: Built, charts: Releases) -> list[str]:
    """Return what values name and nothing makes."""
    providers = Providers.of(built)
    return [
        f"{component}: values of {release}: no {wanted.full_name}"
        for (component, release), chart in charts.items()
        for wanted in (*named(chart.namespace, chart.values), Reference("Namespace", "", chart.namespace))
        if not providers.provider(wanted)
    ]


def late(built: Built, charts: Releases) -> list[str]:
    """Return what values name and a later wave brings."""
    providers, order = Providers.of(built), waves(built)
    found = []
    for (component, release), chart in charts.items():
        for wanted in named(chart.namespace, chart.values):
            maker = providers.provider(wanted)
            if maker and maker.component not in {"", component} and order[maker.component] >= order[component]:
                found.append(f"{component}: values of {release}: {wanted.full_name} comes from {maker.component}")
    return found


def named(space: str, part: Any) -> Iterator[Reference]:
    """Yield what the values of a chart in a namespace name, as far as its keys tell."""
    if isinstance(part, list):
        for one in part:
            yield from named(space, one)
    elif isinstance(part, dict):
        for key, value in part.items():
            if key in NAMING and isinstance(value, str) and value:
                kind = NAMING[key]
                yield reference(kind, space if kind in {"Secret", "ConfigMap"} else "", value)
            elif key == "issuerRef" and value.get("kind") == "ClusterIssuer":
                yield reference("ClusterIssuer", "", value["name"])
            elif key == "secretKeyRef":
                yield reference("Secret", space, value["name"], value["key"])
            else:
                yield from named(space, value)


def addressless(built: Built, charts: Releases) -> list[str]:
    """Return Ingresses that charts are told to make and that may wait for an address for ever."""
    order = waves(built)
    return [
        f"{component}: values of {release}: {path}: may wait for an address for ever"
        for (component, release), chart in charts.items()
        for path, one in ingresses(chart.values, "")
        if one.get("annotations", {}).get("argocd.argoproj.io/ignore-healthcheck") != "true"
        and not (one.get("ingressClassName") == "cilium" and order.get("load-balancer", 99) < order[component])
    ]


def ingresses(part: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each Ingress that a chart is told to make."""
    for key, value in part.items() if isinstance(part, dict) else ():
        here = f"{path}.{key}".lstrip(".")
        if key == "ingress" and isinstance(value, dict) and value.get("enabled"):
            yield here, value
        else:
            yield from ingresses(value, here)


def as_objects(built: Built, charts: Releases) -> Built:
    """Return a cluster whose objects are the values, for rules that look through whatever there is."""
    objects = tuple(
        Object(
            {"apiVersion": "v1", "kind": "Values", "metadata": {"name": release}, "spec": chart.values}, component, "x"
        )
        for (component, release), chart in charts.items()
    )
    return Built(name=built.name, cluster=built.cluster, objects=objects)


def node_less(built: Built, charts: Releases) -> list[str]:
    """Return node selectors that no node matches."""
    found = placement.selected.findings(as_objects(built, charts))
    return [f"{one.object and one.object.component}: {one.about}: {one.message}" for one in found]


def leaking(built: Built, charts: Releases) -> list[str]:
    """Return values that look like keys and tokens."""
    found = secrets.no_leaks.findings(as_objects(built, charts))
    return [f"{one.object and one.object.component}: {one.about}: {one.message}" for one in found]


def kept_out(built: Built, charts: Releases) -> list[str]:
    """Return nodes that charts' daemons must serve and cannot."""
    assert built.cluster
    return [
        f"{component}: {path}: taints keep it off {node.name}"
        for (component, path), label in DAEMONS.items()
        for (owner, _), chart in charts.items()
        for node in workers(built.cluster)
        if owner == component and serves(label, node)
        if placement.blocking(dig(chart.values, *path.split(".")), node)
    ]


def serves(label: str, node: Worker) -> bool:
    return not label or label in node.labels or label in node.room


ABOUT_VALUES: tuple[Judge, ...] = (dangling, late, addressless, node_less, leaking, kept_out)
