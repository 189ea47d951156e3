"""Components of the user's own: the cluster file says of them what a module says of gen's."""

from functools import partial
from typing import Literal

from generator.components.component import Chart, Component, Namespace, Release, Secret, Tier
from generator.components.definition import Definition
from generator.model.cluster import Cluster
from generator.model.extras import Extra, ExtraSecret

NO_VERSION = "own"
"""What stands for the version of what brings no chart."""
OF_KUBERNETES = ("default", "kube-node-lease", "kube-public", "kube-system")
"""The namespaces that the API server makes itself."""


def definitions(cluster: Cluster) -> dict[str, Definition]:
    """Return what there is to know of a cluster's own components, by name."""
    return {name: _definition(name, extra) for name, extra in cluster.extras.items()}


def _definition(name: str, extra: Extra) -> Definition:
    return Definition(
        name=name,
        tier=Tier(extra.tier),
        make=partial(_made, name=name, extra=extra),
        wanted=lambda _: extra.installed,
        absence="`installed: false`",
        namespaces=(extra.namespace,),
        reach=extra.reach,
        chart_kinds=extra.kinds,
    )


def _made(_cluster: Cluster, name: str, extra: Extra) -> Component:
    chart = extra.chart
    return Component(
        name=name,
        tier=Tier(extra.tier),
        summary=extra.summary or "Your own",
        version=chart.version if chart else NO_VERSION,
        namespaces=(Namespace(extra.namespace, None if extra.namespace in OF_KUBERNETES else extra.security),),
        releases=(_release(name, extra),) if chart else (),
        manifests=extra.manifests,
        manifest_secrets=_decided(extra) if extra.manifests else {},
        folder=extra.folder,
        needs=extra.needs,
        reach=extra.reach,
        kinds=extra.kinds,
        secrets=tuple(_secret(name, extra.namespace, one) for one in extra.secrets),
    )


def _release(name: str, extra: Extra) -> Release:
    """Return the chart's release; the values of the cluster file come to it as to any other."""
    assert extra.chart
    chart = Chart(name=extra.chart.name, repository=extra.chart.repository, version=extra.chart.version)
    return Release(chart, name, extra.namespace, {}, secrets={**_decided(extra)})


def _decided(extra: Extra) -> dict[str, Literal["drop", "placeholder"]]:
    """Take no Secret that is declared from where it comes; where something in the cluster fills it, only its place."""
    return {one.name: "placeholder" if one.source == "in-cluster" else "drop" for one in extra.secrets}


def _secret(name: str, namespace: str, declared: ExtraSecret) -> Secret:
    return Secret(
        name=declared.name,
        namespace=namespace,
        keys=declared.keys,
        source=declared.source,
        loss=declared.loss,
        rotate=declared.rotate,
        readers=(name,),
    )
