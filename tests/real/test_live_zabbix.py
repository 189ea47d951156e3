"""Zabbix's real database dumped, tried and brought back by operations as rendered: in real pods of the real workflow
controller, each with its own account, whose every request is written down.
"""

import contextlib
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from auditing import audited, betrayed, stored, unused, written
from minioserver import ROOT_PASSWORD, certificates
from onenode.site import Site, await_template, lighter, ready, run_of, serving
from reference import ROOT, load
from zabbixsite import POSTGRES, database_in, psql

from generator.components.minio.settings import policy
from generator.components.zabbix import VERSIONS
from generator.components.zabbix_backup import NAMESPACE
from generator.live.identity import record

if TYPE_CHECKING:
    from onenode.node import Node
    from twin.plane import Object

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin

ACCOUNTS = tuple(f"{NAMESPACE}:{name}" for name in ("zabbix-backup", "restore-zabbix", "zabbix-drill"))
NOT_HERE = {"Certificate"}
"""What nobody defines here."""
BUCKET, USER, KEY, PASSWORD = "zabbix-backup", "zabbix-writer", "writes-dumps", "only-to-write-dumps"
SECRET = "the-password-of-the-database"
RECORDS = f"target/{BUCKET}/_gen/backups/zabbix/"
DRILLS = f"target/{BUCKET}/_gen/backups/_drills/zabbix/"
UNDONE = "select datname from pg_database where datname ~ '^zabbix_undone_'"
IMAGE = "localhost/postgresql:1"
OF_IMAGE = (
    "awk", "bash", "cat", "cut", "date", "df", "join", "mv", "rm", "sh", "sha256sum", "sort", "stat", "sync", "tail",
    "wc",
)  # fmt: skip
"""All that scripts in PostgreSQL's image may use beside its own programs."""
VOLUMES = 10
"""Of these runs: the volumes of one that ended are not taken again."""
PROGRAMS = ("initdb", "pg_ctl", "pg_dump", "pg_restore", "postgres", "psql")


class Place(Site):
    """The cluster, MinIO, and the live database at an address of its own."""

    def __init__(self, site: Site, database: Path, address: str) -> None:
        super().__init__(site.api, site.source, site.target, site.folder)
        self.database, self.address = database, address

    def here(self, one: "Object") -> "Object":
        """Let what is rendered find both servers, as no name is resolved here, and begin nothing by itself."""
        if one["kind"] == "CronWorkflow":
            return {**one, "spec": {**one["spec"], "suspend": True}}
        if one["kind"] != "WorkflowTemplate":
            return one
        for parameter in one["spec"]["arguments"]["parameters"]:
            if parameter["name"] == "target-url":
                parameter["value"] = self.target.url
        for step in one["spec"]["templates"]:
            for variable in step.get("container", {}).get("env", ()):
                if variable.get("value") == "zabbix-database.zabbix.svc":
                    variable["value"] = self.address
        return lighter(one)

    def sql(self, text: str, database: str = "zabbix") -> str:
        command = [*psql(self.database), "-d", database, "-At", "-c", text]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def done(self, operation: str, *words: str) -> "subprocess.CompletedProcess[str]":
        return self.gen("submit", operation, *words, "--watch")


@contextlib.contextmanager
def postgresql(folder: Path, address: str) -> Iterator[Path]:
    """Run the live database: over the network only with a password."""
    place = folder / "live"
    place.mkdir()
    folder.chmod(0o755)
    place.chmod(0o755)
    with database_in(place, address):
        command = [*psql(place), "-d", "postgres", "-c"]
        subprocess.run([*command, f"alter user zabbix password '{SECRET}'"], check=True)
        (place / "data/pg_hba.conf").write_text("local all all trust\nhost all all 127.0.0.0/8 scram-sha-256\n")
        subprocess.run([*command, "select pg_reload_conf()"], check=True, stdout=subprocess.DEVNULL)
        yield place


