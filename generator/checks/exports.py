"""Rules about NFS exports that backups go to."""

from collections.abc import Iterator

from generator.checks.elsewhere import places
from generator.checks.places import entries
from generator.checks.tiers import CEPH
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Path, dotted, in_words, remove
from generator.model.rule import rule, warning
from generator.model.storage import Elsewhere


def exports(cluster: Cluster) -> dict[str, tuple[Path, Elsewhere]]:
    """Return the services outside that are NFS exports, by name."""
    return {one.name: (at, one) for at, one in places(cluster) if one.nfs}


@rule("GEN-BKP-070", "a service elsewhere is S3 or NFS")
def one_kind(cluster: Cluster) -> Iterator[Finding]:
    """Backups go to a bucket of an S3 service, which has an address, or to a folder of an NFS export. What S3 is
    trusted by, and its region, say nothing of NFS.

    Wrong:
        - {name: nas, url: https://nas.example.org, nfs: {server: nas.example.org, path: /backups}}
    Right:
        - {name: nas, nfs: {server: nas.example.org, path: /backups}}
    """
    for at, one in places(cluster):
        if not one.url and not one.nfs:
            message = f"nobody knows where {one.name} is: it has neither `url` nor `nfs`"
            fix = "the address of its S3, or the server and path of its export"
            yield Finding(at=(*at, "name"), message=message, fix=fix)
        for key in ("url", "region", "ca") if one.nfs else ():
            if getattr(one, key) is not None:
                message = f"{one.name} is an NFS export, which has no `{key}`"
                edits = remove((*at, key))
                yield Finding(at=(*at, key), also=(*at, "nfs"), message=message, fix=f"leave out `{key}`", edits=edits)
        if one.nfs and one.copying.bandwidth:
            where = (*at, "copying", "bandwidth")
            message = f"{one.name} is an NFS export, and nothing bounds how fast backups come there"
            yield Finding(at=where, also=(*at, "nfs"), message=message, fix="leave out `bandwidth`; `atOnce` counts")


@warning("GEN-BKP-071", "what is encrypted on its way is so on the way to its backup")
def in_plain(cluster: Cluster) -> Iterator[Finding]:
    """By NFS everything is read and written in plain, and the server believes each machine which user it is. Where the
    file has traffic between nodes or of Ceph encrypted, somebody may listen in these networks; the copies then go
    through them in plain. Snapshots of etcd are encrypted by themselves.

    Wrong:
        ceph: {encryption: {transit: true}, ...}
        # and
        to: {bucket: datasets, at: nas}
    Right:
        ceph: {encryption: {transit: true}, ...}
        # and
        to: {bucket: datasets-backup, at: offsite}
    """
    found, encrypted = exports(cluster), _encrypted(cluster)
    for at, backup in entries(cluster.backups, "backups") if encrypted else ():
        if backup.target.at in found:
            message = f"backup {backup.name} goes to {backup.target.at} by NFS, in plain"
            fix = "a service of S3 in `at`; or accept it where the way to that server is trusted"
            yield Finding(at=(*at, "to", "at"), also=encrypted, message=message, fix=fix)


def _encrypted(cluster: Cluster) -> Path | None:
    """Return where the file has traffic encrypted, if it does."""
    ceph = cluster.storage.ceph
    if ceph and ceph.encryption.transit:
        return (*CEPH, "encryption", "transit")
    return ("networks", "encryption") if cluster.networks.encryption else None


@rule("GEN-BKP-072", "who compares knows the target")
def compared_by_itself(cluster: Cluster) -> Iterator[Finding]:
    """In a folder of an NFS export objects lie by their checksums, which rclone does not know. The backup itself reads
    all that is new from there, and in four weeks all that is old.

    Wrong:
        to: {bucket: datasets, at: nas}
        compare: {by: rclone}
    Right:
        to: {bucket: datasets, at: nas}
    """
    found = exports(cluster)
    for at, backup in entries(cluster.backups, "backups"):
        if backup.compare and backup.target.at in found:
            where = (*at, "compare")
            message = f"backup {backup.name} goes to {backup.target.at} by NFS, where rclone compares nothing"
            edits = remove(where)
            yield Finding(at=where, also=(*at, "to", "at"), message=message, fix=in_words(edits), edits=edits)


@rule("GEN-BKP-074", "backups of volumes go to a bucket")
def volumes_in_buckets(cluster: Cluster) -> Iterator[Finding]:
    """Movers of volumes bring encrypted blocks to a bucket (restic); here they have no way to an NFS export.

    Wrong:
        volumeBackups: [{to: {bucket: volumes, at: nas}, ...}]
    Right:
        volumeBackups: [{to: {bucket: volumes, at: offsite}, ...}]
    """
    found = exports(cluster)
    for at, backup in entries(cluster.volume_backups, "volumeBackups"):
        if backup.target.at in found:
            message = f"backup {backup.name} is of a volume, and {backup.target.at} is an NFS export"
            fix = "a service of S3 in `at`, or a bucket of MinIO without `at`"
            yield Finding(at=(*at, "to", "at"), also=found[backup.target.at][0], message=message, fix=fix)


@warning("GEN-BKP-073", "an export is outside the cluster")
def server_outside(cluster: Cluster) -> Iterator[Finding]:
    """What a node of the cluster exports is lost with the cluster, as its own storage is.

    Wrong:
        nfs: {server: 10.10.0.41, path: /backups}
        # and
        nodes: [{name: cpu-01, address: 10.10.0.41, ...}]
    Right:
        nfs: {server: nas.example.org, path: /backups}
    """
    known = {str(address): machine.name for machine in cluster.machines for address in (machine.address, machine.name)}
    for at, one in exports(cluster).values():
        if one.nfs and one.nfs.server in known:
            where = (*at, "nfs", "server")
            message = f"{one.name} is on {known[one.nfs.server]}, which is a node of this cluster"
            yield Finding(at=where, message=message, fix=f"a server outside in {dotted(where)}")
