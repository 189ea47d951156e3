"""Rules about components: names, versions, and what goes together."""

from collections.abc import Iterator

from generator.checks.places import meant
from generator.checks.rule import rule
from generator.model.cluster import Cluster, ComponentSettings
from generator.model.finding import Finding, Path, Severity
from generator.model.versions import CATALOGUE, version_of

__all__ = ["COMPONENTS", "absent"]

COMPONENTS = frozenset(CATALOGUE) | {
    "issuers", "load-balancer", "namespaces", "queues", "rdma", "tenants", "workflows",
}  # fmt: skip
"""Every name that `components` may have: the catalogue's, and components made of our own objects only."""


def absent(cluster: Cluster) -> dict[str, str]:
    """Return the components that this cluster does not have, each with the reason."""
    return {name: why for there, why, names in _conditions(cluster) if not there for name in names}


def _conditions(cluster: Cluster) -> Iterator[tuple[object, str, tuple[str, ...]]]:
    networks, storage, monitoring = cluster.networks, cluster.storage, cluster.monitoring
    hcas = cluster.fabric and any(machine.hcas for machine in cluster.gpu_nodes)
    ceph = ("rook-ceph", "ceph-cluster", "ceph-csi-drivers", "snapshot-controller")
    scratch = storage.scratch and any(machine.disks_for("scratch") for machine in cluster.machines)
    yield networks.cni == "cilium", f"cni is {networks.cni}", ("cilium",)
    yield networks.cni == "calico", f"cni is {networks.cni}", ("calico",)
    yield networks.load_balancer and networks.cni == "cilium", "there is no networks.loadBalancer", ("load-balancer",)
    yield cluster.gpu_nodes, "no node has GPUs", ("gpu-operator",)
    yield cluster.gpu_nodes or cluster.fabric, "no node has GPUs or HCAs", ("node-feature-discovery",)
    yield hcas, "no GPU node has HCAs in a fabric", ("network-operator", "rdma")
    yield scratch, "no node has disks for storage.scratch", ("scratch",)
    yield storage.ceph, "there is no storage.ceph", ceph
    yield storage.objects, "there is no storage.objects", ("minio",)
    yield storage.nfs, "there is no storage.nfs", ("csi-nfs",)
    yield cluster.teams, "there are no teams", ("kueue", "queues", "tenants", "volcano")
    yield cluster.backups, "there are no backups", ("argo-workflows", "workflows")
    yield monitoring.zabbix, "there is no monitoring.zabbix", ("zabbix",)
    prometheus = ("kube-prometheus-stack", "prometheus-crds")
    yield monitoring.prometheus, "there is no monitoring.prometheus", prometheus


def _version_path(component: str) -> Path:
    return ("components", component, "version")


@rule(
    "GEN-K8S-020",
    "a Kubernetes version that every component supports",
    wrong='version: "1.37.0"\n',
    right='version: "1.35.3"\n',
)
def supported_version(cluster: Cluster) -> Iterator[Finding]:
    """Each component's maintainers test it on some minors of Kubernetes and support no others."""
    minor = int(cluster.kubernetes.version.split(".")[1][:9])  # Python refuses to read thousands of digits
    used = [name for name in CATALOGUE if name not in absent(cluster) and cluster.settings(name).managed]
    ranges = {f"{name} {version_of(name, cluster).version}": version_of(name, cluster).kubernetes for name in used}
    wrong = [f"{name} (1.{low} to 1.{high})" for name, (low, high) in ranges.items() if not low <= minor <= high]
    if wrong:
        lowest, highest = max(low for low, _ in ranges.values()), min(high for _, high in ranges.values())
        yield Finding(
            at=("kubernetes", "version"),
            message=f"Kubernetes 1.{minor} is not supported by {', '.join(wrong)}",
            fix=f"1.{lowest} to 1.{highest} suits all" if lowest <= highest else "take other versions in `components`",
        )


@rule(
    "GEN-K8S-021",
    "components that exist",
    wrong="components: {rook: {sync: manual}}\n",
    right="components: {rook-ceph: {sync: manual}}\n",
)
def known_component(cluster: Cluster) -> Iterator[Finding]:
    """Settings for a name that no component has would change nothing."""
    for name in cluster.components:
        if name not in COMPONENTS:
            near = meant(name, COMPONENTS)
            fix = f"did you mean {near}?" if near else f"one of {', '.join(sorted(COMPONENTS))}"
            yield Finding(at=("components", name), key=True, message=f"there is no component {name}", fix=fix)


@rule(
    "GEN-K8S-022",
    "versions that the catalogue knows",
    wrong="components: {cilium: {version: 0.9.0}}\n",
    right="components: {cilium: {version: 1.20.0}}\n",
)
def known_version(cluster: Cluster) -> Iterator[Finding]:
    """Values, custom resources and images were checked for the versions of the catalogue and fit no others."""
    for name, settings in cluster.components.items():
        known = [each.version for each in CATALOGUE.get(name, ())]
        if settings.version is not None and name in COMPONENTS and settings.version not in known:
            has = f"known are {', '.join(known)}" if known else "it comes with gen"
            message = f"{name} has no version {settings.version}: {has}"
            yield Finding(at=_version_path(name), message=message, fix=known[0] if known else "remove `version`")


@rule(
    "GEN-K8S-023",
    "no settings for what somebody else installs",
    wrong="components: {cilium: {managed: false, values: {debug: {enabled: true}}}}\n",
    right="components: {cilium: {managed: false}}\n",
    severity=Severity.WARNING,
)
def unmanaged_settings(cluster: Cluster) -> Iterator[Finding]:
    """With `managed: false` nothing is written for a component, so its other settings have no effect."""
    default = ComponentSettings()
    for name, settings in cluster.components.items():
        fields = ("values", "adopt", "sync")
        idle = [field for field in fields if getattr(settings, field) != getattr(default, field)]
        if not settings.managed and idle:
            message = f"{name} is not managed here, so {' and '.join(idle)} have no effect"
            also: Path = ("components", name, "managed")
            yield Finding(at=("components", name, idle[0]), key=True, also=also, message=message, fix="remove them")


@rule(
    "GEN-K8S-024",
    "no settings for components that the cluster does not have",
    wrong="cni: cilium\n# and\ncomponents: {calico: {sync: manual}}\n",
    right="cni: cilium\n# and\ncomponents: {cilium: {sync: manual}}\n",
    severity=Severity.WARNING,
)
def settings_in_use(cluster: Cluster) -> Iterator[Finding]:
    """The settings have no effect; mostly the part of the file that asks for the component is missing."""
    reasons = absent(cluster)
    for name in cluster.components:
        if name in reasons:
            message = f"the cluster has no {name}: {reasons[name]}"
            yield Finding(at=("components", name), key=True, message=message, fix="remove it, or ask for the component")
