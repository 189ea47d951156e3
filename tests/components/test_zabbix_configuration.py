"""What Zabbix is told: export files, alerts, dashboards; and the script's own arithmetic."""

import json
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar
from uuid import UUID

import pytest
from msgspec import structs
from reference import with_hardware, without_backups
from volumebackups import HOME as VOLUME

from generator.components.static import read_text
from generator.components.zabbix.export import identity
from generator.components.zabbix.hosts import hosts
from generator.components.zabbix.network import policies
from generator.components.zabbix.settings import document, escalation, overview, prefixes
from generator.components.zabbix.templates import templates
from generator.components.zabbix.templates.storage import minio
from generator.model.cluster import Cluster

SCRIPT = read_text("zabbix/configure.py.txt")
GPU_SCRIPT = read_text("zabbix/gpu.sh")
INFINIBAND_SCRIPT = read_text("zabbix/infiniband.sh")


def exported(files: dict[str, str]) -> dict[str, dict[str, Any]]:
    return {name: json.loads(text)["zabbix_export"] for name, text in files.items()}


@pytest.fixture(scope="module")
def script() -> ModuleType:
    module = ModuleType("configure")
    exec(compile(SCRIPT, "configure.py", "exec"), module.__dict__)
    return module


def parts(found: Any) -> Iterator[dict[str, Any]]:
    for one in found if isinstance(found, list) else found.values() if isinstance(found, dict) else ():
        yield from parts(one)
    if isinstance(found, dict):
        yield found


def test_every_id_is_a_uuid_of_version_4_and_its_own() -> None:
    ids: list[str] = []
    for one in exported(templates()).values():
        ids += [
            part["uuid"] for kind in ("templates", "triggers") for part in parts(one.get(kind, [])) if "uuid" in part
        ]
    assert len(ids) > 150
    assert {UUID(one).version for one in ids} == {4}
    assert [one for one, count in Counter(ids).items() if count > 1] == []


def test_ids_stay_the_same_for_ever() -> None:
    # Another id is another item for Zabbix: with it goes the history.
    assert identity("template", "gen node") == "07255525b22642438913dcbf8f647d24"


def test_all_files_are_of_the_format_that_every_version_reads(ml50: Cluster) -> None:
    for one in (*exported(templates()).values(), *exported(hosts(ml50)).values()):
        assert one["version"] == "6.0"


def test_no_template_speaks_of_another() -> None:
    for one in exported(templates()).values():
        (template,) = one["templates"]
        text = json.dumps(one)
        assert "/@/" not in text
        assert '"@"' not in text
        keys = {part["key"] for part in parts(template) if "key" in part and "uuid" in part}
        for part in parts(one):
            if "master_item" in part:
                assert part["master_item"]["key"] in keys
            if "expression" in part:
                assert f"/{template['template']}/" in part["expression"]


def test_hosts_link_only_templates_that_exist(ml50: Cluster, a30: Cluster) -> None:
    known = {one["templates"][0]["template"] for one in exported(templates()).values()}
    for cluster in (ml50, a30):
        for one in exported(hosts(cluster)).values():
            assert {template["name"] for template in one["hosts"][0]["templates"]} <= known


def test_macros_of_hosts_are_the_templates_own(ml50: Cluster) -> None:
    found = {one["templates"][0]["template"]: one["templates"][0] for one in exported(templates()).values()}
    for one in exported(hosts(ml50)).values():
        (host,) = one["hosts"]
        known = {macro["macro"] for template in host["templates"] for macro in found[template["name"]]["macros"]}
        assert {macro["macro"] for macro in host["macros"]} <= known
        for template in host["templates"]:
            empty = {macro["macro"] for macro in found[template["name"]]["macros"] if "value" not in macro}
            assert empty <= {macro["macro"] for macro in host["macros"]}


