"""What the proxy reads of Ceph's manager and of MinIO."""

from generator.components.component import Manifest
from generator.components.limits import FULL, NEARFULL
from generator.components.zabbix.export import (
    dashboard,
    dependent,
    discovery,
    graph,
    http,
    lld,
    prometheus,
    share,
    step,
    template,
    trigger,
)

CEPH = "gen Ceph"
MINIO = "gen MinIO"
SPEED = step("CHANGE_PER_SECOND")


def of_ceph(key: str, name: str, pattern: str, function: str = "", *steps: Manifest, **more: object) -> Manifest:
    """Return an item from the manager's metrics."""
    return dependent("ceph.metrics", key, name, prometheus(pattern, function), *steps, **more)


def ceph() -> Manifest:
    """Return Ceph's template. Operations and bytes come from the pools' statistics: managers of today leave the
    daemons' own counters to another exporter.
    """
    return template(
        CEPH,
        "Ceph, as its manager's prometheus module tells of it",
        macros={"{$CEPH.URL}": "", "{$CEPH.NEARFULL}": str(NEARFULL), "{$CEPH.FULL}": str(FULL)},
        items=[http("ceph.metrics", "Ceph's manager", "{$CEPH.URL}"), *ceph_health(), *ceph_space(), *ceph_traffic()],
        discovery_rules=[classes(), pools()],
        dashboards=[dashboard("Ceph", "Pool {#NAME}: throughput", "Pool {#NAME}: space")],
        triggers=[
            trigger("OSDs are down", "min(/@/ceph.osd.total,5m)>max(/@/ceph.osd.up,5m)", "AVERAGE"),
            trigger("Monitors are out of quorum", "max(/@/ceph.mon.quorum,5m)<last(/@/ceph.mon.total)", "AVERAGE"),
        ],
    )


def ceph_health() -> list[Manifest]:
    """Health is 0 for OK, 1 for a warning and 2 for an error."""
    warning = trigger("Ceph warns", "min(/@/ceph.health,10m)=1", "WARNING")
    error = trigger("Ceph is in error", "last(/@/ceph.health)=2", "DISASTER")
    silent = trigger("No data from Ceph for 10 minutes", "nodata(/@/ceph.health,10m)=1", "HIGH")
    degraded = trigger("Data has lacked copies for an hour", "min(/@/ceph.pg.degraded,1h)>0", "WARNING")
    return [
        of_ceph("ceph.health", "Health", "ceph_health_status", triggers=[warning, error, silent]),
        of_ceph("ceph.osd.total", "OSDs", "ceph_osd_up", "count"),
        of_ceph("ceph.osd.up", "OSDs up", "ceph_osd_up", "sum"),
        of_ceph("ceph.osd.in", "OSDs in", "ceph_osd_in", "sum"),
        of_ceph("ceph.mon.total", "Monitors", "ceph_mon_quorum_status", "count"),
        of_ceph("ceph.mon.quorum", "Monitors in quorum", "ceph_mon_quorum_status", "sum"),
        of_ceph("ceph.pg.degraded", "Placement groups degraded", "ceph_pg_degraded", "sum", triggers=[degraded]),
    ]


def ceph_space() -> list[Manifest]:
    """Return capacity over all disks. It says nothing of being full: NVMe may be, while big disks are empty."""
    formula = "100*last(//ceph.used)/last(//ceph.total)"
    return [
        of_ceph("ceph.total", "Capacity", "ceph_cluster_total_bytes", units="B"),
        of_ceph("ceph.used", "Capacity used", "ceph_cluster_total_used_bytes", units="B"),
        share("ceph.used.share", "Capacity used, share", formula),
    ]


def classes() -> Manifest:
    """Find the device classes, which the manager tells apart (ceph/ceph#47163). At 85 % of an OSD Ceph itself warns, at
    95 % writes stop.
    """
    total, used = "ceph.class.total[{#CLASS}]", "ceph.class.used[{#CLASS}]"
    full = "100*last(/@/{})>{}*last(/@/{})"
    return discovery(
        "ceph.classes",
        "Device classes",
        master="ceph.metrics",
        steps=[step("PROMETHEUS_TO_JSON", "ceph_cluster_by_class_total_bytes")],
        lld_macro_paths=lld(CLASS="$.labels.device_class"),
        item_prototypes=[
            of_ceph(total, "Capacity of {#CLASS}", of_class("total_bytes"), units="B"),
            of_ceph(used, "Capacity of {#CLASS} used", of_class("total_used_raw_bytes"), units="B"),
        ],
        trigger_prototypes=[
            trigger("Ceph's {#CLASS} is nearly full", full.format(used, "{$CEPH.NEARFULL}", total), "AVERAGE"),
            trigger("Ceph's {#CLASS} is full", full.format(used, "{$CEPH.FULL}", total), "DISASTER"),
        ],
    )


def of_class(field: str) -> str:
    """Return the pattern of a sample of one device class."""
    return f'ceph_cluster_by_class_{field}{{device_class="{{#CLASS}}"}}'


# Pools' counters, and what each is called.
TRAFFIC = {
    "rd": ("reads", "!/s"),
    "wr": ("writes", "!/s"),
    "rd_bytes": ("read throughput", "Bps"),
    "wr_bytes": ("write throughput", "Bps"),
}


def ceph_traffic() -> list[Manifest]:
    """Return what all pools do together."""
    return [
        of_ceph(f"ceph.{field}", f"Ceph {name}", f"ceph_pool_{field}", "sum", SPEED, units=units)
        for field, (name, units) in TRAFFIC.items()
    ]


