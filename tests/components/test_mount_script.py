"""The script that mounts disks, with programs that keep disks as files: a file's first line is what the disk holds."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from nodeworld import PROGRAMS

SCRIPT = Path(__file__).parent.parent.parent / "generator/components/kubeadm/mount.sh"


def without(file: Path, word: str) -> str:
    return "".join(f"{line}\n" for line in file.read_text().splitlines() if word not in line)


class Node:
    """A node with disks of one model, its fstab and the list of what is wanted there."""

    def __init__(self, place: Path) -> None:
        self.place, self.dev, self.fstab = place, place / "dev", place / "fstab"
        (self.dev / "by-id").mkdir(parents=True)
        (self.dev / "by-uuid").mkdir()
        (self.dev / "mounted").touch()
        (place / "bin").mkdir()
        (place / "proc").mkdir()
        (place / "systemd").mkdir()
        self.fstab.write_text("# system\nUUID=root / ext4 defaults 0 1\n")
        for name, body in PROGRAMS.items():
            (place / "bin" / name).write_text(f"#!/bin/sh\n{body}\n")
            (place / "bin" / name).chmod(0o755)
        self.lines: list[str] = []

    def disk(self, serial: str, content: str = "") -> Path:
        file = self.place / serial
        file.write_text(content)
        for name in (f"nvme-MODEL_{serial}", f"nvme-MODEL_{serial}_1", f"nvme-MODEL_{serial}-part1"):
            (self.dev / "by-id" / name).symlink_to(file)
        return file

    def want(self, *wanted: str) -> None:
        self.lines += [f"xfs {self.place}/x-{number} 1000 {one}" for number, one in enumerate(wanted)]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        (self.place / "list").write_text("# head\n" + "".join(f"{line}\n" for line in self.lines))
        own = {"GEN_DEV": str(self.dev), "GEN_FSTAB": str(self.fstab), "GEN_PROC": str(self.place / "proc")}
        own["GEN_SYSTEMD"] = str(self.place / "systemd")
        path = f"{self.place}/bin:{os.environ['PATH']}"
        command = ["sh", str(SCRIPT), str(self.place / "list"), *arguments]
        return subprocess.run(
            command, env={**os.environ, **own, "PATH": path}, capture_output=True, text=True, check=False
        )

    def forget(self, uuid: str) -> None:
        """Remove a disk's line from fstab."""
        self.fstab.write_text(without(self.fstab, uuid))

    def umount(self, mount: str) -> None:
        (self.dev / "mounted").write_text(without(self.dev / "mounted", f"/{mount} "))

    @property
    def made(self) -> list[str]:
        file = self.dev / "made"
        return [Path(line).name for line in file.read_text().splitlines()] if file.exists() else []


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_it_takes_whole_disks_in_the_order_of_their_serials(node: Node) -> None:
    node.disk("B2")
    node.disk("A1")
    node.want("model MODEL", "model MODEL")
    done = node.run()
    assert done.returncode == 0, done.stderr
    assert f"x-0: mkfs.xfs on {node.dev}/by-id/nvme-MODEL_A1\n" in done.stdout
    assert f"x-1: mkfs.xfs on {node.dev}/by-id/nvme-MODEL_B2\n" in done.stdout
    assert "dry run" in done.stdout
    assert node.made == []
    assert node.run("--yes").returncode == 0
    assert node.made == ["nvme-MODEL_A1", "nvme-MODEL_B2"]
    assert f"UUID=uuid-B2 {node.place}/x-1 xfs " in node.fstab.read_text()


def test_it_can_be_run_again(node: Node) -> None:
    node.disk("A1")
    node.want("model MODEL")
    assert node.run("--yes").returncode == 0
    before = node.fstab.read_text()
    again = node.run("--yes")
    assert again.returncode == 0, again.stderr
    assert "is mounted" in again.stdout
    assert (node.fstab.read_text(), node.made) == (before, ["nvme-MODEL_A1"])


def test_a_mount_that_failed_is_made_by_the_next_run(node: Node) -> None:
    node.disk("A1")
    node.want("model MODEL")
    (node.dev / "broken").touch()
    assert node.run("--yes").returncode != 0
    (node.dev / "broken").unlink()
    done = node.run("--yes")
    assert done.returncode == 0, done.stderr
    assert (node.dev / "mounted").read_text() == f"{node.place}/x-0 uuid-A1 uuid-A1\n"
    assert (node.dev / "groups").read_text() == f"1000 {node.place}/x-0\n"
    assert node.made == ["nvme-MODEL_A1"]


