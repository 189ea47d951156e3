"""Ansible and cloud-init judge, and run, what brings the node files to the machines.

Ansible runs here with this machine for its node: the bootstrap folder of ml50, a folder that stands for its root, and
programs that only tell.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec import structs
from nodeworld import PROGRAMS, PreparedNode
from reference import load

from generator.layout.bootstrap import bootstrap
from generator.model.cluster import Cluster

pytestmark = pytest.mark.real
ANSIBLE = Path(sys.executable).parent
ML50, A30 = load("ml50"), load("a30-bench")


def delivered(cluster: Cluster) -> Cluster:
    return structs.replace(cluster, kubernetes=structs.replace(cluster.kubernetes, deliver=("ansible", "cloud-init")))


class Told(str):
    """What Ansible says of a run."""

    __slots__ = ()

    def tasks(self, what: str, node: str = "gpu-01") -> int:
        """Return how many tasks of a node it counts as `changed`, `failed` ..."""
        found = re.search(rf"^{node} .*\b{what}=([0-9]+)", self, re.MULTILINE)
        assert found, self
        return int(found[1])


class Machine(PreparedNode):
    """A machine that calls itself gpu-01, with one disk of the model MODEL, and Ansible beside it."""

    def __init__(self, place: Path) -> None:
        super().__init__(place, delivered(ML50))
        for script in place.glob("node/**/*.sh"):
            script.chmod(0o755)
        for name, body in PROGRAMS.items():
            if name != "systemctl":
                self.program(name, body)
        self.program("hostname", "echo gpu-01")
        for folder in ("dev/by-id", "dev/by-uuid", "proc", "home"):
            (place / folder).mkdir(parents=True)
        (place / "dev/mounted").touch()
        (place / "fstab").touch()
        (place / "A1").touch()
        (place / "dev/by-id/nvme-MODEL_A1").symlink_to(place / "A1")
        (place / "node/disks/gpu-01.list").write_text(f"xfs {place}/x-0 1000 model MODEL\n")
        self.folder = place / "on-node"

    def play(self, *arguments: str, nodes: str = "gpu-01", rc: int = 0) -> "Told":
        """Run the playbook."""
        own = {"GEN_ROOT": "root", "GEN_DEV": "dev", "GEN_FSTAB": "fstab", "GEN_PROC": "proc", "GEN_SYSTEMD": "none"}
        settings = {
            "PATH": f"{self.place}/bin:{ANSIBLE}:{os.environ['PATH']}",
            "HOME": f"{self.place}/home",
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_PIPELINING": "1",
            "LC_ALL": "C.UTF-8",
        }
        extra = {
            "ansible_connection": "local",
            "ansible_become": False,
            "ansible_python_interpreter": sys.executable,
            "folder": str(self.folder),
        }
        command = ["ansible-playbook", "-i", "ansible/inventory.yaml", "ansible/playbook.yaml", "--limit", nodes]
        done = subprocess.run(
            [*command, "--extra-vars", json.dumps(extra), *arguments],
            env={**os.environ, **{name: str(self.place / value) for name, value in own.items()}, **settings},
            cwd=self.place,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == rc, done.stdout + done.stderr
        return Told(done.stdout + done.stderr)

    def prepared(self) -> int:
        """Return how often containerd was restarted."""
        return self.calls.count("systemctl restart containerd") if (self.place / "calls").exists() else 0


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_ansible_reads_the_inventory(machine: Machine) -> None:
    inventory = machine.place / "ansible/inventory.yaml"
    command = [str(ANSIBLE / "ansible-inventory"), "-i", str(inventory), "--list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True)
    assert not listed.stderr
    found = json.loads(listed.stdout)
    assert found["_meta"]["hostvars"]["gpu-01"] == {"ansible_host": "10.10.0.101", "node_pool": "gpu-training"}
    assert found["control_plane"]["hosts"] == ["cp-1", "cp-2", "cp-3"]


def test_a_node_is_prepared_once_for_the_same_files_and_no_disk_is_formatted_unasked(machine: Machine) -> None:
    """Check mode first: it changes nothing and says what would."""
    told = machine.play("--check")
    assert told.tasks("changed") == 2
    files = [one for name in ("all", "pools/gpu-training") for one in (machine.place / "node" / name).rglob("*")]
    count = sum(one.is_file() for one in files)
    assert f"{count} files would be brought, prepare.sh gpu-training would run, and restart containerd" in told
    assert (machine.prepared(), machine.folder.exists()) == (0, False)

    assert "mkfs.xfs on" in machine.play()
    assert (machine.prepared(), (machine.place / "A1").read_text()) == (1, "")
    assert (machine.root / "etc/modules-load.d/infiniband.conf").exists()
    copied = {str(one.relative_to(machine.folder)) for one in machine.folder.rglob("*.yaml")}
    assert copied >= {"kubeadm/join-gpu-01.yaml", "kubeadm/upgrade.yaml"}
    assert not copied & {"kubeadm/join-gpu-02.yaml", "kubeadm/init.yaml", "endpoint/kube-vip.yaml"}

    told = machine.play("--extra-vars", "format_disks=true")
    assert (told.tasks("changed"), machine.prepared()) == (1, 1)
    assert (machine.place / "A1").read_text() == "xfs uuid-A1 x-0\n"
    assert machine.play("--extra-vars", "format_disks=true").tasks("changed") == 0


def test_a_node_whose_preparation_failed_is_prepared_again_without_what_left_the_repository(machine: Machine) -> None:
    machine.program("sysctl", "exit 1")
    gone = machine.place / "node/all/etc/sysctl.d/99-old.conf"
    gone.write_text("kernel.panic = 1\n")
    assert machine.play(rc=2).tasks("failed") == 1
    assert machine.prepared() == 0
    gone.unlink()
    machine.program("sysctl", "exit 0")
    machine.play()
    assert machine.prepared() == 1
    assert not list(machine.folder.rglob("99-old.conf"))


def test_what_could_not_be_packed_whole_is_not_prepared(machine: Machine) -> None:
    """A file that may not be read, or goes meanwhile: `tar` packs the others, and says so by its exit code."""
    machine.program("tar", f"""{shutil.which("tar")} "$@" || exit; case "$1" in -c*) exit 2;; esac""")
    assert machine.play(rc=2).tasks("failed") == 1
    assert machine.prepared() == 0
    assert not (machine.folder / "prepared-with").exists()
    (machine.place / "bin/tar").unlink()
    machine.play()
    assert machine.prepared() == 1


def test_files_that_are_only_brought_prepare_nothing_and_so_do_the_former_ones(machine: Machine) -> None:
    """To undo a change its former files are brought the same way: they must lie there again."""
    tried, gone = ("etc/sysctl.d/99-tried.conf", "etc/sysctl.d/99-gone.conf")
    only = ("--extra-vars", "bring_only=true")
    (machine.place / "node/all" / tried).write_text("kernel.panic = 1\n")
    machine.play()
    (machine.place / "node/all" / tried).write_text("kernel.panic = 2\n")
    (machine.place / "node/all" / gone).touch()
    told = machine.play(*only, "--check")
    assert "files would be brought" in told
    assert "would run" not in told
    machine.play(*only)
    assert (machine.prepared(), (machine.root / tried).read_text()) == (1, "kernel.panic = 1\n"), "not in place"
    assert (machine.folder / "node/all" / tried).read_text() == "kernel.panic = 2\n"
    (machine.place / "node/all" / tried).write_text("kernel.panic = 1\n")
    (machine.place / "node/all" / gone).unlink()
    machine.play(*only)
    assert (machine.prepared(), (machine.folder / "node/all" / tried).read_text()) == (1, "kernel.panic = 1\n")
    assert not (machine.folder / "node/all" / gone).exists(), "what left the repository is not put in place"


def test_a_machine_of_another_name_ends_the_run_before_anything_is_done_there_or_after(machine: Machine) -> None:
    told = machine.play(nodes="gpu-02,gpu-03", rc=2)
    assert "it calls itself gpu-01: a node's host name is its name in the cluster file" in told
    assert "gpu-03 " not in told
    assert not machine.folder.exists()


@pytest.mark.parametrize("cluster", [ML50, A30], ids=lambda cluster: cluster.name)
def test_cloud_init_takes_the_user_data_of_every_kind_of_node(cluster: Cluster, tmp_path: Path) -> None:
    files = bootstrap(delivered(cluster))
    for pool in cluster.pools:
        node = cluster.in_pools(pool)[0].name
        file = tmp_path / f"{node}.yaml"
        file.write_bytes(files[f"clusters/{cluster.name}/bootstrap/cloud-init/{node}.yaml"])
        told = subprocess.run(["cloud-init", "schema", "-c", file], capture_output=True, text=True, check=False)
        assert (told.returncode, "Valid cloud-config" in told.stdout) == (0, True), told.stdout + told.stderr


def test_cloud_init_would_refuse_what_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text("#cloud-config\nwrite_files:\n- {path: /a, permissions: 0755}\n")
    told = subprocess.run(["cloud-init", "schema", "-c", file], capture_output=True, text=True, check=False)
    assert told.returncode != 0
