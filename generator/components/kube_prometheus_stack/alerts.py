"""What Prometheus alerts of beside the chart's own rules: backups, drills and looks at GPUs that are missed, drills,
benchmarks and other operations that failed, machines that wait.
"""

from collections.abc import Iterator

from generator.components.alerting import GAP, Rule, Severity, alert, group, silent
from generator.components.argo_workflows import operated
from generator.components.common import monitored_from
from generator.components.component import Manifest
from generator.components.gpu_care.names import LATE, LOOKED
from generator.components.mlperf.names import GOOD
from generator.components.mlperf.names import OPERATION as MLPERF
from generator.components.node_operations.names import MAINTENANCE
from generator.components.reports.metrics import FAILED, SCHEDULED, SUCCEEDED, TOLD_FOR
from generator.components.workflows import drill
from generator.components.workflows.backup import NEWEST
from generator.model.backup import VolumeBackup
from generator.model.cluster import Cluster

LOOK = "see `gen workflow list`, and `gen workflow logs` of the last run"
STATUS = "`gen status` tells more"
SHRANK_DAYS = 7
"""How long is known what a volume held at most: alerts on what it lost end by themselves after that."""
SHRANK_BYTES = 2**30
"""What a volume must have held for that: in little, much comes and goes."""


def backups_missed(cluster: Cluster, namespace: str) -> Manifest | None:
    """Return the rules on the backups that run; None where there are none."""
    rules = [*_copies(cluster), *_drills(cluster)]
    return group("backups", namespace, rules) if rules else None


def volume_backups_missed(cluster: Cluster, namespace: str) -> Manifest | None:
    """Return the rules on the backups of volumes that run; None where there are none."""
    rules = [rule for one in cluster.volume_backups if not one.suspended for rule in _volume(one)]
    return group("volume-backups", namespace, rules) if rules else None


def _volume(backup: VolumeBackup) -> Iterator[Rule]:
    """Yield the rules on one volume. VolSync says that it is out of sync until a first backup worked, and again once
    the second start after the last good one has come (v0.16.0: `statemachine/machine.go`). A mover that fails is tried
    for ever, and nothing else tells.
    """
    gap, of = backup.gap, f'obj_namespace="{backup.source.team}",obj_name="{backup.name}",role="source"'
    metric, by = f"volsync_volume_out_of_sync{{{of}}}", "max by (obj_namespace, obj_name)"
    name, out = f"Volume backup {backup.name} of team {backup.source.team}", f"{by} ({metric}) == 1"
    worked = f"{by} (1 - min_over_time({metric}[{4 * gap}s])) == 1"
    missed = f"{by} (increase(volsync_missed_intervals_total{{{of}}}[{2 * gap}s])) > 0"
    old = f"{name} is too old, for two runs in a row did not end well: {STATUS}"
    never = f"{name} has never worked, or not for long: {STATUS}"
    unseen = f"{name} is looked after by nobody, for VolSync, or its object, is away: {STATUS}"
    yield alert("VolumeBackupTooOld", "critical", old, f"{out} and {worked}")
    yield alert("VolumeBackupNeverWorked", "critical", never, out, f"{gap}s")
    yield alert("VolumeBackupNotSeen", "critical", unseen, f"absent({metric})", f"{gap}s")
    slow = f"{name} takes longer than from one start to the next: begin it less often"
    yield alert("VolumeBackupSlow", "warning", slow, missed)
    yield _shrank(backup)


def _shrank(backup: VolumeBackup) -> Rule:
    """Return the rule on a volume that holds much less than it did, whose backups go on to be good. Kubelets tell what
    it holds while a pod has it mounted, and so the rule judges no volume that nobody uses.
    """
    source, by = backup.source, "max by (namespace, persistentvolumeclaim)"
    holds = f'kubelet_volume_stats_used_bytes{{namespace="{source.team}",persistentvolumeclaim="{source.claim}"}}'
    most = f"{by} (max_over_time({holds}[{SHRANK_DAYS}d]))"
    what = f"Claim {source.claim} of team {source.team} holds less than half of what it held within a week"
    summary = f"{what}: if files are lost, bring them back from backup {backup.name} within {backup.keep_days} days"
    shrank = f"{by} ({holds}) < {most} / 2 and {most} > {SHRANK_BYTES}"
    return alert("VolumeBackupShrank", "warning", summary, shrank)


def benchmarks_failed(cluster: Cluster, namespace: str) -> Manifest | None:
    """Return the rule on benchmarks whose last run was no result, or a lower one; None where there are none. It holds
    until the next run, or until Argo Workflows' controller is started anew.
    """
    if not cluster.mlperf:
        return None
    summary = "The last run of benchmark {{ $labels.benchmark }} was not valid, or dropped: see `gen workflow list`"
    # A name that was mistyped, or is gone from the file, could never be good again.
    known = "|".join(run.name for run in cluster.mlperf.runs)
    failed = f'max by (benchmark) ({GOOD}{{benchmark=~"{known}"}}) == 0'
    return group("benchmarks", namespace, [alert("BenchmarkFailed", "warning", summary, failed)])