def test_a_host_has_what_its_node_has(ml50: Cluster, a30: Cluster) -> None:
    def linked(cluster: Cluster, template: str) -> set[str]:
        found = exported(hosts(cluster)).values()
        return {one["hosts"][0]["host"] for one in found if {"name": template} in one["hosts"][0]["templates"]}

    assert linked(ml50, "gen GPU") == {machine.name for machine in ml50.gpu_nodes}
    assert linked(ml50, "gen InfiniBand") == {machine.name for machine in ml50.machines if machine.hardware.hcas}
    assert linked(structs.replace(ml50, fabric=None), "gen InfiniBand") == set()
    assert linked(a30, "gen GPU") == {"jw2", "jw3"}
    assert linked(a30, "gen MinIO") == linked(a30, "gen Ceph") == set()
    assert linked(structs.replace(without_backups(ml50), gpu_care=None, acceptance=None), "gen backups") == set()
    assert linked(without_backups(ml50), "gen backups") == {"ml50-cluster"}


def test_the_server_itself_watches_that_the_proxy_comes(ml50: Cluster) -> None:
    watched = {name: one["hosts"][0] for name, one in exported(hosts(ml50)).items()}
    monitoring = watched.pop("ml50-monitoring.json")
    assert "proxy" not in monitoring
    assert monitoring["macros"] == [{"macro": "{$PROXY}", "value": "ml50-proxy"}]
    assert {one["proxy"]["name"] for one in watched.values()} == {"ml50-proxy"}


def test_every_backup_that_runs_is_missed_after_two_of_its_intervals(ml50: Cluster) -> None:
    nightly, other = ml50.ceph_backups
    weekly = structs.replace(other, name="weekly", schedule="0 3 * * 0")
    resting = structs.replace(other, name="resting", suspended=True)
    cluster = structs.replace(without_backups(ml50), backups=(nightly, weekly, resting), gpu_care=None)
    (host,) = exported(hosts(cluster))["ml50-cluster.json"]["hosts"]
    triggers = {one["key"]: one["triggers"][0]["expression"] for one in host["items"]}
    ages = {"backup.last[datasets]": 2, "backup.last[weekly]": 14, "drill.last[datasets]": 14, "drill.last[weekly]": 14}
    assert triggers.keys() == {*ages, "drill.good[datasets]", "drill.good[weekly]"}
    assert triggers["drill.good[weekly]"] == "last(/ml50-cluster/drill.good[weekly])=0"
    for key, days in ages.items():
        age = days * 86400
        item = f"/ml50-cluster/{key}"
        assert triggers[key] == f"now()-last({item})>{age} or nodata({item},{age}s)=1"


def items(cluster: Cluster) -> dict[str, Any]:
    (host,) = exported(hosts(cluster))["ml50-cluster.json"]["hosts"]
    return {one["key"]: one for one in host.get("items", ())}


def test_backups_of_volumes_that_run_are_watched_and_their_drills(ml50: Cluster) -> None:
    resting = structs.replace(VOLUME, name="resting", suspended=True)
    found = items(structs.replace(without_backups(ml50), volume_backups=(VOLUME, resting), gpu_care=None))
    of_one = {f"volume.{what}[vision-home]" for what in ("behind", "kept", "missed")}
    assert found.keys() == {"volume.metrics", "drill.last[vision-home]", "drill.good[vision-home]"} | of_one
    assert found["volume.metrics"]["url"] == "https://volsync-metrics.volsync-system.svc.cluster.local:8443/metrics"
    assert {found[key]["master_item"]["key"] for key in of_one} == {"volume.metrics"}
    assert "volume.metrics" not in items(structs.replace(ml50, volume_backups=(resting,)))


def test_the_proxy_reaches_volsync_only_where_it_reads_it(ml50: Cluster) -> None:
    def reached(cluster: Cluster) -> bool:
        zabbix = cluster.monitoring.zabbix
        assert zabbix
        return "volsync-system" in json.dumps(list(policies(cluster, zabbix)))

    assert not reached(ml50)
    assert reached(structs.replace(ml50, volume_backups=(VOLUME,)))


def test_looks_at_gpus_that_do_not_come_are_told(ml50: Cluster) -> None:
    (trigger,) = items(ml50)["gpu-care.last"]["triggers"]
    item = "/ml50-cluster/gpu-care.last"
    assert trigger["expression"] == f"now()-last({item})>3600 or nodata({item},3600s)=1"
    assert "gpu-care.last" not in items(structs.replace(ml50, gpu_care=None))


