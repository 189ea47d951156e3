"""Every trigger on a real Zabbix server: samples in the form and unit in which programs tell them, on four hosts. On
`quiet` all is just well enough, on `loud` and `worse` just not, and `silent` never sends anything.

What agents and polls would bring is sent instead, and `nodata` waits for a minute and a half.
"""

import json
import re
import secrets
import socket
import struct
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from zabbixsite import DEFAULT_PASSWORD, Site, site_in
from zabbixtold import VOLUME

from generator.components.reports.metrics import FAILED, SUCCEEDED
from generator.components.zabbix.export import document, identity
from generator.components.zabbix.templates import templates
from generator.components.zabbix.templates.kubernetes import backup, drills, gpu_care
from generator.components.zabbix.templates.volumes import metrics, volume_backup

pytestmark = pytest.mark.real

GROUP = "gen/alerts"
KINDS = ("discoveryRules", "graphs", "items", "triggers", "groups", "hosts", "templates")
RULES = {
    **{kind: {"createMissing": True, "updateExisting": True} for kind in KINDS},
    "templateLinkage": {"createMissing": True},
}
MACROS = {"{$GPU.COUNT}": "2", "{$IB.PORTS}": "1", "{$IB.RATE}": "400", "{$PROXY}": "x"}
# These two the server makes itself.
MADE = {"DEPENDENT", "CALCULATED"}
KEPT = (
    "key", "name", "value_type", "history", "trends", "units", "preprocessing", "triggers", "trigger_prototypes",
    "uuid", "filter", "item_prototypes", "graph_prototypes", "lifetime",
)  # fmt: skip
PROXY_SEEN = "zabbix[proxy,{$PROXY},lastaccess]"
AGE = 3600
DAY = 86400


class Health(NamedTuple):
    """What one host tells."""

    health: int
    up: int
    quorum: int
    degraded: int
    used: int
    stored: int
    online: int
    offline: int
    pending: int
    ready: str
    api: str
    pressure: str
    temperature: int
    gpus: int
    xid: int
    rows: int
    failure: int
    errors: int
    downed: int
    state: int
    rate: int
    cpu: int
    memory: int
    uptime: int
    disk: int
    inodes: int
    waiting: int
    running: int
    restarting: int
    gangs: int
    seen: int
    """Seconds since the proxy came."""
    backup: int
    """Seconds since the newest good backup, the newest good drill and the newest good look at GPUs began."""
    drill: int
    """Whether the last drill was good, and a volume is backed up in time; operations ended well after they failed."""
    silent: int
    """Media without a token."""


QUIET = Health(
    health=0, up=1, quorum=1, degraded=0, used=85, stored=85, online=10, offline=0, pending=50, ready="True", api="ok",
    pressure="False", temperature=85, gpus=2, xid=0, rows=0, failure=0, errors=10, downed=0, state=4, rate=400,
    cpu=95, memory=6, uptime=601, disk=85, inodes=6, waiting=3, running=1, restarting=0, gangs=0,
    seen=200, backup=AGE - 600, drill=1, silent=0,
)  # fmt: skip
LOUD = Health(
    health=2, up=0, quorum=0, degraded=1, used=96, stored=86, online=8, offline=1, pending=51, ready="False", api="no",
    pressure="True", temperature=91, gpus=2, xid=79, rows=1, failure=1, errors=11, downed=1, state=1, rate=200,
    cpu=96, memory=4, uptime=30, disk=96, inodes=4, waiting=1, running=0, restarting=2, gangs=1,
    seen=400, backup=AGE + 60, drill=0, silent=1,
)  # fmt: skip
# What cannot be together with the former: a warning, the last drive that may be lost, parts that are not there at all.
# The proxy never came, a program's error was there from the beginning, and its queue has stood still for an hour only.
WORSE = QUIET._replace(health=1, online=9, xid=31, gpus=1, seen=10**10, ready="Unknown", running=0)
HOSTS = {"quiet": QUIET, "loud": LOUD, "worse": WORSE}


