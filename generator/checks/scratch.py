"""Rules about scratch volumes on nodes' own disks."""

from collections.abc import Iterator

from generator.checks.tiers import OBJECTS, disks, idle_disks
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Path, put
from generator.model.rule import rule, warning

SCRATCH: Path = ("storage", "scratch")
# Folders of the system: a mount over one of them hides what it needs.
SYSTEM = frozenset({
    "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/opt/cni", "/proc", "/root", "/run", "/sbin", "/sys",
    "/tmp", "/var/tmp",  # noqa: S108 - emptied by systemd
    "/usr", "/var/cache", "/var/lib/apt", "/var/lib/cni", "/var/lib/containerd", "/var/lib/docker", "/var/lib/dpkg",
    "/var/lib/etcd", "/var/lib/kubelet", "/var/lib/rook", "/var/lib/rpm", "/var/lib/systemd", "/var/lock", "/var/log",
    "/var/run", "/var/spool",
})  # fmt: skip
# Folders in which anybody mounts or installs something; one below them is its owner's.
COMMON = frozenset({"/media", "/mnt", "/opt", "/srv"})


@warning("GEN-SCR-001", "scratch has disks")
def scratch_disks(cluster: Cluster) -> Iterator[Finding]:
    """Without disks nothing is installed, and claims of the class wait for ever.

    Wrong:
        storage:
          scratch: {}
        # and no disk with `use: scratch`
    Right:
        disks: [{use: scratch, model: SAMSUNG_MZQL23T8HCLS-00A07, count: 2, size: 3840G}]
    """
    if cluster.storage.scratch and not any(machine.disks_for("scratch") for machine in cluster.machines):
        fix = "add disks with `use: scratch` to a pool, or remove storage.scratch"
        yield Finding(at=SCRATCH, key=True, message="no node has disks with `use: scratch`", fix=fix)


@warning("GEN-SCR-002", "disks for scratch are used")
def disks_used(cluster: Cluster) -> Iterator[Finding]:
    """Without `storage.scratch` nobody mounts the disks or makes volumes of them.

    Wrong:
        disks: [{use: scratch, ...}]
        # and no storage.scratch
    Right:
        storage:
          scratch: {}
    """
    for at, _ in idle_disks(cluster, "scratch", cluster.pools if cluster.storage.scratch else ()):
        message = "nobody uses disks for scratch: there is no storage.scratch"
        yield Finding(at=at, message=message, fix="add storage.scratch")


@rule("GEN-SCR-003", "scratch apart from MinIO's drives")
def apart_from_objects(cluster: Cluster) -> Iterator[Finding]:
    """Scratch makes a volume of every mount below its folder and wipes it when the claim goes: MinIO's drives would
    be given away.

    Wrong:
        scratch: {hostDir: /mnt/data}
        objects: {hostDir: /mnt/data, pool: nas}
    Right:
        scratch: {hostDir: /mnt/scratch}
        objects: {hostDir: /mnt/minio, pool: nas}
    """
    scratch, objects = cluster.storage.scratch, cluster.storage.objects
    if scratch and objects:
        one, other = scratch.host_dir, objects.host_dir
        if shared(one, other):
            message = f"scratch wipes volumes below {one}, and MinIO's drives are below {other}"
            at, also = (*SCRATCH, "hostDir"), (*OBJECTS, "hostDir")
            fix = "hostDir: /mnt/scratch for scratch, /mnt/minio for objects"
            edits = (*put(at, "/mnt/scratch"), *put(also, "/mnt/minio"))
            yield Finding(at=at, also=also, message=message, fix=fix, edits=edits)


@rule("GEN-SCR-004", "disks are mounted outside the system's folders")
def outside_system(cluster: Cluster) -> Iterator[Finding]:
    """What lies below the folder belongs to the tier: it is mounted over, given away and, for scratch, wiped.

    Wrong:
        scratch: {hostDir: /var/lib/kubelet}
    Right:
        scratch: {hostDir: /mnt/scratch}
    """
    storage = cluster.storage
    for at, tier, usual in ((SCRATCH, storage.scratch, "scratch"), (OBJECTS, storage.objects, "minio")):
        # MinIO touches only what is its own.
        common = COMMON if tier is storage.scratch else ()
        if tier and (tier.host_dir in common or any(shared(tier.host_dir, system) for system in SYSTEM)):
            message = f"hostDir {tier.host_dir} is a folder of the system"
            where = (*at, "hostDir")
            yield Finding(at=where, message=message, edits=put(where, f"/mnt/{usual}"))


def shared(folder: str, other: str) -> bool:
    """Tell whether one of two folders is the other, or lies in it."""
    one, another = f"{folder}/", f"{other}/"
    return one.startswith(another) or another.startswith(one)


@warning("GEN-SCR-005", "scratch on disks without platters")
def scratch_is_fast(cluster: Cluster) -> Iterator[Finding]:
    """Scratch feeds GPUs from a disk beside them. A spinning disk reads some 200 MB in a second, in random places a
    hundredth of that: every other tier is faster.

    Wrong:
        - {use: scratch, model: ST24000NM000H-3KS103, count: 2, size: 24T, class: hdd}
    Right:
        - {use: scratch, model: SAMSUNG_MZQL23T8HCLS-00A07, count: 2, size: 3840G}
    """
    for at, disk, _ in disks(cluster):
        if disk.use == "scratch" and disk.class_ == "hdd":
            message = "a disk for scratch is of class hdd"
            yield Finding(
                at=(*at, "class"), message=message, fix="correct its class, or choose other disks for scratch"
            )
