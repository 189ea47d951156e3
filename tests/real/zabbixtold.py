"""What the parts of a cluster tell Zabbix, in the forms of the real programs: faults that triggers must see, and
counters that grow each at a rate of its own, so that none can be taken for another.
"""

import json
import secrets
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from exporteroutputs import exporters, uuid
from msgspec import structs
from reference import load
from volumebackups import HOME

from generator.components.gpu_care.names import LOOKED
from generator.components.reports.metrics import FAILED, SUCCEEDED
from generator.components.static import read_text
from generator.components.workflows import backup, drill
from generator.components.zabbix.templates.kubernetes import without
from generator.components.zabbix.templates.queues import UNPLACED

BEGAN = time.time() - 10 * 24 * 3600
"""When counters began, in seconds since 1970."""
POOLS = ("rbd-nvme", "free", "roomy")
FLOWS = {"rd": 3, "wr": 5, "rd_bytes": 7_000_000, "wr_bytes": 11_000_000}
"""What the first pool does in a second; the second does twice as much, the third three times."""
SERVERS = {"10.60.0.51:9000": 13_000_000, "10.60.0.52:9000": 17_000_000}
"""Bytes that each server of MinIO gets in a second; it sends twice as many."""
WORDS = {"mlx5_0/1": {"port_rcv_data": 25000, "port_xmit_data": 10000, "port_xmit_wait": 300}}
WORDS["mlx5_1/1"] = {"port_rcv_data": 50000, "port_xmit_data": 20000}
"""What ports count in a second: data in words of 4 bytes. The second has no counter of waits."""
BACKUP, DRILL, LOOK, BAD = 1_700_001_000, 1_700_002_000, 1_700_003_000, 1_700_004_000
"""When the newest of each was, in seconds since 1970."""
VOLUME = structs.replace(HOME, name="home", schedule="0 * * * *")


def counted(rate: float) -> float:
    """Return what a counter of this rate has come to."""
    return float(int(rate * (time.time() - BEGAN)))


def ceph() -> str:
    """Return what the manager answers: it writes numbers as Python does."""
    rows = [f'ceph_pool_metadata{{pool_id="{one}",name="{name}",type="replicated"}} 1.0' for one, name in _pools()]
    rows += [
        f'ceph_pool_{field}{{pool_id="{one}"}} {counted(one * rate)}'
        for field, rate in FLOWS.items()
        for one, _ in _pools()
    ]
    return CEPH + "".join(f"{row}\n" for row in rows)


def _pools() -> list[tuple[int, str]]:
    return [*enumerate(POOLS, 1)]


CEPH = """\
ceph_health_status 2.0
ceph_osd_up{ceph_daemon="osd.0"} 1.0
ceph_osd_up{ceph_daemon="osd.1"} 0.0
ceph_osd_up{ceph_daemon="osd.2"} 1.0
ceph_osd_in{ceph_daemon="osd.0"} 1.0
ceph_osd_in{ceph_daemon="osd.1"} 0.0
ceph_osd_in{ceph_daemon="osd.2"} 0.0
ceph_mon_quorum_status{ceph_daemon="mon.a"} 1.0
ceph_mon_quorum_status{ceph_daemon="mon.b"} 1.0
ceph_mon_quorum_status{ceph_daemon="mon.c"} 0.0
ceph_pg_degraded{pool_id="1"} 4.0
ceph_pg_degraded{pool_id="2"} 5.0
ceph_cluster_total_bytes 1.2e+16
ceph_cluster_total_used_bytes 1.08e+16
ceph_cluster_by_class_total_bytes{device_class="hdd"} 900.0
ceph_cluster_by_class_total_bytes{device_class="nvme"} 100.0
ceph_cluster_by_class_total_used_raw_bytes{device_class="hdd"} 765.0
ceph_cluster_by_class_total_used_raw_bytes{device_class="nvme"} 96.0
ceph_pool_percent_used{pool_id="1"} 0.5
ceph_pool_percent_used{pool_id="2"} 0.25
ceph_pool_percent_used{pool_id="3"} 1.1920928955078125e-07
ceph_pool_stored{pool_id="1"} 86000.0
ceph_pool_stored{pool_id="2"} 86000.0
ceph_pool_stored{pool_id="3"} 85000.0
ceph_pool_quota_bytes{pool_id="1"} 100000.0
ceph_pool_quota_bytes{pool_id="2"} 0.0
ceph_pool_quota_bytes{pool_id="3"} 100000.0
"""


