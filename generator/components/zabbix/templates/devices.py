"""What the agent of a node sends of its GPUs and of its InfiniBand ports."""

from collections.abc import Iterator
from typing import Any

from generator.components.component import Manifest
from generator.components.gpu_care.xids import device_xids
from generator.components.limits import GPU_HOT, GPU_TOO_HOT, PORT_COUNTERS, PORT_ERRORS, port_errors
from generator.components.zabbix.export import (
    dashboard,
    dependent,
    discovery,
    graph,
    lld,
    maximum,
    raw,
    step,
    template,
    trigger,
)

GPU = "gen GPU"
INFINIBAND = "gen InfiniBand"

# One entry for each GPU, however many instances it is split into.
DISTINCT = (
    "var seen = {};"
    "return JSON.stringify(JSON.parse(value).filter(function (one) {"
    " var known = seen[one.labels.gpu]; seen[one.labels.gpu] = true; return !known; }));"
)
FOUND = (step("PROMETHEUS_TO_JSON", "DCGM_FI_DEV_GPU_TEMP"), step("JAVASCRIPT", DISTINCT))
# Each instance of a GPU has memory of its own; what several pods share is told for each of them.
TOGETHER = (
    "var parts = {};"
    "JSON.parse(value).forEach(function (one) { parts[one.labels.GPU_I_ID || 'whole'] = Number(one.value); });"
    "var instances = Object.keys(parts).filter(function (id) { return id != 'whole'; });"
    "if (!instances.length) return 'whole' in parts ? parts.whole : '';"
    "return instances.reduce(function (sum, id) { return sum + parts[id]; }, 0);"
)
MEBIBYTES = step("MULTIPLIER", "1048576", error_handler="DISCARD_VALUE")
LENGTH = step("JSONPATH", "$.length()")
# What happens while a former problem is open is told as well: so such an expression is true for one value only.
EACH = {"type": "MULTIPLE", "manual_close": "YES"}
# What happened does not end by itself: a person looks at it, and closes it.
CLOSED = {**EACH, "recovery_mode": "NONE"}


def gpu() -> Manifest:
    """Return the template of a GPU node: one reading of its DCGM exporter, taken apart here."""
    lost = "A GPU fell off the bus, or the driver does not know it."
    missing = trigger("GPUs are missing", "max(/@/gpu.count,5m)<{$GPU.COUNT}", "HIGH", description=lost)
    silent = trigger("No GPU metrics for 15 minutes", "nodata(/@/gpu.count,15m)=1", "WARNING")
    count = dependent("gpu.metrics", "gpu.count", "GPUs", *FOUND, LENGTH, triggers=[missing, silent])
    return template(
        GPU,
        "GPUs, as NVIDIA's DCGM exporter tells of them",
        macros={"{$GPU.COUNT}": "1", "{$GPU.TEMP.MAX}": str(GPU_HOT), "{$GPU.TEMP.CRITICAL}": str(GPU_TOO_HOT)},
        items=[raw("gpu.metrics", "DCGM exporter"), count],
        discovery_rules=[gpus()],
        dashboards=[dashboard("GPUs", "GPU {#GPU}: utilization", "GPU {#GPU}: temperature", "GPU {#GPU}: memory")],
    )


def gpus() -> Manifest:
    """Find the GPUs of the node."""
    return discovery(
        "gpu.discovery",
        "GPUs",
        master="gpu.metrics",
        steps=FOUND,
        lld_macro_paths=lld(GPU="$.labels.gpu", UUID="$.labels.UUID", MODEL="$.labels.modelName"),
        item_prototypes=[*gpu_load(), *gpu_faults()],
        graph_prototypes=[
            graph("GPU {#GPU}: utilization", "gpu.utilization[{#GPU}]"),
            graph("GPU {#GPU}: temperature", "gpu.temperature[{#GPU}]", "gpu.memory.temperature[{#GPU}]"),
            graph("GPU {#GPU}: memory", "gpu.memory.used[{#GPU}]", "gpu.memory.free[{#GPU}]"),
        ],
    )


