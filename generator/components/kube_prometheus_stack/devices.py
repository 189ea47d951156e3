"""What Prometheus alerts of GPUs, by NVIDIA's exporter, and of InfiniBand ports, by node-exporter; both have a label
`node`, the name of the Node. The same faults as Zabbix' templates know (`zabbix/templates/devices.py`).
"""

from collections.abc import Iterable, Iterator

from generator.components.alerting import Rule, alert, group, of_nodes, unmeasured
from generator.components.component import Manifest
from generator.components.gpu_care.xids import device_xids
from generator.components.limits import GPU_HOT, GPU_TOO_HOT, PORT_COUNTERS, port_errors
from generator.model.cluster import Cluster
from generator.model.nodes import Machine

NAMED = {
    "port_rcv_errors": "port_errors_received",
    "port_xmit_discards": "port_discards_transmitted",
}
"""Counters that node-exporter calls otherwise than the kernel does (1.12.1: `collector/infiniband_linux.go`)."""
GIGABIT = 125_000_000
"""In bytes."""
PORT = "{{ $labels.device }}/{{ $labels.port }} of {{ $labels.node }}"
GPU = "GPU {{ $labels.gpu }} of {{ $labels.node }}"


def gpus(cluster: Cluster, namespace: str) -> Manifest | None:
    """Return the rules on GPUs; None where there are none."""
    nodes = cluster.gpu_nodes
    if not nodes:
        return None
    look = "see the pod of nvidia-dcgm-exporter there"
    away = unmeasured("GPUsNotMeasured", nodes, "DCGM_FI_DEV_GPU_TEMP", "the GPUs", look)
    return group("gpus", namespace, [_missing(nodes), away, *_hot(), _fault(), *_memory()])


def _missing(nodes: Iterable[Machine]) -> Rule:
    """Return the rule on lost GPUs. One that is split, or shared by turns, has several series."""
    by_count: dict[int, list[Machine]] = {}
    for machine in nodes:
        by_count.setdefault(machine.gpus, []).append(machine)
    seen = "count by (node) (group by (node, gpu) (DCGM_FI_DEV_GPU_TEMP{%s})) < %s"
    expr = " or ".join(seen % (of_nodes(some), count) for count, some in sorted(by_count.items()))
    summary = (
        "{{ $labels.node }} has {{ $value }} GPUs left: one fell off the bus, or the driver does not know it. "
        "`nvidia-smi` there, then a cold start"
    )
    return alert("GPUsMissing", "critical", summary, expr, "5m")


def _hot() -> Iterator[Rule]:
    heat = "max by (node, gpu) (DCGM_FI_DEV_GPU_TEMP) >"
    cool = f"{GPU} is at {{{{ $value }}}} °C: look at fans, air and its neighbours"
    yield alert("GPUHot", "warning", cool, f"{heat} {GPU_HOT}", "5m")
    yield alert("GPUTooHot", "critical", f"{cool}, and take its jobs away", f"{heat} {GPU_TOO_HOT}", "1m")


def _fault() -> Rule:
    """Return the rule on a GPU's Xids. The exporter tells the last one until the driver is loaded again, and 0 from
    then on. One of a program often follows that of the device within seconds: so what was told within a day counts
    until 0 is told.
    """
    codes = "|".join(map(str, device_xids()))
    told = f'last_over_time(DCGM_FI_DEV_XID_ERRORS{{err_code=~"{codes}"}}[1d])'
    loaded = "max by (node, gpu) (DCGM_FI_DEV_XID_ERRORS) == 0"
    summary = f"{GPU} has a fault of the device (Xid {{{{ $labels.err_code }}}}): see docs/operations.md, Sick GPUs"
    expr = f"group by (node, gpu, err_code) ({told}) unless on (node, gpu) {loaded}"
    return alert("GPUFault", "critical", summary, expr)


