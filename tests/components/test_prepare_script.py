"""The script that prepares a node, in a folder that stands for the node's root, with programs that only tell."""

import os
import shutil
from pathlib import Path

import pytest
from msgspec import structs
from nodeworld import DUMP, DUMPS, SANDBOX
from nodeworld import PreparedNode as Node

from generator.model.cluster import Cluster

OTHER = """          [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.nvidia.options]
            SystemdCgroup = true
"""
PEM = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


@pytest.fixture
def node(tmp_path: Path, ml50: Cluster) -> Node:
    return Node(tmp_path, ml50)


def test_a_pool_gets_the_files_of_all_and_its_own(node: Node) -> None:
    done = node.prepare("gpu-training")
    assert done.returncode == 0, done.stderr
    assert (node.root / "etc/containerd/config.toml").exists()
    assert (node.root / "etc/kubernetes/patches/kubeletconfiguration0+merge.yaml").exists()
    assert "modprobe ib_ipoib" in node.calls
    assert node.calls.index("systemctl daemon-reload") < node.calls.index("systemctl restart containerd")


def test_files_of_a_checkout_that_its_owner_alone_reads_are_read_by_services(node: Node) -> None:
    source = node.place / "node"
    for one in (source, *source.rglob("*")):
        one.chmod(one.stat().st_mode & 0o700)
    before = os.umask(0o077)
    try:
        assert node.prepare("system").returncode == 0
    finally:
        os.umask(before)
    brought = [node.root / one.relative_to(source / "all") for one in (source / "all").rglob("*")]
    assert [str(one) for one in brought if one.stat().st_mode & 0o044 != 0o044] == []


def test_files_that_a_former_run_laid_unread_are_read_from_now_on(node: Node) -> None:
    assert node.prepare("system").returncode == 0
    brought = [
        one.relative_to(node.place / "node/all") for one in (node.place / "node/all").rglob("*") if one.is_file()
    ]
    for one in brought:
        (node.root / one).chmod(0o600)
    assert node.prepare("system").returncode == 0
    assert [str(one) for one in brought if (node.root / one).stat().st_mode & 0o044 != 0o044] == []


def test_a_pool_without_files_where_no_other_s_were_brought_is_told(node: Node) -> None:
    """A playbook brings those of its own pool alone."""
    shutil.rmtree(node.place / "node/pools")
    done = node.prepare("system")
    assert (done.returncode, "here these have: none\n" in done.stdout, done.stderr) == (0, True, "")


def test_another_pool_gets_nothing_of_it(node: Node) -> None:
    assert node.prepare("system").returncode == 0
    assert not (node.root / "etc/kubernetes/patches/kubeletconfiguration0+merge.yaml").exists()
    assert "modprobe ib_ipoib" not in node.calls


def test_a_pool_without_files_of_its_own_is_told(node: Node) -> None:
    """It may be mistyped."""
    done = node.prepare("gpu-trainin")
    assert done.returncode == 0, done.stderr
    pools = "cpu gpu-inference gpu-training nas system "
    assert f"   pool gpu-trainin has no files of its own; here these have: {pools}\n" in done.stdout
    assert "no files of its own" not in node.prepare("gpu-training").stdout


def test_control_plane_nodes_take_snapshots_of_etcd(node: Node) -> None:
    assert node.prepare("cpu").returncode == 0
    assert not [call for call in node.calls if "etcd" in call]
    assert node.prepare("system").returncode == 0
    assert "systemctl enable --now etcd-snapshot.timer" in node.calls
    assert node.calls.index("systemctl daemon-reload") < node.calls.index("systemctl enable --now etcd-snapshot.timer")
    for file in ("usr/local/sbin/etcd-snapshot.sh", "etc/etcd-snapshot/recipients"):
        assert (node.root / file).exists()


def test_only_who_asks_for_it_has_a_timer_give_back_what_etcd_does_not_use(tmp_path: Path, ml50: Cluster) -> None:
    enabled = "systemctl enable --now etcd-defragment.timer"
    assert ml50.kubernetes.etcd.defragment == "timer"
    by_hand = structs.replace(ml50.kubernetes.etcd, defragment="by-hand")
    plain = structs.replace(ml50, kubernetes=structs.replace(ml50.kubernetes, etcd=by_hand))
    for cluster, timed in ((ml50, True), (plain, False)):
        node = Node(tmp_path / str(timed), cluster)
        assert node.prepare("system").returncode == 0
        assert (enabled in node.calls) == timed
        assert (node.root / "usr/local/sbin/etcd-defragment.sh").exists(), "by hand it can be run in any case"
    assert Node(tmp_path / "worker", ml50).prepare("cpu").returncode == 0
    assert not (tmp_path / "worker/root/usr/local/sbin/etcd-defragment.sh").exists()


