"""What the proxy reads of Kueue's queues and Volcano's gangs: from the API server, which it asks anyway."""

from generator.components.component import Manifest
from generator.components.zabbix.export import dependent, discovery, integer, lld, step, template, trigger
from generator.components.zabbix.templates.kubernetes import TABLE, asked

QUEUES = "gen queues"

# Pods of Volcano's without a node; those that still wait for quota are SchedulingGated. The phase of a PodGroup tells
# nothing of it: Volcano also sets those of suspended jobs, which have no pods, to Inqueue.
UNPLACED = "/api/v1/pods?fieldSelector=spec.schedulerName%3Dvolcano,spec.nodeName%3D,status.phase%3DPending"
WAITING = """\
var table = JSON.parse(value), status = -1, gangs = {};
table.columnDefinitions.forEach(function (one, number) { if (one.name == 'Status') status = number; });
table.rows.forEach(function (one) {
    var of = one.object.metadata, gang = (of.annotations || {})['scheduling.k8s.io/group-name'] || of.name;
    if (one.cells[status] == 'Pending') gangs[of.namespace + '/' + gang] = true;
});
return Object.keys(gangs).length;"""


def queues() -> Manifest:
    """Return what waits and what runs in each queue, and the gangs that have no place yet."""
    silent = trigger("No data on queues for 10 minutes", "nodata(/@/kube.queues.count,10m)=1", "HIGH")
    # Kueue takes the quota of a job that does not start away and gives it back later: not in every minute of the hour.
    long = trigger(
        "Gangs have quota and no place for an hour", 'count(/@/kube.gangs.pending,1h,"gt","0")>=45', "WARNING"
    )
    placed = step("JAVASCRIPT", WAITING)
    count = step("JSONPATH", "$.items.length()")
    return template(
        QUEUES,
        "Kueue's queues and Volcano's gangs, as the API server tells of them",
        macros={"{$KUBE.URL}": "https://kubernetes.default.svc"},
        items=[
            asked("kube.queues", "Queues", "/apis/kueue.x-k8s.io/v1beta2/clusterqueues"),
            integer(dependent("kube.queues", "kube.queues.count", "Queues there are", count, triggers=[silent])),
            asked("kube.gangs", "Pods without a node", UNPLACED, TABLE),
            integer(dependent("kube.gangs", "kube.gangs.pending", "Gangs without a place", placed, triggers=[long])),
        ],
        discovery_rules=[found()],
    )


def found() -> Manifest:
    """Find the queues. `min` and `max` take what values there are: that a day has passed shows in the first hour of it,
    whatever was missed since.
    """
    waiting = "/@/kube.queue.pending[{#QUEUE}]"
    known = f"count({waiting},1h:now-23h)>0"
    stuck = f"{known} and min({waiting},1d)>0 and max(/@/kube.queue.admitted[{{#QUEUE}}],1d)=0"
    still = trigger("Queue {#QUEUE}: jobs have waited for a day and none runs", stuck, "WARNING")
    return discovery(
        "kube.queues.discovery",
        "Queues",
        master="kube.queues",
        steps=[step("JSONPATH", "$.items")],
        lld_macro_paths=lld(QUEUE="$.metadata.name"),
        item_prototypes=[
            of_queue("pending", "jobs that wait", "pendingWorkloads"),
            of_queue("admitted", "jobs that run", "admittedWorkloads"),
        ],
        trigger_prototypes=[still],
    )


def of_queue(key: str, name: str, field: str) -> Manifest:
    """Return an item of one queue; Kueue leaves out what is 0."""
    path = f"$.items[?(@.metadata.name=='{{#QUEUE}}')].status.{field}.first()"
    taken = step("JSONPATH", path, error_handler="CUSTOM_VALUE", error_handler_params="0")
    return integer(dependent("kube.queues", f"kube.queue.{key}[{{#QUEUE}}]", f"Queue {{#QUEUE}}: {name}", taken))
