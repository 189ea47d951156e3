"""Who uses the GPUs: what Prometheus computes every minute, by pod and by namespace, and what it alerts of.

A team's namespace and its ClusterQueue have its name, so `namespace` in these series is the team. All are in whole
GPUs: an instance of a split GPU is its slices, a turn on a shared one its part.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from generator.components.alerting import group
from generator.components.component import Manifest
from generator.components.kube_prometheus_stack.boards import OF_POOL
from generator.model.cluster import Cluster
from generator.model.gpus import gpus_each
from generator.model.monitoring import IdleGpus
from generator.model.nodes import Machine
from generator.model.resolve import alike

PER_HOUR = 60
"""Samples of each of these series in an hour: a sum of them over time is so many times the GPU-hours."""
CAPACITY = "cluster:gpus:sum"
"""GPUs that nodes offer. There whenever kube-state-metrics is, so its samples tell how much of a time was recorded."""
ALLOCATED = "namespace:gpus_allocated:sum"
"""GPUs of pods that are bound to a node and have not ended: nobody else has them, also while an image is pulled."""
BUSY = "namespace:gpus_busy:sum"
"""Allocated GPUs times the share of time in which they worked."""
IDLE = "namespace:gpus_idle:sum"
"""Allocated GPUs of pods that used none of them in any minute of the last hour, services too."""
QUOTA = "namespace:gpus_quota:sum"
"""What Kueue says that a team owns."""
WAIT = "kueue_admission_wait_time_seconds"
"""Kueue's histogram from a job's creation, or its return to the queue, until it is admitted, by `cluster_queue`
(v0.18.3 and v0.19.2: pkg/metrics/metrics.go)."""

_POD_ALLOCATED = "pod:gpus_allocated:sum"
_POD_IDLE = "pod:gpus_idle:sum"
_POD_ACTIVE = "pod:gpu_active:avg"
_POD_MOST_ACTIVE = "pod:gpu_active:max"
_OF_STATE = 'job="kube-state-metrics"'
_ENOUGH = 0.9
"""The part of a time that must have been measured before Prometheus says that GPUs were idle in it."""


def gpu_use(cluster: Cluster, namespace: str) -> Manifest | None:
    """Return the rules on the use of GPUs; None where there are none. With Zabbix beside it none of them alerts."""
    settings = cluster.monitoring.prometheus
    if not cluster.gpu_nodes or settings is None:
        return None
    idle = settings.idle_gpus
    rules = [{"record": name, "expr": expression} for name, expression in _recorded(cluster, idle).items()]
    if cluster.monitoring.zabbix is None:
        rules.append(_held_idle(idle))
    return group("gpu-use", namespace, rules, interval=f"{3600 // PER_HOUR}s")


def _recorded(cluster: Cluster, idle: IdleGpus) -> dict[str, str]:
    """Return what is recorded, in this order: later series are made of earlier ones."""
    found = {
        CAPACITY: f"sum({_on_nodes(cluster, 'kube_node_status_allocatable')})",
        _POD_ALLOCATED: _allocated(cluster),
        _POD_ACTIVE: f"avg by (namespace, pod) ({_active()})",
        _POD_MOST_ACTIVE: f"max by (namespace, pod) ({_active()})",
        ALLOCATED: f"sum by (namespace) ({_POD_ALLOCATED})",
        BUSY: f"sum by (namespace) ({_POD_ALLOCATED} * on (namespace, pod) {_POD_ACTIVE})",
        _POD_IDLE: _idle(1, idle),
        IDLE: f"sum by (namespace) ({_POD_IDLE})",
    }
    if cluster.teams:
        found[QUOTA] = _owned(cluster)
    return found


def _allocated(cluster: Cluster) -> str:
    """Return the GPUs that pods hold. kube-state-metrics goes on telling what ended pods asked for, until they are
    deleted; a pod is told from a later one of its name by its uid.
    """
    asked = f"sum by (namespace, pod, uid) ({_on_nodes(cluster, 'kube_pod_container_resource_requests')})"
    phase = f'kube_pod_status_phase{{{_OF_STATE}, phase=~"Pending|Running"}} == 1'
    held = f"{asked} * on (namespace, pod, uid) max by (namespace, pod, uid) ({phase})"
    return f"sum by (namespace, pod) ({held})"


def _active() -> str:
    """Return the share of time in which a GPU, or an instance, worked, from 0 to 1, with the labels of its pod.

    The exporter's own `namespace` and `pod` are those of the pod that holds the GPU; its ServiceMonitor honours no
    labels, so Prometheus calls them `exported_*`, and a GPU that nobody holds has none. `GPU_UTIL` counts where the
    profiling counters are missing, as on GeForce; instances have only those.
    """
    held = '{exported_pod!=""}'
    measured = f"DCGM_FI_PROF_GR_ENGINE_ACTIVE{held} or DCGM_FI_DEV_GPU_UTIL{held} / 100"
    for label in ("namespace", "pod"):
        measured = f'label_replace({measured}, "{label}", "$1", "exported_{label}", "(.+)")'
    return measured


def _idle(hours: int, idle: IdleGpus) -> str:
    """Return the GPUs of each pod that held them for so many hours and used none of them in any minute."""
    window = f"{_POD_MOST_ACTIVE}[{hours}h]"
    unused = f"max_over_time({window}) <= {idle.percent / 100:g}"
    measured = f"count_over_time({window}) >= {hours * PER_HOUR * _ENOUGH:g}"
    return f"{_POD_ALLOCATED} and on (namespace, pod) ({unused}) and on (namespace, pod) ({measured})"


def _owned(cluster: Cluster) -> str:
    """Return what teams own, from Kueue's flavors, which are pools. Each replica of Kueue tells it."""
    told = _in_gpus(cluster, "kueue_cluster_queue_nominal_quota", str, ("flavor", lambda machine: machine.pool))
    each = f"max by (cluster_queue, flavor, resource) ({told})"
    return f'sum by (namespace) (label_replace({each}, "namespace", "$1", "cluster_queue", "(.+)"))'


