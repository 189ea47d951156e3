"""What `configure.py` shall set in Zabbix besides templates and hosts: alerts, media types, macros, dashboards."""

from generator.components.component import Manifest
from generator.components.indented_json import indented_json
from generator.components.static import read_text
from generator.components.zabbix.hosts import group, hosts, proxy, whole
from generator.components.zabbix.names import CONFIGURE, NAMESPACE, SCRIPT, SET_PASSWORD, TEMPLATES
from generator.components.zabbix.objects import metadata
from generator.components.zabbix.server import WEB
from generator.components.zabbix.templates import templates
from generator.model.cluster import Cluster
from generator.model.monitoring import Alert, Zabbix, seconds

# Hosts in one ConfigMap: some 700 bytes each, and no ConfigMap may pass 1 MiB.
HOSTS = 400
SEVERITIES = ("not classified", "information", "warning", "average", "high", "disaster")
MEDIA = {"slack": "Slack", "mattermost": "Mattermost"}
MINUTE = 60
WEEK = 7 * 86400


def script_map() -> Manifest:
    """Return the scripts, the same on every cluster."""
    names = {"configure.py": "configure.py.txt", SET_PASSWORD: SET_PASSWORD}
    return config_map(SCRIPT, {name: read_text(f"zabbix/{file}") for name, file in names.items()})


def template_map() -> Manifest:
    """Return the templates, the same on every cluster."""
    return config_map(TEMPLATES, templates())


def host_maps(cluster: Cluster) -> list[Manifest]:
    """Return the hosts, as many to a ConfigMap as fit."""
    made = list(hosts(cluster).items())
    parts = [made[start : start + HOSTS] for start in range(0, len(made), HOSTS)]
    return [config_map(f"zabbix-hosts-{number}", dict(part)) for number, part in enumerate(parts)]


def settings_map(cluster: Cluster, settings: Zabbix) -> Manifest:
    """Return the rest."""
    text = indented_json(document(cluster, settings), 2)
    return config_map(CONFIGURE, {"settings.json": f"{text}\n"})


def config_map(name: str, data: dict[str, str]) -> Manifest:
    """Return a ConfigMap of the script's."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(CONFIGURE, name), "data": data}


def document(cluster: Cluster, settings: Zabbix) -> Manifest:
    """Return what the script reads."""
    media = used_media(settings)
    url = f"https://{settings.host}" if settings.host else f"http://{WEB}.{NAMESPACE}.svc:8080"
    secrets = {f"{{${name.upper()}.TOKEN}}": name for name in (*media, *(["minio"] if reads_minio(cluster) else ()))}
    return {
        "group": group(cluster),
        "proxy": proxy(cluster),
        "history": f"{settings.history}d",
        "trends": f"{settings.trends}d",
        "macros": {"{$ZABBIX.URL}": url},
        "secrets": {"{$KUBE.TOKEN}": "kubernetes", **secrets},
        "media": {MEDIA[name]: parameters(name, settings) for name in media},
        "alerts": [alert(one) for one in settings.alerts],
        "dashboards": [overview(cluster)],
        "heartbeat": settings.heartbeat is not None,
    }


def reads_minio(cluster: Cluster) -> bool:
    """Tell whether there is a MinIO, whose metrics want a token."""
    return cluster.storage.objects is not None


def used_media(settings: Zabbix) -> list[str]:
    """Return what the alerts are sent by."""
    return sorted({alert.via for alert in settings.alerts})


def parameters(name: str, settings: Zabbix) -> dict[str, str]:
    """Return a media type's parameters; the token is a macro that nobody can read back."""
    server = {"mattermost_url": settings.mattermost} if name == "mattermost" and settings.mattermost else {}
    return {"bot_token": f"{{${name.upper()}.TOKEN}}", **server}


