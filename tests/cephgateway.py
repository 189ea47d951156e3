"""A real Ceph on loopback: a monitor, an OSD that keeps all in memory, and the object gateway, without root's help.

Debian: ceph-mon, ceph-osd and radosgw (Ceph 16). It has no manager, unless a test begins one.
"""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from minioserver import ROOT_PASSWORD, ROOT_USER, Server, certificates
from ports import free_port

NEEDED = ("ceph-mon", "ceph-osd", "radosgw", "radosgw-admin", "ceph", "ceph-authtool", "monmaptool")
PATIENCE = 240.0
"""Seconds to wait for a daemon; each takes one or two on an idle machine."""
OWNER = "owner"
"""The user whose keys are those of the other servers' administrator; like them it deletes nothing of others."""
CONFIG = """
[global]
fsid = {fsid}
mon host = [v2:127.0.0.1:{monitor}/0]
public addr = 127.0.0.1
cluster addr = 127.0.0.1
ms bind msgr1 = false
auth allow insecure global id reclaim = false
run dir = {folder}
pid file =
admin socket = {folder}/$name.$pid.asok
log file = {folder}/$name.log
log flush on exit = true
crash dir = {folder}
keyring = {folder}/keyring
mon data = {folder}/mon
mon data avail warn = 0
mon data avail crit = 0
mon cluster log file =
mon allow pool size one = true
mon max pg per osd = 1000
osd data = {folder}/osd
osd objectstore = memstore
memstore device bytes = 2147483648
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 4
osd pool default pgp num = 4
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
osd class load list = *
osd class default allow list = *
rgw data = {folder}/rgw
rgw cache enabled = true
rgw enable usage log = false
[osd]
keyring = {folder}/osd/keyring
"""


class Gateway:
    """A Ceph with its gateway, at `url`, and without encryption at `plain`. Users are made by `radosgw-admin`."""

    config = CONFIG

    def __init__(self, folder: Path, certificates: Path) -> None:
        self.folder, self.certificates = folder, certificates
        self.address, plain = (f"127.0.0.1:{free_port()}" for _ in range(2))
        self.url, self.plain = f"https://{self.address}", f"http://{plain}"
        self.daemons: list[subprocess.Popen[bytes]] = []

    def run(self, program: str, *words: str) -> str:
        """Run a program of Ceph's to its end; what it printed."""
        command = [program, "-c", str(self.folder / "ceph.conf"), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    def daemon(self, program: str, *words: str) -> "subprocess.Popen[bytes]":
        """Begin a daemon, which is ended with the others."""
        command = [program, "-c", str(self.folder / "ceph.conf"), "--foreground", *words]
        with (self.folder / f"{program}.said").open("ab") as said:
            begun = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        self.daemons.append(begun)
        return begun

    def make(self) -> None:
        """Make a cluster of one monitor and one OSD, and start both."""
        fsid, osd = str(uuid.uuid4()), str(uuid.uuid4())
        monitor = free_port()
        (self.folder / "ceph.conf").write_text(self.config.format(fsid=fsid, monitor=monitor, folder=self.folder))
        (self.folder / "osd").mkdir()
        self.keys()
        at = f"[v2:127.0.0.1:{monitor}/0]"
        self.run("monmaptool", "--create", "--fsid", fsid, "--addv", "a", at, str(self.folder / "monmap"))
        new = ("--monmap", f"{self.folder}/monmap", "--keyring", f"{self.folder}/keyring")
        self.run("ceph-mon", "--mkfs", "-i", "a", *new)
        self.daemon("ceph-mon", "-i", "a")
        assert self.run("ceph", "--connect-timeout", "60", "osd", "new", osd).strip() == "0"
        rights = ("mon", "allow profile osd", "osd", "allow *")
        self.run("ceph", "auth", "get-or-create", "osd.0", *rights, "-o", str(self.folder / "osd/keyring"))
        self.run("ceph-osd", "--mkfs", "-i", "0", "--osd-uuid", osd)
        self.daemon("ceph-osd", "-i", "0")
        self.wait("the OSD is up", lambda: json.loads(self.run("ceph", "osd", "stat", "-f", "json"))["num_up_osds"])

    def keys(self) -> None:
        """Make the keys of the monitor and of who administers it."""
        keyring = str(self.folder / "keyring")
        self.run("ceph-authtool", "--create-keyring", keyring, "--gen-key", "-n", "mon.", "--cap", "mon", "allow *")
        caps = ("--cap", "mon", "allow *", "--cap", "osd", "allow *")
        self.run("ceph-authtool", keyring, "--gen-key", "-n", "client.admin", *caps)

    def start(self) -> None:
        """Start the gateway."""
        own = f"{self.certificates}/public.crt", f"{self.certificates}/private.key"
        ways = f"endpoint={self.plain.removeprefix('http://')} ssl_endpoint={self.address}"
        front = f"beast {ways} ssl_certificate={own[0]} ssl_private_key={own[1]}"
        self.daemon("radosgw", "-n", "client.admin", f"--rgw-frontends={front}")
        self.wait("the gateway answers", self.answers)

    def answers(self) -> bool:
        """Tell whether the gateway answers."""
        try:
            urllib.request.urlopen(f"{self.plain}/swift/healthcheck", timeout=5).close()
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False
        return True

    def wait(self, what: str, check: Callable[[], object]) -> None:
        """Wait until something holds; that the daemon begun last has ended is told with its last words."""
        end = time.monotonic() + PATIENCE
        while not check():
            if self.daemons[-1].poll() is not None:
                pytest.fail(f"{what}: the daemon ended: {self.last_words()}")
            assert time.monotonic() < end, f"{what}: not in time: {self.last_words()}"
            time.sleep(0.1)

    def last_words(self) -> str:
        """Return the end of what each daemon said."""
        return "\n".join(f"{one}: {one.read_text(errors='replace')[-1500:]}" for one in self.folder.glob("*.said"))

    def user(self, name: str, access: str, secret: str, *words: str) -> dict[str, Any]:
        """Make a user with these keys."""
        command = ["user", "create", f"--uid={name}", f"--display-name={name}"]
        keys = [f"--access-key={access}", f"--secret-key={secret}"]
        made: dict[str, Any] = json.loads(self.run("radosgw-admin", *command, *keys, *words))
        return made

    def end(self) -> None:
        """End all daemons, the last one first."""
        while self.daemons:
            one = self.daemons.pop()
            one.terminate()
            try:
                one.wait(10)
            except subprocess.TimeoutExpired:
                one.kill()
                one.wait()


@contextlib.contextmanager
def gateway(certificates: Path) -> Iterator[Gateway]:
    """Run a Ceph whose gateway has these certificates until the block ends; skips without its programs, fails in CI."""
    missing = [name for name in NEEDED if not shutil.which(name)]
    if missing:
        pytest.skip(f"{', '.join(missing)} are not here (Debian: ceph-mon, ceph-osd, radosgw)")
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="ceph-", dir=place, ignore_cleanup_errors=True) as name:
        made = Gateway(Path(name), certificates)
        try:
            made.make()
            made.start()
            made.user(OWNER, ROOT_USER, ROOT_PASSWORD)
            yield made
        finally:
            made.end()


@pytest.fixture(scope="session")
def ends(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Gateway, Server]]:
    """Ceph, and a MinIO for the backups of its buckets; give your buckets and users names of your own."""
    folder = tmp_path_factory.mktemp("minio")
    signed = certificates(folder / "certs")
    target = Server(folder / "target", certificates=signed)
    try:
        with gateway(signed) as source:
            yield source, target
    finally:
        target.stop()
