"""What is measured, and what is a problem: Zabbix' templates, the same on every cluster."""

from functools import cache

from generator.components.component import Manifest
from generator.components.zabbix.export import GROUP, document, identity
from generator.components.zabbix.templates.devices import gpu, infiniband
from generator.components.zabbix.templates.kubernetes import backups, kubernetes
from generator.components.zabbix.templates.monitoring import monitoring
from generator.components.zabbix.templates.node import node
from generator.components.zabbix.templates.queues import queues
from generator.components.zabbix.templates.storage import ceph, minio

MADE = (node, gpu, infiniband, ceph, minio, kubernetes, queues, backups, monitoring)


@cache
def templates() -> dict[str, str]:
    """Return the templates as export files, by file name."""
    return {f"{made['template'].replace(' ', '-').lower()}.json": _file(made) for made in (make() for make in MADE)}


def _file(made: Manifest) -> str:
    across = made.pop("triggers", [])
    groups = [{"uuid": identity("group", GROUP), "name": GROUP}]
    return document(groups=groups, templates=[made], **({"triggers": across} if across else {}))
