"""Zabbix's real database dumped, damaged and brought back: by the scripts of the pods, through a real MinIO, with the
rights of the user that ml50 has for it.
"""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from minioserver import ROOT_PASSWORD, ROOT_USER, Server, certificates
from reference import load
from zabbixsite import POSTGRES, database_in, psql

from generator.components.minio.settings import policy
from generator.components.zabbix_backup.install import scripts
from tools import program

pytestmark = pytest.mark.real

# What PostgreSQL's image holds and the scripts use, and what the client's image does.
OF_DATABASE = (
    "awk", "bash", "cut", "cat", "date", "df", "join", "mv", "rm", "sh", "sha256sum", "sort", "stat", "sync", "tail",
    "wc",
)  # fmt: skip
OF_CLIENT = ("bash", "cut", "date", "mkdir", "mv", "sha256sum", "sort", "timeout")
USER, PASSWORD = "zabbix-writer", "only-for-this-test"
(WRITER,) = (user for user in load("ml50").storage.objects.users if user.name == USER)  # type: ignore[union-attr]
(BUCKET,) = WRITER.buckets
Done = subprocess.CompletedProcess[str]


class Place:
    """The database's server, MinIO, and a pod of each image."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work, self.database, self.client = (folder / name for name in ("work", "pg", "mc"))
        for made in (self.work, self.database, self.client):
            made.mkdir()
        for tool in OF_DATABASE:
            (self.database / tool).symlink_to(program(tool))
        for tool in ("psql", "pg_dump", "pg_restore"):
            (self.database / tool).symlink_to(POSTGRES / tool)
        for tool in (*OF_CLIENT, "mc"):
            (self.client / tool).symlink_to(program(tool))
        for name, text in scripts()["data"].items():
            (folder / name).write_text(text)
        self.server: Server

    def environment(self, **more: str) -> dict[str, str]:
        return {
            "PATH": str(self.database),
            "HOME": str(self.folder / "home"),
            "TMPDIR": str(self.work),
            "WORK": str(self.work),
            "PGHOST": str(self.folder),
            "PGUSER": "zabbix",
            "DATABASE": "zabbix",
            "NAME": "zabbix",
            "HISTORY": "true",
            "JOBS": "2",
            **more,
        }

    def run(self, script: str, *words: str, **more: str) -> Done:
        command = [str(self.database / "bash"), str(self.folder / script), *words]
        env = self.environment(**more)
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=300)

    def killed(self, script: str, *words: str, program: str, turn: int, after: float) -> bool:
        """Kill a run, with all that it started, so long after it began a program for so many times."""
        count = self.folder / "turn"
        count.write_text("0")
        real = (self.database / program).resolve()
        (self.database / program).unlink()
        text = f"#!{self.database}/bash\nturn=$(($(<{count}) + 1))\necho $turn >{count}\n"
        text += f'if ((turn == {turn})); then "{real}" "$@" & sleep {after}; kill -KILL 0; fi\nexec "{real}" "$@"\n'
        (self.database / program).write_text(text)
        (self.database / program).chmod(0o755)
        (self.database / "sleep").symlink_to(shutil.which("sleep") or "")
        command = [str(self.database / "bash"), str(self.folder / script), *words]
        done = subprocess.run(command, env=self.environment(), capture_output=True, check=False, start_new_session=True)
        for name in (program, "sleep"):
            (self.database / name).unlink()
        (self.database / program).symlink_to(real)
        return done.returncode == -signal.SIGKILL

    def through_client(self, script: str, **more: str) -> Done:
        home = self.folder / "home"
        env = {
            "PATH": str(self.client),
            "HOME": str(home),
            "MC_CONFIG_DIR": str(home),
            "WORK": str(self.work),
            "FILES": str(self.work),
            "ENDING": ".dump",
            "KEY": "zabbix/zabbix.dump",
            "FROM": "this run",
            "LOOK": "look at its step `dump`",
            "NAME": "zabbix",
            "AT": "",
            "SINCE": str(int(time.time()) - 60),
            "MAX_AGE": "0",
            "TARGET_URL": self.server.url,
            "PLACE": "",
            "TARGET_BUCKET": BUCKET,
            "TARGET_ACCESS_KEY": USER,
            "TARGET_SECRET_KEY": PASSWORD,
            "READY_SECONDS": "20",
            **more,
        }
        command = [str(self.client / "bash"), str(self.folder / script)]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=120)

    def mc(self, *words: str) -> str:
        host = self.server.url.replace("://", f"://{ROOT_USER}:{ROOT_PASSWORD}@")
        env = {"MC_HOST_target": host, "MC_CONFIG_DIR": str(self.folder / "home"), "HOME": str(self.folder / "home")}
        return subprocess.run(
            [str(self.client / "mc"), *words], env=env, capture_output=True, text=True, check=True
        ).stdout

    def sql(self, text: str, database: str = "zabbix") -> str:
        command = [*psql(self.folder), "-d", database, "-At", "-c", text]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def content(self, database: str = "zabbix") -> dict[str, str]:
        """Return every table with a digest of all its rows."""
        ask = (
            "select format('select %L, md5(coalesce(string_agg(t::text, E''\\n'' order by t::text), '''')) from %I t',"
        )
        said = self.each(f"{ask} tablename, tablename)", database)
        return dict(line.split("|") for line in said.splitlines())

    def each(self, statement: str, database: str = "zabbix") -> str:
        """Make a statement of each table's name, and return what these print."""
        text = f"{statement} from pg_tables where schemaname = 'public' order by tablename \\gexec"
        command = [*psql(self.folder), "-d", database, "-At"]
        return subprocess.run(command, check=True, capture_output=True, text=True, input=text).stdout

    def databases(self) -> set[str]:
        return {*self.sql("select datname from pg_database where datname ~ 'zabbix'", "postgres").splitlines()}

    def dumped(self, **more: str) -> tuple[Path, dict[str, object]]:
        """Take a dump; returns it and its record."""
        done = self.run("dump.sh", **more)
        assert done.returncode == 0, done.stdout + done.stderr
        (file,) = self.work.glob("*.dump")
        return file, json.loads(file.with_suffix(".json").read_text())

    def at_hand(self, file: Path) -> None:
        """Put a dump where the step `fetch` puts it."""
        file.rename(self.work / "zabbix.dump")
        (self.work / "chosen").write_text(file.stem)


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with tempfile.TemporaryDirectory(prefix="zabbix-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        made = Place(folder)
        for one in (made.folder / "room", made.folder / "home"):
            one.mkdir()
        path = f"{folder}/room:{os.environ['PATH']}"
        with database_in(folder, PATH=path):
            odd = "(90001, 'gpu-1', 'gpu-1'), (90002, 'gpu-2', E'a\\nb\\\\')"
            made.sql(f"insert into hosts (hostid, host, name) values {odd}")
            made.sql("insert into history select 1, n, n, n from generate_series(1, 2000) n")
            yield made


@pytest.fixture
def minio(place: Place) -> Iterator[Place]:
    folder = place.folder / f"minio-{time.time_ns()}"
    folder.mkdir()
    place.server = Server(folder / "drive", certificates=certificates(folder / "certificates"))
    shutil.copytree(folder / "certificates/CAs", place.folder / "home/certs/CAs", dirs_exist_ok=True)
    try:
        prepare(place)
        yield place
    finally:
        place.server.stop()


def prepare(place: Place) -> None:
    """Make the bucket and the user as `minio-setup` does."""
    for _ in range(100):
        try:
            place.mc("mb", "--with-lock", f"target/{BUCKET}")
            break
        except subprocess.CalledProcessError:
            time.sleep(0.2)
    place.mc("retention", "set", "--default", "compliance", "14d", f"target/{BUCKET}")
    document = place.folder / "policy.json"
    document.write_text(json.dumps(policy(WRITER)))
    place.mc("admin", "user", "add", "target", USER, PASSWORD)
    place.mc("admin", "policy", "create", "target", USER, str(document))
    place.mc("admin", "policy", "attach", "target", USER, "--user", USER)


def test_a_dump_is_taken_read_back_and_counted(place: Place) -> None:
    file, record = place.dumped()
    assert record["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert record["bytes"] == file.stat().st_size
    assert record["hosts"] == int(place.sql("select count(*) from hosts"))
    assert record["schema"] == int(place.sql("select mandatory from dbversion"))
    counts = [int(line) for line in place.each("select format('select count(*) from %I', tablename)").splitlines()]
    assert record["rows"] == sum(counts)
    assert record["tables"] == len([count for count in counts if count])
    assert not [*place.work.glob("*.part")]


def test_without_history_everything_else_is_dumped(place: Place) -> None:
    whole, record = place.dumped()
    size = whole.stat().st_size
    file, less = place.dumped(HISTORY="false")
    assert int(str(record["rows"])) - int(str(less["rows"])) == 2000
    assert (record["history"], less["history"]) == (True, False)
    assert file.stat().st_size < size


# In the place of pg_dump: what happens while it runs, and what it is called with.
MEANWHILE = '#!{bash}\n{psql} -h {host} -U zabbix -d zabbix -qc "{sql}"\n{words}exec {real} "$@"\n'


def meanwhile(place: Place, sql: str, words: str = "") -> Done:
    tool = place.database / "pg_dump"
    tool.unlink()
    values = {"bash": place.database / "bash", "psql": POSTGRES / "psql", "real": POSTGRES / "pg_dump"}
    tool.write_text(MEANWHILE.format(host=place.folder, sql=sql, words=words, **values))
    tool.chmod(0o755)
    done = place.run("dump.sh")
    tool.unlink()
    tool.symlink_to(POSTGRES / "pg_dump")
    return done


def test_what_is_written_meanwhile_is_no_difference(place: Place) -> None:
    done = meanwhile(place, "insert into history select 2, n, n, n from generate_series(1, 50) n")
    assert done.returncode == 0, done.stderr
    place.sql("delete from history where itemid = 2")


def test_a_dump_with_other_rows_than_the_database_is_refused(place: Place) -> None:
    """One of another state, without the snapshot that it was told to see."""
    without = 'set -- "${@//--snapshot=*/--no-comments}"\n'
    done = meanwhile(place, "insert into history select 2, n, n, n from generate_series(1, 50) n", without)
    place.sql("delete from history where itemid = 2")
    assert done.returncode == 1, done.stdout
    assert "rows in the database and in the dump: public.history: 2000 and 2050" in done.stderr
    assert not [*place.work.glob("*.json")]


@pytest.mark.parametrize(
    ("break_it", "code", "why"),
    [
        ("server", 1, "cannot be read"),
        ("empty", 1, "there is no Zabbix in this database yet"),
        ("users", 2, "there are no users in this database"),
        ("dump", 1, "pg_dump did not end well"),
        ("cut", 1, "pg_restore cannot read the dump"),
    ],
)
def test_what_is_no_good_dump_is_told_and_has_no_record(place: Place, break_it: str, code: int, why: str) -> None:
    more: dict[str, str] = {}
    if break_it == "server":
        more = {"PGHOST": str(place.folder / "nowhere")}
    if break_it == "empty":
        more = {"DATABASE": "template1"}
    if break_it == "users":
        place.sql("create database half template zabbix", "postgres")
        place.sql("truncate users cascade", "half")
        more = {"DATABASE": "half"}
    tool = place.database / "pg_dump"
    if break_it in ("dump", "cut"):
        tool.unlink()
        each = 'for word; do case $word in --file=*) truncate -s 40000 "${word#--file=}" ;; esac; done'
        cut = f'{POSTGRES}/pg_dump "$@"\n{each}\n'
        tool.write_text("#!/bin/sh\n" + ("exit 1\n" if break_it == "dump" else f"PATH=/usr/bin:/bin\n{cut}"))
        tool.chmod(0o755)
    try:
        done = place.run("dump.sh", **more)
    finally:
        tool.unlink()
        tool.symlink_to(POSTGRES / "pg_dump")
        place.sql("drop database if exists half", "postgres")
    assert done.returncode == code, done.stdout + done.stderr
    assert why in done.stderr
    assert not [*place.work.glob("*.json")]


@pytest.mark.parametrize(("program", "turn", "after"), [("pg_dump", 1, 0.05), ("pg_restore", 2, 0.1), ("mv", 2, 0)])
def test_a_dump_may_be_killed_and_run_again(place: Place, program: str, turn: int, after: float) -> None:
    assert place.killed("dump.sh", program=program, turn=turn, after=after)
    file, record = place.dumped()
    assert record["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert {one.suffix for one in place.work.iterdir()} == {".dump", ".json", ""}


def test_dump_damage_restore_compare_switch_and_back(minio: Place) -> None:
    place = minio
    before = place.content()
    _, first = place.dumped()
    assert (done := place.through_client("upload.sh")).returncode == 0, done.stderr
    place.sql("delete from hosts where hostid = 90002; truncate history; update users set name = 'nobody'")
    damaged = place.content()
    assert damaged != before
    time.sleep(1.1)
    place.dumped()
    assert place.through_client("upload.sh").returncode == 0
    # The newest is of the damage: one goes back to before it.
    done = place.through_client("fetch.sh", AT=str(first["taken"]))
    assert done.returncode == 0, done.stdout + done.stderr
    refused = place.run("restore.sh", "switch")
    assert (refused.returncode, "run this with switch=no first" in refused.stderr) == (2, True)
    done = place.run("restore.sh", "restore")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "history: 0 in zabbix, 2000 in zabbix_restored" in done.stdout
    assert place.content("zabbix_restored") == before
    assert place.content() == damaged
    with subprocess.Popen([*psql(place.folder), "-d", "zabbix", "-c", "select pg_sleep(60)"]) as server:
        wait_for_client(place)
        refused = place.run("restore.sh", "switch")
        server.terminate()
    assert (refused.returncode, "stop zabbix-server and zabbix-web first" in refused.stderr) == (2, True)
    wait_for_nobody(place)
    for _ in range(2):
        done = place.run("restore.sh", "switch")
        assert done.returncode == 0, done.stdout + done.stderr
        assert place.content() == before
        assert len(place.databases()) == 2
    assert "in place already" in done.stdout
    # What was measured since the switch outlives the way back and the next restore.
    place.sql("insert into history values (3, 1, 1, 1)")
    since = place.content()
    for _ in range(2):
        done = place.run("restore.sh", "undo")
        assert done.returncode == 0, done.stdout + done.stderr
        assert place.content() == damaged
    assert "undone already" in done.stdout
    refused = place.run("restore.sh", "switch")
    assert (refused.returncode, "run this with switch=no first" in refused.stderr) == (2, True)
    for step in ("restore", "switch"):
        assert (done := place.run("restore.sh", step)).returncode == 0, done.stdout + done.stderr
    assert place.content() == before
    (undone,) = {name for name in place.databases() if "undone" in name}
    assert place.content(undone) == since
    assert len(place.databases()) == 3
    for name in place.databases() - {"zabbix"}:
        place.sql(f"drop database {name}", "postgres")


def wait_for_client(place: Place) -> None:
    ask = "select count(*) from pg_stat_activity where datname = 'zabbix' and state = 'active'"
    while place.sql(ask, "postgres") == "0":
        time.sleep(0.05)


def wait_for_nobody(place: Place) -> None:
    place.sql("select pg_terminate_backend(pid) from pg_stat_activity where datname = 'zabbix'", "postgres")
    while place.sql("select count(*) from pg_stat_activity where datname = 'zabbix'", "postgres") != "0":
        time.sleep(0.05)


def test_a_database_that_is_gone_comes_back(place: Place) -> None:
    before = place.content()
    place.at_hand(place.dumped()[0])
    place.sql("drop database zabbix", "postgres")
    done = place.run("restore.sh", "restore")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "there is no database zabbix to compare it with" in done.stdout
    done = place.run("restore.sh", "switch")
    assert done.returncode == 0, done.stdout + done.stderr
    assert place.content() == before
    # One of an older switch is not what this one replaced.
    place.sql("create database zabbix_before_20260101_000000", "postgres")
    refused = place.run("restore.sh", "undo")
    assert (refused.returncode, "nothing to bring back" in refused.stderr) == (2, True)
    place.sql("drop database zabbix_before_20260101_000000", "postgres")
    assert place.databases() == {"zabbix"}


@pytest.mark.parametrize(("program", "turn", "after"), [("psql", 5, 0), ("pg_restore", 1, 0.3), ("pg_restore", 2, 0.1)])
def test_a_restore_may_be_killed_and_run_again(place: Place, program: str, turn: int, after: float) -> None:
    before = place.content()
    place.at_hand(place.dumped()[0])
    assert place.killed("restore.sh", "restore", program=program, turn=turn, after=after)
    refused = place.run("restore.sh", "switch")
    assert refused.returncode == 2, refused.stdout + refused.stderr
    done = place.run("restore.sh", "restore")
    assert done.returncode == 0, done.stdout + done.stderr
    assert place.content("zabbix_restored") == before == place.content()
    place.sql("drop database zabbix_restored", "postgres")


def test_a_server_that_is_away_for_a_moment_is_no_verdict(place: Place) -> None:
    place.at_hand(place.dumped()[0])
    for step in ("restore", "switch", "undo"):
        done = place.run("restore.sh", step, PGHOST=str(place.folder / "nowhere"))
        assert done.returncode == 1, done.stdout + done.stderr


def test_a_volume_without_room_for_a_second_database_is_left_alone(place: Place) -> None:
    place.at_hand(place.dumped()[0])
    df = place.folder / "room/df"
    df.write_text("#!/bin/sh\necho Avail\necho 1000000\n")
    df.chmod(0o755)
    done = place.run("restore.sh", "restore")
    df.unlink()
    assert done.returncode == 2, done.stdout
    assert "the database's volume has 1000000 bytes left" in done.stderr
    assert place.databases() == {"zabbix"}


def test_a_restore_that_lost_rows_is_refused(place: Place) -> None:
    """Between the script and the real pg_restore: once it is done, a row goes."""
    place.at_hand(place.dumped()[0])
    tool = place.database / "pg_restore"
    tool.unlink()
    lose = f"{POSTGRES}/psql -h {place.folder} -U zabbix -d zabbix_restored -qc 'delete from history where clock = 7'"
    tool.write_text(f'#!/bin/sh\n{POSTGRES}/pg_restore "$@" || exit\ncase "$*" in *--dbname*) {lose} ;; esac\n')
    tool.chmod(0o755)
    done = place.run("restore.sh", "restore")
    tool.unlink()
    tool.symlink_to(POSTGRES / "pg_restore")
    assert done.returncode == 2, done.stdout + done.stderr
    assert "rows in the dump and in zabbix_restored: public.history: 2000 and 1999" in done.stderr
    refused = place.run("restore.sh", "switch")
    assert "was not restored to its end" in refused.stderr
    place.sql("drop database zabbix_restored", "postgres")


def test_what_cannot_be_fetched_is_told(minio: Place) -> None:
    place = minio
    none = place.through_client("fetch.sh")
    assert (none.returncode, "no dump was taken" in none.stderr) == (2, True), none.stderr
    _, record = place.dumped()
    assert place.through_client("upload.sh").returncode == 0
    early = place.through_client("fetch.sh", AT="2020-01-01T00:00:00Z")
    assert (early.returncode, "no dump was taken by 2020" in early.stderr) == (2, True)
    keys = place.through_client("fetch.sh", TARGET_SECRET_KEY="another")
    assert keys.returncode == 1
    stamp = str(record["taken"]).replace("-", "").replace(":", "")
    other = place.folder / "other.dump"
    other.write_bytes(b"written over")
    place.mc("cp", "--attr", f"taken={stamp}", str(other), f"target/{BUCKET}/zabbix/zabbix.dump")
    damaged = place.through_client("fetch.sh")
    assert (damaged.returncode, "is not what its record says" in damaged.stderr) == (2, True), damaged.stderr
    assert not (place.work / "zabbix.dump").exists()


def test_who_writes_dumps_cannot_delete_them(minio: Place) -> None:
    place = minio
    place.dumped()
    assert place.through_client("upload.sh").returncode == 0
    host = place.server.url.replace("://", f"://{USER}:{PASSWORD}@")
    env = {"MC_HOST_target": host, "MC_CONFIG_DIR": str(place.folder / "home"), "HOME": str(place.folder / "home")}
    command = [str(place.client / "mc"), "rm", "--versions", "--force", f"target/{BUCKET}/zabbix/zabbix.dump"]
    assert subprocess.run(command, env=env, capture_output=True, check=False).returncode != 0
    assert place.through_client("fetch.sh").returncode == 0
