"""The three storage tiers: scratch (local NVMe), Ceph, MinIO; and NFS beside them."""

from typing import Annotated, Literal

from msgspec import Meta, field

from generator.model.base import Folder, Host, Line, Name, Positive, Section, Service
from generator.model.quantity import Quantity

BucketName = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$(?!\n)", description="an S3 bucket name")]
Share = Annotated[str, Meta(pattern=r"^/[^\s]*$(?!\n)")]
Days = Annotated[int, Meta(ge=1, le=36500)]


class Scratch(Section, frozen=True, kw_only=True):
    """Tier 1: each disk with `use: scratch` is mounted below `host_dir` and becomes one volume of its size.
    Volumes vanish with their claim.
    """

    storage_class: Name = "scratch-nvme"
    host_dir: Folder = "/mnt/scratch"
    filesystem: Literal["xfs", "ext4"] = "xfs"


class Erasure(Section, frozen=True, kw_only=True):
    """Erasure coding k+m: `data` chunks and `coding` chunks, each on a failure domain of its own."""

    data: Annotated[int, Meta(ge=2, le=32)]
    coding: Annotated[int, Meta(ge=1, le=16)]


class CephPool(Section, frozen=True, kw_only=True):
    """A Ceph pool on disks of one class. `erasure` replaces `replicas`; `default` makes its storage class the
    cluster's default one; `quota` bounds the pool.
    """

    name: Name
    device_class: Literal["hdd", "ssd", "nvme"]
    replicas: Annotated[int, Meta(ge=1, le=6)] = 3
    erasure: Erasure | None = None
    failure_domain: Literal["host", "rack"] = "host"
    default: bool = False
    storage_class: Name | None = None
    reclaim: Literal["Delete", "Retain"] = "Delete"
    quota: Quantity | None = None

    @property
    def parts(self) -> int:
        """Of how many copies or chunks it has one each in a failure domain."""
        return self.erasure.data + self.erasure.coding if self.erasure else self.replicas

    def held_by(self, raw: int) -> int:
        """Return the bytes of content that so many bytes of disks hold."""
        return raw * (self.erasure.data if self.erasure else 1) // self.parts


class CephFilesystem(Section, frozen=True, kw_only=True):
    """A CephFS: `metadata` on a fast class, the first of `data` replicated. `mds` active metadata servers."""

    name: Name
    metadata: CephPool
    data: tuple[CephPool, ...]
    mds: Positive = 1


class CephObjectStore(Section, frozen=True, kw_only=True):
    """An S3 service of Ceph (RGW) with `gateways` instances; `buckets` are claimed for datasets and kept."""

    name: Name
    metadata: CephPool
    data: CephPool
    gateways: Annotated[int, Meta(ge=1, le=64)] = 2
    buckets: tuple[BucketName, ...] = ()


class Encryption(Section, frozen=True, kw_only=True):
    """`transit` encrypts between hosts (msgr2 secure mode or TLS), `rest` on disk."""

    transit: bool = False
    rest: bool = False


class CephKeys(Section, frozen=True, kw_only=True):
    """Generations of the keys of Ceph's own parts: a higher number has Rook give others, and none goes back. `csi` are
    those that nodes mount volumes by, of which `former` ones still count; `daemons` those of monitors, OSDs, managers
    and gateways.
    """

    csi: Positive = 1
    former: Annotated[int, Meta(ge=0, le=10)] = 1
    daemons: Positive = 1


class Ceph(Section, frozen=True, kw_only=True):
    """Tier 2: Rook-Ceph on the disks with `use: ceph` of these `pools`; its monitors run on the same nodes, or on
    those of `monitor_pools`, which need no such disks. `network` is `host` (the storage network, or the node network
    where there is none) or `pod`; it cannot be changed later.
    """

    pools: tuple[Name, ...]
    monitors: Annotated[int, Meta(ge=1, le=9)] = 3
    monitor_pools: tuple[Name, ...] = ()
    network: Literal["host", "pod"] = "host"
    encryption: Encryption = field(default_factory=Encryption)
    block_pools: tuple[CephPool, ...] = ()
    filesystems: tuple[CephFilesystem, ...] = ()
    object_stores: tuple[CephObjectStore, ...] = ()
    dashboard: bool = True
    toolbox: bool = False
    keys: CephKeys = field(default_factory=CephKeys)


class Lock(Section, frozen=True, kw_only=True):
    """S3 object lock in COMPLIANCE mode (GOVERNANCE can be bypassed): nobody deletes a version for `days` from when it
    was written.
    """

    days: Days


class Bucket(Section, frozen=True, kw_only=True):
    """A bucket in MinIO. `lock` implies versioning; old versions go after `expire_versions` days."""

    name: BucketName
    versioning: bool = True
    lock: Lock | None = None
    expire_versions: Days = 30
    quota: Quantity | None = None


