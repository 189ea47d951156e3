"""A real Zabbix on loopback: PostgreSQL on a socket of its own, and Debian's frontend behind PHP's own server.

The API needs no Zabbix server; `Site.server` starts one where items are to be polled. The programs are Debian's
packages; without them tests skip, in CI they fail.
"""

import contextlib
import gzip
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from ports import free_port

POSTGRES = Path("/usr/lib/postgresql/15/bin")
FRONTEND = Path("/usr/share/zabbix")
SCHEMA = Path("/usr/share/zabbix-server-pgsql")
SERVER = Path("/usr/sbin/zabbix_server")
PATIENCE = 60.0
DEFAULT_PASSWORD = "zabbix"
"""What every new Zabbix has, as its manual says."""


class Site(NamedTuple):
    """A running frontend, and the folder with the database's socket."""

    url: str
    folder: Path

    def call(self, method: str, params: object, auth: str | None = None) -> Any:
        """Ask the API; raises AssertionError with what it said."""
        body = {"jsonrpc": "2.0", "method": method, "params": params, "id": 1, "auth": auth}
        request = urllib.request.Request(
            f"{self.url}/api_jsonrpc.php", json.dumps(body).encode(), {"Content-Type": "application/json-rpc"}
        )
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            found = json.load(answer)
        assert "result" in found, (method, found)
        return found["result"]

    def login(self, password: str) -> str:
        """Return a session of the user Admin."""
        return str(self.call("user.login", {"username": "Admin", "password": password}))

    def sql(self, text: str) -> str:
        """Run a statement on the database and return what it printed."""
        command = [*psql(self.folder), "-d", "zabbix", "-At", "-c", text]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout

    @contextlib.contextmanager
    def server(self) -> Iterator[int]:
        """Run the server itself; yields its port."""
        # It takes no port above 32767. Tests in another process look for one as well.
        port = next(port for port in random.sample(range(20000, 32768), 100) if not connects(port))
        lines = {
            "DBHost": self.folder,
            "DBName": "zabbix",
            "DBUser": "zabbix",
            "ListenIP": "127.0.0.1",
            "ListenPort": port,
            "LogFile": self.folder / "server.log",
            "PidFile": self.folder / "server.pid",
            "SocketDir": self.folder,
            "StartPingers": 0,
            "StartDiscoverers": 0,
            "CacheUpdateFrequency": 1,
            "AllowRoot": 0,
        }
        file = self.folder / "server.conf"
        file.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
        with running([SERVER, "-f", "-c", file], self.folder):
            wait("Zabbix server", lambda: connects(port))
            yield port


def connects(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def wait(what: str, check: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if check():
            return
        time.sleep(0.1)
    raise AssertionError(f"{what}: not within {PATIENCE:g} s")


def need_programs() -> None:
    absent = [
        str(path)
        for path in (POSTGRES / "postgres", FRONTEND / "api_jsonrpc.php", SCHEMA / "schema.sql.gz", SERVER)
        if not path.exists()
    ]
    if not shutil.which("php"):
        absent.append("php")
    if absent:
        pytest.skip(f"no Zabbix: {', '.join(absent)} absent")


def user() -> str | None:
    """Neither PostgreSQL nor Zabbix runs as root."""
    return "nobody" if os.geteuid() == 0 else None


@contextlib.contextmanager
def running(command: list[Any], folder: Path, **env: str) -> Iterator[None]:
    """Run a program as long as the block; its words go to a file in `folder`."""
    with (folder / f"{Path(command[0]).name}.log").open("ab") as log:
        process = subprocess.Popen(
            [str(word) for word in command],
            cwd=folder,
            user=user(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, **env},
            start_new_session=True,
        )
    try:
        yield
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def database_in(folder: Path, address: str = "", **env: str) -> Iterator[None]:
    """Run PostgreSQL with Zabbix's database and everything it writes in `folder`, which all may enter. It answers on a
    socket there, and at `address` if there is one.
    """
    need_programs()
    if account := user():
        shutil.chown(folder, account)
    data = folder / "data"
    init = [str(POSTGRES / "initdb"), "-D", str(data), "-U", "zabbix", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"]
    subprocess.run(init, check=True, capture_output=True, user=user(), cwd=folder)
    options = ["-k", folder, "-h", address, "-c", "fsync=off", "-c", "full_page_writes=off"]
    with running([POSTGRES / "postgres", "-D", data, *options], folder, **env):
        fill(folder)
        yield


@contextlib.contextmanager
def site_in(folder: Path) -> Iterator[Site]:
    """Run the database and the frontend with everything they write in `folder`, which all may enter."""
    with database_in(folder):
        port = free_port()
        frontend(folder)
        limits = [
            "-d",
            "memory_limit=1G",
            "-d",
            "post_max_size=64M",
            "-d",
            "max_execution_time=300",
            "-d",
            "opcache.enable_cli=1",
        ]
        php = ["php", *limits, "-S", f"127.0.0.1:{port}", "-t", folder / "www"]
        with running(php, folder):
            wait("the frontend", lambda: connects(port))
            yield Site(f"http://127.0.0.1:{port}", folder)


def frontend(folder: Path) -> None:
    """Copy the frontend: Debian's looks for its settings in /etc."""
    shutil.copytree(FRONTEND, folder / "www", symlinks=True)
    settings, reader = folder / "frontend.php", folder / "www" / "include" / "classes" / "core" / "CConfigFile.php"
    settings.write_text(configuration(folder))
    reader.write_text(reader.read_text().replace("/etc/zabbix/zabbix.conf.php", str(settings)))


def fill(folder: Path) -> None:
    """Make the database as Debian's package describes."""
    command = psql(folder)
    try_it = [*command, "-d", "postgres", "-c", "select 1"]
    wait("PostgreSQL", (folder / ".s.PGSQL.5432").exists)
    wait("PostgreSQL", lambda: not subprocess.run(try_it, check=False, capture_output=True).returncode)
    subprocess.run([*command, "-d", "postgres", "-c", "create database zabbix"], check=True)
    for name in ("schema", "images", "data"):
        text = gzip.decompress((SCHEMA / f"{name}.sql.gz").read_bytes())
        subprocess.run([*command, "-d", "zabbix"], input=text, check=True, stdout=subprocess.DEVNULL)
    # Without figures the planner takes minutes over what an import asks.
    subprocess.run([*command, "-d", "zabbix", "-c", "analyze"], check=True)


def psql(folder: Path) -> list[str]:
    """Return the client's command."""
    return [str(POSTGRES / "psql"), "-h", str(folder), "-U", "zabbix", "-q", "-v", "ON_ERROR_STOP=1"]


def configuration(folder: Path) -> str:
    """Return the frontend's settings."""
    return f"""<?php
$DB['TYPE'] = 'POSTGRESQL';
$DB['SERVER'] = '{folder}';
$DB['PORT'] = '0';
$DB['DATABASE'] = 'zabbix';
$DB['USER'] = 'zabbix';
$DB['PASSWORD'] = '';
$DB['SCHEMA'] = '';
$DB['ENCRYPTION'] = false;
$DB['DOUBLE_IEEE754'] = true;
$ZBX_SERVER_NAME = 'test';
$IMAGE_FORMAT_DEFAULT = IMAGE_FORMAT_PNG;
"""
