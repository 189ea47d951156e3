"""Units of nodes: systemd finds an order in which all of them start, beside those of cloud images."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CLUSTERS = ("ml50", "a30-bench", "gpu-serving")

# What Ubuntu's and Debian's images have: the network comes before sysinit.target, because cloud-init asks it then.
CLOUD_INIT = """\
[Unit]
DefaultDependencies=no
After=systemd-networkd-wait-online.service
Before=network-online.target sysinit.target shutdown.target
Conflicts=shutdown.target
[Service]
Type=oneshot
ExecStart=/bin/true
"""
NETWORK = """\
[Unit]
DefaultDependencies=no
After=network-pre.target
Before=network.target shutdown.target
Conflicts=shutdown.target
[Service]
Type=oneshot
ExecStart=/bin/true
"""
ONLINE = NETWORK.replace("network-pre.target", "systemd-networkd.service").replace(
    "network.target", "network-online.target"
)
IMAGE = {
    "cloud-init.service": CLOUD_INIT,
    "systemd-networkd.service": NETWORK,
    "systemd-networkd-wait-online.service": ONLINE,
}


def units(cluster: str, folder: Path) -> list[str]:
    """Lay all units of a cluster's nodes beside an image's, and return what is started."""
    for found in (ROOT / "clusters" / cluster / "bootstrap" / "node").glob("**/etc/systemd/system"):
        shutil.copytree(found, folder, dirs_exist_ok=True)
    for name, text in IMAGE.items():
        (folder / name).write_text(text)
    return sorted(one.name for one in folder.iterdir() if one.is_file())


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_no_unit_closes_a_circle_at_the_start_of_a_cloud_image(cluster: str, tmp_path: Path) -> None:
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not here")
    (tmp_path / "start.target").write_text(f"[Unit]\nWants={' '.join(units(cluster, tmp_path))}\n")
    command = ["systemd-analyze", "verify", "--man=no", "start.target"]
    env = {**os.environ, "SYSTEMD_UNIT_PATH": f"{tmp_path}:"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert "start.target" not in done.stderr
    assert "cycle" not in done.stderr