def of_gpu(key: str, name: str, field: str, *steps: Manifest, units: str = "", **more: list[Manifest]) -> Manifest:
    """Return an item of one GPU from a field of DCGM."""
    return taken(key, name, maximum(samples(field)), *steps, units=units, **more)


def samples(field: str) -> str:
    """Return the pattern of a field of one GPU."""
    return f'DCGM_FI_DEV_{field}{{gpu="{{#GPU}}"}}'


def taken(key: str, name: str, *steps: Manifest, **more: Any) -> Manifest:
    """Return an item of one GPU by steps."""
    return dependent("gpu.metrics", f"gpu.{key}[{{#GPU}}]", f"GPU {{#GPU}}: {name}", *steps, **more)


def memory(key: str, name: str, field: str) -> Manifest:
    """Return an item of one GPU's memory, which DCGM counts in MiB. What it does not tell is left out."""
    found = step("PROMETHEUS_TO_JSON", samples(field))
    return taken(key, name, found, step("JAVASCRIPT", TOGETHER), MEBIBYTES, units="B")


def gpu_load() -> list[Manifest]:
    """Return what a GPU does."""
    hot = trigger("GPU {#GPU} is hot", "min(/@/gpu.temperature[{#GPU}],5m)>{$GPU.TEMP.MAX}", "WARNING")
    critical = trigger("GPU {#GPU} is too hot", "min(/@/gpu.temperature[{#GPU}],1m)>{$GPU.TEMP.CRITICAL}", "HIGH")
    return [
        of_gpu("utilization", "utilization", "GPU_UTIL", units="%"),
        of_gpu("temperature", "temperature", "GPU_TEMP", units="°C", trigger_prototypes=[hot, critical]),
        of_gpu("memory.temperature", "temperature of the memory", "MEMORY_TEMP", units="°C"),
        memory("memory.used", "memory used", "FB_USED"),
        memory("memory.free", "memory free", "FB_FREE"),
        of_gpu("power", "power", "POWER_USAGE", units="W"),
    ]


def gpu_faults() -> list[Manifest]:
    """Return a GPU's errors. The exporter tells the last XID until the driver is loaded again: a later one of a program
    hides that of the device, so a person ends the problem. Memory errors are told as rows that were remapped: that
    field is in the exporter's default set, the ECC counters are not.
    """
    item = "/@/gpu.xid[{#GPU}]"
    device = " or ".join(f"last({item})={code}" for code in device_xids())
    # The very first value counts as new, too.
    new = f"(change({item})<>0 or count({item},1h)=1)"
    xids = [
        trigger("GPU {#GPU}: fault of the device (XID {ITEM.LASTVALUE1})", f"({device}) and {new}", "HIGH", **CLOSED),
        trigger("GPU {#GPU}: XID {ITEM.LASTVALUE1}", f"last({item})>0 and {new}", "INFO", **EACH),
    ]
    more, failed = "change(/@/gpu.rows.uncorrectable[{#GPU}])>0", "last(/@/gpu.rows.failure[{#GPU}])>0"
    lost = [trigger("GPU {#GPU}: uncorrectable memory error", more, "AVERAGE", **CLOSED)]
    worn = [trigger("GPU {#GPU}: memory can no longer be repaired", failed, "HIGH")]
    rows = "memory rows remapped after"
    return [
        of_gpu("xid", "last XID error", "XID_ERRORS", trigger_prototypes=xids),
        of_gpu(
            "rows.uncorrectable", f"{rows} uncorrectable errors", "UNCORRECTABLE_REMAPPED_ROWS", trigger_prototypes=lost
        ),
        of_gpu("rows.correctable", f"{rows} correctable errors", "CORRECTABLE_REMAPPED_ROWS"),
        of_gpu("rows.failure", "memory rows could not be remapped", "ROW_REMAP_FAILURE", trigger_prototypes=worn),
        of_gpu("pcie.replays", "PCIe replays", "PCIE_REPLAY_COUNTER"),
    ]