def load_database(node: "Node") -> None:
    """Put PostgreSQL's image onto the node, made of this machine's."""
    from onenode.argo import references
    from onenode.images import files, image

    share, libraries = Path("/usr/share/postgresql/15"), POSTGRES.parent / "lib"
    held = files([*(Path("/usr/bin") / name for name in OF_IMAGE), *(POSTGRES / name for name in PROGRAMS)])
    held |= files(libraries / f"{name}.so" for name in ("dict_snowball", "plpgsql"))
    held |= {str(one): one for one in share.rglob("*") if one.is_file()}
    held |= {"/bin/sh": held["/usr/bin/sh"], "/etc/passwd": b"postgres:x:999:999::/:/bin/sh\n"}
    held |= {"/usr/share/zoneinfo/Etc/UTC": Path("/usr/share/zoneinfo/Etc/UTC")}
    name = VERSIONS.known[0].images["postgresql"]
    path = f"PATH={POSTGRES}:/usr/bin"
    node.load(image(node.folder / "postgresql.tar", IMAGE, held, Env=[path]), *references(name))


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    from onenode.argo import argo
    from onenode.node import node
    from twin.plane import plane
    from twin.rendered import Rendered

    cluster = load("ml50")
    with (
        tempfile.TemporaryDirectory(prefix="dumps-", ignore_cleanup_errors=True) as name,
        contextlib.ExitStack() as stack,
    ):
        start, folder = stack.enter_context, Path(name)
        address = f"127.{os.getpid() % 200 + 20}.{time.time_ns() % 250 + 1}.5"
        database = start(postgresql(folder, address))
        rendered = Rendered(ROOT, "ml50", folder / "rendered", ("zabbix-backup",))
        stack.callback(rendered.stop)
        start(audited(folder, *ACCOUNTS))
        api = start(plane(folder, simulated=False))
        machine = start(node(api))
        start(argo(api, machine, cluster))
        load_database(machine)
        for space in (NAMESPACE, "zabbix"):
            api.namespace(space)
        for number in range(VOLUMES):
            api.apply(volume(folder, number))
        signed = certificates(folder / "certificates")
        target = start(serving(folder / "target", signed))
        made = Place(Site(api, target, target, folder), database, address)
        ready(made)
        prepare(made, signed)
        for one in rendered.objects("zabbix-backup"):
            if one["kind"] not in NOT_HERE:
                api.apply(made.here(one))
        await_template(api, NAMESPACE, "zabbix-drill")
        yield made


def volume(folder: Path, number: int) -> "Object":
    """Return a volume that a run may claim: a folder, in the place of what Ceph would make."""
    at = folder / f"volume-{number}"
    at.mkdir()
    at.chmod(0o777)
    spec = {
        "storageClassName": "rbd-nvme",
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "10Ti"},
        "hostPath": {"path": str(at), "type": "Directory"},
    }
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": at.name}, "spec": spec}


def prepare(place: Place, signed: Path) -> None:
    """Make the bucket, its user and the Secrets, as MinIO's setup and bootstrap do."""
    cluster = load("ml50")
    assert cluster.storage.objects
    (user,) = [one for one in cluster.storage.objects.users if one.name == USER]
    rights = place.folder / "policy.json"
    rights.write_text(json.dumps(policy(user)))
    place.mc("mb", "--with-lock", f"target/{BUCKET}")
    place.mc("admin", "user", "add", "target", KEY, PASSWORD)
    place.mc("admin", "policy", "create", "target", KEY, str(rights))
    place.mc("admin", "policy", "attach", "target", KEY, "--user", KEY)
    place.secret(f"minio-user-{USER}", NAMESPACE, accessKey=KEY, secretKey=PASSWORD)
    place.secret("zabbix-database", NAMESPACE, username="zabbix", password=SECRET)
    place.secret("zabbix-backup-client", NAMESPACE, **{"ca.crt": (signed / "CAs/ca.crt").read_text()})
    place.api.apply(record(cluster))


def in_bucket(place: Place, prefix: str) -> dict[str, Any]:
    """Return what lies there, by name."""
    names = [json.loads(line)["key"] for line in place.mc("--json", "ls", prefix).splitlines()]
    return {name: json.loads(place.mc("cat", prefix + name)) for name in names if name.endswith(".json")}