def alert(one: Alert) -> Manifest:
    """Return an alert: the name tells it from the others."""
    late = f" after {one.after}" if one.after else ""
    return {
        "name": f"{one.via} {one.channel} from {one.severity}{late}",
        "user": f"{one.via} {one.channel}",
        "media": MEDIA[one.via],
        "sendto": one.channel,
        "severity": SEVERITIES.index(one.severity),
        "after": escalation(one.after) if one.after else "",
    }


def escalation(duration: str) -> str:
    """Return how long an escalation waits: Zabbix takes a minute to a week."""
    return f"{min(max(seconds(duration), MINUTE), WEEK)}s"


def overview(cluster: Cluster) -> Manifest:
    """Return the dashboard of the whole cluster on a grid of 24 columns; a row for each part that is there."""
    nodes = [machine.name for machine in cluster.machines]
    gpus = [machine.name for machine in cluster.gpu_nodes]
    ports = [machine.name for machine in cluster.machines if machine.hardware.hcas and cluster.fabric]
    ceph = [whole(cluster)] if cluster.storage.ceph else []
    queues = [whole(cluster)] if cluster.teams else []
    waiting = [("Jobs that wait", "Queue *: jobs that wait"), ("Jobs that run", "Queue *: jobs that run")]
    # Each row's hosts, and the names and items of its graphs.
    shown: list[tuple[list[str], list[tuple[str, ...]]]] = [
        (
            [whole(cluster)],
            [("Pods pending and failed", "Pods pending", "Pods failed"), ("Pods that restart", "Pods that restart")],
        ),
        (queues, [*waiting, ("Gangs without a place", "Gangs without a place")]),
        (nodes, [("CPU utilization", "CPU utilization"), ("Memory available", "Memory available, share")]),
        (gpus, [("GPU utilization", "GPU *: utilization"), ("GPU temperature", "GPU *: temperature")]),
        (ports, [("InfiniBand received", "*: received"), ("InfiniBand sent", "*: sent")]),
        (
            ceph,
            [
                ("Ceph operations", "Ceph reads", "Ceph writes"),
                ("Ceph throughput", "Ceph read throughput", "Ceph write throughput"),
            ],
        ),
    ]
    rows = [[widget("problems", "Problems", [integer("show", 3), integer("show_tags", 3)])]]
    rows += [[chart(row, *graph) for graph in graphs] for row, graphs in shown if row]
    return {"name": f"{group(cluster)}: overview", "pages": [{"widgets": placed(rows)}]}


def placed(rows: list[list[Manifest]]) -> list[Manifest]:
    """Give the widgets their places: a row is 6 high, and its widgets share the width."""
    return [
        {**one, "x": column * (24 // len(row)), "y": 6 * number, "width": 24 // len(row), "height": 6}
        for number, row in enumerate(rows)
        for column, one in enumerate(row)
    ]


def widget(kind: str, name: str, fields: list[Manifest]) -> Manifest:
    """Return a widget without its place."""
    return {"type": kind, "name": name, "view_mode": 0, "fields": fields}


def integer(name: str, value: int) -> Manifest:
    """Return a field with a number."""
    return {"type": 0, "name": name, "value": value}


def chart(hosts_: list[str], name: str, *items: str) -> Manifest:
    """Return a graph of items of hosts. Hosts are named by what their names begin with: fifty names are no pattern."""
    patterns = [(f"ds.hosts.0.{number}", pattern) for number, pattern in enumerate(prefixes(hosts_))]
    patterns += [(f"ds.items.0.{number}", pattern) for number, pattern in enumerate(items)]
    fields = [{"type": 1, "name": field, "value": value} for field, value in patterns]
    fields += [{"type": 1, "name": "ds.color.0", "value": "1A7C11"}, integer("righty", 0), integer("legend", 0)]
    return widget("svggraph", name, fields)


def prefixes(names: list[str]) -> list[str]:
    """Return patterns that cover the names: `gpu-*` for gpu-01 and gpu-02, a name without a number as it is."""
    return list(dict.fromkeys(f"{name.rstrip('0123456789')}*" if name[-1].isdigit() else name for name in names))
