"""Zabbix: server, database, frontend, a proxy, an agent on every node, and all of its configuration."""

from collections.abc import Iterator

from generator.components.common import CLUSTER_ROLES
from generator.components.component import Component, Tier
from generator.components.definition import ALL_NODES, Definition, Evidence, Version, Versions
from generator.components.gpu_operator import NAMESPACE as GPU_OPERATOR
from generator.components.rule_files import read_rules
from generator.components.zabbix.names import AGENTS, NAMESPACE
from generator.model.change import ChangeRule
from generator.model.cluster import Cluster
from generator.model.finding import Path
from generator.model.versions import goes_back_a_minor, goes_to_another_minor, of

VERSIONS = Versions(
    "zabbix",
    (
        Version(
            version="7.0.30",
            images={
                "server": "docker.io/zabbix/zabbix-server-pgsql:ubuntu-7.0.30",
                "web": "docker.io/zabbix/zabbix-web-nginx-pgsql:ubuntu-7.0.30",
                "proxy": "docker.io/zabbix/zabbix-proxy-sqlite3:ubuntu-7.0.30",
                "agent": "docker.io/zabbix/zabbix-agent2:ubuntu-7.0.30",
                "postgresql": "docker.io/library/postgres:16.10",
                "python": "docker.io/library/python:3.12.12-alpine3.22",
            },
            schemas=("zabbix-chart/7.0.12",),
        ),
    ),
)


def zabbix(cluster: Cluster) -> Component:
    """Install Zabbix where the cluster file asks for it, and configure it from the same list of nodes."""
    from generator.components.zabbix.install import install  # noqa: PLC0415 - a dozen modules, for rendering only

    return install(cluster)


def hosts(cluster: Cluster) -> Iterator[tuple[Path, str]]:
    """Yield the name of Zabbix's pages."""
    settings = cluster.monitoring.zabbix
    if settings and settings.host:
        yield ("monitoring", "zabbix", "host"), settings.host


def change_rules() -> tuple[ChangeRule, ...]:
    """Return what changes of its objects mean."""
    from generator.components.zabbix.changes import CHANGES  # noqa: PLC0415 - for those who compare

    return CHANGES


DEFINITION = Definition(
    name="zabbix",
    tier=Tier.MONITORING,
    make=zabbix,
    wanted=lambda cluster: cluster.monitoring.zabbix,
    absence="there is no monitoring.zabbix",
    versions=VERSIONS,
    jumps=lambda: read_rules(
        "zabbix/jumps.yaml",
        goes_back_a_minor=of("zabbix", goes_back_a_minor),
        goes_to_another_minor=of("zabbix", goes_to_another_minor),
    ),
    namespaces=(NAMESPACE, AGENTS),
    reach=(GPU_OPERATOR,),
    own_kinds=CLUSTER_ROLES,
    hosts=hosts,
    daemons_on=ALL_NODES,
    changes=change_rules,
    shown_by=Evidence(
        images=("zabbix/zabbix-server-pgsql", "zabbix/zabbix-server-mysql", "zabbix/zabbix-proxy-sqlite3")
    ),
)
