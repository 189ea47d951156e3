"""What pods reach the targets of backups with: keys, and who signed certificates."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from generator.components.component import Manifest, Secret
from generator.components.minio.user_keys import copied_keys
from generator.components.workflows.targets import AUTHORITIES, AnyItem, authority, elsewhere, given_secret, writer
from generator.model.backup import AnyBackup, Backup, EtcdBackup, ZabbixBackup
from generator.model.cluster import Cluster
from generator.model.storage import ObjectUser

Item = TypeVar("Item", Backup, EtcdBackup, ZabbixBackup)


def given_keys(item: AnyBackup, namespace: str, reader: str) -> Secret:
    """Declare the keys that the service gives for a backup's bucket."""
    return Secret(
        name=given_secret(item),
        namespace=namespace,
        keys=("accessKey", "secretKey"),
        source="given",
        loss="outage",
        rotate=f"have {item.target.at} make new keys for {item.target.bucket}, replace the Secret, run the backup "
        "once, then have the former ones taken back",
        readers=(reader,),
    )


def keys(
    cluster: Cluster,
    items: Sequence[Item],
    namespace: str,
    component: str,
    whose: Sequence[Callable[[Cluster, Item], ObjectUser | None]] = (writer,),
) -> Iterator[Secret]:
    """Yield what pods of backups reach their targets with, each once: keys of users of MinIO, and given ones."""
    users = (user for of in whose for one in items if (user := of(cluster, one)))
    yield from (copied_keys(user, namespace, component) for user in {one.name: one for one in users}.values())
    yield from (given_keys(one, namespace, component) for one in items if (at := elsewhere(cluster, one)) and at.url)


def authorities(
    cluster: Cluster, items: Iterable[AnyItem], labels: dict[str, str], namespace: str, name: str = AUTHORITIES
) -> list[Manifest]:
    """Return the ConfigMap with who signed the certificates of services elsewhere; none where any system knows them."""
    places = dict.fromkeys(one for item in items if (one := elsewhere(cluster, item)) and one.url)
    known = {authority(one): ca for one in places if (ca := one.ca or cluster.site.ca)}
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": known}] if known else []