def operations_failed(cluster: Cluster, namespace: str) -> Manifest | None:
    """Return the rule on operations whose last run failed or was stopped; None where there are none. What Argo
    Workflows told before its controller was started anew counts, too.
    """
    if not operated(cluster):
        return None
    others = f'{{operation!~"{"|".join((*SCHEDULED, MLPERF))}"}}'
    failed, good = (f"max by (operation) (max_over_time({one}{others}[{TOLD_FOR}s]))" for one in (FAILED, SUCCEEDED))
    summary = "Operation {{ $labels.operation }} failed or was stopped: see `gen workflow list`"
    expr = f"{failed} > time() - {TOLD_FOR} unless {good} > {failed}"
    return group("operations", namespace, [alert("OperationFailed", "warning", summary, expr)])


def gpu_care_missed(cluster: Cluster, namespace: str) -> Manifest | None:
    """Return the rules on GPUs that nobody looks at any more; None where gen does not look after them. Argo Workflows
    forgets the last look when its controller is started anew.
    """
    if not (cluster.gpu_care and cluster.gpu_nodes):
        return None
    summary = f"GPUs were not looked at for an hour: {LOOK}"
    late = f"time() - max(max_over_time({LOOKED}[{LATE}s])) > {LATE}"
    rules = [
        alert("GpuCareTooOld", "warning", summary, late),
        alert("GpuCareNeverSeen", "warning", summary, f"absent({LOOKED})", f"{LATE}s"),
    ]
    return group("gpu-care", namespace, rules)


def cluster_unseen(cluster: Cluster, namespace: str) -> Manifest:
    """Return the rule on kube-state-metrics: without a pod it is no target that could be down, and nothing else tells,
    for what the chart alerts of nodes, pods and Deployments is its series.
    """
    look = (
        f"see its pod in namespace {monitored_from(cluster)}. Until then no node, pod or job is alerted of, whatever "
        "becomes of it"
    )
    return group("cluster-unseen", namespace, [silent("ClusterNotSeen", "kube_node_info", "kube-state-metrics", look)])


def machines_waiting(cluster: Cluster, namespace: str) -> Manifest | None:
    """Return the rules on what the timers of machines tell as conditions of their Nodes; None where there are none."""
    if cluster.kubernetes.upgrades != "timer":
        return None
    rules = [
        _machine("MachineWaitsForReboot", "RebootPending", "14d", "waits for a reboot for two weeks", "reboot"),
        _machine(
            "CertificatesEndSoon", "CertificatesEndSoon", "1h", "has certificates that end in a month", "certificates"
        ),
    ]
    return group("machines", namespace, rules)


def _machine(name: str, condition: str, long: str, what: str, action: str) -> Rule:
    """Return the rule on a condition of Nodes that is true for long, whichever pod of kube-state-metrics tells it."""
    told = f"{{{{ $labels.node }}}} {what}: `gen workflow submit {MAINTENANCE} -p action={action}`"
    true = f'kube_node_status_condition{{condition="{condition}",status="true"}}'
    expr = f"max by (node) (last_over_time({true}[{GAP}])) == 1"
    return alert(name, "warning", told, expr, long)


def _copies(cluster: Cluster) -> Iterator[Rule]:
    for name, age in cluster.watched_backups.items():
        yield from _missed("Backup", name, NEWEST, age, "critical")


def _drills(cluster: Cluster) -> Iterator[Rule]:
    for name, age in cluster.watched_drills.items():
        yield _failed(name)
        yield from _missed("Drill", name, drill.NEWEST, age, "warning")


def _failed(name: str) -> Rule:
    summary = f"The last drill of backup {name} failed, and it may bring nothing back: {LOOK}"
    return alert("DrillFailed", "critical", summary, f'max by (backup) ({drill.GOOD}{{backup="{name}"}}) == 0')


def _missed(what: str, name: str, newest: str, age: int, severity: Severity) -> list[Rule]:
    """Return the rules on one schedule, whose newest good run may be `age` seconds old. Argo Workflows forgets it when
    its controller is started anew: what it said within that time counts; what never worked says nothing for as long.
    """
    metric = f'{newest}{{backup="{name}"}}'
    of = f"Backup {name}" if what == "Backup" else f"Drill of backup {name}"
    summary = f"{of} is too old, or there never was one: {LOOK}"
    last = f"max by (backup) (max_over_time({metric}[{age}s]))"
    return [
        alert(f"{what}TooOld", severity, summary, f"time() - {last} > {age}"),
        alert(f"{what}NeverSeen", severity, summary, f"absent({metric})", f"{age}s"),
    ]
