"""Every trigger on a real Zabbix server: samples in the form and unit in which programs tell them, on four hosts. On
`quiet` all is just well enough, on `loud` and `worse` just not, and `silent` never sends anything.

What is polled is sent instead, and `nodata` waits for a minute and a half.
"""

import json
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from test_zabbix import agent
from zabbixsite import DEFAULT_PASSWORD, Site, site_in

from generator.components.zabbix.export import document, identity
from generator.components.zabbix.templates import templates
from generator.components.zabbix.templates.kubernetes import backup

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.real

GROUP = "gen/alerts"
KINDS = ("discoveryRules", "graphs", "items", "triggers", "groups", "hosts", "templates")
RULES = {
    **{kind: {"createMissing": True, "updateExisting": True} for kind in KINDS},
    "templateLinkage": {"createMissing": True},
}
MACROS = {"{$GPU.COUNT}": "2", "{$IB.PORTS}": "1", "{$IB.RATE}": "400", "{$PROXY}": "x"}
POLLED = {"HTTP_AGENT", "INTERNAL"}
KEPT = ("key", "name", "value_type", "history", "trends", "units", "preprocessing", "triggers", "uuid")
PROXY_SEEN = "zabbix[proxy,{$PROXY},lastaccess]"
AGE = 3600


class Health(NamedTuple):
    """What one host tells, at first and then."""

    health: int
    up: int
    quorum: int
    degraded: int
    used: int
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
    seen: int
    """Seconds since the proxy came."""
    backup: int
    """Seconds since the newest good backup began."""


QUIET = Health(
    health=0, up=1, quorum=1, degraded=0, used=84, online=10, offline=0, pending=50, ready="True", api="ok",
    pressure="False", temperature=85, gpus=2, xid=0, rows=0, failure=0, errors=10, downed=0, state=4, rate=400,
    cpu=95, memory=6, uptime=601, disk=85, inodes=6, waiting=3, running=1, seen=200, backup=AGE - 600,
)  # fmt: skip
LOUD = Health(
    health=2, up=0, quorum=0, degraded=1, used=96, online=8, offline=1, pending=51, ready="False", api="no",
    pressure="True", temperature=91, gpus=2, xid=79, rows=1, failure=1, errors=11, downed=1, state=1, rate=200,
    cpu=96, memory=4, uptime=30, disk=96, inodes=4, waiting=1, running=0, seen=400, backup=AGE + 60,
)  # fmt: skip
# What cannot be together with the former: a warning, the last drive that may be lost, parts that are not there at all.
# The proxy never came, and a program's error was there from the beginning.
WORSE = QUIET._replace(health=1, online=9, xid=31, gpus=1, seen=10**10, ready="Unknown")
HOSTS = {"quiet": QUIET, "loud": LOUD, "worse": WORSE}


