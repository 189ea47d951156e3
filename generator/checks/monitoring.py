"""Rules about monitoring: where it keeps its data, whom it tells."""

import re
from collections.abc import Iterator

from generator.checks.logs import LOGS
from generator.checks.places import entries, repeats, unknown
from generator.checks.tiers import CEPH, block_classes, brings_classes, default_classes, storage_classes
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Path, in_words, put
from generator.model.monitoring import Alert, Prometheus, Zabbix, http_port, seconds
from generator.model.rule import rule, warning
from generator.spec.near import slip

ZABBIX: Path = ("monitoring", "zabbix")
PROMETHEUS: Path = ("monitoring", "prometheus")
OPERATIONS: Path = ("monitoring", "operations")
# What Zabbix's own media types take as a recipient (facts: monitoring 4.4).
_CHANNELS = {
    "slack": (r"[#@][\w.-]+|[CDGU][A-Z0-9]{6,}", "as in #ml-oncall, @name or the channel's id"),
    "mattermost": (r"[\w.-]+/[#@][\w.-]+|[a-z0-9]{26}", "as in team/#alerts, team/@name or the channel's id"),
}

_KEPT = {"zabbix": "Zabbix's database is", "prometheus": "Prometheus' samples are"}


def _told(cluster: Cluster) -> list[tuple[str, Path, Zabbix | Prometheus]]:
    """Return who tells people, with its place."""
    monitoring = cluster.monitoring
    sides = (("zabbix", ZABBIX, monitoring.zabbix), ("prometheus", PROMETHEUS, monitoring.prometheus))
    return [(name, at, settings) for name, at, settings in sides if settings]


def _alerts(cluster: Cluster) -> list[tuple[Path, Alert]]:
    return [one for _, at, settings in _told(cluster) for one in entries(settings.alerts, *at, "alerts")]


@rule("GEN-MON-001", "Zabbix's database has a volume")
def zabbix_volume(cluster: Cluster) -> Iterator[Finding]:
    """A claim without a class waits for the default one; without that the database never starts.

    Wrong:
        monitoring: {zabbix: {}}
        # and no default storage class
    Right:
        - {name: rbd-nvme, deviceClass: nvme, default: true}
    """
    zabbix = cluster.monitoring.zabbix
    if zabbix and not zabbix.storage_class and not default_classes(cluster):
        message = "Zabbix's database has no storage class, and the cluster has no default one"
        yield _without_class(cluster, ZABBIX, message)


def _without_class(cluster: Cluster, at: Path, message: str) -> Finding:
    """Offer the classes that the cluster has for volumes, those on disks before NFS."""
    storage = cluster.storage
    classes = block_classes(cluster)
    classes += [storage.scratch.storage_class] if storage.scratch else []
    classes += [storage.nfs.storage_class] if storage.nfs else []
    if not classes:
        fix = "storageClass, of storage.ceph.blockPools, storage.scratch or storage.nfs"
        return Finding(at=at, key=True, message=message, fix=fix)
    edits = put((*at, "storageClass"), classes[0])
    fix = ", or ".join([in_words(edits), *classes[1:]])
    return Finding(at=at, key=True, message=message, fix=fix, edits=edits)


@warning("GEN-MON-002", "Prometheus's samples have a volume")
def prometheus_volume(cluster: Cluster) -> Iterator[Finding]:
    """Without a storage class Prometheus keeps its samples in the pod: they are gone when it moves. Disks suit it, of
    Ceph or of a node; on NFS, which Prometheus does not support, samples can be damaged.

    Wrong:
        monitoring: {prometheus: {}}
        # and no default storage class
    Right:
        monitoring: {prometheus: {storageClass: rbd-nvme}}
    """
    prometheus = cluster.monitoring.prometheus
    default = any(placed.use == "block" for placed in default_classes(cluster))
    if prometheus and not prometheus.storage_class and not default:
        message = "Prometheus has no storage class: its samples are lost with its pod"
        yield _without_class(cluster, PROMETHEUS, message)


@warning("GEN-MON-003", "storage classes that exist")
def class_known(cluster: Cluster) -> Iterator[Finding]:
    """A claim of a class that nobody makes waits for ever. Classes that you bring yourself are not known here; where a
    component of `extras` may write StorageClasses (`kinds`), only a slip of one that is known is told.

    Wrong:
        zabbix: {storageClass: rbd-nmve}
    Right:
        zabbix: {storageClass: rbd-nvme}
    """
    known = [name for name, _ in storage_classes(cluster)]
    brought = brings_classes(cluster)
    bring = f"one of {', '.join(known)}" if known else "bring it in `custom`"
    monitoring = cluster.monitoring
    stored = (
        ("Zabbix", ZABBIX, monitoring.zabbix),
        ("Prometheus", PROMETHEUS, monitoring.prometheus),
        ("Loki", LOGS, monitoring.logs),
    )
    for who, at, settings in stored:
        name = settings.storage_class if settings else None
        if name and name not in known and (slip(name, known) or not brought):
            message = f"no tier makes the storage class {name} of {who}"
            yield unknown((*at, "storageClass"), name, known, message, bring)