def test_a_replaced_disk_never_means_one_in_use(node: Node) -> None:
    """A1 and B2 are in use; A1 dies and C3, whose serial number comes last, takes its slot."""
    node.disk("A1")
    node.disk("B2")
    node.want("model MODEL", "model MODEL")
    assert node.run("--yes").returncode == 0
    (node.place / "A1").unlink()
    node.disk("C3")
    gone = node.run("--yes")
    assert gone.returncode == 1
    assert "its disk (UUID=uuid-A1) is gone" in gone.stderr
    assert f"umount {node.place}/x-0" in gone.stderr
    node.forget("uuid-A1")
    dead = node.run("--yes")
    assert dead.returncode == 1
    assert f"x-0: still mounted from uuid-A1, and not in {node.fstab}: umount" in dead.stderr
    assert node.made == ["nvme-MODEL_A1", "nvme-MODEL_B2"]
    node.umount("x-0")
    done = node.run("--yes")
    assert done.returncode == 0, done.stderr
    assert node.made == ["nvme-MODEL_A1", "nvme-MODEL_B2", "nvme-MODEL_C3"]
    assert f"{node.place}/x-0 uuid-C3 uuid-C3" in (node.dev / "mounted").read_text()
    assert "wipefs" not in gone.stderr + dead.stderr + done.stderr


def test_what_is_mounted_is_compared_with_what_fstab_says(node: Node) -> None:
    node.disk("A1")
    node.want("model MODEL")
    assert node.run("--yes").returncode == 0
    (node.dev / "mounted").write_text(f"{node.place}/x-0 /dev/sdz uuid-other\n")
    done = node.run("--yes")
    assert done.returncode == 1
    assert "x-0: still mounted from /dev/sdz, and" in done.stderr


def test_another_disk_than_the_one_meant_is_never_called_mounted(node: Node) -> None:
    node.disk("A1")
    node.want("model MODEL")
    (node.dev / "stale").touch()
    done = node.run("--yes")
    assert done.returncode == 1
    assert "x-0: uuid-stale is mounted there, not UUID=uuid-A1" in done.stderr
    assert "mounted\n" not in done.stdout
    assert not (node.dev / "groups").exists()


def test_systemd_reads_fstab_before_the_first_mount(node: Node) -> None:
    node.disk("A1")
    node.disk("B2")
    node.want("model MODEL", "model MODEL")
    assert node.run("--yes").returncode == 0
    assert (node.dev / "order").read_text().splitlines() == ["daemon-reload", "mount", "mount"]


def test_a_new_system_mounts_its_disks_again_by_their_labels(node: Node) -> None:
    """B2 was x-0, although A1 comes first; C3 is empty."""
    node.disk("A1", "xfs uuid-A1 x-1\n")
    node.disk("B2", "xfs uuid-B2 x-0\n")
    node.disk("C3")
    node.want("model MODEL", "model MODEL", "model MODEL")
    done = node.run("--yes")
    assert done.returncode == 0, done.stderr
    assert f"x-0: mount {node.dev}/by-id/nvme-MODEL_B2 again, which has its label" in done.stdout
    assert node.made == ["nvme-MODEL_C3"]
    lines = [line.split()[:3] for line in node.fstab.read_text().splitlines()[2:]]
    assert lines == [
        [f"UUID=uuid-{disk}", f"{node.place}/x-{number}", "xfs"] for number, disk in enumerate(("B2", "A1", "C3"))
    ]
    assert (node.place / "C3").read_text() == "xfs uuid-C3 x-2\n"


@pytest.mark.parametrize("content", ["xfs uuid-A1 x-7", "ext4 uuid-A1 x-0", "xfs uuid-A1", "xfs uuid-A1 x-0\npart"])
def test_only_the_very_label_and_filesystem_are_mounted_again(node: Node, content: str) -> None:
    node.disk("A1", f"{content}\n")
    node.want("model MODEL")
    assert node.run("--yes").returncode == 1
    assert node.made == []
    assert "x-0" not in node.fstab.read_text()


def test_of_two_disks_with_one_label_none_is_taken(node: Node) -> None:
    node.disk("A1", "xfs uuid-A1 x-0\n")
    node.disk("B2", "xfs uuid-B2 x-0\n")
    node.want("model MODEL")
    done = node.run("--yes")
    assert done.returncode == 1
    assert "several disks have its label" in done.stderr


def test_a_last_line_of_fstab_without_an_end_stays_a_line(node: Node) -> None:
    node.disk("A1")
    node.want("model MODEL")
    node.fstab.write_text("UUID=root / ext4 defaults 0 1")
    assert node.run("--yes").returncode == 0
    assert node.fstab.read_text().splitlines()[0] == "UUID=root / ext4 defaults 0 1"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("xfs uuid-x", "is in use (mounted at /data)"),
        ("xfs root", "is in use (UUID=root / ext4"),
        ("LVM2_member uuid-y\nlvm", "is in use (part of lvm)"),
        ("ceph_bluestore", "holds ceph_bluestore and may be in use"),
        ("gpt\npart", "and may be in use"),
    ],
)
def test_no_way_to_wipe_is_shown_for_a_disk_that_may_be_in_use(node: Node, content: str, why: str) -> None:
    node.disk("A1", f"{content}\n")
    (node.place / "proc/7").mkdir()
    if content == "xfs uuid-x":
        (node.place / "proc/7/mountinfo").write_text("36 35 250:A1 / /data rw - xfs /dev/x rw\n")
    node.want("model MODEL")
    done = node.run("--yes")
    assert done.returncode == 1
    assert why in done.stderr
    assert "wipefs" not in done.stderr
    assert "nothing was changed" in done.stderr
    assert node.made == []


