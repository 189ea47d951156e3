"""What Prometheus alerts of queues: Kueue's, of which each replica tells, and gangs that Volcano finds no place for.
The same faults as Zabbix' template knows (`zabbix/templates/queues.py`), and jobs that Kueue gave up.
"""

from generator.components.alerting import GAP, Rule, alert, group, grown, silent
from generator.components.component import Manifest
from generator.model.cluster import Cluster


def queues(cluster: Cluster, namespace: str) -> Manifest | None:
    """Return the rules on what waits; None where there are no queues."""
    if not cluster.teams:
        return None
    away = silent("QueuesNotSeen", "kueue_cluster_queue_status", "Kueue", "see its pods in namespace kueue-system")
    return group("queues", namespace, [away, _waits(), _unplaced()])


def _waits() -> Rule:
    waiting = (
        f"sum by (cluster_queue) (max by (cluster_queue, status) (last_over_time(kueue_pending_workloads[{GAP}])))"
    )
    running = f"max by (cluster_queue) (max_over_time(kueue_admitted_active_workloads[{GAP}]))"
    summary = (
        "Jobs of team {{ $labels.cluster_queue }} ({{ $value }}) have waited for a day, and none of the team's runs: "
        "`kubectl --namespace {{ $labels.cluster_queue }} describe workloads` tells what they wait for"
    )
    return alert("JobsWaitForADay", "warning", summary, f"{waiting} > 0 unless {running} > 0", "1d")


def _unplaced() -> Rule:
    """Return the rule on gangs without a place. Pods that are gated wait for quota (kube-state-metrics 2.20:
    `internal/store/pod.go`). Kueue takes the quota of a job that does not start and gives it back later: not in every
    minute of the hour.
    """
    one = "on (namespace, pod, uid)"
    volcanos = f'{one} kube_pod_scheduler{{name="volcano"}}'
    gated = f'{one} kube_pod_status_reason{{reason="SchedulingGated"}}'
    pods = f"count by (namespace) (kube_pod_status_unschedulable and {volcanos} unless {gated})"
    summary = (
        "Gangs in {{ $labels.namespace }} have quota and no place for an hour: nodes are cordoned or away, which "
        "`gen status` tells, or what is free is scattered"
    )
    return alert("GangsWithoutPlace", "warning", summary, f"count_over_time({pods}[1h:1m]) >= 45")


def given_up(cluster: Cluster, namespace: str) -> Manifest | None:
    """Return the rule on jobs that Kueue deactivated because they did not start, try after try: they wait no longer,
    and no count has them (v0.18.3: `workload_controller.go`, `triggerDeactivation`).
    """
    if not cluster.teams:
        return None
    metric = 'kueue_evicted_workloads_total{underlying_cause="RequeuingLimitExceeded"}'
    expr = f"sum by (cluster_queue) {grown(metric, '1d')} > 0"
    summary = (
        "Kueue gave up jobs of team {{ $labels.cluster_queue }} that never started: see why by `kubectl --namespace "
        "{{ $labels.cluster_queue }} describe workloads`; `spec.active: true` on a Workload lets it try again"
    )
    return group("jobs-given-up", namespace, [alert("JobsGivenUp", "warning", summary, expr)])