def infiniband() -> Manifest:
    """Return the template of a node with InfiniBand: one reading of all ports' counters."""
    missing = trigger("InfiniBand ports are missing", "max(/@/infiniband.count,5m)<{$IB.PORTS}", "HIGH")
    silent = trigger("No InfiniBand counters for 15 minutes", "nodata(/@/infiniband.count,15m)=1", "WARNING")
    count = dependent("infiniband.ports", "infiniband.count", "Ports", LENGTH, triggers=[missing, silent])
    return template(
        INFINIBAND,
        "InfiniBand ports, as the kernel tells of them",
        macros={"{$IB.PORTS}": "1", "{$IB.RATE}": "0", "{$IB.ERRORS.MAX}": str(PORT_ERRORS)},
        items=[raw("infiniband.ports", "InfiniBand ports"), count],
        discovery_rules=[ports()],
        dashboards=[dashboard("InfiniBand", "{#PORT}: throughput", "{#PORT}: errors")],
    )


def ports() -> Manifest:
    """Find the ports of all devices."""
    return discovery(
        "infiniband.discovery",
        "Ports",
        master="infiniband.ports",
        lld_macro_paths=lld(PORT="$.name"),
        item_prototypes=[*link(), *traffic(), *errors()],
        graph_prototypes=[
            graph("{#PORT}: throughput", "infiniband.received[{#PORT}]", "infiniband.sent[{#PORT}]"),
            graph("{#PORT}: errors", "infiniband.symbol_error[{#PORT}]", "infiniband.link_downed[{#PORT}]"),
        ],
    )


def of_port(key: str, name: str, field: str, *steps: Manifest, units: str = "", **more: list[Manifest]) -> Manifest:
    """Return an item of one port from a field of the reading. A field that the device lacks is left out."""
    path = f"$[?(@.name=='{{#PORT}}')].{field}.first()"
    found = step("JSONPATH", path, error_handler="DISCARD_VALUE")
    key = f"infiniband.{key}[{{#PORT}}]"
    return dependent("infiniband.ports", key, f"{{#PORT}}: {name}", found, *steps, units=units, **more)


def link() -> list[Manifest]:
    """State 4 is ACTIVE, the physical state 5 is LinkUp; the rate is in Gbit/s."""
    down = trigger("{#PORT}: the link is down", "max(/@/infiniband.state[{#PORT}],2m)<4", "HIGH")
    behind = "last(/@/infiniband.rate[{#PORT}])<{$IB.RATE}"
    slow = trigger("{#PORT}: the link is slower than the fabric", behind, "AVERAGE")
    return [
        of_port("state", "state", "state", trigger_prototypes=[down]),
        of_port("physical", "physical state", "physical"),
        of_port("rate", "rate", "rate", units="Gbps", trigger_prototypes=[slow]),
    ]


def traffic() -> list[Manifest]:
    """Return throughput: the kernel counts data in words of 4 bytes."""
    words, speed = step("MULTIPLIER", "4"), step("CHANGE_PER_SECOND")
    return [
        of_port("received", "received", "port_rcv_data", words, speed, units="Bps"),
        of_port("sent", "sent", "port_xmit_data", words, speed, units="Bps"),
        of_port("wait", "waits for credits", "port_xmit_wait", speed),
    ]


def errors() -> Iterator[Manifest]:
    """Yield the ports' error counters; ten in an hour of any kind are a problem, a single lost link too."""
    for field, name in PORT_COUNTERS.items():
        counter = f"/@/infiniband.{field}[{{#PORT}}]"
        most = "{$IB.ERRORS.MAX}" if port_errors(field) else "0"
        many = trigger(f"{{#PORT}}: {name}", f"last({counter})-min({counter},1h)>{most}", "WARNING")
        yield of_port(field, name, field, trigger_prototypes=[many])