def ceph(told: Health) -> str:
    """One class and one pool that may be full, and one of each that is not: the other pool has no quota."""
    return f"""\
ceph_health_status {told.health}.0
ceph_osd_up{{ceph_daemon="osd.0"}} 1.0
ceph_osd_up{{ceph_daemon="osd.1"}} {told.up}.0
ceph_mon_quorum_status{{ceph_daemon="mon.a"}} 1.0
ceph_mon_quorum_status{{ceph_daemon="mon.b"}} {told.quorum}.0
ceph_pg_degraded{{pool_id="1"}} {told.degraded}.0
ceph_cluster_total_bytes 100000.0
ceph_cluster_total_used_bytes 20000.0
ceph_cluster_by_class_total_bytes{{device_class="hdd"}} 90000.0
ceph_cluster_by_class_total_bytes{{device_class="nvme"}} 10000.0
ceph_cluster_by_class_total_used_raw_bytes{{device_class="hdd"}} 1000.0
ceph_cluster_by_class_total_used_raw_bytes{{device_class="nvme"}} {told.used}00.0
ceph_pool_metadata{{pool_id="1",name="rbd",type="replicated"}} 1.0
ceph_pool_metadata{{pool_id="2",name="free",type="replicated"}} 1.0
ceph_pool_percent_used{{pool_id="1"}} 0.{told.used}
ceph_pool_percent_used{{pool_id="2"}} 0.01
ceph_pool_stored{{pool_id="1"}} {told.stored}000.0
ceph_pool_stored{{pool_id="2"}} {told.stored}000.0
ceph_pool_quota_bytes{{pool_id="1"}} 100000.0
ceph_pool_quota_bytes{{pool_id="2"}} 0.0
"""


def minio(told: Health) -> str:
    lost = "minio_cluster_health_erasure_set"
    return f"""\
minio_cluster_drive_online_total{{server="a"}} 16
minio_cluster_drive_offline_total{{server="a"}} {told.offline}
minio_cluster_nodes_offline_total{{server="a"}} {told.offline}
{lost}_write_quorum{{pool="0",set="0",server="a"}} 9
{lost}_online_drives{{pool="0",set="0",server="a"}} {told.online}
{lost}_online_drives{{pool="0",set="1",server="a"}} 16
minio_cluster_capacity_usable_total_bytes{{server="a"}} 100
minio_cluster_capacity_usable_free_bytes{{server="a"}} {100 - told.used}
"""


def gpus(told: Health) -> str:
    fields = {
        "GPU_TEMP": told.temperature,
        "XID_ERRORS": told.xid,
        "UNCORRECTABLE_REMAPPED_ROWS": told.rows,
        "ROW_REMAP_FAILURE": told.failure,
    }
    labels = 'UUID="GPU-{0}",modelName="NVIDIA H100",Hostname="n"'
    return "".join(
        f'DCGM_FI_DEV_{field}{{gpu="{gpu}",{labels.format(gpu)}}} {value}\n'
        for gpu in range(told.gpus)
        for field, value in fields.items()
    )


def port(told: Health) -> str:
    counters = (
        "symbol_error", "link_error_recovery", "port_rcv_errors", "port_xmit_discards", "local_link_integrity_errors",
        "excessive_buffer_overrun_errors",
    )  # fmt: skip
    one = {"name": "mlx5_0/1", "state": told.state, "physical": 5, "rate": told.rate, "link_downed": told.downed}
    ports = [one | dict.fromkeys(counters, told.errors)]
    return json.dumps(ports if told.gpus > 1 else [])


def nodes(told: Health) -> str:
    conditions = [{"type": "DiskPressure", "status": told.pressure}, {"type": "Ready", "status": told.ready}]
    return json.dumps({"items": [{"metadata": {"name": "n"}, "spec": {}, "status": {"conditions": conditions}}]})


def queues(told: Health) -> str:
    # Kueue leaves out what is 0.
    counts = {"pendingWorkloads": told.waiting, "admittedWorkloads": told.running}
    status = {name: count for name, count in counts.items() if count}
    return json.dumps({"items": [{"metadata": {"name": "vision"}, "status": status}]})


