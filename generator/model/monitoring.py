"""Monitoring in the cluster file: Zabbix, Prometheus, and who is told."""

import re
from typing import Annotated, Literal

from msgspec import Meta, field

from generator.model.backup import ZabbixBackup
from generator.model.base import Duration, Host, Line, Name, Positive, Section, Url
from generator.model.quantity import Quantity
from generator.model.storage import BucketName

_HTTP = re.compile(r"(https?)://(?:[^/?#@]*@)?(?:\[[0-9A-Fa-f:.]+\]|[^:/?#@\[\]]+)(?::([0-9]{1,5}))?(?:[/?#].*)?")


def http_port(url: str) -> int | None:
    """Return the port of an address of HTTP; None where it is no such address, or its port is none."""
    found = _HTTP.fullmatch(url)
    if not found:
        return None
    port = int(found[2]) if found[2] else {"http": 80, "https": 443}[found[1]]
    return port if 0 < port < 2**16 else None


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds(duration: Duration) -> int:
    """Return how many seconds a duration is. Of more digits than 18 only the first count: Python refuses to read
    thousands of them, and so many seconds never pass.
    """
    return int(duration[:-1][:18]) * _UNITS[duration[-1]]


class Alert(Section, frozen=True, kw_only=True):
    """Who is told of a problem of at least `severity`: at once, or `after` a while if nobody acknowledged it. To
    Prometheus' rules `average` and beyond are `critical`, and what is silenced in Alertmanager is acknowledged.
    """

    via: Literal["slack", "mattermost"]
    channel: Line
    severity: Literal["information", "warning", "average", "high", "disaster"] = "warning"
    after: Duration | None = None


class Zabbix(Section, frozen=True, kw_only=True):
    """Zabbix in the cluster. `storage` is the database's volume, `history` and `trends` are kept in days.
    `mattermost` is the server's address. `heartbeat` is an address outside the cluster, asked every five minutes as
    long as Zabbix works: what is there alerts when it is no longer asked.
    """

    host: Host | None = None
    storage: Quantity = field(default_factory=lambda: Quantity.parse("100Gi"))
    storage_class: Name | None = None
    history: Positive = 31
    trends: Positive = 365
    mattermost: Url | None = None
    heartbeat: Url | None = None
    alerts: tuple[Alert, ...] = ()
    backup: ZabbixBackup | None = None


class IdleGpus(Section, frozen=True, kw_only=True):
    """When GPUs that a pod holds count as idle: none of them worked for more than `percent` of any minute of the last
    hour. Of a job that holds them so for `after_hours` Prometheus alerts.
    """

    percent: Annotated[int, Meta(ge=1, le=100)] = 5
    after_hours: Annotated[int, Meta(ge=1, le=168)] = 4


class Prometheus(Section, frozen=True, kw_only=True):
    """Prometheus, Alertmanager and Grafana (kube-prometheus-stack). `retention` is how long samples are kept: a report
    of a month (`gen use`) needs that month. With `alerts` Alertmanager tells their channels by incoming webhooks, whose
    addresses are the Secret `monitoring/alertmanager-webhooks`; without, its whole configuration is the Secret
    `monitoring/alertmanager-config`. `mattermost` and `heartbeat` are as with Zabbix, but that the heartbeat is sent by
    POST, for as long as Prometheus and Alertmanager work.
    """

    retention: Duration = "15d"
    storage: Quantity = field(default_factory=lambda: Quantity.parse("100Gi"))
    storage_class: Name | None = None
    host: Host | None = None
    mattermost: Url | None = None
    heartbeat: Url | None = None
    alerts: tuple[Alert, ...] = ()
    idle_gpus: IdleGpus = field(default_factory=IdleGpus)


class LogServer(Section, frozen=True, kw_only=True):
    """A log server of the site that takes Loki's push API at `url`, path included. `tenant` is sent along, where it has
    several; with `login`, the user and password of the Secret `log-collector/log-server`.
    """

    url: Url
    tenant: Line | None = None
    login: bool = False


class Logs(Section, frozen=True, kw_only=True):
    """Logs of all pods, and of the nodes' journals. They are kept in the cluster by Loki, in the bucket `bucket` of the
    Ceph object store `store`, or of MinIO where none is named, for `keep_days`; or sent `to` a log server of the site,
    which keeps them as it likes. A node writes `daily_per_node` a day, before it is compressed; `size` is what the
    bucket in Ceph may hold. `storage_class` is that of the volumes on which Loki holds what is not in the bucket yet.
    """

    to: LogServer | None = None
    store: Name | None = None
    bucket: BucketName = "logs"
    size: Quantity = field(default_factory=lambda: Quantity.parse("1Ti"))
    keep_days: Annotated[int, Meta(ge=1, le=3650)] = 14
    daily_per_node: Quantity = field(default_factory=lambda: Quantity.parse("1Gi"))
    storage_class: Name | None = None


class Operations(Section, frozen=True, kw_only=True):
    """Who is told how operations ended: a channel of Slack or Mattermost, by an incoming webhook whose address is the
    Secret `operation-report`, never in this file. `tell` is `failures`: runs that failed or were stopped, and those
    that people began; or `all`: what schedules did well, too. `mattermost` is the server's address, that of
    `monitoring.zabbix` where it is left out.
    """

    via: Literal["slack", "mattermost"]
    mattermost: Url | None = None
    tell: Literal["failures", "all"] = "failures"


class Monitoring(Section, frozen=True, kw_only=True):
    """Zabbix, Prometheus or both: alerts belong to one side. Logs beside them, or alone."""

    zabbix: Zabbix | None = None
    prometheus: Prometheus | None = None
    logs: Logs | None = None
    operations: Operations | None = None