def _memory() -> Iterator[Rule]:
    """Yield the rules on memory. Errors are told as rows that were remapped: the ECC counters are not in the exporter's
    default set. GPUs before Ampere (T4, V100) retire pages instead, and counters of these are not in it either
    (dcgm-exporter 4.8.2: `etc/default-counters.csv`): there the Xids 48, 63 and 64 tell, which are `GPUFault`.
    """
    rows = "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS"
    more = f"max by (node, gpu) ({rows}) > min by (node, gpu) (min_over_time({rows}[1d]))"
    lost = f"{GPU} had an uncorrectable memory error within a day: reset it when its jobs have ended"
    worn = f"The memory of {GPU} can no longer be repaired: have the GPU changed"
    yield alert("GPUMemoryError", "warning", lost, more)
    yield alert("GPUMemoryWorn", "critical", worn, "max by (node, gpu) (DCGM_FI_DEV_ROW_REMAP_FAILURE) == 1")


def infiniband(cluster: Cluster, namespace: str) -> Manifest | None:
    """Return the rules on InfiniBand ports; None where there are none."""
    nodes = [machine for machine in cluster.machines if machine.hardware.hcas]
    if not (cluster.fabric and nodes):
        return None
    look = "see the pod of node-exporter there"
    away = unmeasured("InfiniBandNotMeasured", nodes, _measured(nodes), "the InfiniBand ports", look)
    links = _links(nodes, cluster.fabric.speed)
    return group("infiniband", namespace, [_ports_missing(nodes), away, *links, *_errors(nodes)])


def _measured(nodes: Iterable[Machine]) -> str:
    return f'up{{job="node-exporter",{of_nodes(nodes)}}} == 1'


def _by_ports(nodes: Iterable[Machine]) -> dict[tuple[str, ...], list[Machine]]:
    """Return the nodes by the names of their adapters: others that a node has may be Ethernet's."""
    found: dict[tuple[str, ...], list[Machine]] = {}
    for machine in nodes:
        found.setdefault(machine.hardware.hcas, []).append(machine)
    return found


def _ports(nodes: Iterable[Machine], query: str) -> str:
    """Return a query for the ports of some nodes; `%s` stands in it for the selector of the series."""
    return " or ".join(
        query % f'{{{of_nodes(some)},device=~"{"|".join(names)}"}}' for names, some in _by_ports(nodes).items()
    )


def _ports_missing(nodes: Iterable[Machine]) -> Rule:
    """Return the rule on lost ports. node-exporter tells nothing of ports where there is none."""
    expr = " or ".join(
        f"({_ports(some, 'count by (node) (node_infiniband_state_id%s)')} or "
        f"0 * group by (node) ({_measured(some)})) < {len(names)}"
        for names, some in _by_ports(nodes).items()
    )
    summary = (
        "{{ $labels.node }} has {{ $value }} InfiniBand ports left: `ibstat` there; an adapter or its driver is away"
    )
    return alert("InfiniBandPortsMissing", "critical", summary, expr, "5m")


def _links(nodes: Iterable[Machine], speed: int) -> Iterator[Rule]:
    """Yield the rules on links. State 4 is ACTIVE. A link that is down is not told as a slow one, too."""
    state, rate = (
        f"max by (node, device, port) ({_ports(nodes, f'node_infiniband_{what}%s')})"
        for what in ("state_id", "rate_bytes_per_second")
    )
    look = "`ibstat` there, then cable, transceiver and the switch's port"
    slow = f"Link {PORT} is slower than the fabric's {speed} Gbit/s: {look}"
    yield alert("InfiniBandLinkDown", "critical", f"Link {PORT} is down: {look}", f"{state} < 4", "2m")
    yield alert("InfiniBandLinkSlow", "warning", slow, f"{rate} < {speed * GIGABIT} and {state} == 4", "2m")


def _errors(nodes: Iterable[Machine]) -> Iterator[Rule]:
    for counter, words in PORT_COUNTERS.items():
        grown = _ports(nodes, f"increase(node_infiniband_{NAMED.get(counter, counter)}_total%s[1h])")
        summary = f"{PORT}: {{{{ $value | humanize }}}} {words} within an hour: look at cable and transceiver"
        expr = f"max by (node, device, port) ({grown}) > {port_errors(counter)}"
        told = alert("InfiniBandErrors", "warning", summary, expr)
        yield {**told, "labels": {**told["labels"], "counter": counter}}