def pods(status: str, count: int) -> str:
    """Return a table of pods as the API server writes it: so many that restarted just now, and one that did not."""
    columns = [{"name": name} for name in ("Name", "Ready", "Status", "Restarts", "Age")]
    restarts = [*["7 (4m20s ago)"] * count, "7 (35m ago)"]
    rows = [
        {
            "cells": [f"p-{number}", "1/1", status if number < count else "SchedulingGated", text, "3d"],
            "object": {"metadata": {"name": f"p-{number}", "namespace": "a"}},
        }
        for number, text in enumerate(restarts)
    ]
    return json.dumps({"kind": "Table", "columnDefinitions": columns, "rows": rows})


def samples(told: Health, now: int) -> dict[str, str]:
    """Return what arrives under each key that is sent."""
    return {
        "ceph.metrics": ceph(told),
        "minio.metrics": minio(told),
        "gpu.metrics": gpus(told),
        "infiniband.ports": port(told),
        "kube.nodes": nodes(told),
        "kube.ready": told.api,
        # The step that counts them is in the items themselves.
        "kube.pods.pending": json.dumps({"items": [{}] * told.pending}),
        "kube.pods.failed": json.dumps({"items": []}),
        "kube.queues": queues(told),
        "kube.pods.restarting": pods("Running", told.restarting),
        "kube.gangs": pods("Pending", told.gangs),
        "agent.ping": "1",
        "system.uptime": str(told.uptime),
        "system.cpu.util": str(told.cpu),
        "vm.memory.size[pavailable]": str(told.memory),
        "vfs.fs.discovery": json.dumps([{"{#FSNAME}": "/host/data", "{#FSTYPE}": "xfs"}]),
        PROXY_SEEN: str(max(0, now - told.seen)),
        "backup.metrics": argo(told, now),
        "volume.metrics": volsync(1 - told.drill),
    }


def argo(told: Health, now: int) -> str:
    return f"""\
argo_workflows_backup_last_success_seconds{{backup="nightly"}} {now - told.backup}
argo_workflows_drill_last_success_seconds{{backup="nightly"}} {now - told.backup}
argo_workflows_drill_good{{backup="nightly"}} {told.drill}
argo_workflows_gpu_care_last_success_seconds {now - told.backup}
{SUCCEEDED}{{operation="node-removal"}} {now - 7200}
{FAILED}{{operation="node-removal"}} {now - 3600 * (1 + 2 * told.drill)}
{FAILED}{{operation="acceptance"}} {now - DAY - 3600 * (2 * told.drill - 1)}
{FAILED}{{operation="backup"}} {now - 60}
"""


def volsync(behind: int) -> str:
    """As VolSync tells it, in any order of labels, beside what brings a volume back."""
    of = 'method="restic",obj_name="home",obj_namespace="vision"'
    return f"""\
volsync_volume_out_of_sync{{{of},role="source"}} {behind}
volsync_volume_out_of_sync{{{of},role="destination"}} 1
volsync_missed_intervals_total{{{of},role="source"}} {behind}
"""


def found(told: Health) -> dict[str, str]:
    """Return what arrives once the file system is known."""
    return {"vfs.fs.size[/host/data,pused]": str(told.disk), "vfs.fs.inode[/host/data,pfree]": str(told.inodes)}


def sent(part: Any) -> Any:
    """Return a template whose items and rules that somebody would ask for are sent."""
    if isinstance(part, list):
        return [sent(one) for one in part]
    if not isinstance(part, dict):
        return part
    if "key" in part and part.get("type", "DEPENDENT") not in MADE:
        part = {**{key: part[key] for key in KEPT if key in part}, "type": "TRAP"}
    return {key: sent(value) for key, value in part.items()}


def shortened(text: str) -> str:
    return re.sub(r"nodata\(([^,()]+),[0-9]+[smhd]?\)", r"nodata(\1,90s)", text)


def template_file() -> str:
    """Return all templates as one file."""
    files = [json.loads(text)["zabbix_export"] for text in templates().values()]
    whole = {
        "groups": [{"uuid": identity("group", name), "name": name} for name in ("Templates/gen", GROUP)],
        "templates": [sent(one) for file in files for one in file["templates"]],
        "triggers": [one for file in files for one in file.get("triggers", ())],
    }
    return shortened(document(**whole))


