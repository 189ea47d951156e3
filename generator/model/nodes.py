"""Hardware: pools, nodes and the switches that join them."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Annotated, Literal

from msgspec import Meta, field

from generator.model.base import Host, ImageReference, Interface, Label, Line, Mtu, Name, Positive, Section, Vlan
from generator.model.firewall import Firewall
from generator.model.quantity import Quantity
from generator.model.scaling import Scaling
from generator.model.text import AddressRange, Port, Taint

AsNumber = Annotated[int, Meta(ge=1, le=4294967294, description="an autonomous system of BGP")]
Kernel = Annotated[str, Meta(pattern=r"^[0-9]+\.[0-9]+(\.[0-9]+)?$(?!\n)", description='as in "6.8"')]


class NetworkOverride(Section, frozen=True, kw_only=True):
    """What differs from the cluster's network on one pool or node."""

    interface: Interface | None = None
    mtu: Mtu | None = None
    vlan: Vlan | None = None
    bond: tuple[Interface, ...] = ()
    gateway: IPv4Address | None = None


class Network(NetworkOverride, frozen=True, kw_only=True):
    """One Ethernet (or IPoIB) network. `interface` is the name on the nodes; with `bond` it is the bond of
    those devices, with `vlan` the tagged interface on top. `mtu` is in bytes. With `follow: node` a node has the host
    number here that its address has in the node network, unless its line says another one; over InfiniBand only nodes
    with HCAs have one.
    """

    cidr: IPv4Network
    cidr6: IPv6Network | None = None
    follow: Literal["node"] | None = None


class BgpPeer(Section, frozen=True, kw_only=True):
    """A router that nodes tell of the addresses: its own, and its autonomous system."""

    address: IPv4Address
    as_number: AsNumber


class Bgp(Section, frozen=True, kw_only=True):
    """The nodes' autonomous system, and the routers that each of them is a neighbour of."""

    as_number: AsNumber = 64512
    peers: tuple[BgpPeer, ...]


class LoadBalancer(Section, frozen=True, kw_only=True):
    """Addresses for Services of type LoadBalancer, given out by the pod network. Cilium answers ARP for them (`l2`),
    Calico tells routers (`bgp`); with `none` routers of yours lead there.
    """

    range: AddressRange
    announce: Literal["l2", "bgp", "none"] = "l2"
    bgp: Bgp | None = None


class Exposure(Section, frozen=True, kw_only=True):
    """The way from outside to services of teams, over TLS: each team has its `hosts`, which are names below `domain`.
    `address` is one of `loadBalancer`'s; the site's DNS leads the names there.
    """

    domain: Host
    address: IPv4Address


class Calico(Section, frozen=True, kw_only=True):
    """How Calico handles packets on a node: rules of `iptables` or `nftables` beside a kube-proxy that writes the same,
    or programs (`ebpf`), which replace kube-proxy. `nftables` needs Linux 5.13, `ebpf` 5.10.
    """

    dataplane: Literal["iptables", "nftables", "ebpf"] = "iptables"


class Networks(Section, frozen=True, kw_only=True):
    """`node` carries Kubernetes, `storage` (optional) Ceph and MinIO traffic, `ipoib` IP over InfiniBand and
    `bmc` the management controllers. `firewall` closes the nodes' own ports to all who need none; `encryption` hides
    what pods say to pods of other nodes.
    """

    cni: Literal["cilium", "calico"]
    node: Network
    storage: Network | None = None
    ipoib: Network | None = None
    bmc: Network | None = None
    load_balancer: LoadBalancer | None = None
    exposure: Exposure | None = None
    calico: Calico | None = None
    firewall: Firewall | None = None
    encryption: Literal["wireguard"] | None = None

    @property
    def data_plane(self) -> str | None:
        """Calico's data plane; None where Cilium is the network."""
        return (self.calico or Calico()).dataplane if self.cni == "calico" else None

    @property
    def kube_proxy(self) -> str | None:
        """What kube-proxy writes, the same as the pod network; None where that does its work."""
        return None if self.data_plane in (None, "ebpf") else self.data_plane

    @property
    def declared(self) -> dict[str, Network]:
        """The networks that there are, by name."""
        found = {"node": self.node, "storage": self.storage, "ipoib": self.ipoib, "bmc": self.bmc}
        return {name: network for name, network in found.items() if network}


class Switch(Section, frozen=True, kw_only=True):
    """A leaf switch: `ports` in all, of which `uplinks` lead to the spines."""

    name: Name
    ports: Positive
    uplinks: Annotated[int, Meta(ge=0)] = 0
    rack: Name | None = None


class Rdma(Section, frozen=True, kw_only=True):
    """How pods get at the HCAs: every pod that asks for one `rdma/<resource>` sees all HCAs of its node.
    `max_pods` bounds how many pods of a node may share them.
    """

    resource: Annotated[str, Meta(pattern=r"^[a-zA-Z0-9_]+$(?!\n)")] = "hca_shared_devices_a"
    max_pods: Positive = 63


class Fabric(Section, frozen=True, kw_only=True):
    """The InfiniBand fabric. `oversubscription` is the highest accepted ratio of node ports to uplinks of a
    leaf (1 is non-blocking). A unit is a set of leaves that nodes are plugged into alike: it says which leaf serves
    the rail of each HCA, and a node only says its `port`, the same one on all of them.
    """

    type: Literal["infiniband"] = "infiniband"
    speed: Positive = 400
    switches: tuple[Switch, ...]
    units: dict[Name, dict[Line, Name]] = field(default_factory=dict)
    oversubscription: Annotated[float, Meta(ge=1)] = 1.0
    subnet_manager: Literal["switch", "ufm", "host"] = "switch"
    rdma: Rdma = field(default_factory=Rdma)