def test_a_filesystem_that_nobody_mounts_is_to_be_looked_into(node: Node) -> None:
    node.disk("A1", "ext4 uuid-old\n")
    node.disk("B2")
    node.want("id nvme-MODEL_A1", "model MODEL")
    done = node.run("--yes")
    assert done.returncode == 1
    assert "holds ext4 (label: none) and is not mounted" in done.stderr
    assert f"mount -o ro {node.dev}/by-id/nvme-MODEL_A1 /mnt" in done.stderr
    assert "wipefs" not in done.stderr
    assert node.made == []


BROKEN = [
    ("wipefs", "echo probing initialization failed >&2; exit 1"),
    ("lsblk", "exit 32"),
    # What wipefs fails to read is nothing found, with 0: reading itself has to say so.
    ("head", "echo Input/output error >&2; exit 1"),
]


def breaks(node: Node, serial: str, program: str, body: str) -> None:
    """Have a program fail on one disk."""
    file = node.place / "bin" / program
    only = f'case "$*" in *{serial}*) {body} ;; esac\n'
    real = "#!/bin/sh\n" + f'exec {shutil.which(program)} "$@"\n'
    file.write_text((file.read_text() if file.exists() else real).replace("#!/bin/sh\n", f"#!/bin/sh\n{only}"))
    file.chmod(0o755)


@pytest.mark.parametrize(("program", "body"), BROKEN)
def test_a_disk_that_cannot_be_looked_into_is_never_taken_for_empty(node: Node, program: str, body: str) -> None:
    """The empty one beside it is not taken either: B2 may be the one that has the label."""
    node.disk("A1")
    node.disk("B2", "xfs uuid-B2 x-0\n")
    node.want("model MODEL")
    breaks(node, "B2", program, body)
    for arguments in ((), ("--yes",)):
        done = node.run(*arguments)
        assert (done.returncode, node.made) == (1, [])
        said = "x-0: nobody can tell what these disks hold, and it may be data: "
        assert f"{said}{node.dev}/by-id/nvme-MODEL_B2 (" in done.stderr
        assert done.stderr.endswith(f"left out: {node.place}/x-0\n")
        assert "x-0" not in node.fstab.read_text()


@pytest.mark.parametrize(("program", "body"), BROKEN)
def test_a_disk_that_cannot_be_looked_into_holds_up_no_other_mount(node: Node, program: str, body: str) -> None:
    """As after a new system: A1 has its label, C3 is named, and what B2 held stays without a disk."""
    node.disk("A1", "xfs uuid-A1 x-0\n")
    node.disk("B2", "xfs uuid-B2 x-1\n")
    other = node.dev / "by-id/nvme-OTHER_C3"
    node.disk("C3")
    other.symlink_to(node.place / "C3")
    (node.dev / "by-id/nvme-MODEL_C3").unlink()
    node.want("model MODEL", "model MODEL", "id nvme-OTHER_C3")
    breaks(node, "B2", program, body)
    done = node.run("--yes")
    assert done.returncode == 1
    assert node.made == ["nvme-OTHER_C3"]
    assert f"{node.place}/x-0: mounted" in done.stdout
    assert f"{node.place}/x-2: mounted" in done.stdout
    assert done.stderr.endswith(f"left out: {node.place}/x-1\n")
    assert "x-1" not in node.fstab.read_text()


def test_nobody_but_root_is_told_what_would_be_formatted(node: Node) -> None:
    node.disk("A1")
    node.want("model MODEL")
    (node.place / "bin/id").write_text("#!/bin/sh\necho 1000\n")
    done = node.run()
    assert (done.returncode, done.stdout) == (1, "")
    assert "must run as root" in done.stderr


def test_a_missing_disk_is_named(node: Node) -> None:
    node.want("model MODEL", "id nvme-nope", "path pci-nope")
    done = node.run("--yes")
    assert done.returncode == 1
    assert done.stderr.count("no empty disk") == 3


def test_where_systemd_does_not_run_nothing_is_asked_of_it(node: Node) -> None:
    """Its programs may be installed all the same; they fail then, when half of the work is done."""
    node.disk("A1")
    node.want("model MODEL")
    (node.place / "systemd").rmdir()
    (node.place / "bin/systemctl").write_text("#!/bin/sh\necho not booted with systemd >&2\nexit 1\n")
    done = node.run("--yes")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{node.place}/x-0: mounted" in done.stdout
