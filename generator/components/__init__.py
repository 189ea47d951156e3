"""What is installed: one module per component, each from a cluster to a `Component`."""

from collections.abc import Callable, Collection
from typing import Any

from msgspec import structs

from generator.components.argo_cd import argo_cd
from generator.components.argo_workflows import argo_workflows
from generator.components.calico import calico
from generator.components.ceph_cluster import ceph_cluster
from generator.components.ceph_csi_drivers import ceph_csi_drivers
from generator.components.cert_manager import cert_manager
from generator.components.cilium import cilium
from generator.components.component import Component, Manifest, Tier
from generator.components.csi_nfs import csi_nfs
from generator.components.gpu_operator import gpu_operator
from generator.components.issuers import issuers
from generator.components.kube_prometheus_stack import kube_prometheus_stack
from generator.components.kueue import kueue
from generator.components.load_balancer import load_balancer
from generator.components.metrics_server import metrics_server
from generator.components.minio import minio
from generator.components.network_operator import network_operator
from generator.components.node_feature_discovery import node_feature_discovery
from generator.components.prometheus_crds import prometheus_crds
from generator.components.queues import queues
from generator.components.rdma import rdma
from generator.components.rook_ceph import rook_ceph
from generator.components.scratch import scratch
from generator.components.snapshot_controller import snapshot_controller
from generator.components.tenants import tenants
from generator.components.volcano import volcano
from generator.components.workflows import workflows
from generator.components.zabbix import zabbix
from generator.model.cluster import Cluster

Make = Callable[[Cluster], Component | None]

# A new component is a module and a line here.
CATALOGUE: tuple[Make, ...] = (
    cilium,
    calico,
    load_balancer,
    prometheus_crds,
    snapshot_controller,
    cert_manager,
    issuers,
    metrics_server,
    node_feature_discovery,
    csi_nfs,
    scratch,
    rook_ceph,
    ceph_csi_drivers,
    ceph_cluster,
    minio,
    network_operator,
    rdma,
    gpu_operator,
    volcano,
    kueue,
    queues,
    tenants,
    kube_prometheus_stack,
    argo_workflows,
    workflows,
    zabbix,
)


def compose(cluster: Cluster, vendored: Collection[str] = ()) -> tuple[Component, ...]:
    """Return everything that `gen` installs on a cluster, with what its file says of each component applied. Argo CD
    inflates charts itself only while some component that has one is not in `vendored`.
    """
    made = [component for make in CATALOGUE if (component := make(cluster))]
    kept = [component for component in made if cluster.settings(component.name).managed]
    unvendored = any(component.releases and component.name not in vendored for component in kept)
    kept.append(argo_cd(cluster, tuple(kept), enable_helm=unvendored))
    present = {component.name for component in kept}
    return tuple(_settled(component, cluster, present) for component in kept)


def _settled(component: Component, cluster: Cluster, present: set[str]) -> Component:
    """Merge the user's chart values in, take over an adopted release, and drop needs that others install. Every pod
    needs the pod network; only Argo CD comes as early as it can, for its settings.
    """
    settings = cluster.settings(component.name)
    network = () if component.tier == Tier.NETWORK or component.name == "argo-cd" else (cluster.networks.cni,)
    needs = tuple(need for need in dict.fromkeys((*network, *component.needs)) if need in present)
    if not component.releases or not (settings.values or settings.adopt):
        return structs.replace(component, needs=needs)
    first, *others = component.releases
    first = structs.replace(first, values=_merge(first.values, settings.values))
    if settings.adopt:
        first = structs.replace(first, name=settings.adopt.release, namespace=settings.adopt.namespace)
    return structs.replace(component, needs=needs, releases=(first, *others))


def _merge(ours: Manifest, theirs: Manifest) -> Manifest:
    """Merge maps key by key, as Helm does with several values files; everything else is replaced. What is added
    comes in the order of its keys, whatever their order in the file.
    """
    merged: dict[str, Any] = dict(ours)
    for key, value in sorted(theirs.items()):
        own = ours.get(key)
        merged[key] = _merge(own, value) if isinstance(own, dict) and isinstance(value, dict) else _ordered(value)
    return merged


def _ordered(value: Any) -> Any:
    if isinstance(value, list):
        return [_ordered(each) for each in value]
    return {key: _ordered(each) for key, each in sorted(value.items())} if isinstance(value, dict) else value