def minio() -> str:
    """Return what any server answers of the whole: it writes numbers as Go does."""
    traffic = {"received": 1, "sent": 2}
    rows = [
        f'minio_s3_traffic_{way}_bytes{{server="{server}"}} {_as_go(counted(times * rate))}'
        for way, times in traffic.items()
        for server, rate in SERVERS.items()
    ]
    return MINIO + "".join(f"{row}\n" for row in rows)


def _as_go(value: float) -> str:
    digits = str(int(value))
    written = f"{digits[0]}.{digits[1:]}".rstrip("0").rstrip(".")
    return f"{written}e+{len(digits) - 1:02}" if value >= 1e6 else digits


MINIO = """\
minio_cluster_health_status{server="10.60.0.51:9000"} 1
minio_cluster_drive_online_total{server="10.60.0.51:9000"} 62
minio_cluster_drive_offline_total{server="10.60.0.51:9000"} 2
minio_cluster_nodes_offline_total{server="10.60.0.51:9000"} 1
minio_cluster_health_erasure_set_write_quorum{pool="0",set="0",server="10.60.0.51:9000"} 9
minio_cluster_health_erasure_set_write_quorum{pool="0",set="1",server="10.60.0.51:9000"} 9
minio_cluster_health_erasure_set_online_drives{pool="0",set="0",server="10.60.0.51:9000"} 8
minio_cluster_health_erasure_set_online_drives{pool="0",set="1",server="10.60.0.51:9000"} 16
minio_cluster_health_erasure_set_healing_drives{pool="0",set="0",server="10.60.0.51:9000"} 1
minio_cluster_health_erasure_set_healing_drives{pool="0",set="1",server="10.60.0.51:9000"} 2
minio_cluster_capacity_usable_total_bytes{server="10.60.0.51:9000"} 1.5e+15
minio_cluster_capacity_usable_free_bytes{server="10.60.0.51:9000"} 6e+14
"""


def argo() -> str:
    """Return what Argo Workflows answers, of each backup and each drill of the cluster with VOLUME."""
    ml50 = load("ml50")
    rows = [f'{backup.NEWEST}{{backup="{name}"}} {_as_go(BACKUP)}' for name in ml50.watched_backups]
    for name in (*ml50.watched_drills, VOLUME.name):
        rows += [f'{drill.NEWEST}{{backup="{name}"}} {_as_go(DRILL)}', f'{drill.GOOD}{{backup="{name}"}} 0']
    rows += [
        f"{LOOKED} {_as_go(LOOK)}",
        f'{FAILED}{{operation="node-removal"}} {_as_go(BAD)}',
        f'{SUCCEEDED}{{operation="node-removal"}} {_as_go(BAD + 100)}',
        f'{FAILED}{{operation="acceptance"}} {_as_go(BAD + 200)}',
        f'{FAILED}{{operation="backup"}} {_as_go(BAD + 300)}',
    ]
    return "".join(f"{row}\n" for row in rows)


VOLSYNC = """\
volsync_volume_out_of_sync{method="restic",obj_name="home",obj_namespace="vision",role="source"} 0
volsync_volume_out_of_sync{method="restic",obj_name="home",obj_namespace="vision",role="destination"} 1
volsync_missed_intervals_total{method="restic",obj_name="home",obj_namespace="vision",role="source"} 3
volsync_missed_intervals_total{method="restic",obj_name="home",obj_namespace="language",role="source"} 8
"""
QUEUE = {"metadata": {"name": "vision"}, "status": {"pendingWorkloads": 4}}


def node(name: str, ready: str, **spec: bool) -> dict[str, Any]:
    """Return a node as the API server tells of it."""
    conditions = [{"type": "DiskPressure", "status": "False"}, {"type": "Ready", "status": ready}]
    return {"metadata": {"name": name}, "spec": spec, "status": {"conditions": conditions}}


