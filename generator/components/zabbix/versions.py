"""The versions of zabbix that gen knows."""

from generator.components.definition import Version, Versions

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