class Gpus(Section, frozen=True, kw_only=True):
    """How pods get at GPUs that are split (MIG), on all nodes: `single` offers instances as `nvidia.com/gpu`, of one
    kind on each node, and `mixed` by their names, as in `nvidia.com/mig-1g.6gb`.
    """

    mig_strategy: Literal["single", "mixed"] = "single"


class Mig(Section, frozen=True, kw_only=True):
    """Split each GPU. `profile` is a configuration of NVIDIA's MIG manager, as in `all-1g.6gb`. For one of your own
    (values of the component `gpu-operator`) `instances` says what it makes of all GPUs of one node, by MIG profile.
    """

    profile: Label
    instances: dict[Line, Annotated[int, Meta(ge=1, le=448)]] = field(default_factory=dict)


class Gpu(Section, frozen=True, kw_only=True):
    """The GPUs of one node; `memory` is that of one GPU. With `time_slices` so many pods take turns on each GPU, or on
    each instance of a split one, and nothing keeps them out of each other's memory.
    """

    model: Label
    count: Annotated[int, Meta(ge=0, le=64)]
    memory: Quantity
    mig: Mig | None = None
    time_slices: Annotated[int, Meta(ge=2, le=64)] | None = None


class Disk(Section, frozen=True, kw_only=True):
    """Disks of a node that a storage tier uses, named so that the name survives a reboot.

    One of: `id` (a name below /dev/disk/by-id, for one node), `path` (below /dev/disk/by-path, for equal
    nodes) or `model` (as in by-id names, for a pool; `count` says how many). `size` is that of one disk.
    """

    use: Literal["ceph", "objects", "scratch", "cache"]
    size: Quantity
    class_: Literal["hdd", "ssd", "nvme"] = field(name="class", default="nvme")
    id: Line | None = None
    path: Line | None = None
    model: Line | None = None
    count: Positive = 1


class HardwareOverride(Section, frozen=True, kw_only=True):
    """What differs on one node. `disks` replaces the pool's list whole."""

    cpu: Positive | None = None
    memory: Quantity | None = None
    gpu: Gpu | None = None
    hcas: tuple[Line, ...] | None = None
    disks: tuple[Disk, ...] | None = None


class Hardware(HardwareOverride, frozen=True, kw_only=True):
    """One node of a pool: `cpu` in hardware threads, `hcas` the InfiniBand devices as the kernel names
    them.
    """

    cpu: Positive
    memory: Quantity
    hcas: tuple[Line, ...] = ()
    disks: tuple[Disk, ...] = ()


class Overridable(Section, frozen=True, kw_only=True):
    """What a pool says of its nodes and a node may say of itself. Another key is one line here, without a default but
    None: a node's own value replaces its pool's, and `Machine` has the one that counts.
    """

    labels: dict[Line, Label] = field(default_factory=dict)
    taints: tuple[Taint, ...] | None = None
    networks: dict[Literal["node", "storage", "ipoib", "bmc"], NetworkOverride] = field(default_factory=dict)
    unit: Name | None = None
    kernel: Kernel | None = None


# Keys that are not keyword-only stand before those that they inherit, in the schema too.
class Pool(Overridable, frozen=True, kw_only=False):
    """Nodes that are alike. `kernel` is the oldest kernel that runs on them. Without `taints`, control-plane nodes
    get kubeadm's own; `taints: []` lets everything run there. `images` are pulled on each of them before jobs ask for
    them, one after the other. With `scaling` Cluster API makes more of them while jobs ask for them.
    """

    hardware: Hardware
    role: Literal["control-plane", "worker"] = "worker"
    images: tuple[ImageReference, ...] = ()
    scaling: Scaling | None = None


class Node(Overridable, frozen=True, kw_only=False):
    """One node: `address` is its Ethernet address in the node network, `addresses` those in other networks,
    `port` the port of its HCAs on the leaves of its `unit`, `fabric` the switch port of an HCA that is plugged in
    otherwise. The other keys override those of the pool; labels are merged, taints replaced.
    """

    name: Name
    pool: Name
    address: IPv4Address
    address6: IPv6Address | None = None
    addresses: dict[Literal["storage", "ipoib", "bmc"], IPv4Address] = field(default_factory=dict)
    mac: Annotated[str, Meta(pattern=r"^([0-9a-f]{2}:){5}[0-9a-f]{2}$(?!\n)")] | None = None
    rack: Name | None = None
    port: Annotated[int, Meta(ge=1, le=99999)] | None = None
    fabric: dict[Line, Port] = field(default_factory=dict)
    hardware: HardwareOverride | None = None


class Machine(Node, frozen=True, kw_only=True):
    """A node with its pool's keys filled in: what components and checks look at.

    `index` is the node's place in `nodes`, for paths of findings. `networks` holds each network of the cluster
    as this node has it.
    """

    index: int
    role: str
    hardware: Hardware
    taints: tuple[Taint, ...]
    networks: dict[str, Network]  # type: ignore[assignment] # whole here, and not what differs

    @property
    def gpus(self) -> int:
        """How many GPUs the node has."""
        return self.hardware.gpu.count if self.hardware.gpu else 0

    def disks_for(self, use: str) -> tuple[Disk, ...]:
        """Return the disks that a storage tier uses on this node, those of one model as one entry."""
        return tuple(disk for disk in self.hardware.disks if disk.use == use)

    def drive_count(self, use: str) -> int:
        """Return how many disks a storage tier uses on this node."""
        return sum(disk.count for disk in self.disks_for(use))

    def drives_for(self, use: str) -> tuple[Disk, ...]:
        """Return one entry for each of these disks, in the order in which they are mounted. Only for a cluster that
        passed: until then a count may be of billions.
        """
        return tuple(disk for disk in self.disks_for(use) for _ in range(disk.count))