@pytest.mark.skipif(shutil.which("age") is not None, reason="age is installed here")
def test_snapshots_that_nothing_could_encrypt_are_not_begun(node: Node) -> None:
    (node.place / "bin/age").unlink()
    done = node.prepare("system")
    assert done.returncode == 1
    assert "install the package `age`" in done.stderr
    assert "systemctl enable --now etcd-snapshot.timer" not in node.calls


def test_the_first_fstab_is_kept_by_a_second_run(node: Node) -> None:
    before = (node.root / "etc/fstab").read_text()
    for _ in range(2):
        assert node.prepare("cpu").returncode == 0
        assert (node.root / "etc/fstab.before-gen").read_text() == before
    assert (node.root / "etc/fstab").read_text().splitlines()[1] == "# gen: /swapfile none swap sw 0 0"


@pytest.mark.parametrize("dump", DUMPS)
def test_containerd_of_each_format_is_restarted(node: Node, dump: str) -> None:
    node.containerd(dump.replace("SANDBOX", SANDBOX))
    assert node.prepare("cpu").returncode == 0
    assert "systemctl restart containerd" in node.calls


@pytest.mark.parametrize(
    ("meant", "found"),
    [
        (SANDBOX, "registry.k8s.io/pause:3.8"),
        (SANDBOX, f"mirror.example.org/{SANDBOX}"),
        ("/etc/containerd/certs.d", ""),
        ("SystemdCgroup = true", "SystemdCgroup = false"),
        ("            SystemdCgroup = true\n", OTHER),
    ],
)
def test_containerd_is_not_restarted_with_settings_lost(node: Node, meant: str, found: str) -> None:
    """The second is of a site without a mirror; the last is another runtime's."""
    assert meant in DUMP
    node.containerd(DUMP.replace(meant, found))
    done = node.prepare("cpu")
    assert done.returncode == 1
    assert "It was not restarted" in done.stderr
    assert not [call for call in node.calls if "containerd" in call]


def test_the_sites_ca_is_trusted(node: Node) -> None:
    assert node.prepare("cpu").returncode == 0
    assert "update-ca-certificates " not in node.calls
    (node.place / "node/all/etc/kubernetes").mkdir(parents=True)
    (node.place / "node/all/etc/kubernetes/site-ca.crt").write_text(PEM)
    assert node.prepare("cpu").returncode == 0
    assert (node.root / "usr/local/share/ca-certificates/gen-site-ca.crt").read_text() == PEM
    assert "update-ca-certificates " in node.calls


@pytest.mark.parametrize(
    ("file", "text", "has", "service"),
    [
        ("etc/chrony.conf", "pool 2.rhel.pool.ntp.org iburst\nsourcedir /run/chrony-dhcp", "false", "chronyd"),
        ("etc/chrony/chrony.conf", "sourcedir /etc/chrony/sources.d\n", "true", "chrony"),
    ],
)
def test_the_sites_clocks_are_read_by_chrony(node: Node, file: str, text: str, has: str, service: str) -> None:
    """On a node where it does not run yet: chronyc could tell it nothing."""
    (node.root / "etc/chrony").mkdir()
    (node.root / file).write_text(text)
    node.program("systemctl", f'echo "systemctl $*" >>{node.place}/calls; [ "$1" != cat ] || {has}')
    node.program("chronyc", "echo '506 Cannot talk to daemon' >&2; exit 1")
    for _ in range(2):
        done = node.prepare("cpu")
        assert done.returncode == 0, done.stderr
        lines = (node.root / file).read_text().splitlines()
        assert lines[: len(text.splitlines())] == text.splitlines()
        assert lines.count("sourcedir /etc/chrony/sources.d") == 1
    assert [call for call in node.calls if "chrony" in call][1:3] == [
        f"systemctl enable {service}",
        f"systemctl restart {service}",
    ]


def test_without_servers_of_the_site_its_clock_is_left_alone(node: Node) -> None:
    (node.place / "node/all/etc/chrony/sources.d/site.sources").unlink()
    assert node.prepare("cpu").returncode == 0
    assert not [call for call in node.calls if "chrony" in call]


def test_only_root_may(node: Node) -> None:
    node.program("id", "echo 1000")
    assert "must run as root" in node.prepare("cpu").stderr
