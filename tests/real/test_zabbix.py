"""Zabbix configured by the script, with the files that the component makes: on a real Zabbix 6.0 with its API, its
import and its server.
"""

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from msgspec import structs
from zabbixsite import DEFAULT_PASSWORD, Site, site_in, wait
from zabbixtold import (
    BACKUP,
    BAD,
    DISKS,
    DRILL,
    FLOWS,
    LOOK,
    MACHINE,
    OTHERS,
    POOLS,
    VOLUME,
    Answers,
    agent,
    answering,
    gpu_metrics,
    infiniband_ports,
)

from generator.components.static import read_text
from generator.components.zabbix import zabbix
from generator.components.zabbix.templates import templates
from generator.components.zabbix.templates.kubernetes import LEFT_OUT
from generator.model.cluster import Cluster
from generator.model.monitoring import Alert

if TYPE_CHECKING:
    from apiserver import ApiServer

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.real

SECRETS = {
    "password": "first-Password", "heartbeat": "second-Password", "kubernetes": "token-k", "slack": "token-s",
    "mattermost": "token-m", "minio": "token-o",
}  # fmt: skip


class Zabbix(NamedTuple):
    """A running Zabbix, and a folder for the script's files."""

    site: Site
    folder: Path

    def configure(
        self, cluster: Cluster, change: Callable[[str], str] = str, **changed: str
    ) -> subprocess.CompletedProcess[str]:
        """Run the script with a cluster's files, the templates changed by `change`."""
        component = zabbix(cluster)
        for one in (*component.base, *component.objects):
            name = one["metadata"]["name"].removeprefix("zabbix-")
            if one["kind"] == "ConfigMap" and (kind := re.match("templates|hosts|configure$", name)):
                folder = "settings" if kind[0] == "configure" else kind[0]
                self.write(f"configuration/{folder}", one["data"])
        templates = self.folder / "configuration" / "templates"
        self.write("configuration/templates", {one.name: change(one.read_text()) for one in templates.iterdir()})
        self.write("secrets", SECRETS | changed)
        return self.run()

    def write(self, folder: str, files: dict[str, str]) -> None:
        (self.folder / folder).mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (self.folder / folder / name).write_text(text)

    def run(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run the script with the files that are there."""
        self.write(".", {"configure.py": read_text("zabbix/configure.py.txt")})
        places = {
            "ZABBIX_API": self.site.url,
            "CONFIGURATION": str(self.folder / "configuration"),
            "SECRETS": str(self.folder / "secrets"),
            "WAIT": "10",
        }
        command = [sys.executable, "-I", "-B", str(self.folder / "configure.py"), *words]
        return subprocess.run(command, env=places | env, capture_output=True, text=True, check=False, timeout=300)

    def get(self, kind: str, **params: object) -> list[dict[str, Any]]:
        """Ask for objects as Admin."""
        auth = self.site.login(SECRETS["password"])
        found: list[dict[str, Any]] = self.site.call(f"{kind}.get", {"output": "extend", **params}, auth)
        return found

    def do(self, method: str, params: object) -> Any:
        """Change something as Admin."""
        return self.site.call(method, params, self.site.login(SECRETS["password"]))


@pytest.fixture(scope="module")
def running() -> Iterator[Site]:
    with tempfile.TemporaryDirectory(prefix="zabbix-") as folder, site_in(Path(folder)) as site:
        yield site


@pytest.fixture(scope="module")
def password(running: Site, tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """Take the first step on a new Zabbix, with nothing but the script and one secret."""
    zabbix_ = Zabbix(running, tmp_path_factory.mktemp("password"))
    zabbix_.write("secrets", {"password": SECRETS["password"]})
    return zabbix_.run("password")


@pytest.fixture(scope="module")
def first(
    running: Site, password: subprocess.CompletedProcess[str], ml50: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> str:
    """Configure a new Zabbix once, and return what the script said."""
    assert password.returncode == 0, password.stderr
    done = Zabbix(running, tmp_path_factory.mktemp("first")).configure(ml50)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def site(running: Site, first: str, tmp_path: Path) -> Zabbix:
    assert first
    return Zabbix(running, tmp_path)


def test_every_node_is_a_host_with_what_it_has(site: Zabbix, ml50: Cluster) -> None:
    (group,) = site.get("hostgroup", filter={"name": "gen/ml50"})
    hosts = site.get("host", groupids=group["groupid"], selectParentTemplates=["host"], selectMacros=["macro", "value"])
    linked = {one["host"]: {template["host"] for template in one["parentTemplates"]} for one in hosts}
    assert linked.keys() == {machine.name for machine in ml50.machines} | {"ml50-cluster", "ml50-monitoring"}
    assert {name for name, found in linked.items() if "gen GPU" in found} == {one.name for one in ml50.gpu_nodes}
    assert sum("gen node" in found and "gen GPU" not in found for found in linked.values()) == 35
    assert linked["ml50-cluster"] == {
        "gen Kubernetes", "gen queues", "gen Ceph", "gen MinIO", "gen backups",
    }  # fmt: skip
    (proxy,) = site.get("proxy")
    by_server = {one["host"] for one in hosts if one["proxy_hostid"] != proxy["proxyid"]}
    assert by_server == {"ml50-monitoring"}
    macros = {one["macro"]: one["value"] for host in hosts if host["host"] == "gpu-01" for one in host["macros"]}
    assert macros == {"{$GPU.COUNT}": "8", "{$IB.PORTS}": "2", "{$IB.RATE}": "400"}


def test_pools_are_groups(site: Zabbix) -> None:
    groups = site.get("hostgroup", selectHosts="count", search={"name": "gen/ml50/"}, startSearch=True)
    assert {one["name"].rpartition("/")[2]: int(one["hosts"]) for one in groups} == {
        "system": 3, "cpu": 28, "nas": 4, "gpu-training": 12, "gpu-inference": 3,
    }  # fmt: skip


def test_alerts_go_to_their_channels(site: Zabbix) -> None:
    actions = site.get(
        "action", search={"name": "gen/ml50"}, selectOperations="extend", selectFilter="extend", sortfield="name"
    )
    users = {one["userid"]: one for one in site.get("user", selectMedias="extend")}
    media = {one["mediatypeid"]: one for one in site.get("mediatype", filter={"name": ["Slack", "Mattermost"]})}
    found = {}
    for action in actions:
        (operation,) = action["operations"]
        (user,) = operation["opmessage_usr"]
        (medium,) = users[user["userid"]]["medias"]
        severity = next(one["value"] for one in action["filter"]["conditions"] if one["conditiontype"] == "4")
        target = (media[medium["mediatypeid"]]["name"], medium["sendto"])
        found[target] = (severity, operation["esc_step_from"], action["esc_period"], operation["opconditions"] != [])
    assert found == {
        ("Mattermost", "platform/#alerts"): ("2", "1", "1h", False),
        ("Slack", "#ml50-oncall"): ("4", "1", "1h", False),
        ("Slack", "#ml50-leads"): ("5", "2", "1800s", True),
    }
    assert {one["status"] for one in media.values()} == {"0"}
    parameters = {one["name"]: one["value"] for medium in media.values() for one in medium["parameters"]}
    assert parameters["mattermost_url"] == "https://chat.example.org"


def test_tokens_can_be_read_by_nobody(site: Zabbix, first: str) -> None:
    macros = {one["macro"]: one.get("value") for one in site.get("usermacro", globalmacro=True)}
    assert macros["{$SLACK.TOKEN}"] is macros["{$MATTERMOST.TOKEN}"] is macros["{$KUBE.TOKEN}"] is None
    assert macros["{$ZABBIX.URL}"] == "https://zabbix.ml50.example.org"
    assert not [secret for secret in SECRETS.values() if secret in first]
    exported = site.do(
        "configuration.export",
        {"format": "json", "options": {"mediaTypes": [one["mediatypeid"] for one in site.get("mediatype")]}},
    )
    assert not [secret for secret in SECRETS.values() if secret in exported]


def test_the_default_password_is_gone_after_the_first_step(
    running: Site, password: subprocess.CompletedProcess[str]
) -> None:
    assert password.stdout == "user Admin: the default password is replaced\ndone\n", password.stderr
    assert running.login(SECRETS["password"])
    with pytest.raises(AssertionError, match="name or password"):
        running.login(DEFAULT_PASSWORD)


def test_the_former_password_is_replaced_by_the_secret_s(site: Zabbix, running: Site) -> None:
    other = "another-of-the-console-1"
    for new, former in ((other, SECRETS["password"]), (SECRETS["password"], other)):
        site.write("secrets", {"password": new, "former": former})
        for _ in range(2):
            done = site.run("password")
            assert done.returncode == 0, done.stderr
        assert done.stdout == "done\n", "once it is taken it is not changed again"
        assert running.login(new)
        with pytest.raises(AssertionError, match="name or password"):
            running.login(former)


def test_channels_cannot_log_in(site: Zabbix) -> None:
    (group,) = site.get("usergroup", filter={"name": "gen/ml50"}, selectUsers=["username"], selectRights="extend")
    assert {one["username"] for one in group["users"]} == {
        "mattermost platform/#alerts", "slack #ml50-oncall", "slack #ml50-leads",
    }  # fmt: skip
    assert group["gui_access"] == "3"
    assert {one["permission"] for one in group["rights"]} == {"2"}


def test_the_overview_shows_every_part(site: Zabbix) -> None:
    (dashboard,) = site.get("dashboard", search={"name": "gen/ml50"}, selectPages="extend")
    widgets = dashboard["pages"][0]["widgets"]
    assert max(int(one["x"]) + int(one["width"]) for one in widgets) == 24
    assert {one["name"] for one in widgets} >= {
        "Problems", "GPU utilization", "CPU utilization", "InfiniBand received", "Ceph operations", "Ceph throughput",
    }  # fmt: skip


def test_again_it_changes_nothing(site: Zabbix, ml50: Cluster) -> None:
    before = int(site.site.sql("select coalesce(max(clock),0) from auditlog"))
    wait("the clock", lambda: time.time() > before + 1)
    done = site.configure(ml50)
    assert done.stdout == "parts of templates changed: 0\ndone\n", done.stderr
    # Macros that cannot be read back, and Zabbix' own notes on groups, are written always; a dashboard is replaced.
    names = "'%TOKEN%', 'gen/ml50%', 'Templates/gen', ''"
    query = f"select resourcename from auditlog where clock > {before} and not (resourcename like any(array[{names}]))"
    assert site.site.sql(f"{query} and action <> 8").split() == []


def test_a_node_that_left_goes_and_all_others_stay(site: Zabbix, ml50: Cluster) -> None:
    (group,) = site.get("hostgroup", filter={"name": "Linux servers"})
    own = site.do("host.create", {"host": "mine", "groups": [{"groupid": group["groupid"]}]})["hostids"]
    before = {one["host"]: one["hostid"] for one in site.get("host")}
    smaller = structs.replace(ml50, machines=ml50.machines[:-1])
    done = site.configure(smaller)
    assert f"hosts removed: {ml50.machines[-1].name}\n" in done.stdout, done.stderr
    after = {one["host"]: one["hostid"] for one in site.get("host")}
    assert before.items() - after.items() == {(ml50.machines[-1].name, before[ml50.machines[-1].name])}
    assert after["mine"] == own[0]
    assert site.configure(ml50).returncode == 0
    assert ml50.machines[-1].name in {one["host"] for one in site.get("host")}


def test_an_alert_that_left_goes_and_a_person_s_own_stays(site: Zabbix, ml50: Cluster) -> None:
    settings = ml50.monitoring.zabbix
    assert settings
    alerts = (Alert(via="slack", channel="#other", severity="average", after="30s"),)
    changed = structs.replace(settings, alerts=alerts)
    known = {one["name"] for one in site.get("action")}
    cluster = structs.replace(ml50, monitoring=structs.replace(ml50.monitoring, zabbix=changed))
    assert site.configure(cluster).returncode == 0
    names = {one["name"]: one["esc_period"] for one in site.get("action")}
    assert {name for name in names if name.startswith("gen/")} == {"gen/ml50: slack #other from average after 30s"}
    # Zabbix takes no step shorter than a minute.
    assert names["gen/ml50: slack #other from average after 30s"] == "60s"
    assert names.keys() >= {name for name in known if not name.startswith("gen/")}
    assert site.configure(ml50).returncode == 0


def test_what_left_a_template_goes(site: Zabbix, ml50: Cluster) -> None:
    key = '"key":"system.cpu.load[all,avg5]"'
    assert site.configure(ml50, lambda text: text.replace(key, '"key":"system.cpu.load[all,avg1]"')).returncode == 0
    assert {one["key_"] for one in site.get("item", host="cpu-01", search={"key_": "system.cpu.load"})} == {
        "system.cpu.load[all,avg1]"
    }
    assert site.configure(ml50).returncode == 0
    assert {one["key_"] for one in site.get("item", host="cpu-01", search={"key_": "system.cpu.load"})} == {
        "system.cpu.load[all,avg5]"
    }


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("nodata(/gen node/agent.ping,5m)=1", "nodata(/gen node/agent.ping,5m)=="),
        ("nodata(/gen node/agent.ping,5m)=1", "nodata(/gen node/agent.pong,5m)=1"),
        ('"type":"PROMETHEUS_PATTERN"', '"type":"PROMETHEUS"'),
        ("DCGM_FI_DEV_GPU_TEMP{gpu=", "DCGM_FI_DEV_GPU_TEMP{gpu:"),
    ],
)
def test_a_broken_template_is_refused(site: Zabbix, ml50: Cluster, right: str, wrong: str) -> None:
    changed: list[int] = []

    def damage(text: str) -> str:
        changed.append(text.count(right))
        return text.replace(right, wrong)

    done = site.configure(ml50, damage)
    assert sum(changed) > 0
    assert done.returncode == 1
    assert re.match(r"zabbix-configure: configuration\.import(compare)?: .+\n\Z", done.stderr), done.stderr
    assert site.configure(ml50).stdout.endswith("done\n")


def test_an_empty_list_of_hosts_removes_nobody(site: Zabbix, ml50: Cluster) -> None:
    assert site.configure(ml50).returncode == 0
    for file in (site.folder / "configuration" / "hosts").iterdir():
        file.unlink()
    done = site.run()
    assert (done.returncode, "would be emptied" in done.stderr) == (1, True)
    assert len(site.get("host")) > 50


def test_a_wrong_password_is_one_line_without_it(site: Zabbix, ml50: Cluster) -> None:
    done = site.configure(ml50, password="another-Password")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "user.login" in done.stderr
    assert "another-Password" not in done.stdout + done.stderr
    # The default one is tried only by the step that replaces it.
    assert site.site.sql("select attempt_failed from users where username = 'Admin'") == "1\n"


def test_no_session_is_left(site: Zabbix, ml50: Cluster) -> None:
    query = "select count(*) from sessions where status = 0"
    before = site.site.sql(query)
    assert site.configure(ml50).returncode == 0
    assert site.run("password").returncode == 0
    assert site.run("heartbeat", "ml50-monitoring", "http://127.0.0.1:1/").returncode == 1
    assert site.site.sql(query) == before


def test_another_password_for_the_heartbeat_is_set(site: Zabbix, ml50: Cluster) -> None:
    def reads(password: str) -> bool:
        try:
            return bool(site.site.call("user.login", {"username": "gen heartbeat", "password": password}))
        except AssertionError:
            return False

    assert site.configure(ml50, heartbeat="third-Password").returncode == 0
    assert (reads("third-Password"), reads(SECRETS["heartbeat"])) == (True, False)
    assert site.configure(ml50).returncode == 0
    assert (reads("third-Password"), reads(SECRETS["heartbeat"])) == (False, True)
    (site.folder / "secrets" / "heartbeat").unlink()
    told = "the heartbeat does not beat: there is no Secret with its password\n"
    done = site.run()
    assert (done.returncode, done.stdout.endswith(f"{told}done\n")) == (0, True)
    done = site.run("complete")
    assert (done.returncode, done.stderr) == (1, f"zabbix-configure: {told}")
    assert not site.get("user", filter={"username": "gen heartbeat"})
    assert not site.get("usergroup", filter={"name": "gen/ml50 heartbeat"})
    assert site.configure(ml50).returncode == 0
    assert reads(SECRETS["heartbeat"])


def test_the_heartbeat_logs_in_where_ldap_is_the_default(site: Zabbix) -> None:
    """Its password is in Zabbix, whatever Zabbix asks for those of people."""
    one = {"username": "gen heartbeat", "password": SECRETS["heartbeat"]}
    site.site.sql("update config set authentication_type = 1, ldap_configured = 1")
    try:
        with pytest.raises(AssertionError, match="LDAP"):
            site.site.login(SECRETS["password"])
        assert site.site.call("user.login", one)
    finally:
        site.site.sql("update config set authentication_type = 0, ldap_configured = 0")


def test_the_heartbeat_may_read_items_and_nothing_else(site: Zabbix) -> None:
    session = site.site.call("user.login", {"username": "gen heartbeat", "password": SECRETS["heartbeat"]})
    assert site.site.call("item.get", {"host": "ml50-monitoring"}, session)
    assert site.site.call("item.get", {"host": "Zabbix server"}, session) == []
    (item,) = site.site.call("item.get", {"host": "ml50-monitoring", "search": {"key_": "lastaccess"}}, session)
    asked: list[tuple[str, object]] = [
        ("host.get", {}),
        ("token.create", {"name": "mine", "userid": item["itemid"]}),
        ("user.update", {"userid": "1", "passwd": "another-Password"}),
        ("item.update", {"itemid": item["itemid"], "status": 1}),
        ("script.get", {}),
    ]
    for method, params in asked:
        with pytest.raises(AssertionError, match="No permissions to call"):
            site.site.call(method, params, session)
    assert site.site.call("user.logout", [], session)


def test_the_heartbeat_beats_while_the_server_writes(site: Zabbix, services: str) -> None:
    (host,) = site.get("host", filter={"host": "ml50-monitoring"})
    site.write("secrets", {"heartbeat": SECRETS["heartbeat"]})
    asked = ("heartbeat", "ml50-monitoring", f"{services}/argo")
    before = Answers.count
    silent = site.run(*asked)
    assert (silent.returncode, silent.stderr) == (
        1,
        "zabbix-configure: ml50-monitoring has had no new data for 300 s\n",
    )
    assert Answers.count == before
    with site.site.server():
        (item,) = site.get("item", hostids=host["hostid"], search={"key_": "lastaccess"})

        def written() -> bool:
            site.do("task.create", [{"type": 6, "request": {"itemid": item["itemid"]}}])
            return bool(site.get("item", itemids=item["itemid"])[0]["lastclock"] != "0")

        wait("a value of the proxy", written)
    beaten = site.run(*asked)
    assert (beaten.returncode, beaten.stdout) == (0, "done\n"), beaten.stderr
    assert Answers.count > before
    nowhere = site.run("heartbeat", "ml50-monitoring", "http://127.0.0.1:1/")
    assert nowhere.returncode == 1


def test_a_medium_without_a_token_is_a_problem_and_stops_nothing(site: Zabbix, ml50: Cluster) -> None:
    assert site.configure(ml50).returncode == 0
    (site.folder / "secrets" / "slack").unlink()
    (one,) = site.get("host", filter={"host": "cpu-01"})
    site.do("host.delete", [one["hostid"]])
    told = "Slack has no Secret with the token: no alerts by it but with a former one\n"
    done = site.run()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(f"{told}done\n")
    assert "cpu-01" in {one["host"] for one in site.get("host")}
    # Not in silence: the alerts stay, with the token that was set before.
    assert sum(one["name"].startswith("gen/ml50: slack") for one in site.get("action")) == 2
    done = site.run("complete")
    assert (done.returncode, done.stderr) == (1, f"zabbix-configure: {told}")
    problem = "A medium of alerts has no Secret with the token: Slack"
    (item,) = site.get("item", host="ml50-monitoring", filter={"key_": "alerts.silent"})

    def seen() -> bool:
        site.do("task.create", [{"type": 6, "request": {"itemid": item["itemid"]}}])
        time.sleep(1)
        return problem in problems(site, "ml50-monitoring")

    with site.site.server():
        wait("the problem", seen)
        assert site.configure(ml50).returncode == 0
        wait("its end", lambda: not seen())
    assert site.run("complete").returncode == 0
    (site.folder / "secrets" / "kubernetes").unlink()
    assert "kubernetes" in site.run().stderr


def test_it_gives_up_on_a_frontend_that_is_not_there(site: Zabbix, ml50: Cluster) -> None:
    assert site.configure(ml50).returncode == 0
    done = site.run(ZABBIX_API="http://127.0.0.1:1", WAIT="1")
    assert done.returncode == 1
    assert "http://127.0.0.1:1/api_jsonrpc.php did not answer within 1 s" in done.stderr


def test_a_media_type_that_a_person_removed_is_named(site: Zabbix, ml50: Cluster) -> None:
    (slack,) = site.get("mediatype", filter={"name": "Slack"})
    site.do("mediatype.update", {"mediatypeid": slack["mediatypeid"], "name": "Mine"})
    done = site.configure(ml50)
    site.do("mediatype.update", {"mediatypeid": slack["mediatypeid"], "name": "Slack"})
    assert (done.returncode, "media type Slack is absent" in done.stderr) == (1, True)


@pytest.fixture(scope="module")
def services() -> Iterator[str]:
    with answering() as url:
        yield url


def values(site: Zabbix, host: str) -> dict[str, str]:
    return {one["key_"]: one["lastvalue"] for one in site.get("item", host=host) if one["lastclock"] != "0"}


def problems(site: Zabbix, host: str) -> set[str]:
    return {one["description"] for one in site.get("trigger", host=host, filter={"value": 1}, expandDescription=True)}


class Fed(NamedTuple):
    """What three hosts have been told: one of each kind, the server in place of the proxy."""

    items: list[dict[str, Any]]
    rules: list[dict[str, Any]]
    problems: dict[str, set[str]]

    def values(self, host: str) -> dict[str, float | str]:
        """Return each value that a host has, by key."""
        return {
            one["key_"]: one["lastvalue"] if one["value_type"] in WORDS_OF_ZABBIX else float(one["lastvalue"])
            for one in self.items
            if one["host"] == host and one["lastclock"] != "0"
        }

    def wrong(self) -> dict[tuple[str, str], object]:
        """Return what is not as VALUES and FAULTS say."""
        found = {host: self.values(host) for host in VALUES}
        values: dict[tuple[str, str], object] = {
            (host, key): (found[host].get(key), value)
            for host, wanted in VALUES.items()
            for key, value in wanted.items()
            if found[host].get(key) != value
        }
        return values | {(host, name): "" for host, names in FAULTS.items() for name in names - self.problems[host]}


FED = ("ml50-cluster", "gpu-01", "ml50-monitoring")
WORDS_OF_ZABBIX = {"1", "4"}
"""Kinds of values that are text: CHAR and TEXT."""
POLLED = ["19", "15", "5"]
"""Kinds of items that the server asks for: HTTP agent, calculated, internal."""


def look(site: Zabbix) -> Fed:
    """Return what the hosts know now."""
    items, rules = [], []
    for host in FED:
        items += [one | {"host": host} for one in site.get("item", host=host)]
        rules += [one | {"host": host} for one in site.get("discoveryrule", host=host)]
    return Fed(items, rules, {host: problems(site, host) for host in FED})


def feed(site: Zabbix, folder: Path) -> Fed:
    """Tell everything again and again until all is as it should be, for as long as a minute and a half."""
    polled = [{"itemid": one["itemid"]} for host in FED for one in site.get("item", host=host, filter={"type": POLLED})]
    with site.site.server() as port:
        for number in range(16):
            site.do("task.create", [{"type": 6, "request": one} for one in polled])
            now = int(time.time())
            agent(port, "gpu-01", MACHINE | {"gpu.metrics": gpu_metrics()}, now)
            agent(port, "gpu-01", {"infiniband.ports": infiniband_ports(folder, now, 50 * number)}, now)
            agent(port, "gpu-01", DISKS, now)
            time.sleep(5)
            found = look(site)
            if not found.wrong() and not (silent(found) - SILENT.keys()):
                break
    return found


def silent(fed: Fed) -> set[tuple[str, str]]:
    """Return the items that keep values and have none."""
    return {(one["host"], one["key_"]) for one in fed.items if one["history"] != "0" and one["lastclock"] == "0"}


@pytest.fixture(scope="module")
def fed(running: Site, first: str, ml50: Cluster, services: str, tmp_path_factory: pytest.TempPathFactory) -> Fed:
    """Tell the hosts of a cluster with a volume that is backed up what real programs would."""
    assert first
    folder = tmp_path_factory.mktemp("fed")
    site = Zabbix(running, folder)
    done = site.configure(structs.replace(ml50, volume_backups=(VOLUME,)))
    assert done.returncode == 0, done.stderr
    hosts = {one["host"]: one["hostid"] for one in site.get("host", filter={"host": [*FED]})}
    for identity in hosts.values():
        site.do("host.update", {"hostid": identity, "proxy_hostid": 0})
    addresses = {"CEPH": "/ceph", "MINIO": "/minio", "ARGO": "/argo", "KUBE": ""}
    macros = [{"macro": f"{{${name}.URL}}", "value": services + path} for name, path in addresses.items()]
    macros.append({"macro": LEFT_OUT, "value": OTHERS})
    site.do("host.update", {"hostid": hosts["ml50-cluster"], "macros": macros})
    (volsync,) = site.get("item", host="ml50-cluster", filter={"key_": "volume.metrics"})
    site.do("item.update", {"itemid": volsync["itemid"], "url": f"{services}/volsync"})
    return feed(site, folder / "infiniband")


def test_the_server_measures_and_sees_faults(fed: Fed) -> None:
    """The proxy is left out: the server itself does the same."""
    assert fed.wrong() == {}
    # What is just well enough beside what is not.
    assert not {one for one in fed.problems["ml50-cluster"] if re.search("hdd|Pool (free|roomy)", one)}


def test_every_item_has_a_value_but_for_what_cannot_have_one(site: Zabbix, fed: Fed) -> None:
    """Of every template, and of whatever was found. The other nodes have the same templates as the one that is fed."""
    hosts = site.get("host", filter={"host": [*FED]}, selectParentTemplates=["host"])
    linked = {template["host"] for one in hosts for template in one["parentTemplates"]}
    files = (json.loads(text)["zabbix_export"] for text in templates().values())
    assert linked == {one["template"] for file in files for one in file["templates"]}
    whole = (*fed.items, *fed.rules)
    broken = {(one["host"], one["key_"]): one["error"] for one in whole if one["state"] != "0" or one["error"]}
    assert broken == {}
    assert silent(fed) == SILENT.keys()
    masters = {one["master_itemid"] for one in whole}
    assert not [one["key_"] for one in fed.items if one["history"] == "0" and one["itemid"] not in masters]
    assert len(fed.items) > 200


def told(site: Zabbix, host: str, name: str) -> list[str]:
    """Return the problems that were ever told by triggers whose names begin so, in their order."""
    triggers = [one["triggerid"] for one in site.get("trigger", host=host) if one["description"].startswith(name)]
    return [one["name"] for one in site.get("event", objectids=triggers, value="1", sortfield="eventid")]


def test_a_second_fault_of_a_device_is_told_while_the_first_is_open(site: Zabbix, ml50: Cluster) -> None:
    assert site.configure(ml50).returncode == 0
    (host,) = site.get("host", filter={"host": "gpu-02"})
    site.do("host.update", {"hostid": host["hostid"], "proxy_hostid": 0})
    fault = "GPU 0: fault of the device (XID "

    def tell(port: int, xid: int, rows: int) -> None:
        fields = {"GPU_TEMP": 50, "XID_ERRORS": xid, "UNCORRECTABLE_REMAPPED_ROWS": rows}
        labels = 'gpu="0",UUID="GPU-0",modelName="NVIDIA H100",Hostname="gpu-02"'
        lines = [f"DCGM_FI_DEV_{field}{{{labels}}} {value}\n" for field, value in fields.items()]
        agent(port, "gpu-02", {"gpu.metrics": "".join(lines)}, int(time.time()))
        time.sleep(3)

    with site.site.server() as port:

        def known() -> bool:
            tell(port, 0, 0)
            return {"gpu.xid[0]", "gpu.rows.uncorrectable[0]"} <= values(site, "gpu-02").keys()

        wait("the GPU", known)
        for xid, rows in ((63, 1), (63, 1), (79, 2), (79, 2)):
            tell(port, xid, rows)
        wait("the second fault", lambda: f"{fault}79)" in told(site, "gpu-02", "GPU 0: fault"))
        assert told(site, "gpu-02", "GPU 0: fault") == [f"{fault}63)", f"{fault}79)"]
        assert len(told(site, "gpu-02", "GPU 0: uncorrectable")) == 2


def test_a_queue_stands_still_only_after_a_day(site: Zabbix, ml50: Cluster, services: str) -> None:
    assert site.configure(ml50).returncode == 0
    (host,) = site.get("host", filter={"host": "ml50-cluster"})
    macros = [{"macro": "{$KUBE.URL}", "value": services}]
    site.do("host.update", {"hostid": host["hostid"], "proxy_hostid": 0, "macros": macros})
    (master,) = site.get("item", hostids=host["hostid"], filter={"key_": "kube.queues"})
    name = "Queue vision: jobs have waited for a day and none runs"
    keys = ("kube.queue.pending[vision]", "kube.queue.admitted[vision]")

    def asked() -> dict[str, str]:
        site.do("task.create", [{"type": 6, "request": {"itemid": master["itemid"]}}])
        time.sleep(2)
        return values(site, "ml50-cluster")

    with site.site.server():
        wait("the queue", lambda: asked().keys() >= set(keys))
        asked()
        assert name not in problems(site, "ml50-cluster")
    items = {one["key_"]: one["itemid"] for one in site.get("item", hostids=host["hostid"], filter={"key_": keys})}
    now = int(time.time())
    clocks = f"generate_series({now - 86400 + 60}, {now - 60}, 60)"
    for key, value in zip(keys, (4, 0), strict=True):
        site.site.sql(f"insert into history_uint select {items[key]}, clock, {value}, 0 from {clocks} as clock")
    with site.site.server():

        def still() -> bool:
            asked()
            return name in problems(site, "ml50-cluster")

        wait("the problem", still)


SILENT = {
    ("gpu-01", "gpu.utilization[6]"): "of a GPU in instances DCGM tells none",
    ("gpu-01", "gpu.memory.used[4]"): "of some instances DCGM tells no memory",
    ("gpu-01", "gpu.memory.free[4]"): "of some instances DCGM tells no memory",
    ("gpu-01", "infiniband.wait[mlx5_1/1]"): "the port has no such counter",
}
"""The items that can have no value, and why."""


def near(rate: float) -> Any:
    """Return a rate as the server sees it, which asks when it comes to it."""
    return pytest.approx(rate, rel=0.05)


VALUES: dict[str, dict[str, Any]] = {
    "ml50-cluster": {
        "ceph.health": 2,
        "ceph.osd.total": 3,
        "ceph.osd.up": 2,
        "ceph.osd.in": 1,
        "ceph.mon.total": 3,
        "ceph.mon.quorum": 2,
        "ceph.pg.degraded": 9,
        "ceph.total": 1.2e16,
        "ceph.used": 1.08e16,
        "ceph.used.share": 90,
        "ceph.class.total[hdd]": 900,
        "ceph.class.used[hdd]": 765,
        "ceph.class.total[nvme]": 100,
        "ceph.class.used[nvme]": 96,
        "ceph.pool.used[rbd-nvme]": 50,
        "ceph.pool.used[free]": 25,
        "ceph.pool.used[roomy]": pytest.approx(1.1920928955078125e-05),
        "ceph.pool.stored[rbd-nvme]": 86000,
        "ceph.pool.stored[roomy]": 85000,
        "ceph.pool.quota[rbd-nvme]": 100000,
        "ceph.pool.quota[free]": 0,
        **{f"ceph.{flow}": near(6 * rate) for flow, rate in FLOWS.items()},
        **{
            f"ceph.pool.{flow}[{pool}]": near(times * rate)
            for flow, rate in FLOWS.items()
            for times, pool in enumerate(POOLS, 1)
        },
        "minio.health": 1,
        "minio.drives.online": 62,
        "minio.drives.offline": 2,
        "minio.nodes.offline": 1,
        "minio.set.quorum": 9,
        "minio.set.online": 8,
        "minio.healing": 3,
        "minio.total": 1.5e15,
        "minio.free": 6e14,
        "minio.used.share": pytest.approx(60),
        "minio.received": near(30_000_000),
        "minio.sent": near(60_000_000),
        "kube.ready": "ok",
        "kube.node.ready[gpu-01]": "True",
        "kube.node.ready[gpu-02]": "False",
        "kube.node.disk[gpu-02]": "False",
        "kube.node.closed[gpu-01]": "false",
        "kube.node.closed[gpu-02]": "true",
        "kube.pods.pending": 3,
        "kube.pods.failed": 1,
        "kube.pods.restarting": 1,
        "kube.queues.count": 1,
        "kube.queue.pending[vision]": 4,
        "kube.queue.admitted[vision]": 0,
        "kube.gangs.pending": 2,
        "backup.last[datasets]": BACKUP,
        "backup.last[etcd/cp-2]": BACKUP,
        "drill.last[datasets]": DRILL,
        "drill.good[datasets]": 0,
        "gpu-care.last": LOOK,
        "operation.failed[node-removal]": BAD,
        "operation.good[node-removal]": BAD + 100,
        "operation.failed[acceptance]": BAD + 200,
        "operation.good[acceptance]": 0,
        "volume.behind[home]": 0,
        "volume.kept[home]": 0,
        "volume.missed[home]": 3,
    },
    "gpu-01": {
        "agent.ping": 1,
        "system.cpu.util": 12.345679,
        "vm.memory.size[total]": 1081101176832,
        **{key: float(value) for key, value in DISKS.items()},
        "gpu.count": 7,
        "gpu.utilization[5]": 55,
        "gpu.temperature[0]": 91,
        "gpu.memory.temperature[5]": 85,
        "gpu.memory.used[0]": 1024 * 2**20,
        "gpu.memory.free[0]": (40000 - 1024) * 2**20,
        # Both instances of it together.
        "gpu.memory.used[6]": 7000 * 2**20,
        "gpu.memory.free[6]": 73000 * 2**20,
        "gpu.memory.temperature[6]": 86,
        "gpu.power[5]": 305.5,
        "gpu.power[6]": 306.5,
        "gpu.xid[3]": 79,
        "gpu.xid[4]": 0,
        "gpu.rows.uncorrectable[5]": 25,
        "gpu.rows.correctable[5]": 35,
        "gpu.rows.failure[5]": 0,
        "gpu.pcie.replays[5]": 15,
        "infiniband.count": 2,
        "infiniband.state[mlx5_0/1]": 4,
        "infiniband.physical[mlx5_0/1]": 5,
        "infiniband.rate[mlx5_0/1]": 200,
        "infiniband.rate[mlx5_1/1]": 400,
        "infiniband.received[mlx5_0/1]": 100000,
        "infiniband.sent[mlx5_0/1]": 40000,
        "infiniband.wait[mlx5_0/1]": 300,
        "infiniband.received[mlx5_1/1]": 200000,
        "infiniband.sent[mlx5_1/1]": 80000,
        "infiniband.symbol_error[mlx5_1/1]": 0,
    },
    "ml50-monitoring": {"alerts.silent": 0},
}
"""What is made of what is told."""
FAULTS = {
    "ml50-cluster": {
        "Ceph is in error",
        "Ceph's nvme is nearly full",
        "Ceph's nvme is full",
        "Pool rbd-nvme is nearly at its quota: writes pause there",
        "OSDs are down",
        "MinIO has no write quorum",
        "Drives are offline",
        "Node gpu-02 is not ready",
        "Backup datasets is too old, or there never was one",
        "The last drill of backup datasets failed: it may bring nothing back",
    },
    "gpu-01": {
        "GPUs are missing",
        "GPU 0 is hot",
        "GPU 3: fault of the device (XID 79)",
        "mlx5_0/1: the link is slower than the fabric",
        "mlx5_0/1: symbol errors",
    },
    "ml50-monitoring": {"The proxy is away: nothing is watched"},
}


def test_the_api_server_takes_every_object_and_every_pod(api: "ApiServer", ml50: Cluster, a30: Cluster) -> None:
    """Pods are tried as well: Pod Security judges them, not what makes them."""
    api.install("cilium/1.20.0/crds")
    api.namespace("gpu-operator")
    settings = ml50.monitoring
    for cluster in (ml50, structs.replace(a30, monitoring=settings)):
        component = zabbix(cluster)
        for namespace in component.namespaces:
            level = {"pod-security.kubernetes.io/enforce": str(namespace.security)}
            api.namespace(namespace.name, level)
            account = {"name": "default", "namespace": namespace.name}
            api.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
        refused = {}
        objects = [*component.base, *component.objects]
        # The token's Secret wants its account to be there.
        api.apply(next(one for one in objects if one["kind"] == "ServiceAccount"))
        for one in objects:
            for tried in (one, *pods_of(one)):
                status, message = api.create(tried)
                if status not in {200, 201, 409}:
                    refused[tried["kind"], tried["metadata"]["name"]] = message
        assert refused == {}


def pods_of(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    template = manifest.get("spec", {}).get("template")
    if not template:
        return []
    metadata = {"name": "tried", "namespace": manifest["metadata"]["namespace"], **template["metadata"]}
    spec = dict(template["spec"])
    claims = [one["metadata"]["name"] for one in manifest["spec"].get("volumeClaimTemplates", ())]
    spec["volumes"] = [*spec.get("volumes", ()), *({"name": name, "emptyDir": {}} for name in claims)]
    return [{"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}]
