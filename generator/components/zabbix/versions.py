"""The versions of zabbix that gen knows."""

from generator.components.definition import Version, Versions
from generator.model.change import VERSION, ChangeRule, Effect
from generator.model.versions import goes_back_a_minor, goes_to_another_minor, next_minor, of

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

JUMPS = (
    ChangeRule(
        code="GEN-CHG-353",
        kinds=(VERSION,),
        paths=("version",),
        effect=Effect.OUTAGE,
        reason="the database was brought to {old} at the server's first start, and a server of {new} does not start "
        "on it",
        instead="a backup of the database from before, and the loss of what was measured since",
        link="https://www.zabbix.com/documentation/7.0/en/manual/installation/upgrade",
        when=of("zabbix", goes_back_a_minor),
        words=next_minor,
    ),
    ChangeRule(
        code="GEN-CHG-354",
        kinds=(VERSION,),
        paths=("version",),
        effect=Effect.RESTART,
        reason="the server brings its database to the new version at its first start, which may take long, and there "
        "is no way back",
        instead="a backup of the database first; proxies soon after: much older ones are not listened to",
        link="https://www.zabbix.com/documentation/7.0/en/manual/installation/upgrade",
        when=of("zabbix", goes_to_another_minor),
    ),
)