def pools() -> Manifest:
    """Find the pools. `percent_used` is of what the disks of the pool have left and knows of no quota (Ceph, PGMap.cc);
    at its quota a pool's writes pause, however empty the disks are.
    """
    full = trigger("Pool {#NAME} is nearly full", "last(/@/ceph.pool.used[{#NAME}])>{$CEPH.NEARFULL}", "AVERAGE")
    stored, quota = "last(/@/ceph.pool.stored[{#NAME}])", "last(/@/ceph.pool.quota[{#NAME}])"
    near = f"{quota}>0 and 100*{stored}>{{$CEPH.NEARFULL}}*{quota}"
    percent = step("MULTIPLIER", "100")
    used = of_pool("used", "space used", "percent_used", percent, units="%", trigger_prototypes=[full])
    flows = [of_pool(field, name, field, SPEED, units=units) for field, (name, units) in TRAFFIC.items()]
    return discovery(
        "ceph.pools",
        "Pools",
        master="ceph.metrics",
        steps=[step("PROMETHEUS_TO_JSON", "ceph_pool_metadata")],
        lld_macro_paths=lld(ID="$.labels.pool_id", NAME="$.labels.name"),
        item_prototypes=[
            used,
            of_pool("stored", "data stored", "stored", units="B"),
            of_pool("quota", "quota (0: none)", "quota_bytes", units="B"),
            *flows,
        ],
        trigger_prototypes=[trigger("Pool {#NAME} is nearly at its quota: writes pause there", near, "HIGH")],
        graph_prototypes=[
            graph("Pool {#NAME}: throughput", "ceph.pool.rd_bytes[{#NAME}]", "ceph.pool.wr_bytes[{#NAME}]"),
            graph("Pool {#NAME}: space", "ceph.pool.used[{#NAME}]"),
        ],
    )


def of_pool(key: str, name: str, field: str, *steps: Manifest, **more: object) -> Manifest:
    """Return an item of one pool."""
    key, pattern = f"ceph.pool.{key}[{{#NAME}}]", f'ceph_pool_{field}{{pool_id="{{#ID}}"}}'
    return of_ceph(key, f"Pool {{#NAME}}: {name}", pattern, "", *steps, **more)


def of_minio(key: str, name: str, pattern: str, function: str = "max", *steps: Manifest, **more: object) -> Manifest:
    """Return an item from MinIO's metrics; every server tells of all."""
    return dependent("minio.metrics", key, name, prometheus(f"minio_{pattern}", function), *steps, **more)


def minio() -> Manifest:
    """Return MinIO's template."""
    lost = "max(/@/minio.set.online,2m)<last(/@/minio.set.quorum)"
    edge = "max(/@/minio.set.online,2m)=last(/@/minio.set.quorum)"
    return template(
        MINIO,
        "MinIO, as its servers tell of the whole",
        macros={"{$MINIO.URL}": "", "{$MINIO.NEARFULL}": str(NEARFULL)},
        items=[minio_metrics(), *minio_health(), *minio_space()],
        triggers=[
            trigger("MinIO has no write quorum", lost, "DISASTER"),
            trigger("One more lost drive ends MinIO's writes", edge, "HIGH"),
        ],
    )


def minio_metrics() -> Manifest:
    """Return what any server tells, with the token of who may read it."""
    headers = [{"name": "Authorization", "value": "Bearer {$MINIO.TOKEN}"}]
    return http("minio.metrics", "MinIO's cluster metrics", "{$MINIO.URL}", headers=headers)


def minio_health() -> list[Manifest]:
    """Return drives, nodes and quorum: an erasure set without write quorum takes no data."""
    silent = trigger("No data from MinIO for 10 minutes", "nodata(/@/minio.drives.online,10m)=1", "HIGH")
    drives = trigger("Drives are offline", "min(/@/minio.drives.offline,5m)>0", "AVERAGE")
    nodes = trigger("Nodes are offline", "min(/@/minio.nodes.offline,15m)>0", "HIGH")
    erasure = "cluster_health_erasure_set"
    return [
        of_minio("minio.health", "Health", "cluster_health_status"),
        of_minio("minio.drives.online", "Drives online", "cluster_drive_online_total", triggers=[silent]),
        of_minio("minio.drives.offline", "Drives offline", "cluster_drive_offline_total", triggers=[drives]),
        of_minio("minio.nodes.offline", "Nodes offline", "cluster_nodes_offline_total", triggers=[nodes]),
        of_minio("minio.set.quorum", "Drives a set needs for writes", f"{erasure}_write_quorum"),
        of_minio("minio.set.online", "Drives online in the weakest set", f"{erasure}_online_drives", "min"),
        of_minio("minio.healing", "Drives that heal", f"{erasure}_healing_drives", "sum"),
    ]


def minio_space() -> list[Manifest]:
    """Return capacity and traffic."""
    full = trigger("MinIO is nearly full", "last(/@/minio.used.share)>{$MINIO.NEARFULL}", "AVERAGE")
    formula = "100*(1-last(//minio.free)/last(//minio.total))"
    return [
        of_minio("minio.total", "Capacity", "cluster_capacity_usable_total_bytes", units="B"),
        of_minio("minio.free", "Capacity free", "cluster_capacity_usable_free_bytes", units="B"),
        share("minio.used.share", "Capacity used, share", formula, triggers=[full]),
        of_minio("minio.received", "MinIO receives", "s3_traffic_received_bytes", "sum", SPEED, units="Bps"),
        of_minio("minio.sent", "MinIO sends", "s3_traffic_sent_bytes", "sum", SPEED, units="Bps"),
    ]
