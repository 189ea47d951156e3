"""Whom Alertmanager tells of what Prometheus alerts of, where the cluster file says it.

The operator makes the configuration of an AlertmanagerConfig, and of a Secret with the addresses of webhooks (v0.93.1:
`pkg/alertmanager/amcfg.go`).
"""

import re

from generator.components.alerting import Rule, group
from generator.components.common import monitored_from, proxy_variables
from generator.components.component import Manifest, Secret, Turn
from generator.components.static import read_objects
from generator.model.cluster import Cluster
from generator.model.monitoring import Alert, Prometheus, seconds

NAME = "alerts"
"""The AlertmanagerConfig."""
WEBHOOKS = "alertmanager-webhooks"
"""The Secret with an incoming webhook's address for each channel."""
AUTHORITIES = "alertmanager-ca"
"""The ConfigMap with the site's CA."""
NOBODY, OUTSIDE = "nobody", "heartbeat"
WEEK = 7 * 86400
ABOVE = {
    "information": ("!=", "none"),
    "warning": ("!~", "none|info"),
    **dict.fromkeys(("average", "high", "disaster"), ("=", "critical")),
}
"""What the severity of rules has to be, by the cluster file's words: rules know `critical` and nothing beyond, and what
has one of its own is at least a warning.
"""

THING = (
    *("alertname", "namespace", "pod", "container", "job_name", "persistentvolumeclaim"),
    *("node", "instance", "device", "port", "mountpoint", "gpu", "UUID", "device_class", "pool_id", "pool", "set"),
    *("cluster_queue", "name", "backup", "obj_namespace", "obj_name"),
)
"""Labels that are equal where two alerts are about one thing. What both lack is equal."""
POD = "Pod {{ $labels.pod }} of {{ $labels.namespace }} is on {{ $labels.node }}, which is down"
DAEMONSET = "DaemonSet {{ $labels.daemonset }} of {{ $labels.namespace }} has pods on nodes that are down"
TARGET = "Prometheus reads {{ $labels.job }} of {{ $labels.namespace }} on nodes that are down"


def objects(cluster: Cluster, settings: Prometheus) -> list[Manifest]:
    """Return what Alertmanager is told by where the cluster file says whom it tells."""
    if not tells(cluster, settings):
        return []
    return [configuration(cluster, settings), lost_pods(monitored_from(cluster)), *authorities(cluster)]


def tells(cluster: Cluster, settings: Prometheus) -> bool:
    """Return whether the cluster file says whom Alertmanager tells, and there is one."""
    return bool(settings.alerts) and cluster.monitoring.zabbix is None


def configuration(cluster: Cluster, settings: Prometheus) -> Manifest:
    """Return the AlertmanagerConfig. An alert goes to each channel that wants its severity; the one that always fires
    goes outside, to what alerts when it no longer comes.
    """
    (made,) = read_objects("kube_prometheus_stack/told.yaml")
    spec = made["spec"]
    receivers: dict[str, Manifest] = {NOBODY: {}}
    receivers |= {key(one): {"slackConfigs": [message(cluster, settings, one)]} for one in settings.alerts}
    if settings.heartbeat:
        receivers[OUTSIDE] = {"webhookConfigs": [beat(cluster, settings.heartbeat)]}
    inhibitions = [{"equal": [*THING], **one} for one in spec["inhibitRules"]]
    routes = [watchdog(settings), *jobs(cluster), *map(channel, settings.alerts)]
    route = {**spec["route"], "routes": routes}
    return {
        **made,
        "metadata": {"name": NAME, "namespace": monitored_from(cluster)},
        "spec": {
            "route": route,
            "inhibitRules": inhibitions,
            "receivers": [{"name": name, **one} for name, one in receivers.items()],
        },
    }


def key(one: Alert) -> str:
    """Return the key of a channel's webhook in the Secret: `slack.ml-oncall`, `mattermost.ops.alerts`. A person is
    `at.name`, and signs that no key may have are numbers.
    """
    words = one.channel.replace("/", ".").replace("#", "").replace("@", "at.")
    return re.sub(r"[^A-Za-z0-9._-]", lambda sign: f"_{ord(sign[0]):x}_", f"{one.via}.{words}")


def watchdog(settings: Prometheus) -> Manifest:
    """Send the chart's alert that always fires every four to five minutes, which is when groups are looked at."""
    often = {"groupWait": "0s", "groupInterval": "1m", "repeatInterval": "4m"} if settings.heartbeat else {}
    return {
        "receiver": OUTSIDE if settings.heartbeat else NOBODY,
        "matchers": [_is("alertname", "=", "Watchdog")],
        **often,
    }


def jobs(cluster: Cluster) -> list[Manifest]:
    """Tell nobody that a team's job failed, or has run for half a day, as the chart alerts of: that is the team's own
    matter, and what training is.
    """
    teams = "|".join(team.name for team in cluster.teams)
    theirs = [_is("alertname", "=~", "KubeJobFailed|KubeJobNotCompleted"), _is("namespace", "=~", teams)]
    return [{"receiver": NOBODY, "matchers": theirs}] if teams else []


