"""The password of Zabbix's database: the rendered container sets it on a real PostgreSQL before that begins."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from zabbixsite import POSTGRES, need_programs, running, user, wait

from generator.components.static import read_text
from generator.components.zabbix.names import SET_PASSWORD

pytestmark = pytest.mark.real

OWNER = "1owner"


class Database(NamedTuple):
    """A database that asks for passwords, and its folder."""

    folder: Path

    def container(self, password: str, owner: str = OWNER) -> subprocess.CompletedProcess[str]:
        """Run the script as the container does."""
        script = self.folder / SET_PASSWORD
        script.write_text(read_text(f"zabbix/{SET_PASSWORD}"))
        env = {
            "PATH": f"{POSTGRES}:{os.environ['PATH']}",
            "PGDATA": str(self.folder / "data"),
            "POSTGRES_USER": owner,
            "POSTGRES_PASSWORD": password,
        }
        return subprocess.run(
            ["sh", str(script)], env=env, cwd=self.folder, user=user(), capture_output=True, text=True, check=False
        )

    def takes(self, *passwords: str) -> list[bool]:
        """Run the server, and tell which passwords it takes."""
        options = ["-k", self.folder, "-h", ""]
        with running([POSTGRES / "postgres", "-D", self.folder / "data", *options], self.folder):
            ready = [str(POSTGRES / "pg_isready"), "-q", "-h", str(self.folder)]
            wait("PostgreSQL", lambda: not subprocess.run(ready, check=False).returncode)
            return [self._signs_in(one) for one in passwords]

    def _signs_in(self, password: str) -> bool:
        command = [str(POSTGRES / "psql"), "-h", str(self.folder), "-U", OWNER, "-d", "postgres", "-c", "select 1"]
        env = {"PGPASSWORD": password}
        return not subprocess.run(command, env=env, capture_output=True, check=False).returncode

    def crash(self) -> None:
        """Leave the data as a server does that is killed."""
        data = self.folder / "data"
        process = subprocess.Popen(
            [POSTGRES / "postgres", "-D", data, "-k", self.folder, "-h", ""],
            user=user(),
            cwd=self.folder,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        wait("PostgreSQL", (self.folder / ".s.PGSQL.5432").exists)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        (self.folder / ".s.PGSQL.5432").unlink(missing_ok=True)
        (self.folder / ".s.PGSQL.5432.lock").unlink(missing_ok=True)
        (data / "postmaster.pid").unlink()  # of process 1 of another pod, which the container's parent has as well


@pytest.fixture
def database() -> Iterator[Database]:
    need_programs()
    with tempfile.TemporaryDirectory(prefix="gen-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        if account := user():
            shutil.chown(folder, account)
        secret = folder / "first"
        secret.write_text("before\n")
        init = [
            str(POSTGRES / "initdb"),
            "-D",
            str(folder / "data"),
            "-U",
            OWNER,
            "-A",
            "scram-sha-256",
            f"--pwfile={secret}",
            "-N",
        ]
        subprocess.run(init, check=True, capture_output=True, user=user(), cwd=folder)
        yield Database(folder)


def test_the_database_takes_the_password_of_the_secret_alone(database: Database) -> None:
    password = 'it\'s "quoted" \\ $HOME %s'
    password = 'it\'s "quoted" \\ $HOME %s'
    assert database.takes("before", password) == [True, False]
    for _ in range(2):
        done = database.container(password)
        assert (done.returncode, done.stdout) == (0, "the user has the password of the Secret\n"), done.stderr
    assert password not in done.stderr
    assert database.takes("before", password) == [False, True]


def test_it_is_set_after_the_server_was_killed(database: Database) -> None:
    database.crash()
    assert database.container("after").returncode == 0
    assert database.takes("before", "after") == [False, True]


def test_a_new_database_is_left_to_its_image(database: Database) -> None:
    shutil.rmtree(database.folder / "data")
    (database.folder / "data").mkdir()
    done = database.container("after")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_what_fails_keeps_the_server_from_its_start_and_tells_no_password(database: Database) -> None:
    done = database.container("after", "nobody")
    assert done.returncode != 0
    assert 'role "nobody" does not exist' in done.stderr
    assert "after" not in done.stderr.replace("after the", "")
    assert database.takes("before") == [True]