def host(name: str, linked: list[str]) -> dict[str, Any]:
    silent = {"{$ALERTS.SILENT}": str(HOSTS[name].silent if name in HOSTS else 0), "{$ALERTS.SILENT.MEDIA}": "Slack"}
    return {
        "host": name, "name": name, "groups": [{"name": GROUP}], "templates": [{"name": one} for one in linked],
        "macros": [{"macro": macro, "value": value} for macro, value in (MACROS | silent).items()],
        "items": [
            backup(name, "nightly", AGE),
            *drills(name, "nightly", AGE),
            gpu_care(name),
            sent(metrics("cluster.local")),
            *volume_backup(name, VOLUME),
        ],
    }  # fmt: skip


class Alerts(NamedTuple):
    """A running Zabbix with the hosts."""

    site: Site
    auth: str

    def do(self, method: str, params: object) -> Any:
        return self.site.call(method, params, self.auth)

    def prepare(self) -> None:
        text = template_file()
        linked = [one["template"] for one in json.loads(text)["zabbix_export"]["templates"]]
        hosts = [host(name, linked) for name in (*HOSTS, "silent")]
        groups = [{"uuid": identity("group", GROUP), "name": GROUP}]
        for source in (text, shortened(document(groups=groups, hosts=hosts))):
            self.do("configuration.import", {"format": "json", "rules": RULES, "source": source})

    def triggers(self, name: str) -> dict[str, str]:
        known = self.do("trigger.get", {"host": name, "expandDescription": True, "output": ["description"]})
        return {one["triggerid"]: re.sub(r"XID [^)]*", "XID", one["description"]) for one in known}

    def fired(self, name: str) -> set[str]:
        """Return the triggers of a host that were ever a problem."""
        known = self.triggers(name)
        events = self.do("event.get", {"objectids": [*known], "value": 1, "output": ["objectid"]})
        return {known[one["objectid"]] for one in events}

    def problems(self, name: str) -> list[str]:
        """Return the names of a host's problems that are open, as they were told."""
        (known,) = self.do("host.get", {"filter": {"host": name}, "output": ["hostid"]})
        return sorted(one["name"] for one in self.do("problem.get", {"hostids": known["hostid"], "output": ["name"]}))

    def calculate(self) -> None:
        items = self.do("item.get", {"group": GROUP, "monitored": True, "filter": {"type": 15}})
        self.do("task.create", [{"type": 6, "request": {"itemid": one["itemid"]}} for one in items])


def send(place: int, host: str, told: dict[str, str], clock: int) -> str:
    """Send values as `zabbix_sender` does, and return what the server says of them."""
    data = [{"host": host, "key": key, "value": value, "clock": clock, "ns": 0} for key, value in told.items()]
    body = json.dumps({"request": "sender data", "session": secrets.token_hex(16), "data": data}).encode()
    with socket.create_connection(("127.0.0.1", place), 10) as peer:
        peer.sendall(b"ZBXD\1" + struct.pack("<II", len(body), 0) + body)
        return peer.recv(1000).decode(errors="replace")


def first(told: Health) -> Health:
    """Return what a host tells at first: nothing has been counted."""
    return told._replace(errors=0, downed=0, rows=0, xid=told.xid % 79, drill=1)


@pytest.fixture(scope="module")
def alerts() -> Iterator[Alerts]:
    with tempfile.TemporaryDirectory(prefix="zabbix-") as folder, site_in(Path(folder)) as site:
        made = Alerts(site, site.login(DEFAULT_PASSWORD))
        made.prepare()
        yield made


def begin(alerts: Alerts, place: int) -> None:
    """Tell what is at first until everything is found, then what the queues did within the last day."""
    known, before = 1, 0
    while known != before:
        for name, told in HOSTS.items():
            send(place, name, samples(first(told), int(time.time())), int(time.time()))
        time.sleep(6)
        before, known = known, len(alerts.triggers("loud"))
    for hours in (23.5, 12, 1):
        for name, told in HOSTS.items():
            if name != "worse" or hours == 1:
                ago = int(time.time() - 3600 * hours)
                assert "failed: 0" in send(place, name, {"kube.queues": queues(told)}, ago)
    # `quiet` did so as well until half an hour ago.
    for minutes in range(59, 0, -1):
        for name, told in HOSTS.items():
            busy = LOUD if name == "quiet" and minutes > 30 else told
            pods_told = {key: samples(busy, 0)[key] for key in ("kube.pods.restarting", "kube.gangs")}
            assert "failed: 0" in send(place, name, pods_told, int(time.time()) - 60 * minutes)
    # What was found takes values a moment later.
    for _ in range(2):
        tell(place, {name: first(told) for name, told in HOSTS.items()})
        time.sleep(3)