def channel(one: Alert) -> Manifest:
    """Return the route to a channel. What is over within `after`, or silenced, is not told there."""
    late = {"groupWait": f"{min(seconds(one.after), WEEK)}s"} if one.after else {}
    critical = {"receiver": key(one), "matchers": [_is("severity", "=", "critical")], "repeatInterval": "4h"}
    matchers = [_is("severity", *ABOVE[one.severity])]
    return {"receiver": key(one), "matchers": matchers, "continue": True, **late, "routes": [critical]}


def _is(name: str, how: str, value: str) -> Manifest:
    return {"name": name, "matchType": how, "value": value}


def message(cluster: Cluster, settings: Prometheus, one: Alert) -> Manifest:
    """Return what is sent to a channel's webhook, which answers where it is. No channel is named: a webhook has one."""
    (said,) = read_objects("kube_prometheus_stack/message.yaml")
    server = settings.mattermost if one.via == "mattermost" and settings.mattermost else "https:"
    way = {"followRedirects": False, **through(cluster, server)}
    return {"apiURL": {"name": WEBHOOKS, "key": key(one)}, **said, "fallback": said["title"], "httpConfig": way}


def beat(cluster: Cluster, address: str) -> Manifest:
    """Return what is sent outside: the one alert, whose end nobody can tell."""
    way = through(cluster, address)
    return {"url": address, "sendResolved": False, "maxAlerts": 1, **({"httpConfig": way} if way else {})}


def through(cluster: Cluster, url: str) -> Manifest:
    """Return the way to an address: by the site's proxy, where it has one and the address is not among what is reached
    directly.
    """
    known = proxy_variables(cluster)
    if not known:
        return {}
    return {
        "proxyUrl": known["HTTPS_PROXY" if url.startswith("https:") else "HTTP_PROXY"],
        "noProxy": known["NO_PROXY"],
    }


def lost_pods(namespace: str) -> Manifest:
    """Return the rules that mark what is on nodes that are down: pods, DaemonSets and what Prometheus scrapes. They are
    told to nobody, hold what is told of these, and fire at once: rules of the chart see a pod or an answer that is
    missing before the node counts as down for as long.
    """
    state = 'job="kube-state-metrics"'
    down = f'and on (node) max by (node) (kube_node_status_condition{{{state},condition="Ready",status="true"}}) == 0'
    pods = f'kube_pod_info{{{state},node!=""}}'
    daemons = f'kube_pod_info{{{state},node!="",created_by_kind="DaemonSet"}} {down}'
    daemonset = f'label_replace({daemons}, "daemonset", "$1", "created_by_name", "(.+)")'
    silent = f"up == 0 {down} or up == 0 and on (namespace, pod) ({pods} {down})"
    return group(
        "lost-pods",
        namespace,
        [
            _lost("PodOnLostNode", f"max by (namespace, pod, node) ({pods}) {down}", POD),
            _lost("DaemonSetOnLostNode", f"max by (namespace, daemonset) ({daemonset})", DAEMONSET),
            _lost("TargetOnLostNode", f"max by (namespace, job, service) ({silent})", TARGET),
        ],
    )


def _lost(name: str, expr: str, summary: str) -> Rule:
    return {"alert": name, "expr": expr, "labels": {"severity": "none"}, "annotations": {"summary": summary}}


def authorities(cluster: Cluster) -> list[Manifest]:
    """Return the site's CA for Alertmanager, where there is one."""
    if not cluster.site.ca:
        return []
    metadata = {"name": AUTHORITIES, "namespace": monitored_from(cluster)}
    return [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"ca.crt": cluster.site.ca}}]


def spec(cluster: Cluster) -> Manifest:
    """Return what Alertmanager's own object says of all that. The site's CA is trusted beside the image's own: Go reads
    these folders after the image's file.
    """
    made: Manifest = {"useExistingSecret": True, "alertmanagerConfiguration": {"name": NAME}}
    if not cluster.site.ca:
        return made
    trusted = {"name": "SSL_CERT_DIR", "value": f"/etc/ssl/certs:/etc/alertmanager/configmaps/{AUTHORITIES}"}
    return {**made, "configMaps": [AUTHORITIES], "containers": [{"name": "alertmanager", "env": [trusted]}]}


def webhooks(cluster: Cluster, settings: Prometheus) -> Secret:
    """Return the Secret with the webhooks' addresses."""
    return Secret(
        name=WEBHOOKS,
        namespace=monitored_from(cluster),
        keys=tuple(dict.fromkeys(map(key, settings.alerts))),
        source="given",
        loss="outage",
        rotate="make other incoming webhooks and replace it: Alertmanager has them within a minute or two, and goes on "
        "as before while a key is missing. Whoever has an address can write to its channel",
        readers=("kube-prometheus-stack",),
        turn=Turn(),
    )


def whole_configuration(cluster: Cluster) -> Secret:
    """Return the Secret with Alertmanager's configuration, where the cluster file does not say whom it tells."""
    return Secret(
        name="alertmanager-config",
        namespace=monitored_from(cluster),
        keys=("alertmanager.yaml",),
        source="given",
        loss="outage",
        rotate="replace it: Alertmanager reads it again within a minute. Without it nobody is told of anything",
        readers=("kube-prometheus-stack",),
        turn=Turn(),
    )