def sessions(place: Place) -> str:
    """Return how often anybody entered the live database."""
    return place.sql("select sessions from pg_stat_database where datname = 'zabbix'", "postgres")


def no_metric_was_refused(place: Place, name: str) -> None:
    """The controller says so in a condition of the run."""
    _, found = place.api.request("GET", f"/apis/argoproj.io/v1alpha1/namespaces/{NAMESPACE}/workflows/{name}")
    assert "MetricsError" not in {one["type"] for one in found["status"]["conditions"]}


def test_a_dump_is_taken_and_tried_apart_from_the_live_database(place: Place) -> None:
    place.sql("insert into hosts (hostid, host, name) values (90001, 'gpu-1', 'gpu-1')")
    done = place.done("backup-zabbix")
    assert done.returncode == 0, done.stdout + done.stderr
    (dumped,) = in_bucket(place, RECORDS).values()
    place.sql("delete from hosts where hostid = 90001")
    entered = sessions(place)
    tried = place.done("drill-zabbix")
    assert tried.returncode == 0, tried.stdout + tried.stderr
    for step in ("fetch", "prove", "record"):
        assert f"✔ {step} Succeeded" in tried.stdout
    assert sessions(place) == entered
    (made,) = in_bucket(place, DRILLS).values()
    for what in ("tables", "rows", "hosts", "schema", "server"):
        assert made[what] == dumped[what]
    assert made["hosts"] == int(place.sql("select count(*) from hosts")) + 1
    assert made["started"] < made["finished"]
    assert made["secondsPerGiB"] > 0
    no_metric_was_refused(place, run_of(tried))


def test_a_dump_that_is_not_what_was_recorded_fails_its_drill(place: Place) -> None:
    ((name, record),) = in_bucket(place, RECORDS).items()
    changed = json.dumps({**record, "rows": record["rows"] + 1}, separators=(",", ":"))
    place.mc("pipe", RECORDS + name, text=changed)
    bad = place.done("drill-zabbix")
    place.mc("pipe", RECORDS + name, text=json.dumps(record, separators=(",", ":")))
    assert bad.returncode == 1, bad.stdout
    assert "✖ prove" in bad.stdout
    assert (
        f"brought back other rows than its record says: {record['rows']} and" in place.gen("logs", run_of(bad)).stdout
    )
    assert len(in_bucket(place, DRILLS)) == 1
    no_metric_was_refused(place, run_of(bad))


def test_a_dump_is_brought_back_and_switched_and_undone(place: Place) -> None:
    """By an account that does nothing else."""
    assert "gpu-1" not in place.sql("select host from hosts")
    for switch in ("no", "switch", "undo"):
        wait_for_nobody(place)
        done = place.done("restore-zabbix", "-p", f"switch={switch}")
        assert done.returncode == 0, done.stdout + done.stderr
        assert ("gpu-1" in place.sql("select host from hosts")) == (switch == "switch"), switch
    assert "gpu-1" in place.sql("select host from hosts", place.sql(UNDONE, "postgres"))


def wait_for_nobody(place: Place) -> None:
    """The server learns a moment later that a client has gone, and a switch is refused while one is there."""
    asked = "select count(*) from pg_stat_activity where datname ~ 'zabbix' and backend_type = 'client backend'"
    place.api.wait("nobody is connected", lambda: place.sql(asked, "postgres") == "0")


def test_no_right_is_unused_and_none_is_missing(place: Place) -> None:
    """After all others."""
    assert unused(place.api, place.folder, *ACCOUNTS) == set()


def test_no_secret_is_told(place: Place) -> None:
    """After all others: in no parameter, result, log, annotation or event of all these runs."""
    secrets = {PASSWORD, SECRET, ROOT_PASSWORD}
    places = [*stored(place.api), *written(place.folder)]
    for where, words in (("pod-logs/", "brings back"), ("/workflows", "record-secret"), ("audit.log", "taskresults")):
        assert any(where in name and words in text for name, text in places), where
    assert betrayed(places, secrets) == []