def pods_table(status: str) -> str:
    """Return two pods as the API server tells of them in a table: one restarted just now."""
    columns = [{"name": name} for name in ("Name", "Ready", "Status", "Restarts", "Age")]
    rows = [
        {"cells": [name, "1/1", status, restarts, "3d"], "object": {"metadata": {"name": name, "namespace": "a"}}}
        for name, restarts in (("a", "0"), ("b", "7 (4m20s ago)"))
    ]
    return json.dumps({"kind": "Table", "columnDefinitions": columns, "rows": rows})


OTHERS = without(team.name for team in load("ml50").teams)
NODES = [node("gpu-01", "True"), node("gpu-02", "False", unschedulable=True)]


class Answers(BaseHTTPRequestHandler):
    """Answers like the cluster's services; the API server only to who brings the token."""

    count = 0

    def do_GET(self) -> None:
        type(self).count += 1
        text, status = self.page(), 200
        if self.path.startswith(("/api", "/readyz")) and self.headers["Authorization"] != "Bearer token-k":
            text, status = "{}", 401
        if self.path == "/minio" and self.headers["Authorization"] != "Bearer token-o":
            text, status = "", 403
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text.encode())

    def page(self) -> str:
        pages = {
            "/ceph": ceph(),
            "/minio": minio(),
            "/argo": argo(),
            "/volsync": VOLSYNC,
            "/readyz": "ok",
            "/api/v1/nodes": json.dumps({"items": NODES}),
            "/api/v1/pods?fieldSelector=status.phase%3DPending": json.dumps({"items": [{}, {}, {}]}),
            "/api/v1/pods?fieldSelector=status.phase%3DFailed": json.dumps({"items": [{}]}),
            "/apis/kueue.x-k8s.io/v1beta2/clusterqueues": json.dumps({"items": [QUEUE]}),
            f"/api/v1/pods?fieldSelector=spec.restartPolicy=Always{OTHERS}&includeObject=None": pods_table("Running"),
            UNPLACED: pods_table("Pending"),
        }
        return pages[self.path]

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def answering() -> Iterator[str]:
    """Run the services; yields their URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


OF_GPU = 'gpu="{0}",UUID="{1}",pci_bus_id="00000000:17:00.0",device="nvidia{0}",modelName="NVIDIA H100 80GB HBM3"'
SPLIT, WITHOUT_MEMORY = 6, 4
"""The GPU that is in instances, and one of which no memory is told."""
INSTANCES = [("3", ""), ("4", ""), ("4", ',container="main",namespace="vision",pod="train"')]
"""Instances of it, the second told twice: two pods share it."""


def gpus() -> str:
    """Return what a DCGM exporter answers of seven GPUs. It tells no utilization of one in instances, and memory by
    instance or not at all; all else is the whole GPU's, told for each (dcgm-exporter: issues 105, 216, 317, 512).
    """
    fields = [*_of_gpu(0, "")]
    return "".join(
        f"# HELP DCGM_FI_DEV_{field} As it is.\n# TYPE DCGM_FI_DEV_{field} gauge\n{''.join(_samples(field))}"
        for field in fields
    )


def _samples(field: str) -> Iterator[str]:
    for gpu in range(7):
        for instance, pod in INSTANCES if gpu == SPLIT else [("", "")]:
            split = f',GPU_I_PROFILE="3g.40gb",GPU_I_ID="{instance}"' if instance else ""
            labels = f'{OF_GPU.format(gpu, uuid(gpu))}{split},Hostname="gpu-01"{pod}'
            if not (instance and field == "GPU_UTIL") and not (gpu == WITHOUT_MEMORY and field.startswith("FB_")):
                yield f"DCGM_FI_DEV_{field}{{{labels}}} {_of_gpu(gpu, instance)[field]}\n"


def _of_gpu(gpu: int, instance: str) -> dict[str, object]:
    used = 1000 * int(instance) if instance else 1024
    return {
        "GPU_UTIL": 50 + gpu,
        "GPU_TEMP": 91,
        "MEMORY_TEMP": 80 + gpu,
        "FB_USED": used,
        "FB_FREE": 40000 - used,
        "POWER_USAGE": f"{300.5 + gpu:f}",
        "XID_ERRORS": 79 * (gpu == 3),
        "PCIE_REPLAY_COUNTER": 10 + gpu,
        "UNCORRECTABLE_REMAPPED_ROWS": 20 + gpu,
        "CORRECTABLE_REMAPPED_ROWS": 30 + gpu,
        "ROW_REMAP_FAILURE": 0,
    }


def gpu_metrics() -> str:
    """Return what the agent's own script makes of the exporter's answer."""
    with exporters({"127.0.0.1": gpus()}) as port:
        return _bash("gpu.sh", "127.0.0.1", str(port))


def infiniband_ports(folder: Path, now: int, errors: int) -> str:
    """Return what the agent's own script makes of the kernel's files: one port is slower, and has so many errors."""
    for name, rates in WORDS.items():
        first = name == "mlx5_0/1"
        made = {"link_layer": "InfiniBand", "state": "4: ACTIVE", "phys_state": "5: LinkUp"}
        made["rate"] = f"{'200 Gb/sec (4X HDR)' if first else '400 Gb/sec (4X NDR)'}"
        made |= {f"counters/{one}": "0" for one in ERRORS} | {"counters/symbol_error": str(errors * first)}
        made |= {f"counters/{one}": str(rate * now) for one, rate in rates.items()}
        for file, text in made.items():
            place = folder / name.replace("/", "/ports/") / file
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(f"{text}\n")
    return _bash("infiniband.sh", str(folder))


ERRORS = (
    "link_error_recovery", "link_downed", "port_rcv_errors", "port_xmit_discards", "local_link_integrity_errors",
    "excessive_buffer_overrun_errors",
)  # fmt: skip


def _bash(script: str, *words: str) -> str:
    command = ["bash", "-s", *words]
    text = read_text(f"zabbix/{script}")
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, timeout=20).stdout


MACHINE = {
    "agent.ping": "1",
    "system.uptime": "86400",
    "system.sw.os": "Linux version 6.8.0-79-generic (buildd@lcy02-amd64-034)",
    "system.cpu.util": "12.345679",
    "system.cpu.util[,iowait]": "0.250000",
    "system.cpu.load[all,avg5]": "3.750000",
    "system.cpu.num": "96",
    "vm.memory.size[total]": "1081101176832",
    "vm.memory.size[available]": "540550588416",
    "vm.memory.size[pavailable]": "50.000000",
    "vfs.fs.discovery": json.dumps(
        [
            {"{#FSNAME}": name, "{#FSTYPE}": kind, "{#FSLABEL}": "", "{#FSDRIVETYPE}": ""}
            for name, kind in (
                ("/host", "ext4"), ("/host/data", "xfs"), ("/host/proc", "proc"), ("/", "overlay"),
                ("/host/var/lib/kubelet/pods/1/volumes/kubernetes.io~csi/pvc/mount", "ext4"),
            )
        ]
    ),
}  # fmt: skip
"""What an agent sends of the machine itself."""
DISKS = {
    "vfs.fs.size[/host,pused]": "41.500000",
    "vfs.fs.size[/host/data,pused]": "7.250000",
    "vfs.fs.inode[/host,pfree]": "93.125000",
    "vfs.fs.inode[/host/data,pfree]": "99.500000",
}
"""What it sends of the file systems that were found."""


def agent(port: int, host: str, told: Mapping[str, str], now: int) -> None:
    """Send values as an active agent does (6.0)."""
    data = [
        {"host": host, "key": key, "value": value, "id": number, "clock": now, "ns": 0}
        for number, (key, value) in enumerate(told.items(), 1)
    ]
    body = json.dumps({"request": "agent data", "session": secrets.token_hex(16), "data": data}).encode()
    with socket.create_connection(("127.0.0.1", port), 10) as peer:
        peer.sendall(b"ZBXD\1" + struct.pack("<II", len(body), 0) + body)
        assert b'"response":"success"' in peer.recv(1000)
