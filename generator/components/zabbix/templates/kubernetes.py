"""What the proxy reads of Kubernetes itself, of the backups that run in it, and of operations that failed."""

from collections.abc import Iterable
from itertools import accumulate

from generator.components.component import Manifest
from generator.components.gpu_care.names import LATE, LOOKED
from generator.components.workflows import drill
from generator.components.workflows.backup import NEWEST
from generator.components.zabbix.export import (
    dependent,
    discovery,
    http,
    integer,
    lld,
    prometheus,
    step,
    template,
    text,
    trigger,
)
from generator.components.zabbix.templates.operations import failures

KUBERNETES = "gen Kubernetes"
BACKUPS = "gen backups"
BACKUP_METRICS = "backup.metrics"
LEFT_OUT = "{$KUBE.RESTARTING.WITHOUT}"
"""The macro that says in whose namespaces restarts are no matter of the cluster's, as the end of a field selector."""
LONGEST_MACRO = 2048
"""As many characters has a macro's value at most (Zabbix: manual, user macros)."""

# Names and labels only: the pods of a whole cluster are many megabytes otherwise.
LEAN = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
# What `kubectl get` shows: the API server itself says in words how each pod fares (kubernetes: printers.go, printPod).
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"

# "5 (3m20s ago)": how often, and how long since the last time; from three hours on in hours, then in days.
RESTARTING = """\
var table = JSON.parse(value), restarts = -1;
table.columnDefinitions.forEach(function (one, number) { if (one.name == 'Restarts') restarts = number; });
return table.rows.filter(function (one) {
    var ago = /\\((?:(\\d+)m)?(?:\\d+s)? ago\\)/.exec(one.cells[restarts]);
    return ago && Number(ago[1] || 0) < 30;
}).length;"""


def kubernetes() -> Manifest:
    """Return nodes' and pods' state from the API server: no other program is needed for it. The server proves itself
    by the cluster's CA, for a token goes there.
    """
    return template(
        KUBERNETES,
        "Nodes and pods, as the API server tells of them",
        macros={
            "{$KUBE.URL}": "https://kubernetes.default.svc",
            "{$KUBE.PENDING.MAX}": "50",
            "{$KUBE.RESTARTING.MAX}": "0",
            LEFT_OUT: "",
        },
        items=[ready(), asked("kube.nodes", "Nodes", "/api/v1/nodes"), *pods(), restarting()],
        discovery_rules=[nodes()],
    )


def asked(key: str, name: str, path: str, accept: str = "application/json") -> Manifest:
    """Ask the API server."""
    headers = [{"name": "Authorization", "value": "Bearer {$KUBE.TOKEN}"}, {"name": "Accept", "value": accept}]
    return http(key, name, f"{{$KUBE.URL}}{path}", headers=headers, verify_peer="YES", verify_host="YES")


def ready() -> Manifest:
    """Ask whether the API server works; it answers `ok`."""
    silent = 'last(/@/kube.ready)<>"ok" or nodata(/@/kube.ready,5m)=1'
    wrong = trigger("The API server is not ready", silent, "DISASTER")
    return {**text(asked("kube.ready", "API server", "/readyz")), "history": "7d", "triggers": [wrong]}


def pods() -> list[Manifest]:
    """Count pods that wait, and pods that failed."""
    waiting = "min(/@/kube.pods.pending,30m)>{$KUBE.PENDING.MAX}"
    many = trigger("Many pods have waited for 30 minutes", waiting, "WARNING")
    # It answers, and does not let us read.
    silent = trigger("No data on pods for 10 minutes", "nodata(/@/kube.pods.pending,10m)=1", "HIGH")
    return [{**phase("Pending"), "triggers": [many, silent]}, phase("Failed")]


def phase(name: str) -> Manifest:
    """Count the pods in a phase."""
    path = f"/api/v1/pods?fieldSelector=status.phase%3D{name}"
    made = asked(f"kube.pods.{name.lower()}", f"Pods {name.lower()}", path, LEAN)
    kept = {key: value for key, value in made.items() if key not in {"history", "trends"}}
    return {**integer(kept), "preprocessing": [step("JSONPATH", "$.items.length()")]}


def without(namespaces: Iterable[str]) -> str:
    """Return the value of LEFT_OUT for some namespaces: of those that find no room the pods are counted, too."""
    parts = [f",metadata.namespace!={name}" for name in namespaces]
    ends = accumulate(len(part) for part in parts)
    return "".join(part for part, end in zip(parts, ends, strict=True) if end <= LONGEST_MACRO)