def test_racks_and_pools_are_tags(ml50: Cluster) -> None:
    bare = tuple(with_hardware(structs.replace(machine, rack=None), gpu=None) for machine in ml50.machines)
    for machines, wanted in ((ml50.machines, {"pool", "rack", "gpu"}), (bare, {"pool"})):
        (host,) = exported(hosts(structs.replace(ml50, machines=machines)))["gpu-01.json"]["hosts"]
        assert {tag["tag"] for tag in host["tags"]} == wanted


def test_an_added_node_is_an_added_file(ml50: Cluster) -> None:
    more = structs.replace(ml50.machines[-1], name="nas-5")
    before, after = hosts(ml50), hosts(structs.replace(ml50, machines=(*ml50.machines, more)))
    assert {name for name in after if before.get(name) != after[name]} == {"nas-5.json"}


@pytest.mark.parametrize(
    ("after", "wanted"), [("30s", "60s"), ("30m", "1800s"), ("2h", "7200s"), ("7d", "604800s"), ("90d", "604800s")]
)
def test_escalations_are_as_long_as_zabbix_allows(after: str, wanted: str) -> None:
    assert escalation(after) == wanted


def test_settings_follow_the_cluster_file(ml50: Cluster) -> None:
    settings = ml50.monitoring.zabbix
    assert settings
    found = document(ml50, settings)
    assert (found["history"], found["trends"]) == ("31d", "365d")
    assert [alert["severity"] for alert in found["alerts"]] == [2, 4, 5]
    assert found["media"]["Slack"] == {"bot_token": "{$SLACK.TOKEN}"}
    quiet = structs.replace(settings, alerts=(), host=None)
    found = document(ml50, quiet)
    assert found["media"] == {}
    assert found["secrets"] == {"{$KUBE.TOKEN}": "kubernetes", "{$MINIO.TOKEN}": "minio"}
    without = structs.replace(ml50, storage=structs.replace(ml50.storage, objects=None))
    assert document(without, quiet)["secrets"] == {"{$KUBE.TOKEN}": "kubernetes"}
    assert found["macros"]["{$ZABBIX.URL}"].startswith("http://zabbix-web.")
    unknown = document(ml50, structs.replace(settings, mattermost=None))
    assert unknown["media"]["Mattermost"] == {"bot_token": "{$MATTERMOST.TOKEN}"}


def test_the_proxy_shows_minio_the_token_that_nobody_can_read() -> None:
    (made,) = (one for one in minio()["items"] if one["key"] == "minio.metrics")
    assert made["headers"] == [{"name": "Authorization", "value": "Bearer {$MINIO.TOKEN}"}]
    assert "{$MINIO.TOKEN}" not in {one["macro"] for one in minio()["macros"]}