def _on_nodes(cluster: Cluster, metric: str) -> str:
    """Return what kube-state-metrics tells of GPUs, in whole ones. It writes signs in names of resources as `_`."""
    known = _in_gpus(cluster, metric, _sanitized, ("node", _name_of), f'{_OF_STATE}, node!=""')
    return " or ".join((known, *_on_made(cluster, metric)))


def _on_made(cluster: Cluster, metric: str) -> Iterator[str]:
    """Yield the same of machines that Cluster API made, where what one of a resource is depends on the node: the file
    does not know their names, and they have the label of their pool.
    """
    several = Counter(resource for resource, _ in _shares(cluster, _name_of))
    others = f'node!~"{"|".join(machine.name for machine in cluster.gpu_nodes)}"'
    for pool in cluster.pools if cluster.autoscaler else ():
        if cluster.pools[pool].scaling:
            of_pool = f'and on (node) kube_node_labels{{{_OF_STATE}, {OF_POOL}="{pool}"}}'
            for resource, share in gpus_each(cluster.gpus, alike(cluster, pool).hardware.gpu).items():
                if several[resource] > 1:
                    selector = f'{_OF_STATE}, {others}, node!="", resource="{_sanitized(resource)}"'
                    yield f"{metric}{{{selector}}}{_times(share)} {of_pool}"


def _name_of(machine: Machine) -> str:
    return machine.name


def _sanitized(resource: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_]", "_", resource)


def _in_gpus(
    cluster: Cluster,
    metric: str,
    written: Callable[[str], str],
    place: tuple[str, Callable[[Machine], str]],
    *also: str,
) -> str:
    """Return a metric that counts resources, by its label `resource`, as one that counts whole GPUs. What one of a
    resource is may depend on the place: the label of that name is then asked for.
    """
    label, place_of = place
    shares = _shares(cluster, place_of)
    several = Counter(resource for resource, _ in shares)
    parts = []
    for (resource, share), places in shares.items():
        here = (f'{label}=~"{"|".join(places)}"',) if several[resource] > 1 else ()
        selector = ", ".join((*also, f'resource="{written(resource)}"', *here))
        parts.append(f"{metric}{{{selector}}}{_times(share)}")
    return " or ".join(parts)


def _shares(cluster: Cluster, place_of: Callable[[Machine], str]) -> dict[tuple[str, Fraction], list[str]]:
    """Return where one of a resource is how much of a GPU. Of a pool the first node counts for all."""
    found: dict[tuple[str, str], Fraction] = {}
    for machine in cluster.gpu_nodes:
        for resource, share in gpus_each(cluster.gpus, machine.hardware.gpu).items():
            found.setdefault((resource, place_of(machine)), share)
    shares: dict[tuple[str, Fraction], list[str]] = {}
    for (resource, place), share in found.items():
        shares.setdefault((resource, share), []).append(place)
    return shares


def _times(share: Fraction) -> str:
    return "" if share == 1 else f" * {share.numerator} / {share.denominator}"


def _held_idle(idle: IdleGpus) -> dict[str, Any]:
    """Alert of a job that uses none of its GPUs. What a Deployment runs is a service, which waits for requests."""
    hours = idle.after_hours
    service = f'kube_pod_owner{{{_OF_STATE}, owner_kind="ReplicaSet"}}'
    return {
        "alert": "GPUsHeldIdle",
        "expr": f"({_idle(hours, idle)}) unless on (namespace, pod) {service}",
        "labels": {"severity": "warning"},
        "annotations": {
            "summary": "Pod {{ $labels.pod }} of {{ $labels.namespace }} holds {{ $value | humanize }} GPUs idle",
            "description": f"In the last {hours} h none of its GPUs worked for more than {idle.percent} % of any "
            "minute, and nobody else can have them. Ask the team what it waits for, or delete the job.",
        },
    }