def restarting() -> Manifest:
    """Count the pods of which a container has restarted within half an hour. They are Running between two crashes; the
    longest pause before the next try is 5 minutes. Jobs' pods are left out: each Job tells of its own failure; so are
    those of teams: one service of theirs that crashes must not hide that Ceph's daemons do. After a reboot all pods of
    the node are counted, for half an hour.
    """
    path = f"/api/v1/pods?fieldSelector=spec.restartPolicy=Always{LEFT_OUT}&includeObject=None"
    often = 'count(/@/kube.pods.restarting,1h,"gt","{$KUBE.RESTARTING.MAX}")>=45'
    made = asked("kube.pods.restarting", "Pods that restart", path, TABLE)
    kept = {key: value for key, value in made.items() if key not in {"history", "trends"}}
    again = trigger("Containers restart again and again", often, "WARNING")
    return {**integer(kept), "preprocessing": [step("JAVASCRIPT", RESTARTING)], "triggers": [again]}


def nodes() -> Manifest:
    """Find the nodes that the API server knows."""
    ready, pressed = (f"status.conditions[?(@.type=='{kind}')].status" for kind in ("Ready", "DiskPressure"))
    missing = {"error_handler": "CUSTOM_VALUE", "error_handler_params": "false"}
    twice = 'last(/@/kube.node.ready[{#NODE}],#1)<>"True" and last(/@/kube.node.ready[{#NODE}],#2)<>"True"'
    lost = trigger("Node {#NODE} is not ready", twice, "HIGH")
    full = trigger("Node {#NODE} is short of disk", 'last(/@/kube.node.disk[{#NODE}])="True"', "AVERAGE")
    return discovery(
        "kube.nodes.discovery",
        "Nodes",
        master="kube.nodes",
        steps=[step("JSONPATH", "$.items")],
        lld_macro_paths=lld(NODE="$.metadata.name"),
        item_prototypes=[
            of_node("ready", "ready", ready, lost),
            of_node("disk", "short of disk", pressed, full),
            of_node("closed", "closed for pods", "spec.unschedulable", **missing),
        ],
    )


def of_node(key: str, name: str, field: str, *triggers: Manifest, **more: str) -> Manifest:
    """Return an item of one node from a field of what the API server tells."""
    found = step("JSONPATH", f"$.items[?(@.metadata.name=='{{#NODE}}')].{field}.first()", **more)
    key, name = f"kube.node.{key}[{{#NODE}}]", f"Node {{#NODE}}: {name}"
    return text(dependent("kube.nodes", key, name, found, trigger_prototypes=list(triggers)))


def backups() -> Manifest:
    """Return what tells of all backups at once, and of operations that failed; each backup is an item of the cluster's
    own host.
    """
    return template(
        BACKUPS,
        "Backups, and operations that failed, as Argo Workflows tells of them",
        macros={"{$ARGO.URL}": ""},
        items=[http(BACKUP_METRICS, "Argo Workflows", "{$ARGO.URL}")],
        discovery_rules=[failures(BACKUP_METRICS)],
    )


def backup(host: str, name: str, age: int) -> Manifest:
    """Return the item of one backup: when the newest good one began."""
    return _newest(host, f"backup.last[{name}]", f"Backup {name}", f'{NEWEST}{{backup="{name}"}}', age, "HIGH")


def drills(host: str, name: str, age: int) -> tuple[Manifest, ...]:
    """Return the items of one backup's drill: when the newest good one began, and whether the last was good."""
    of = f"Drill of backup {name}"
    key = f"drill.good[{name}]"
    failed = trigger(
        f"The last drill of backup {name} failed: it may bring nothing back", f"last(/{host}/{key})=0", "HIGH"
    )
    good = prometheus(f'{drill.GOOD}{{backup="{name}"}}', "max")
    newest = f'{drill.NEWEST}{{backup="{name}"}}'
    return (
        _newest(host, f"drill.last[{name}]", of, newest, age, "AVERAGE"),
        dependent(BACKUP_METRICS, key, f"{of}: whether the last was good", good, triggers=[failed]),
    )


def gpu_care(host: str) -> Manifest:
    """Return the item of the looks at GPUs: when the newest good one began."""
    return _newest(host, "gpu-care.last", "Look at GPUs", LOOKED, LATE, "WARNING")


def _newest(  # noqa: PLR0913, PLR0917 - what backups and drills differ in
    host: str, key: str, of: str, metric: str, age: int, severity: str
) -> Manifest:
    """Return an item that says when the newest good one began. What never worked has no value, and a controller that
    was started anew tells nothing until the next run: neither may be silent for longer than `age` seconds.
    """
    old = f"now()-last(/{host}/{key})>{age} or nodata(/{host}/{key},{age}s)=1"
    return dependent(
        BACKUP_METRICS,
        key,
        f"{of}: newest good one",
        prometheus(metric, "max"),
        units="unixtime",
        triggers=[trigger(f"{of} is too old, or there never was one", old, severity)],
    )
