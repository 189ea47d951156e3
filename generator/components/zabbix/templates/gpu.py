"""What the agent of a GPU node sends of its GPUs."""

from generator.components.component import Manifest
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

__all__ = ["GPU", "gpu"]

GPU = "gen GPU"

# One entry for each GPU, however many instances it is split into.
DISTINCT = (
    "var seen = {};"
    "return JSON.stringify(JSON.parse(value).filter(function (one) {"
    " var known = seen[one.labels.gpu]; seen[one.labels.gpu] = true; return !known; }));"
)
FOUND = (step("PROMETHEUS_TO_JSON", "DCGM_FI_DEV_GPU_TEMP"), step("JAVASCRIPT", DISTINCT))


def gpu() -> Manifest:
    """Return the template of a GPU node: one reading of its DCGM exporter, taken apart here."""
    count = dependent(
        "gpu.metrics",
        "gpu.count",
        "GPUs",
        *FOUND,
        step("JSONPATH", "$.length()"),
        triggers=[
            trigger(
                "GPUs are missing",
                "max(/@/gpu.count,5m)<{$GPU.COUNT}",
                "HIGH",
                description="A GPU fell off the bus, or the driver does not know it.",
            )
        ],
    )
    silent = trigger("No GPU metrics for 15 minutes", "nodata(/@/gpu.count,15m)=1", "WARNING")
    count["triggers"].append(silent)
    return template(
        GPU,
        "GPUs, as NVIDIA's DCGM exporter tells of them",
        macros={"{$GPU.COUNT}": "1", "{$GPU.TEMP.MAX}": "85", "{$GPU.TEMP.CRITICAL}": "90"},
        items=[raw("gpu.metrics", "DCGM exporter"), count],
        discovery_rules=[gpus()],
        dashboards=[dashboard("GPUs", "GPU {#GPU}: utilization", "GPU {#GPU}: temperature", "GPU {#GPU}: memory")],
    )


# XIDs that speak of the device, not of the program on it (NVIDIA's catalogue of XID errors).
DEVICE_XIDS = (48, 62, 63, 64, 74, 79, 92, 95, 119, 120)


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
    sample = maximum(f'DCGM_FI_DEV_{field}{{gpu="{{#GPU}}"}}')
    return dependent("gpu.metrics", f"{key}[{{#GPU}}]", f"GPU {{#GPU}}: {name}", sample, *steps, units=units, **more)


def gpu_load() -> list[Manifest]:
    """Return what a GPU does. DCGM counts memory in MiB."""
    mebibytes = step("MULTIPLIER", "1048576")
    hot = "min(/@/gpu.temperature[{#GPU}],5m)>{$GPU.TEMP.MAX}"
    critical = "min(/@/gpu.temperature[{#GPU}],1m)>{$GPU.TEMP.CRITICAL}"
    return [
        of_gpu("gpu.utilization", "utilization", "GPU_UTIL", units="%"),
        of_gpu(
            "gpu.temperature",
            "temperature",
            "GPU_TEMP",
            units="°C",
            trigger_prototypes=[
                trigger("GPU {#GPU} is hot", hot, "WARNING"),
                trigger("GPU {#GPU} is too hot", critical, "HIGH"),
            ],
        ),
        of_gpu("gpu.memory.temperature", "temperature of the memory", "MEMORY_TEMP", units="°C"),
        of_gpu("gpu.memory.used", "memory used", "FB_USED", mebibytes, units="B"),
        of_gpu("gpu.memory.free", "memory free", "FB_FREE", mebibytes, units="B"),
        of_gpu("gpu.power", "power", "POWER_USAGE", units="W"),
    ]


def gpu_faults() -> list[Manifest]:
    """Return a GPU's errors. The exporter tells the last XID until the driver is loaded again. Memory errors are told
    as rows that were remapped: that field is in the exporter's default set, the ECC counters are not.
    """
    last = "last(/@/gpu.xid[{#GPU}])"
    device = " or ".join(f"{last}={code}" for code in DEVICE_XIDS)
    rows = "change(/@/gpu.rows.uncorrectable[{#GPU}])>0"
    failed = "last(/@/gpu.rows.failure[{#GPU}])>0"
    changed = f"change(/@/gpu.xid[{{#GPU}}])<>0 and {last}>0"
    return [
        of_gpu(
            "gpu.xid",
            "last XID error",
            "XID_ERRORS",
            trigger_prototypes=[
                trigger("GPU {#GPU}: fault of the device (XID {ITEM.LASTVALUE1})", device, "HIGH"),
                trigger("GPU {#GPU}: XID {ITEM.LASTVALUE1}", changed, "INFO", manual_close="YES"),
            ],
        ),
        of_gpu(
            "gpu.rows.uncorrectable",
            "memory rows remapped after uncorrectable errors",
            "UNCORRECTABLE_REMAPPED_ROWS",
            trigger_prototypes=[trigger("GPU {#GPU}: uncorrectable memory error", rows, "AVERAGE", manual_close="YES")],
        ),
        of_gpu("gpu.rows.correctable", "memory rows remapped after correctable errors", "CORRECTABLE_REMAPPED_ROWS"),
        of_gpu(
            "gpu.rows.failure",
            "memory rows could not be remapped",
            "ROW_REMAP_FAILURE",
            trigger_prototypes=[trigger("GPU {#GPU}: memory can no longer be repaired", failed, "HIGH")],
        ),
        of_gpu("gpu.ecc.uncorrectable", "uncorrectable ECC errors since the driver was loaded", "ECC_DBE_VOL_TOTAL"),
        of_gpu("gpu.pcie.replays", "PCIe replays", "PCIE_REPLAY_COUNTER"),
    ]
