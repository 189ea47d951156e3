"""What is measured, and what is a problem: Zabbix' templates, the same on every cluster."""

from functools import cache

from generator.components.component import Manifest
from generator.components.zabbix.export import GROUP, document, identity
from generator.components.zabbix.templates.devices import GPU, INFINIBAND, gpu, infiniband
from generator.components.zabbix.templates.kubernetes import BACKUPS, KUBERNETES, backups, kubernetes
from generator.components.zabbix.templates.node import NODE, node
from generator.components.zabbix.templates.storage import CEPH, MINIO, ceph, minio

__all__ = ["BACKUPS", "CEPH", "GPU", "INFINIBAND", "KUBERNETES", "MINIO", "NODE", "templates"]

MADE = (node, gpu, infiniband, ceph, minio, kubernetes, backups)


@cache
def templates() -> dict[str, str]:
    """Return the templates as export files, by file name."""
    return {f"{made['template'].replace(' ', '-').lower()}.json": _file(made) for made in (make() for make in MADE)}


def _file(made: Manifest) -> str:
    across = made.pop("triggers", [])
    groups = [{"uuid": identity("group", GROUP), "name": GROUP}]
    return document(groups=groups, templates=[made], **({"triggers": across} if across else {}))
