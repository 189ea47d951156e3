"""The cluster file: everything that one `clusters/<cluster>/cluster.yaml` may say."""

from collections.abc import Iterator
from functools import cached_property
from ipaddress import IPv4Network, IPv6Network
from typing import Annotated, Any, Literal

from msgspec import Meta, field

from generator.model.acceptance import Acceptance
from generator.model.backup import AnyBackup, Backup, EtcdBackup, Tried, VolumeBackup
from generator.model.base import DNS_LABEL, Folder, Host, Label, Line, Name, Section
from generator.model.extras import Extra
from generator.model.frameworks import Framework
from generator.model.gitops import Gitops
from generator.model.gpu_care import GpuCare
from generator.model.mlperf import Mlperf
from generator.model.monitoring import Monitoring
from generator.model.nodes import Fabric, Gpus, Machine, Networks, Node, Pool
from generator.model.quantity import Quantity
from generator.model.scaling import Autoscaler
from generator.model.site import Repository, Site
from generator.model.storage import Storage
from generator.model.teams import Scheduling, Team
from generator.model.waiver import Waiver


class Endpoint(Section, frozen=True, kw_only=True):
    """The control plane's address, `host:port`. kube-vip and keepalived move it between the control-plane
    nodes; `external` is a load balancer outside, or the one control-plane node itself.
    """

    address: Annotated[str, Meta(pattern=r"^[a-z0-9.-]+:[0-9]{2,5}$(?!\n)")]
    by: Literal["kube-vip", "keepalived", "external"]

    @property
    def host(self) -> str:
        """The name or address before the port."""
        return self.address.rpartition(":")[0]

    @property
    def port(self) -> int:
        """The port; one that is too high is reported by a rule."""
        return int(self.address.rpartition(":")[2])


class Etcd(Section, frozen=True, kw_only=True):
    """etcd on the control-plane nodes; `quota` bounds its database, `backup` takes snapshots of it. `defragment` says
    who gives back room that the database holds and does not use: a person, or a timer on each of these nodes.
    """

    quota: Quantity = field(default_factory=lambda: Quantity.parse("8Gi"))
    data_dir: Folder = "/var/lib/etcd"
    backup: EtcdBackup | None = None
    defragment: Literal["by-hand", "timer"] = "by-hand"


class Reserved(Section, frozen=True, kw_only=True):
    """Kept from pods on every node: for system daemons and the kubelet."""

    cpu: Quantity = field(default_factory=lambda: Quantity.parse("2"))
    memory: Quantity = field(default_factory=lambda: Quantity.parse("8Gi"))


class Kubernetes(Section, frozen=True, kw_only=True):
    """A kubeadm cluster. `node_mask` is the size of each node's slice of the pod network. `encryption` names
    how Secrets are encrypted at rest; the key file is made on the control-plane nodes, never here. `pod_security` is
    the level of the Pod Security Standards in namespaces that say none by a label, but for kube-system. `deliver` are
    programs that bring the files of `bootstrap/` to the nodes, and files for these. `upgrades` says who does on a
    machine what the operations `kubernetes-upgrade` and `node-maintenance` ask of it: a person or a program of the
    site, or a timer there.
    """

    version: Annotated[str, Meta(pattern=r"^1\.[0-9]+\.[0-9]+$(?!\n)", description='as in "1.35.3", quoted')]
    endpoint: Endpoint
    pod_cidr: IPv4Network
    service_cidr: IPv4Network
    pod_cidr6: IPv6Network | None = None
    service_cidr6: IPv6Network | None = None
    node_mask: Annotated[int, Meta(ge=16, le=28)] = 24
    max_pods: Annotated[int, Meta(ge=16, le=500)] = 110
    dns_domain: Host = "cluster.local"
    encryption: Literal["secretbox", "aescbc", "none"] = "secretbox"
    pod_security: Literal["baseline", "restricted", "privileged"] = "baseline"
    etcd: Etcd = field(default_factory=Etcd)
    reserved: Reserved = field(default_factory=Reserved)
    deliver: tuple[Literal["ansible", "cloud-init"], ...] = ()
    upgrades: Literal["by-hand", "timer"] = "by-hand"

    @property
    def node_mask6(self) -> int | None:
        """The size of each node's slice of `pod_cidr6`: at most 16 bits below it, for no allocator counts more."""
        return min(self.pod_cidr6.prefixlen + 16, 120) if self.pod_cidr6 else None


