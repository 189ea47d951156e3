"""What is installed: one module per component, each from a cluster to a `Component`."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from msgspec import structs

from generator.components.acceptance import DEFINITION as ACCEPTANCE
from generator.components.argo_cd import DEFINITION as ARGO_CD
from generator.components.argo_cd import argo_cd
from generator.components.argo_workflows import DEFINITION as ARGO_WORKFLOWS
from generator.components.calico import DEFINITION as CALICO
from generator.components.ceph_cluster import DEFINITION as CEPH_CLUSTER
from generator.components.ceph_csi_drivers import DEFINITION as CEPH_CSI_DRIVERS
from generator.components.cert_manager import DEFINITION as CERT_MANAGER
from generator.components.cilium import DEFINITION as CILIUM
from generator.components.cluster_autoscaler import DEFINITION as CLUSTER_AUTOSCALER
from generator.components.common import DEFAULT_CLASS
from generator.components.component import Component, Manifest, Tier
from generator.components.csi_nfs import DEFINITION as CSI_NFS
from generator.components.dataset_cache import DEFINITION as DATASET_CACHE
from generator.components.definition import Definition, Scraped
from generator.components.envoy_gateway import DEFINITION as ENVOY_GATEWAY
from generator.components.etcd_backup import DEFINITION as ETCD_BACKUP
from generator.components.exposure import DEFINITION as EXPOSURE
from generator.components.extras import definitions
from generator.components.fleet import DEFINITION as FLEET
from generator.components.gpu_care import DEFINITION as GPU_CARE
from generator.components.gpu_operator import DEFINITION as GPU_OPERATOR
from generator.components.health_report import DEFINITION as HEALTH_REPORT
from generator.components.issuers import DEFINITION as ISSUERS
from generator.components.jobs import PYTORCH, Jobs
from generator.components.jobset import DEFINITION as JOBSET
from generator.components.kube_prometheus_stack import DEFINITION as KUBE_PROMETHEUS_STACK
from generator.components.kubeadm.listening import node_listeners
from generator.components.kuberay import DEFINITION as KUBERAY
from generator.components.kueue import DEFINITION as KUEUE
from generator.components.listening import Listening
from generator.components.load_balancer import DEFINITION as LOAD_BALANCER
from generator.components.log_collector import DEFINITION as LOG_COLLECTOR
from generator.components.log_store import DEFINITION as LOG_STORE
from generator.components.metrics_server import DEFINITION as METRICS_SERVER
from generator.components.minio import DEFINITION as MINIO
from generator.components.minio_backup import DEFINITION as MINIO_BACKUP
from generator.components.mlperf import DEFINITION as MLPERF
from generator.components.mpi_operator import DEFINITION as MPI_OPERATOR
from generator.components.network_operator import DEFINITION as NETWORK_OPERATOR
from generator.components.node_feature_discovery import DEFINITION as NODE_FEATURE_DISCOVERY
from generator.components.node_operations import DEFINITION as NODE_OPERATIONS
from generator.components.operated import OperatedKind
from generator.components.prometheus_adapter import DEFINITION as PROMETHEUS_ADAPTER
from generator.components.prometheus_crds import DEFINITION as PROMETHEUS_CRDS
from generator.components.pulled_images import DEFINITION as PULLED_IMAGES
from generator.components.queues import DEFINITION as QUEUES
from generator.components.rdma import DEFINITION as RDMA
from generator.components.rook_ceph import DEFINITION as ROOK_CEPH
from generator.components.scratch import DEFINITION as SCRATCH
from generator.components.snapshot_controller import DEFINITION as SNAPSHOT_CONTROLLER
from generator.components.tenants import DEFINITION as TENANTS
from generator.components.trainer import DEFINITION as TRAINER
from generator.components.training_operator import DEFINITION as TRAINING_OPERATOR
from generator.components.training_runtimes import DEFINITION as TRAINING_RUNTIMES
from generator.components.volcano import DEFINITION as VOLCANO
from generator.components.volsync import DEFINITION as VOLSYNC
from generator.components.workflows import DEFINITION as WORKFLOWS
from generator.components.zabbix import DEFINITION as ZABBIX
from generator.components.zabbix_backup import DEFINITION as ZABBIX_BACKUP
from generator.model.cluster import Cluster
from generator.model.once import once

# A new component is a module or folder, and a line here.
CATALOGUE: dict[str, Definition] = {
    definition.name: definition
    for definition in (
        CILIUM,
        CALICO,
        LOAD_BALANCER,
        PROMETHEUS_CRDS,
        PULLED_IMAGES,
        SNAPSHOT_CONTROLLER,
        CERT_MANAGER,
        ISSUERS,
        METRICS_SERVER,
        NODE_FEATURE_DISCOVERY,
        CSI_NFS,
        SCRATCH,
        DATASET_CACHE,
        ROOK_CEPH,
        CEPH_CSI_DRIVERS,
        CEPH_CLUSTER,
        MINIO,
        VOLSYNC,
        NETWORK_OPERATOR,
        RDMA,
        GPU_OPERATOR,
        VOLCANO,
        CLUSTER_AUTOSCALER,
        KUEUE,
        QUEUES,
        TENANTS,
        MLPERF,
        ENVOY_GATEWAY,
        EXPOSURE,
        JOBSET,
        TRAINER,
        TRAINING_RUNTIMES,
        MPI_OPERATOR,
        TRAINING_OPERATOR,
        KUBERAY,
        KUBE_PROMETHEUS_STACK,
        PROMETHEUS_ADAPTER,
        LOG_STORE,
        LOG_COLLECTOR,
        ARGO_WORKFLOWS,
        WORKFLOWS,
        ETCD_BACKUP,
        MINIO_BACKUP,
        NODE_OPERATIONS,
        GPU_CARE,
        HEALTH_REPORT,
        ACCEPTANCE,
        FLEET,
        ZABBIX,
        ZABBIX_BACKUP,
        ARGO_CD,
    )
}
"""Every component by name, in the order in which people read of them."""

OPERATED: dict[str, tuple[OperatedKind, ...]] = {
    name: tuple(kind for one in CATALOGUE.values() for kind in one.kinds if kind.kind == name)
    for name in sorted({kind.kind for one in CATALOGUE.values() for kind in one.kinds})
}
"""What components do with objects, by kind."""

JOBS: Jobs = (PYTORCH, *(one.jobs for one in CATALOGUE.values() if one.jobs))
"""Every kind of job that may run, installed by us or not: what Kueue and the tenants' rules say is the same on every
cluster."""


def unrun(cluster: Cluster, kind: str, known: Collection[Definition] = tuple(CATALOGUE.values())) -> str:
    """Return why nothing on a cluster runs jobs of a kind, empty where some component does."""
    knowing = [one for one in known if kind in {job.kind for job in one.jobs}]
    if any(one.wanted(cluster) for one in knowing):
        return ""
    reasons = "; ".join(f"component {one.name}: {one.absence}" for one in knowing)
    return f"{cluster.name} has nothing that runs a {kind} ({reasons or 'no component of gen does'})"


def catalogue(cluster: Cluster) -> dict[str, Definition]:
    """Return every component that this cluster may have by name, its own ones too. A name of gen's is gen's."""
    return {**CATALOGUE, **{name: one for name, one in definitions(cluster).items() if name not in CATALOGUE}}


@once
def wanted(cluster: Cluster) -> Mapping[str, Definition]:
    """Return every component that this cluster has by name, whoever installs it."""
    return {name: one for name, one in catalogue(cluster).items() if one.wanted(cluster)}


def compose(cluster: Cluster, vendored: Collection[str] = ()) -> tuple[Component, ...]:
    """Return everything that `gen` installs on a cluster, with what its file says of each component applied. Argo CD
    inflates charts itself only while some component that has one is not in `vendored`.
    """
    from generator.components.reports import reported  # noqa: PLC0415 - only a render makes objects
    from generator.components.secret_store import from_store  # noqa: PLC0415 - as above

    made = [_made(one, cluster) for one in wanted(cluster).values()]
    kept = [component for component in made if component and cluster.settings(component.name).managed]
    kept = reported(cluster, kept)
    unvendored = any(component.releases and component.name not in vendored for component in kept)
    kept.append(argo_cd(cluster, tuple(kept), enable_helm=unvendored))
    kept = [from_store(cluster, component) for component in kept]
    present = {component.name for component in kept}
    owners = class_owners(kept)
    return tuple(_settled(component, cluster, present, owners) for component in kept)


def _made(one: Definition, cluster: Cluster) -> Component | None:
    if one.make_with_jobs:
        return one.make_with_jobs(cluster, JOBS)
    return one.make(cluster) if one.make else None


def listening(cluster: Cluster) -> tuple[Listening, ...]:
    """Return all that listens on this cluster's nodes, whoever installs it."""
    return (*node_listeners(cluster), *(each for one in wanted(cluster).values() for each in one.listens(cluster)))


