"""Snapshots of etcd on the control-plane nodes, and the way back: a script, and a page for this very cluster."""

from generator.components.kubeadm.bootstrap_images import etcd_tag
from generator.components.node_text import Escaped, NodeSet, Place, Template, Text, Word, joined, static, static_folder
from generator.components.node_text import template as words
from generator.components.workflows.targets import elsewhere, writer
from generator.model.backup import EtcdBackup
from generator.model.cluster import Cluster
from generator.model.node_sets import node_set

DAY = 24
MEMBER = Template("{name} {address}\n")
RECIPIENT = Template("{key}\n")
# The end of a sentence about what a snapshot is read with.
ENCRYPTED = Template(
    ", and `/etc/kubernetes/enc/encryption.yaml` of that time: with another key no Secret can\nbe read"
)
# A key that was replaced since is on no node any more.
FORMER = Template("""\
Where Secrets have another key now than then, API servers need both: before step 5 add the providers of this file, but
for `identity`, beneath the first one of `/etc/kubernetes/enc/encryption.yaml`, on every control-plane node:
```sh
tar --extract --to-stdout --file keys.tar enc/encryption.yaml
```
""")
OF_USER = Template("the user {writer}: no other\nuser may read this bucket")
GIVEN = Template("this bucket,\nwhich its owner gave: those in this cluster are lost with it")
IN_MINIO = Template("MinIO")
OUTSIDE = Template("{url}, which `mc` shall know as `{name}`")
COPY = Template("scp -r etcd etcd.db root@{address}:/root/\n")


def snapshot_files(cluster: Cluster) -> dict[Place, Text]:
    """Return what the control-plane nodes take snapshots with; nothing where the file asks for none."""
    backup = cluster.kubernetes.etcd.backup
    if not backup:
        return {}
    recipients = joined(Text(RECIPIENT, key=Word(one)) for one in cluster.site.escrow.recipients)
    # systemd takes no step of a whole day.
    hours = Word("00" if backup.every_hours == DAY else f"00/{backup.every_hours}")
    units = {
        "etcd-snapshot.timer": Text(words("kubeadm/etcd-snapshot.timer"), hours=hours),
        "etcd-snapshot.service": Text(words("kubeadm/etcd-snapshot.service"), days=Word(backup.keep_days)),
    }
    found: dict[Place, Text] = {}
    for pool in sorted({machine.pool for machine in cluster.control_plane}):
        above = ("node", "pools", pool)
        found |= static_folder("kubeadm/nodes/etcd-snapshots", *above)
        found[Place(*above, "etc", "etcd-snapshot", "recipients")] = recipients
        found |= {Place(*above, "etc", "systemd", "system", name): unit for name, unit in units.items()}
    return found


def restore_files(cluster: Cluster) -> dict[Place, Text]:
    """Return the script that puts a snapshot in etcd's place, what it reads, and the page that says in which order."""
    backup, machines = cluster.kubernetes.etcd.backup, cluster.control_plane
    if not backup:
        return {}
    values: dict[str, Escaped | Text] = {
        "cluster": Word(cluster.name),
        "nodes": NodeSet(node_set(machine.name for machine in machines)),
        "count": Word(len(machines)),
        "majority": Word(len(machines) // 2 + 1),
        "first": Word(machines[0].name),
        "address": Word(machines[0].address),
        "far": _far(cluster, backup),
        "image": Word(f"etcd:{etcd_tag(cluster)}"),
        "copy": joined(Text(COPY, address=Word(machine.address)) for machine in machines),
        "enc": joined(()) if cluster.kubernetes.encryption == "none" else Text(ENCRYPTED),
        "former": joined(()) if cluster.kubernetes.encryption == "none" else Text(FORMER),
    }
    members = (Text(MEMBER, name=Word(machine.name), address=Word(machine.address)) for machine in machines)
    return {
        Place("etcd", "README.md"): Text(words("kubeadm/etcd_restore/README.md"), **values),
        Place("etcd", "restore.sh"): static("kubeadm/etcd_restore/restore.sh"),
        Place("etcd", "members"): joined(members),
    }


def _far(cluster: Cluster, backup: EtcdBackup) -> Text:
    """Return how a snapshot is had from where they are brought."""
    place, bucket = elsewhere(cluster, backup), Word(backup.target.bucket)
    if place and place.nfs:
        return Text(words("kubeadm/etcd_restore/export.md"), there=Word(place.address), bucket=bucket)
    return Text(words("kubeadm/etcd_restore/bucket.md"), bucket=bucket, **_stored(cluster, backup))


def _stored(cluster: Cluster, backup: EtcdBackup) -> dict[str, Escaped | Text]:
    """Return what the page says of the bucket: where it is, and whose keys read it."""
    if place := elsewhere(cluster, backup):
        return {
            "there": Text(OUTSIDE, url=Word(place.address), name=Word(place.name)),
            "alias": Word(place.name),
            "whose": Text(GIVEN),
        }
    user = writer(cluster, backup)
    whose = Text(OF_USER, writer=Word(user.name if user else "its-writer"))  # a rule tells of none
    return {"there": Text(IN_MINIO), "alias": Word("minio"), "whose": whose}