class Adopt(Section, frozen=True, kw_only=True):
    """A component that is already there: the Helm release it was installed as, and where."""

    release: Name
    namespace: Name


class ComponentSettings(Section, frozen=True, kw_only=True):
    """What differs for one component: another `version` of the catalogue, chart `values` merged over ours, what becomes
    of the chart's `hooks` by name, `managed: false` where somebody else installs it, `sync` where it must not move by
    itself.
    """

    version: Line | None = None
    values: dict[str, Any] = field(default_factory=dict)
    hooks: dict[Line, Literal["drop", "plain", "keep"]] = field(default_factory=dict)
    managed: bool = True
    adopt: Adopt | None = None
    sync: Literal["auto", "manual"] = "auto"


class Spec(Section, frozen=True, kw_only=True):
    """All of a cluster file below `spec`."""

    repository: Repository
    site: Site
    kubernetes: Kubernetes
    networks: Networks
    fabric: Fabric | None = None
    gpus: Gpus = field(default_factory=Gpus)
    pools: dict[Name, Pool]
    autoscaler: Autoscaler | None = None
    nodes: tuple[Node, ...]
    storage: Storage = field(default_factory=Storage)
    scheduling: Scheduling = field(default_factory=Scheduling)
    teams: tuple[Team, ...] = ()
    frameworks: tuple[Framework, ...] = ()
    acceptance: Acceptance | None = None
    gpu_care: GpuCare | None = None
    mlperf: Mlperf | None = None
    monitoring: Monitoring = field(default_factory=Monitoring)
    backups: tuple[Backup, ...] = ()
    volume_backups: tuple[VolumeBackup, ...] = ()
    gitops: Gitops = field(default_factory=Gitops)
    components: dict[Name, ComponentSettings] = field(default_factory=dict)
    extras: dict[Name, Extra] = field(default_factory=dict)
    waivers: tuple[Waiver, ...] = ()


LONGEST_NAME = 32
"""Characters of a cluster's name."""


class Metadata(Section, frozen=True, kw_only=True):
    """`name` is the folder's name; labels go onto the cluster's Argo CD objects."""

    name: Annotated[
        str,
        Meta(
            pattern=DNS_LABEL,
            max_length=LONGEST_NAME,
            description=f"a DNS label: small letters, digits and hyphens, up to {LONGEST_NAME} characters",
        ),
    ]
    labels: dict[Line, Label] = field(default_factory=dict)


class ClusterFile(Section, frozen=True, kw_only=True):
    """The whole file."""

    api_version: Literal["gen/v1alpha1"]
    kind: Literal["Cluster"]
    metadata: Metadata
    spec: Spec


