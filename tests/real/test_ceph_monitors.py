"""A monitor made of what the disks of OSDs know, by the script of the page on a lost site, on a real Ceph."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from cephgateway import CONFIG, Gateway
from reference import ROOT

pytestmark = pytest.mark.real

SCRIPT = ROOT / "generator/components/kubeadm/recovery/monitors.sh"
NEEDED = ("ceph-mon", "ceph-osd", "ceph-bluestore-tool", "ceph-monstore-tool", "ceph-objectstore-tool", "rados")
OBJECT = bytes(range(256)) * 12_000
DISK = "osd objectstore = bluestore\nbluestore block create = true\nbluestore block size = 1073741824"


class Disks(Gateway):
    """A Ceph whose OSD keeps what it has in a file, and its key in the file's label, as Rook's do."""

    config = CONFIG.replace("osd objectstore = memstore", DISK)

    @property
    def disk(self) -> Path:
        return self.folder / "osd/block"

    def key(self, name: str) -> str:
        return self.run("ceph-authtool", str(self.folder / "keyring"), "--print-key", "--name", name).strip()

    def start(self) -> None:
        """Start the monitor and the OSD, and wait until that is up."""
        self.daemon("ceph-mon", "-i", "a")
        before = json.loads(self.run("ceph", "--connect-timeout", "60", "osd", "dump", "-f", "json"))["osds"][0]
        self.daemon("ceph-osd", "-i", "0")
        self.wait("the OSD is up again", lambda: self.up_from() > before["up_from"])

    def up_from(self) -> int:
        """Return at which map the OSD came up the last time; 0 while it is down."""
        (osd,) = json.loads(self.run("ceph", "osd", "dump", "-f", "json"))["osds"]
        return int(osd["up_from"]) if osd["up"] else 0

    def script(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run the script as in a container of Ceph's image, which has no configuration."""
        env = os.environ | {"CEPH_CONF": "/dev/null"}
        command = ["sh", str(SCRIPT), *words]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=120)

    def keyring(self) -> Path:
        """Write the file that the page speaks of, of what the Secret rook-ceph-mon has."""
        file = self.folder / "for-rebuild"
        caps = "".join(f'\tcaps {one} = "allow *"\n' for one in ("mds", "mgr", "mon", "osd"))
        mon = f'[mon.]\n\tkey = {self.key("mon.")}\n\tcaps mon = "allow *"\n'
        file.write_text(f"{mon}[client.admin]\n\tkey = {self.key('client.admin')}\n{caps}")
        return file


@pytest.fixture(scope="module")
def stopped() -> Iterator[Disks]:
    """A Ceph that holds an object and the key of a disk, and was ended."""
    missing = [name for name in NEEDED if not shutil.which(name)]
    if missing:
        pytest.skip(f"{', '.join(missing)} are not here (Debian: ceph-mon, ceph-osd, ceph-base)")
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="ceph-", dir=place, ignore_cleanup_errors=True) as name:
        made = Disks(Path(name), Path(name))
        try:
            made.make()
            made.run("ceph", "osd", "pool", "create", "data", "4")
            (made.folder / "object").write_bytes(OBJECT)
            made.run("rados", "-p", "data", "put", "thing", str(made.folder / "object"))
            made.run("ceph", "config-key", "set", "dm-crypt/osd/x/luks", "a key of a disk")
            dumped = json.loads(made.run("ceph", "config-key", "dump", "dm-crypt"))
            assert dumped == {"dm-crypt/osd/x/luks": "a key of a disk"}
            busy = made.script("collect", str(made.folder / "busy"), str(made.disk))
            assert busy.returncode == 1
            assert "does it still run?" in busy.stderr
            made.end()
            key = made.run("ceph-authtool", str(made.folder / "osd/keyring"), "--print-key", "--name", "osd.0").strip()
            label = ["ceph-bluestore-tool", "set-label-key", "--dev", str(made.disk), "-k", "osd_key", "-v", key]
            subprocess.run(label, check=True, capture_output=True)
            yield made
        finally:
            made.end()


def test_what_is_no_disk_of_this_cluster_is_refused(stopped: Disks, tmp_path: Path) -> None:
    encrypted, store = tmp_path / "encrypted", tmp_path / "store"
    encrypted.write_bytes(b"LUKS\xba\xbe" + os.urandom(70_000))
    refused = stopped.script("collect", str(store), str(encrypted))
    assert refused.returncode == 1
    assert "is no disk of an OSD, or encrypted, and the keys are with the monitors" in refused.stderr
    (tmp_path / "store.fsid").write_text("3f271841-6188-47c1-b3fd-90fd4f978c76\n")
    other = stopped.script("collect", str(store), str(stopped.disk))
    assert other.returncode == 1
    assert "what was collected before of 3f271841" in other.stderr
    for words in ((), ("collect",), ("collect", str(store)), ("rebuild", str(store)), ("rebuilt", "x", "y", "z", "0")):
        assert "usage: " in stopped.script(*words).stderr, words
    absent = stopped.script("rebuild", str(tmp_path / "none"), "keyring", "a", "127.0.0.1:3300")
    assert "collect it first" in absent.stderr


def test_every_object_is_read_again_and_what_monitors_alone_knew_is_gone(stopped: Disks, tmp_path: Path) -> None:
    store = tmp_path / "store"
    lost = stopped.folder / "mon"
    kept = (lost / "keyring").read_bytes()
    shutil.rmtree(lost)
    for _ in range(2):
        done = stopped.script("collect", str(store), str(stopped.disk))
        assert done.returncode == 0, done.stderr
        assert f"collected osd.0 of {stopped.disk}" in done.stdout
    address = stopped.run("ceph-conf", "--lookup", "mon host").strip("[]\n").removeprefix("v2:").removesuffix("/0")
    for _ in range(2):
        done = stopped.script("rebuild", str(store), str(stopped.keyring()), "a", address)
        assert done.returncode == 0, done.stderr + (tmp_path / "store.log").read_text()[-2000:]
    said = done.stdout + done.stderr + (tmp_path / "store.log").read_text()
    assert not [name for name in ("mon.", "client.admin") if stopped.key(name) in said]
    shutil.move(tmp_path / "store.mon", lost)
    (lost / "keyring").write_bytes(kept)
    stopped.start()
    back = stopped.folder / "back"
    stopped.run("rados", "-p", "data", "get", "thing", str(back))
    assert back.read_bytes() == OBJECT
    assert json.loads(stopped.run("ceph", "config-key", "dump")) == {}
