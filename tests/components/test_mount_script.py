"""The script that mounts disks, with programs that keep disks as files: a file's first line is what the disk holds."""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent.parent / "generator/components/kubeadm/mount.sh"
# A disk's file: its content's type and UUID, or nothing; then a line for each part of it.
PROGRAMS = {
    "wipefs": 'for d; do :; done; awk "NR == 1 && NF { print \\$1 }" "$d"',
    "lsblk": 'for d; do :; done; case $* in *MAJ:MIN*) echo "250:$(basename "$(readlink -f "$d")") disk '
    '$(awk "NR == 1 { print \\$2 }" "$d")";; *) echo disk; sed 1d "$d";; esac; case $* in *MAJ:MIN*) '
    'sed 1d "$d" | while read -r t; do echo "251:1 $t -"; done;; esac',
    "blkid": 'for d; do :; done; awk "NR == 1 { print \\$2 }" "$d"',
    "mkfs.xfs": 'echo "xfs uuid-$(basename "$(readlink -f "$1")")" >"$1"; mkdir -p "$GEN_DEV/by-uuid"; '
    'ln -s "$1" "$GEN_DEV/by-uuid/uuid-$(basename "$(readlink -f "$1")")"; echo "$1" >>"$GEN_DEV/made"',
    "findmnt": 'for m; do :; done; grep -qx "$m" "$GEN_DEV/mounted"',
    "mount": '[ ! -e "$GEN_DEV/broken" ] || exit 32; for m; do :; done; echo "$m" >>"$GEN_DEV/mounted"',
    "chgrp": 'echo "$@" >>"$GEN_DEV/groups"',
    "chattr": "exit 1",
}


class Node:
    """A node with disks of one model, its fstab and the list of what is wanted there."""

    def __init__(self, place: Path) -> None:
        self.place, self.dev, self.fstab = place, place / "dev", place / "fstab"
        (self.dev / "by-id").mkdir(parents=True)
        (self.dev / "mounted").touch()
        (place / "bin").mkdir()
        (place / "proc").mkdir()
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
        path = f"{self.place}/bin:{os.environ['PATH']}"
        command = ["sh", str(SCRIPT), str(self.place / "list"), *arguments]
        return subprocess.run(
            command, env={**os.environ, **own, "PATH": path}, capture_output=True, text=True, check=False
        )

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
    assert (node.dev / "mounted").read_text() == f"{node.place}/x-0\n"
    assert (node.dev / "groups").read_text() == f"1000 {node.place}/x-0\n"
    assert node.made == ["nvme-MODEL_A1"]


def test_a_replaced_disk_never_means_one_in_use(node: Node) -> None:
    """A1 and B2 are in use; A1 dies and C3, whose serial number comes last, takes its slot."""
    node.disk("A1")
    node.disk("B2")
    node.want("model MODEL", "model MODEL")
    assert node.run("--yes").returncode == 0
    (node.place / "A1").unlink()
    (node.dev / "mounted").write_text(f"{node.place}/x-1\n")
    node.disk("C3")
    gone = node.run("--yes")
    assert gone.returncode == 1
    assert "its disk (UUID=uuid-A1) is gone" in gone.stderr
    node.fstab.write_text(
        "".join(line for line in node.fstab.read_text().splitlines(keepends=True) if "uuid-A1" not in line)
    )
    done = node.run("--yes")
    assert done.returncode == 0, done.stderr
    assert node.made == ["nvme-MODEL_A1", "nvme-MODEL_B2", "nvme-MODEL_C3"]
    assert "wipefs" not in gone.stderr + done.stderr


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


def test_a_filesystem_that_nobody_mounts_may_be_given_up_by_hand(node: Node) -> None:
    node.disk("A1", "ext4 uuid-old\n")
    node.disk("B2")
    node.want("id nvme-MODEL_A1", "model MODEL")
    done = node.run("--yes")
    assert done.returncode == 1
    assert f"if nobody needs that: wipefs --all {node.dev}/by-id/nvme-MODEL_A1" in done.stderr
    assert node.made == []


def test_a_missing_disk_is_named(node: Node) -> None:
    node.want("model MODEL", "id nvme-nope", "path pci-nope")
    done = node.run("--yes")
    assert done.returncode == 1
    assert done.stderr.count("no empty disk") == 3