@rule("GEN-MON-004", "Mattermost has an address")
def mattermost_address(cluster: Cluster) -> Iterator[Finding]:
    """Mattermost runs at your site, so Zabbix and Alertmanager must be told where: by HTTP, on a port that is one.
    Zabbix may reach that port alone.

    Wrong:
        alerts: [{via: mattermost, channel: ops/#alerts}]
        # and no zabbix.mattermost
    Right:
        mattermost: https://chat.example.org
    """
    for name, place, settings in _told(cluster):
        found = entries(settings.alerts, *place, "alerts")
        first = next(((at, alert) for at, alert in found if alert.via == "mattermost"), None)
        if first and not settings.mattermost:
            at, alert = first
            message = f"alerts go to Mattermost ({alert.channel}), and {name}.mattermost is not given"
            yield Finding(at=(*at, "via"), also=place, message=message, fix="mattermost: https://<its host>")
        if settings.mattermost and not http_port(settings.mattermost):
            message = f"{settings.mattermost} is not where Mattermost answers: alerts go there by HTTP"
            fix = "mattermost: https://<its host>:<its port>"
            yield Finding(at=(*place, "mattermost"), message=message, fix=fix)


@rule("GEN-MON-022", "what Prometheus would tell is told")
def alertmanager_tells(cluster: Cluster) -> Iterator[Finding]:
    """Each fault is told by one side. Where Zabbix is, there is no Alertmanager: whom it would tell is told nothing. A
    heartbeat is sent by the configuration that `alerts` make: without them the whole of it is a Secret of your own.

    Wrong:
        prometheus: {heartbeat: "https://watch.example.org/ping/lab"}
    Right:
        prometheus: {heartbeat: "https://watch.example.org/ping/lab", alerts: [{via: slack, channel: "#oncall"}]}
    """
    prometheus = cluster.monitoring.prometheus
    if prometheus and cluster.monitoring.zabbix and (prometheus.alerts or prometheus.heartbeat):
        key = "alerts" if prometheus.alerts else "heartbeat"
        message = f"no Alertmanager is there for these {key}: alerts belong to Zabbix where the cluster has it"
        yield Finding(at=(*PROMETHEUS, key), also=ZABBIX, message=message, fix="say it below zabbix, and not here")
    elif prometheus and prometheus.heartbeat and not prometheus.alerts:
        message = "nothing sends this heartbeat: without `alerts` Alertmanager's configuration is a Secret of your own"
        fix = "add `alerts`, or send it by your own configuration"
        yield Finding(at=(*PROMETHEUS, "heartbeat"), message=message, fix=fix)


@rule("GEN-MON-021", "who is told of operations has an address")
def operations_address(cluster: Cluster) -> Iterator[Finding]:
    """Mattermost runs at your site: how operations ended is sent to the port of its address alone, by HTTP. It is said
    here, or with Zabbix; the webhook itself, which is a secret, is in no file.

    Wrong:
        operations: {via: mattermost}
        # and no zabbix.mattermost
    Right:
        operations: {via: mattermost, mattermost: "https://chat.example.org"}
    """
    told, zabbix = cluster.monitoring.operations, cluster.monitoring.zabbix
    if not told or told.via != "mattermost":
        return
    if told.mattermost and not http_port(told.mattermost):
        message = f"{told.mattermost} is not where Mattermost answers: messages go there by HTTP"
        yield Finding(at=(*OPERATIONS, "mattermost"), message=message, fix="mattermost: https://<its host>:<its port>")
    elif not told.mattermost and not (zabbix and zabbix.mattermost):
        message = "how operations ended is sent to Mattermost, and its address is not given"
        yield Finding(at=(*OPERATIONS, "via"), message=message, fix="mattermost: https://<its host>")


@rule("GEN-MON-005", "channels as the service takes them")
def channels(cluster: Cluster) -> Iterator[Finding]:
    """To a channel that is not understood nothing is sent, which shows on the first alert.

    Wrong:
        - {via: mattermost, channel: alerts}
    Right:
        - {via: mattermost, channel: platform/#alerts}
    """
    for at, alert in _alerts(cluster):
        form, fix = _CHANNELS[alert.via]
        if not re.fullmatch(form, alert.channel):
            message = f"`{alert.channel}` is no channel of {alert.via.capitalize()}"
            yield Finding(at=(*at, "channel"), message=message, fix=fix)


