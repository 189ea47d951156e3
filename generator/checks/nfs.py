"""Rules about NFS: whose server it is."""

from collections.abc import Iterator

from generator.checks.places import unknown
from generator.checks.tiers import filesystems
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Path
from generator.model.rule import rule
from generator.model.storage import Nfs

NFS: Path = ("storage", "nfs")


@rule("GEN-NFS-001", "NFS has one server")
def one_server(cluster: Cluster) -> Iterator[Finding]:
    """The server is outside the cluster, with its folder, or it is Ceph's on a filesystem. Of both, pods would be on
    one that nobody meant.

    Wrong:
        nfs: {server: nfs.example.org, share: /lab, filesystem: shared}
    Right:
        nfs: {filesystem: shared}
    """
    nfs = cluster.storage.nfs
    if nfs and (problem := _unclear(nfs)):
        message, fix = problem
        yield Finding(at=NFS, message=message, fix=fix)


def _unclear(nfs: Nfs) -> tuple[str, str] | None:
    """Return why nobody can tell which server is meant, and what to do."""
    if nfs.filesystem and (nfs.server or nfs.share):
        return "storage.nfs is a server outside and a filesystem of Ceph", "keep `server` and `share`, or `filesystem`"
    if not nfs.filesystem and not (nfs.server and nfs.share):
        missing = "share" if nfs.server else "server"
        return f"storage.nfs has no {missing}", "say `server` and `share`, or the `filesystem` of Ceph that is served"
    return None


@rule("GEN-NFS-002", "the filesystem that is served is there")
def filesystem_known(cluster: Cluster) -> Iterator[Finding]:
    """Ceph serves a filesystem of the file: without it there is no server, and no claim gets a volume.

    Wrong:
        nfs: {filesystem: share}
        # and
        filesystems: [{name: shared, ...}]
    Right:
        nfs: {filesystem: shared}
    """
    nfs = cluster.storage.nfs
    known = [filesystem.name for _, filesystem in filesystems(cluster)]
    if nfs and nfs.filesystem and nfs.filesystem not in known:
        message = f"storage.nfs is on filesystem {nfs.filesystem}, which is not there"
        otherwise = f"one of {', '.join(known)}" if known else "add storage.ceph.filesystems"
        yield unknown((*NFS, "filesystem"), nfs.filesystem, known, message, otherwise)