def tell(place: int, hosts: dict[str, Health]) -> None:
    """Send what each host tells; every value finds its item."""
    for name, told in hosts.items():
        now = int(time.time())
        said = send(place, name, samples(told, now) | found(told), now)
        assert "failed: 0" in said, said


def left(alerts: Alerts, seen: dict[str, set[str]]) -> set[str]:
    """Return the triggers of which nobody has seen a problem."""
    return set(alerts.triggers("loud").values()) - set[str]().union(*seen.values())


@pytest.fixture(scope="module")
def fired(alerts: Alerts) -> dict[str, set[str]]:
    """Return which triggers of each host were ever a problem, within as long as it takes until no more become one."""
    with alerts.site.server() as place:
        begin(alerts, place)
        end, seen = time.monotonic() + 240, {"silent": set[str]()}
        while time.monotonic() < end and (left(alerts, seen) - SPARED or len(seen["silent"]) < len(MISSED)):
            time.sleep(3)
            tell(place, HOSTS)
            alerts.calculate()
            seen = {name: alerts.fired(name) for name in (*HOSTS, "silent")}
        # Nothing else may come late.
        for _ in range(10):
            tell(place, HOSTS)
            time.sleep(3)
        return {name: alerts.fired(name) for name in seen}


# What stands beside the class and the pool that are full, and is not.
SPARED = {
    "Ceph's hdd is nearly full",
    "Ceph's hdd is full",
    "Pool free is nearly full",
    "Pool free is nearly at its quota: writes pause there",
}
MISSED = {
    "No data from the node for 5 minutes",
    "No GPU metrics for 15 minutes",
    "No InfiniBand counters for 15 minutes",
    "No data from Ceph for 10 minutes",
    "No data from MinIO for 10 minutes",
    "The API server is not ready",
    "No data on pods for 10 minutes",
    "No data on queues for 10 minutes",
    "Backup nightly is too old, or there never was one",
    "Drill of backup nightly is too old, or there never was one",
    "Look at GPUs is too old, or there never was one",
    "Volume backup home of team vision never worked, or not for long",
}


def test_where_all_is_just_well_enough_nothing_fires(fired: dict[str, set[str]]) -> None:
    assert fired["quiet"] == set()


def test_every_trigger_fires_once(alerts: Alerts, fired: dict[str, set[str]]) -> None:
    assert len(alerts.triggers("loud")) > 50
    assert left(alerts, fired) == SPARED


def test_what_never_sent_anything_is_missed(fired: dict[str, set[str]]) -> None:
    assert fired["silent"] == MISSED


def test_what_is_worse_fires_alone(fired: dict[str, set[str]]) -> None:
    assert fired["worse"] == {
        "Ceph warns",
        "One more lost drive ends MinIO's writes",
        "GPU 0: XID",
        "GPUs are missing",
        "InfiniBand ports are missing",
        "Node n is not ready",
        "The proxy is away: nothing is watched",
    }


def test_what_is_well_again_ends_but_for_what_a_person_closes(alerts: Alerts, fired: dict[str, set[str]]) -> None:
    """Windows of many minutes do not pass here: what looks at the last value only."""
    assert fired
    with alerts.site.server() as place:
        device = "GPU 0: fault of the device (XID 79)"
        assert device in alerts.problems("loud")
        # A program's error hides the device's.
        well = QUIET._replace(xid=31, rows=LOUD.rows, errors=LOUD.errors, downed=LOUD.downed)
        for _ in range(3):
            tell(place, {"loud": well})
            time.sleep(3)
        still = alerts.problems("loud")
        assert device in still
        assert "GPU 0: uncorrectable memory error" in still
        assert not {
            "Ceph is in error", "Ceph's nvme is full", "Node n is not ready", "The API server is not ready",
            "GPU 0: memory can no longer be repaired", "Pool rbd is nearly at its quota: writes pause there",
        } & set(still)  # fmt: skip
