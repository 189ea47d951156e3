"""What the page about a lost site says of backups: what brings data back, and what is tried at the end."""

from collections.abc import Iterable, Iterator

from generator.components.kubeadm import recovery_words as words
from generator.components.node_text import Text, Word, joined
from generator.components.workflows.targets import AnyItem, elsewhere
from generator.model.backup import ETCD, ZABBIX, EtcdBackup
from generator.model.cluster import Cluster


def lines(cluster: Cluster) -> Text:
    """Return what brings data back, for each backup that is declared."""
    return joined(_lines(cluster))


def _lines(cluster: Cluster) -> Iterator[Text]:
    name = Word(cluster.name)
    for bucket in cluster.backups:
        store, inside = Word("MinIO" if bucket.source.in_minio else "Ceph"), _inside(cluster, bucket)
        yield Text(words.LINES["bucket"], store=store, name=Word(bucket.name), cluster=name, inside=inside)
    for claim in cluster.volume_backups:
        yield Text(words.LINES["volume"], name=Word(claim.name), cluster=name, inside=_inside(cluster, claim))
    for one in cluster.all_backups:
        if one.name == ZABBIX:
            yield Text(words.LINES["zabbix"], inside=_inside(cluster, one))
    if not _tried(cluster):
        yield Text(words.LINES[""])


def runs(cluster: Cluster) -> Text:
    """Return what is run at the end: a snapshot of etcd, and a drill of each backup."""
    every = [f"backup-{ETCD}"] if cluster.kubernetes.etcd.backup else []
    return _submitted(cluster, [*every, *(f"drill-{name}" for name in _tried(cluster))])


def first_backups(cluster: Cluster) -> Text:
    """Return what must be run, or waited for, before where the site was lost with the backups that were in it."""
    tried = (one for one in cluster.all_backups if not isinstance(one, EtcdBackup) and elsewhere(cluster, one) is None)
    names = [f"backup-{one.name}" for one in tried]
    buckets = Text(words.FIRST_BACKUPS, runs=_submitted(cluster, names)) if names else joined(())
    claims = Text(words.FIRST_OF_CLAIMS) if cluster.volumes_in_minio else joined(())
    return joined((claims, buckets))


def _tried(cluster: Cluster) -> list[str]:
    return [one.name for one in cluster.tried]


def _submitted(cluster: Cluster, names: Iterable[str]) -> Text:
    return joined(Text(words.RUN, name=Word(name), cluster=Word(cluster.name)) for name in names)


def _inside(cluster: Cluster, backup: AnyItem) -> Text:
    return joined(()) if elsewhere(cluster, backup) else Text(words.INSIDE)
