"""What dashboards, alerts and Zabbix ask of Ceph's manager, held to what a real one answers (Debian: ceph-mgr)."""

import os
import shutil
import tempfile
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from boardsamples import EXPORTERS
from cephgateway import CONFIG, NEEDED, Gateway
from heldnames import lacking
from ports import free_port
from test_alerts_fire import ceph
from zabbixtold import ceph as asked_by_zabbix

pytestmark = pytest.mark.real

NEWER = {f"ceph_cluster_by_class_total_{name}bytes{{device_class}}" for name in ("", "used_raw_")}
"""What Debian's Ceph 16 does not tell yet."""
MANAGER = """
[mgr]
mgr data = {folder}/mgr
keyring = {folder}/mgr/keyring
"""


class Managed(Gateway):
    """A Ceph whose manager tells of it at `metrics`."""

    config = CONFIG.replace("[global]", "[global]\nmgr initial modules = prometheus\nmgr stats period = 1") + MANAGER

    def manage(self) -> None:
        """Start the manager, which looks at all each second, and make a pool with something in it."""
        (self.folder / "mgr").mkdir()
        rights = ("mon", "allow profile mgr", "osd", "allow *")
        self.run("ceph", "auth", "get-or-create", "mgr.x", *rights, "-o", str(self.folder / "mgr/keyring"))
        port = str(free_port())
        for name, value in (("server_addr", "127.0.0.1"), ("server_port", port), ("scrape_interval", "1")):
            self.run("ceph", "config", "set", "mgr", f"mgr/prometheus/{name}", value, "--force")
        self.metrics = f"http://127.0.0.1:{port}/metrics"
        self.run("ceph", "osd", "pool", "create", "data", "4")
        self.daemon("ceph-mgr", "-i", "x")
        (self.folder / "object").write_bytes(bytes(100_000))
        self.run("rados", "-p", "data", "put", "thing", str(self.folder / "object"))

    def told(self) -> str:
        """Return what the manager answers, nothing while it does not."""
        try:
            with urllib.request.urlopen(self.metrics, timeout=10) as answer:
                text: str = answer.read().decode()
                return text
        except OSError:
            return ""

    def tells(self, what: str) -> bool:
        return what in self.told()


@pytest.fixture(scope="module")
def answer() -> Iterator[str]:
    """What a manager tells once it knows of pools and disks."""
    missing = [name for name in (*NEEDED, "ceph-mgr", "rados") if not shutil.which(name)]
    if missing:
        pytest.skip(f"{', '.join(missing)} are not here (Debian: ceph-mgr, ceph-mon, ceph-osd, radosgw)")
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="ceph-", dir=place, ignore_cleanup_errors=True) as name:
        made = Managed(Path(name), Path(name))
        try:
            made.make()
            made.manage()
            for metric in ("pool_stored", "health_detail", "osd_stat_bytes"):
                made.wait(f"the manager tells {metric}", partial(made.tells, f"ceph_{metric}{{"))
            yield made.told()
        finally:
            made.end()


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(EXPORTERS["ceph"].text, id="dashboards"),
        pytest.param(ceph(), id="alerts"),
        pytest.param(asked_by_zabbix(), id="Zabbix"),
    ],
)
def test_a_real_manager_tells_what_is_asked(answer: str, asked: str) -> None:
    assert lacking(asked, answer) - NEWER == set()