def absent(cluster: Cluster) -> dict[str, str]:
    """Return the components that this cluster does not have, each with the reason."""
    there = wanted(cluster)
    return {name: one.absence for name, one in catalogue(cluster).items() if name not in there}


@once
def offered(cluster: Cluster) -> tuple[str, ...]:
    """Return the API versions, beside Kubernetes' own, that charts may ask for."""
    apis = (api for name, one in wanted(cluster).items() if name in CATALOGUE for api in one.apis)
    return tuple(f"{api.group}/{version}" for api in apis for version in api.offered)


def metrics(cluster: Cluster) -> dict[str, Mapping[str, Scraped | None] | None]:
    """Return the metrics that components serve to autoscalers, as their definitions say it; None where nobody here can
    tell them. What somebody else installs may serve others.
    """
    found: dict[str, Mapping[str, Scraped | None] | None] = {}
    for one in CATALOGUE.values():
        if one.wanted(cluster):
            ours = cluster.settings(one.name).managed
            found |= {group: names if ours else None for group, names in one.metrics(cluster).items()}
    return found


def class_owners(components: Iterable[Component]) -> dict[str | None, str]:
    """Return which component makes each storage class, for None the default one: a claim that waits for its class would
    hold its wave for ever. A class that the site brings is nobody's.
    """
    owners: dict[str | None, str] = {}
    for component in components:
        for manifest in (*component.base, *component.objects):
            if manifest["kind"] == "StorageClass":
                metadata = manifest["metadata"]
                owners[metadata["name"]] = component.name
                if metadata.get("annotations", {}).get(DEFAULT_CLASS) == "true":
                    owners[None] = component.name
    return owners


def _settled(component: Component, cluster: Cluster, present: set[str], owners: dict[str | None, str]) -> Component:
    """Merge in the user's chart values and decisions on hooks, take over an adopted release, and drop needs that others
    install. Every pod needs the pod network; only Argo CD comes as early as it can, for its settings.
    """
    settings = cluster.settings(component.name)
    network = () if component.tier == Tier.NETWORK or component.name == "argo-cd" else (cluster.networks.cni,)
    classes = (owners[name] for name in component.storage_classes if name in owners)
    needs = tuple(need for need in dict.fromkeys((*network, *component.needs, *classes)) if need in present)
    if not component.releases or not (settings.values or settings.hooks or settings.adopt):
        return structs.replace(component, needs=needs)
    first, *others = component.releases
    values, hooks = _merge(first.values, settings.values), {**first.hooks, **dict(sorted(settings.hooks.items()))}
    first = structs.replace(first, values=values, hooks=hooks)
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