def test_only_a_token_that_may_be_missing_is_left_out(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without that of the API server the cluster is not seen at all: the Job fails."""
    monkeypatch.setattr(script, "SECRETS", tmp_path)
    secrets = {"{$KUBE.TOKEN}": "kubernetes", "{$MINIO.TOKEN}": "minio"}
    settings: dict[str, Any] = {"secrets": secrets, "media": {}, "macros": {}, "heartbeat": False}
    told = script.leave_out(settings)
    assert settings["secrets"] == {"{$KUBE.TOKEN}": "kubernetes"}
    assert told == ["minio-metrics has no Secret with the token: MinIO is not watched but with a former one"]
    (tmp_path / "minio").touch()
    assert script.leave_out({**settings, "secrets": secrets}) == []


def test_the_overview_holds_only_what_is_there(ml50: Cluster, a30: Cluster) -> None:
    names = [{one["name"] for one in overview(cluster)["pages"][0]["widgets"]} for cluster in (ml50, a30)]
    assert "Ceph throughput" in names[0]
    assert "InfiniBand sent" in names[0]
    assert "GPU utilization" in names[1]
    assert not {name for name in names[1] if name.startswith(("Ceph", "InfiniBand"))}
    assert names[0] >= {"Pods pending and failed", "Jobs that wait", "Jobs that run", "Gangs without a place"}
    without = structs.replace(a30, machines=tuple(with_hardware(one, gpu=None) for one in a30.machines), teams=())
    assert {one["name"] for one in overview(without)["pages"][0]["widgets"]} == {
        "Problems", "Pods pending and failed", "Pods that restart", "CPU utilization", "Memory available",
    }  # fmt: skip


def test_widgets_do_not_overlap(ml50: Cluster) -> None:
    cells = [
        (one["x"] + x, one["y"] + y)
        for one in overview(ml50)["pages"][0]["widgets"]
        for x in range(one["width"])
        for y in range(one["height"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
    assert max(y for _, y in cells) < 64


def test_graphs_name_items_that_templates_have(ml50: Cluster) -> None:
    names = {
        part["name"]
        for one in exported(templates()).values()
        for part in parts(one)
        if "key" in part and "name" in part
    }
    for widget in overview(ml50)["pages"][0]["widgets"]:
        for field in widget["fields"]:
            if field["name"].startswith("ds.items"):
                wanted = field["value"].lstrip("*").replace("GPU *", "GPU {#GPU}").replace("Queue *", "Queue {#QUEUE}")
                assert [name for name in names if name.endswith(wanted)], field["value"]


def test_patterns_cover_the_names() -> None:
    assert prefixes(["gpu-01", "gpu-02", "cp-1", "login"]) == ["gpu-*", "cp-*", "login"]


def test_newer_versions_get_their_own_terms(script: ModuleType) -> None:
    made = {"type": "svggraph", "x": 12, "width": 12, "fields": [{"name": "ds.hosts.0.1"}, {"name": "righty"}]}
    assert script.widget((6, 4), made) == made
    newer = script.widget((7, 0), made)
    assert (newer["x"], newer["width"]) == (36, 36)
    assert [field["name"] for field in newer["fields"]] == ["ds.0.hosts.1", "righty"]
    assert script.respell("ds.color.0") == "ds.0.color"
    assert "groups" in script.import_rules((6, 0))
    assert {"host_groups", "template_groups"} < script.import_rules((7, 0)).keys()
    assert "groups" not in script.import_rules((7, 0))


def test_an_alert_without_delay_speaks_at_once(script: ModuleType) -> None:
    made = script.action("a", {"after": "", "severity": 4}, "1", "2", "3")
    assert (made["operations"][0]["esc_step_from"], made["operations"][0]["opconditions"]) == (1, [])
    late = script.action("a", {"after": "1800s", "severity": 4}, "1", "2", "3")
    assert late["operations"][0]["esc_step_from"] == 2
    assert late["operations"][0]["opconditions"] == [{"conditiontype": 14, "operator": 0, "value": "0"}]


def test_only_what_differs_counts_as_changed(script: ModuleType) -> None:
    same = {"before": {"name": "a"}, "after": {"name": "a"}}
    inner = {"items": {"updated": [{"before": {"name": "b"}, "after": {"name": "c"}}], "added": [{"after": {}}]}}
    assert script.changes({"templates": {"updated": [same]}}) == 0
    assert script.changes({"templates": {"updated": [{**same, **inner}]}}) == 2


class Dialect(BaseHTTPRequestHandler):
    """Tells its version, and keeps what it was asked."""

    version: ClassVar[str] = ""
    asked: ClassVar[list[tuple[dict[str, Any], str | None]]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append((body, self.headers["Authorization"]))
        self.send_response(200)
        self.end_headers()
        answers = {"apiinfo.version": self.version, "proxy.get": [], "proxy.create": {"proxyids": ["1"]}}
        self.wfile.write(json.dumps({"result": answers[body["method"]]}).encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.mark.parametrize(
    ("version", "params", "auth", "header"),
    [
        ("6.0.14", {"host": "p", "status": 5}, "s", None),
        ("6.4.1", {"host": "p", "status": 5}, None, "Bearer s"),
        ("7.0.30", {"name": "p", "operating_mode": 0}, None, "Bearer s"),
        ("8.0.0", {"name": "p", "operating_mode": 0}, None, "Bearer s"),
    ],
)
def test_each_version_is_spoken_to_in_its_dialect(
    script: ModuleType, version: str, params: dict[str, Any], auth: str | None, header: str | None
) -> None:
    Dialect.version = version
    Dialect.asked.clear()
    server = HTTPServer(("127.0.0.1", 0), Dialect)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    api = script.Api(f"http://127.0.0.1:{server.server_port}")
    api.wait(5)
    assert Dialect.asked[0][1] is None
    assert "auth" not in Dialect.asked[0][0]
    api.session = "s"
    script.register_proxy(api, "p")
    server.shutdown()
    thread.join()
    server.server_close()
    body, authorization = Dialect.asked[-1]
    assert (body["params"], body.get("auth"), authorization) == (params, auth, header)


def test_the_script_is_typed(tmp_path: Path) -> None:
    file = tmp_path / "configure.py"
    file.write_text(SCRIPT)
    mypy = pytest.importorskip("mypy.api")
    assert mypy.run(["--strict", "--cache-dir", str(tmp_path / "cache"), str(file)])[2] == 0


def bash(text: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-s", *words], input=text, capture_output=True, text=True, check=False, timeout=20)


def port(root: Path, name: str, **files: str) -> None:
    folder = root / name.replace("/", "/ports/")
    (folder / "counters").mkdir(parents=True)
    usual = {"link_layer": "InfiniBand", "state": "4: ACTIVE", "phys_state": "5: LinkUp", "rate": "400 Gb/sec (4X NDR)"}
    for file, text in (usual | files).items():
        (folder / file.replace("__", "/")).write_text(f"{text}\n")


def test_infiniband_ports_are_told_as_the_kernel_knows_them(tmp_path: Path) -> None:
    port(tmp_path, "mlx5_0/1", counters__port_rcv_data="18446744073709551615", counters__symbol_error="3")
    port(tmp_path, "mlx5_1/1", state="1: DOWN", phys_state="3: Disabled", rate="2.5 Gb/sec", counters__odd="N/A")
    port(tmp_path, "mlx5_2/1", link_layer="Ethernet")
    found = json.loads(bash(INFINIBAND_SCRIPT, str(tmp_path)).stdout)
    assert found == [
        {
            "name": "mlx5_0/1", "state": 4, "physical": 5, "rate": 400,
            "port_rcv_data": 18446744073709551615, "symbol_error": 3,
        },
        {"name": "mlx5_1/1", "state": 1, "physical": 3, "rate": 2.5},
    ]  # fmt: skip


def test_a_node_without_infiniband_has_no_ports(tmp_path: Path) -> None:
    assert json.loads(bash(INFINIBAND_SCRIPT, str(tmp_path / "absent")).stdout) == []


class Exporter(BaseHTTPRequestHandler):
    """A DCGM exporter: it answers in chunks where the protocol has them."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'# HELP x\nDCGM_FI_DEV_GPU_UTIL{gpu="0"} 5\nDCGM_FI_DEV_SM_CLOCK{gpu="0"} 1\n')

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_gpu_metrics_come_without_headers_and_without_what_is_not_used() -> None:
    server = HTTPServer(("127.0.0.1", 0), Exporter)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    done = bash(GPU_SCRIPT, "127.0.0.1", str(server.server_port))
    server.shutdown()
    thread.join()
    server.server_close()
    assert done.stdout == 'DCGM_FI_DEV_GPU_UTIL{gpu="0"} 5\n'
    assert bash(GPU_SCRIPT, "127.0.0.1", "1").returncode != 0


# What NVIDIA's exporter tells of a GPU's state unless given another list; the ECC counters are in none of its own:
# dcgm-exporter, etc/default-counters.csv and etc/dcp-metrics-included.csv.
EXPORTED = {
    "SM_CLOCK", "MEM_CLOCK", "MEMORY_TEMP", "GPU_TEMP", "POWER_USAGE", "TOTAL_ENERGY_CONSUMPTION",
    "PCIE_REPLAY_COUNTER", "GPU_UTIL", "MEM_COPY_UTIL", "ENC_UTIL", "DEC_UTIL", "XID_ERRORS", "FB_FREE", "FB_USED",
    "NVLINK_BANDWIDTH_TOTAL", "VGPU_LICENSE_STATUS", "UNCORRECTABLE_REMAPPED_ROWS", "CORRECTABLE_REMAPPED_ROWS",
    "ROW_REMAP_FAILURE",
}  # fmt: skip


def test_every_field_of_the_gpu_template_is_told_and_let_through() -> None:
    text = templates()["gen-gpu.json"]
    fields = {part.split("{")[0].split('"')[0] for part in text.split("DCGM_FI_DEV_")[1:]}
    assert len(fields) == 11
    assert fields <= EXPORTED
    for field in fields:
        assert field in GPU_SCRIPT.replace("|", " ").replace("(", " ").replace(")", " ").split()