class ObjectUser(Section, frozen=True, kw_only=True):
    """A user of MinIO with one right on some buckets; `backup` may write and read and never delete, `retention` may
    read, hide what is there and extend its lock. Its keys are in the namespace of a `team`, too.
    """

    name: Name
    buckets: tuple[BucketName, ...]
    access: Literal["read", "write", "backup", "retention"] = "read"
    team: Name | None = None


class Copying(Section, frozen=True, kw_only=True):
    """How backups of buckets come to a service: at most `at_once` of them copy at a time, and the next ones wait.
    Together they bring, and read back to compare, at most `bandwidth` bytes a second, each of them an equal share.
    """

    at_once: Annotated[int, Meta(ge=1, le=10)] = 2
    bandwidth: Quantity | None = None

    @property
    def share(self) -> int | None:
        """How many bytes a second one backup may bring; None where nothing is said."""
        return self.bandwidth.value // self.at_once if self.bandwidth else None


class Objects(Section, frozen=True, kw_only=True):
    """Tier 3: MinIO on the disks with `use: objects` of a `pool` of four or more nodes, whose order in the file is
    that of MinIO's servers. It grows by whole pools: `expansions` are added at the end and never moved or taken out.
    `image` and `client_image` carry a digest; `host` is the name users reach it by.
    """

    pool: Name
    expansions: tuple[Name, ...] = ()
    image: Line | None = None
    client_image: Line | None = None
    host: Host | None = None
    host_dir: Folder = "/mnt/minio"
    encryption: bool = False
    buckets: tuple[Bucket, ...] = ()
    users: tuple[ObjectUser, ...] = ()
    copying: Copying = field(default_factory=Copying)

    @property
    def pools(self) -> tuple[str, ...]:
        """The node pools that MinIO is on, each a server pool of its own, in the order in which they came."""
        return (self.pool, *self.expansions)

    def drive_folder(self, number: int) -> str:
        """Return where a node mounts this one of its drives for MinIO, which are counted from 0."""
        return f"{self.host_dir}/drive-{number}"


class Nfs(Section, frozen=True, kw_only=True):
    """NFS as a storage class of its own: a `share` of a `server` outside the cluster, which enforces no capacity, or
    one server that Ceph runs on a `filesystem` of its own.
    """

    server: Host | None = None
    share: Share | None = None
    filesystem: Name | None = None
    storage_class: Name = "nfs"

    @property
    def outside(self) -> bool:
        """Whether the server is outside the cluster."""
        return self.filesystem is None


class Dataset(Section, frozen=True, kw_only=True):
    """Files that the team `owner` writes and `readers` read: `size` bytes in a `filesystem` of Ceph, or a folder of the
    NFS server outside (`share`), whose size nobody enforces. Each of these teams has claim `dataset-NAME`. Of one that
    is `cached` each node that has a disk with `use: cache` keeps a copy there, which is claim `cache-NAME`.
    """

    name: Name
    size: Quantity
    filesystem: Name | None = None
    share: Share | None = None
    owner: Name | None = None
    readers: tuple[Name, ...] = ()
    cached: bool = False


class Export(Section, frozen=True, kw_only=True):
    """A folder (`path`) that an NFS server outside the cluster exports to the nodes. They mount it by NFS 4.1; the
    server maps everybody to one user who may write there (`all_squash`).
    """

    server: Host
    path: Share


class Elsewhere(Section, frozen=True, kw_only=True):
    """A service outside the cluster, for backups: S3 by its `url`, and its `region` where it has one; or an `nfs`
    export, in which each backup has a folder for its bucket. `ca` is the certificate (PEM) of who signed that of S3;
    else `site.ca` is trusted, and what any system trusts. `room` is how much it takes of this cluster. Buckets of S3,
    their versions, locks and ends are the service's own.
    """

    name: Name
    url: Service | None = None
    nfs: Export | None = None
    region: Line | None = None
    ca: str | None = None
    room: Quantity | None = None
    copying: Copying = field(default_factory=Copying)

    @property
    def address(self) -> str:
        """Where it answers, as people write it."""
        return f"{self.nfs.server}:{self.nfs.path}" if self.nfs else self.url or ""


class Storage(Section, frozen=True, kw_only=True):
    """The storage tiers; each may be absent. `datasets` lie on Ceph or NFS, for several teams; `elsewhere` is not the
    cluster's own.
    """

    scratch: Scratch | None = None
    ceph: Ceph | None = None
    objects: Objects | None = None
    nfs: Nfs | None = None
    datasets: tuple[Dataset, ...] = ()
    elsewhere: tuple[Elsewhere, ...] = ()