class Cluster(Spec, frozen=True, kw_only=True, dict=True):
    """A decoded cluster: the spec, its name, and its nodes with their pools' keys filled in. What many rules and
    components ask for is computed once.
    """

    name: str
    machines: tuple[Machine, ...]
    labels: dict[str, str] = field(default_factory=dict)

    @cached_property
    def control_plane(self) -> tuple[Machine, ...]:
        """The control-plane nodes."""
        return tuple(machine for machine in self.machines if machine.role == "control-plane")

    @cached_property
    def gpu_nodes(self) -> tuple[Machine, ...]:
        """The nodes with GPUs."""
        return tuple(machine for machine in self.machines if machine.gpus)

    @cached_property
    def ceph_hosts(self) -> tuple[Machine, ...]:
        """The nodes that hold Ceph's disks."""
        ceph = self.storage.ceph
        return tuple(machine for machine in self.in_pools(*ceph.pools) if machine.disks_for("ceph")) if ceph else ()

    @cached_property
    def cache_hosts(self) -> tuple[Machine, ...]:
        """The nodes with a disk for copies of datasets."""
        return tuple(machine for machine in self.machines if machine.disks_for("cache"))

    @cached_property
    def monitor_hosts(self) -> tuple[Machine, ...]:
        """The nodes that Ceph's monitors may run on."""
        ceph = self.storage.ceph
        return self.in_pools(*ceph.monitor_pools) if ceph and ceph.monitor_pools else self.ceph_hosts

    @property
    def ceph_backups(self) -> tuple[Backup, ...]:
        """The backups of buckets of Ceph."""
        return tuple(one for one in self.backups if not one.source.in_minio)

    @property
    def minio_backups(self) -> tuple[Backup, ...]:
        """The backups of buckets of MinIO."""
        return tuple(one for one in self.backups if one.source.in_minio)

    @property
    def volumes_in_minio(self) -> tuple[VolumeBackup, ...]:
        """The backups of volumes that go to MinIO."""
        return tuple(one for one in self.volume_backups if one.target.in_minio)

    @cached_property
    def all_backups(self) -> tuple[AnyBackup, ...]:
        """Every backup that runs on a schedule: of buckets, then of etcd and of Zabbix's database."""
        zabbix = self.monitoring.zabbix
        others = (self.kubernetes.etcd.backup, zabbix and zabbix.backup)
        return (*self.backups, *(one for one in others if one))

    @property
    def works_on_nodes(self) -> bool:
        """Whether operations take nodes in, empty, change and upgrade them."""
        return bool(self.all_backups or self.gpu_care)

    @property
    def watched_backups(self) -> dict[str, int]:
        """From what age on somebody is told, in seconds, by what the metric calls it: backups that run, and what each
        control-plane node takes of its etcd by itself.
        """
        found = {one.name: one.too_old for one in self.all_backups if not one.suspended}
        return found | {name: etcd.too_old for etcd, name in self._etcd_of_nodes}

    @property
    def _etcd_of_nodes(self) -> Iterator[tuple[EtcdBackup, str]]:
        """Yield the backup of etcd with what metrics call a control-plane node's own. The run that uploads tells of
        them: where it rests nothing is known of nodes.
        """
        if (etcd := self.kubernetes.etcd.backup) and not etcd.suspended:
            yield from ((etcd, f"{etcd.name}/{machine.name}") for machine in self.control_plane)

    @property
    def tried(self) -> tuple[Tried, ...]:
        """The backups that workflows try."""
        zabbix = self.monitoring.zabbix
        dumps = zabbix and zabbix.backup
        return (*self.backups, *self.volume_backups, *((dumps,) if dumps else ()))

    @property
    def watched_drills(self) -> dict[str, int]:
        """From what age on somebody is told, in seconds, by what the metric calls it: drills that do not rest, and what
        each control-plane node tries of its etcd by itself.
        """
        found = {one.name: one.drill_too_old for one in self.tried if not (one.suspended or one.drill.suspended)}
        return found | {name: etcd.drill_too_old for etcd, name in self._etcd_of_nodes}

    def in_pools(self, *pools: str) -> tuple[Machine, ...]:
        """Return the nodes of these pools."""
        return tuple(machine for machine in self.machines if machine.pool in pools)

    def host(self, name: str) -> str:
        """Return `name` in the site's domain."""
        return f"{name}.{self.site.domain}"

    def settings(self, component: str) -> ComponentSettings:
        """Return what the file says of a component, one of gen's or one of its own."""
        extra = self.extras.get(component)
        if extra and component not in self.components:
            return ComponentSettings(values=extra.values, hooks=extra.hooks, sync=extra.sync)
        return self.components.get(component) or ComponentSettings()


def cluster_file(name: str) -> str:
    """Return where the file of a cluster lies, relative to the repository's root."""
    return f"clusters/{name}/cluster.yaml"