def ceph(told: Health) -> str:
    return f"""\
ceph_health_status {told.health}.0
ceph_osd_up{{ceph_daemon="osd.0"}} 1.0
ceph_osd_up{{ceph_daemon="osd.1"}} {told.up}.0
ceph_mon_quorum_status{{ceph_daemon="mon.a"}} 1.0
ceph_mon_quorum_status{{ceph_daemon="mon.b"}} {told.quorum}.0
ceph_pg_degraded{{pool_id="1"}} {told.degraded}.0
ceph_cluster_total_bytes 100000.0
ceph_cluster_total_used_bytes {told.used}000.0
ceph_pool_metadata{{pool_id="1",name="rbd",type="replicated"}} 1.0
ceph_pool_percent_used{{pool_id="1"}} 0.{told.used}
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


def samples(told: Health, now: int) -> dict[str, str]:
    """Return what arrives under each key that is sent."""
    # Kueue leaves out what is 0.
    counts = {"pendingWorkloads": told.waiting, "admittedWorkloads": told.running}
    queue = {name: count for name, count in counts.items() if count}
    return {
        "ceph.metrics": ceph(told),
        "minio.metrics": minio(told),
        "gpu.metrics": gpus(told),
        "infiniband.ports": port(told),
        "kube.nodes": nodes(told),
        "kube.ready": told.api,
        "kube.pods.pending": json.dumps({"items": [{}] * told.pending}),
        "kube.queues": json.dumps({"items": [{"metadata": {"name": "vision"}, "status": queue}]}),
        "kube.gangs": json.dumps({"items": []}),
        "agent.ping": "1",
        "system.uptime": str(told.uptime),
        "system.cpu.util": str(told.cpu),
        "vm.memory.size[pavailable]": str(told.memory),
        "vfs.fs.discovery": json.dumps([{"{#FSNAME}": "/host/data", "{#FSTYPE}": "xfs"}]),
        "vfs.fs.size[/host/data,pused]": str(told.disk),
        "vfs.fs.inode[/host/data,pfree]": str(told.inodes),
        PROXY_SEEN: str(max(0, now - told.seen)),
        "backup.metrics": f'argo_workflows_backup_last_success_seconds{{backup="nightly"}} {now - told.backup}\n',
    }


def sent(made: dict[str, Any]) -> dict[str, Any]:
    """Return a template whose polled items are sent."""
    made["items"] = [
        {**{key: one[key] for key in KEPT if key in one}, "type": "TRAP"} if one["type"] in POLLED else one
        for one in made["items"]
    ]
    return made


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
    items = [backup(name, "nightly", AGE)]
    macros = [{"macro": macro, "value": value} for macro, value in MACROS.items()]
    return {
        "host": name, "name": name, "groups": [{"name": GROUP}], "templates": [{"name": one} for one in linked],
        "macros": macros, "items": items,
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
        found = self.do("trigger.get", {"host": name, "expandDescription": True, "output": ["description"]})
        return {one["triggerid"]: re.sub(r"XID [^)]*", "XID", one["description"]) for one in found}

    def fired(self, name: str) -> set[str]:
        """Return the triggers of a host that were ever a problem."""
        known = self.triggers(name)
        events = self.do("event.get", {"objectids": [*known], "value": 1, "output": ["objectid"]})
        return {known[one["objectid"]] for one in events}

    def calculate(self) -> None:
        items = self.do("item.get", {"group": GROUP, "monitored": True, "filter": {"type": 15}})
        self.do("task.create", [{"type": 6, "request": {"itemid": one["itemid"]}} for one in items])


@pytest.fixture(scope="module")
def alerts() -> Iterator[Alerts]:
    with tempfile.TemporaryDirectory(prefix="zabbix-") as folder, site_in(Path(folder)) as site:
        made = Alerts(site, site.login(DEFAULT_PASSWORD))
        made.prepare()
        yield made


def tell(place: int, *, first: bool = False) -> None:
    """Send what each host tells; at first nothing has been counted."""
    now = int(time.time())
    for name, told in HOSTS.items():
        begun = told._replace(errors=0, downed=0, rows=0, xid=told.xid % 79) if first else told
        for key, value in samples(begun, now).items():
            agent(place, name, key, now, value)


@pytest.fixture(scope="module")
def fired(alerts: Alerts) -> dict[str, set[str]]:
    """Return which triggers of each host were ever a problem, within as long as it takes until no more become one."""
    with alerts.site.server() as place:
        before, known = 0, 1
        while known != before or known < 50:
            tell(place, first=True)
            time.sleep(5)
            before, known = known, len(alerts.triggers("loud"))
        # What was found takes values a moment later.
        tell(place, first=True)
        time.sleep(3)
        tell(place, first=True)
        end = time.monotonic() + 240
        found: dict[str, set[str]] = {}
        while time.monotonic() < end:
            time.sleep(3)
            tell(place)
            alerts.calculate()
            found = {name: alerts.fired(name) for name in (*HOSTS, "silent")}
            if set(alerts.triggers("loud").values()) <= set[str]().union(*found.values()) and len(found["silent"]) > 7:
                break
        # Nothing else may come late.
        for _ in range(10):
            tell(place)
            time.sleep(3)
        return {name: alerts.fired(name) for name in found}


def test_where_all_is_just_well_enough_nothing_fires(fired: dict[str, set[str]]) -> None:
    assert fired["quiet"] == set()


def test_every_trigger_fires_once(alerts: Alerts, fired: dict[str, set[str]]) -> None:
    known = set(alerts.triggers("loud").values())
    assert known - {name for names in fired.values() for name in names} == set()


def test_what_never_sent_anything_is_missed(fired: dict[str, set[str]]) -> None:
    assert fired["silent"] == {
        "No data from the node for 5 minutes",
        "No GPU metrics for 15 minutes",
        "No InfiniBand counters for 15 minutes",
        "No data from Ceph for 10 minutes",
        "No data from MinIO for 10 minutes",
        "The API server is not ready",
        "No data on pods for 10 minutes",
        "No data on queues for 10 minutes",
        "Backup nightly is too old, or there never was one",
    }


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


def test_a_fault_of_a_device_stays_when_a_later_one_hides_it(alerts: Alerts, fired: dict[str, set[str]]) -> None:
    assert fired
    with alerts.site.server() as place:
        time.sleep(3)
        agent(place, "loud", "gpu.metrics", int(time.time()), gpus(LOUD._replace(xid=31)))
        time.sleep(3)
        found = alerts.do("trigger.get", {"host": "loud", "filter": {"value": 1}, "output": ["description"]})
        assert "GPU 0: fault of the device (XID {ITEM.LASTVALUE1})" in {one["description"] for one in found}