@warning("GEN-MON-006", "somebody is told at once")
def told_at_once(cluster: Cluster) -> Iterator[Finding]:
    """`after` is for who is told when nobody has taken care: somebody must have been told before.

    Wrong:
        alerts: [{via: slack, channel: '#leads', after: 30m}]
    Right:
        alerts: [{via: slack, channel: '#oncall'}, {via: slack, channel: '#leads', after: 30m}]
    """
    zabbix = cluster.monitoring.zabbix
    if zabbix and not zabbix.alerts:
        message = "Zabbix sees problems and tells nobody: there are no alerts"
        yield Finding(at=ZABBIX, key=True, message=message, fix="add `alerts`")
    for _, at, settings in _told(cluster):
        if settings.alerts and all(alert.after for alert in settings.alerts):
            first = min(settings.alerts, key=lambda alert: seconds(alert.after or "0s"))
            message = f"nobody is told of a problem before {first.after}"
            yield Finding(at=(*at, "alerts"), message=message, fix="an alert without `after`")


@warning("GEN-MON-023", "nobody is told the same twice")
def told_once(cluster: Cluster) -> Iterator[Finding]:
    """Each entry of `alerts` sends a message of its own. A channel that stands there twice has two of whatever both
    are for: the one with the lower severity is told of all that the other one is. With another `after` it is told
    once more, of what nobody has taken care of, and that is meant.

    Wrong:
        - {via: slack, channel: "#oncall", severity: warning}
        - {via: slack, channel: "#oncall", severity: high}
    Right:
        - {via: slack, channel: "#oncall", severity: warning}
    """
    for _, place, settings in _told(cluster):
        found = entries(settings.alerts, *place, "alerts")
        items = (((each.via, each.channel, seconds(each.after or "0s")), (*at, "channel")) for at, each in found)
        for (_, channel, _), at, first in repeats(items):
            message = f"{channel} is told the same twice, and as soon"
            yield Finding(at=at, also=first, message=message, fix="one of both, with the lower `severity`")


@warning("GEN-MON-008", "trends outlive the history")
def trends_longer(cluster: Cluster) -> Iterator[Finding]:
    """History is every value, trends are one an hour: they are small, and what graphs of the past are drawn from.

    Wrong:
        zabbix: {history: 365, trends: 90}
    Right:
        zabbix: {history: 31, trends: 365}
    """
    zabbix = cluster.monitoring.zabbix
    if zabbix and zabbix.trends < zabbix.history:
        message = f"trends are kept {zabbix.trends} days, and every value {zabbix.history}"
        edits = (
            *put((*ZABBIX, "trends"), max(365, zabbix.trends)),
            *put((*ZABBIX, "history"), min(31, zabbix.history)),
        )
        yield Finding(at=(*ZABBIX, "trends"), message=message, edits=edits)


@warning("GEN-MON-009", "somebody outside misses the monitoring")
def missed_outside(cluster: Cluster) -> Iterator[Finding]:
    """A Zabbix whose database is on Ceph stops with Ceph, and with it every alert, that on Ceph too; so does a
    Prometheus with its samples. Only something outside the cluster can tell of it: an address that alerts when it is no
    longer asked. An external database or a class of your own needs none for that.

    Wrong:
        zabbix: {storageClass: rbd-nvme}
    Right:
        zabbix: {storageClass: rbd-nvme, heartbeat: https://watch.example.org/ping/lab}
    """
    for name, at, settings in _told(cluster):
        if settings.heartbeat and not http_port(settings.heartbeat):
            message = f"{settings.heartbeat} cannot be asked: it is no address of HTTP"
            yield Finding(at=(*at, "heartbeat"), message=message, fix="heartbeat: https://<its host>/<its path>")
        elif not settings.heartbeat and _tells(cluster, name) and _on_ceph(cluster, settings.storage_class):
            message = f"{_KEPT[name]} on Ceph: when Ceph stops, nobody is told of it"
            yield Finding(at=at, key=True, message=message, fix="heartbeat: https://<what alerts when it is not asked>")


def _tells(cluster: Cluster, name: str) -> bool:
    """Tell whether a side tells people by what the file says."""
    monitoring = cluster.monitoring
    return name == "zabbix" or bool(monitoring.prometheus and monitoring.prometheus.alerts and not monitoring.zabbix)


def _on_ceph(cluster: Cluster, name: str | None) -> bool:
    """Tell whether a claim of this class, or of the default one, lies on Ceph."""
    on_ceph = {made for made, at in storage_classes(cluster) if at[:2] == CEPH}
    return name in on_ceph if name else bool(default_classes(cluster))
