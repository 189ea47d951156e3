"""The script that upgrades a machine when its Node asks: a folder stands for the root, programs only tell."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from machineplayed import APT_WAYS, ASKED, Machine, by_timer
from nodeworld import PreparedNode

from generator.model.cluster import Cluster


@pytest.fixture
def machine(tmp_path: Path, ml50: Cluster) -> Machine:
    return Machine(tmp_path, by_timer(ml50))


def answer(words: str) -> str:
    return f"kubectl annotate --overwrite node gpu-01 gen.internal/upgrade-answer={ASKED}: {words}"


def test_a_machine_is_upgraded_in_order_and_tells_so(machine: Machine) -> None:
    done = machine.run()
    assert done.returncode == 0, done.stderr
    file = machine.place / "kubeadm/upgrade.yaml"
    update, install = f"apt-get {APT_WAYS} update", f"apt-get {APT_WAYS} install --allow-change-held-packages"
    assert machine.told() == [
        update,
        f"{install} kubeadm=1.35.3-*",
        "systemctl restart containerd",
        f"kubeadm upgrade node --config {file}",
        update,
        f"{install} kubelet=1.35.3-* kubectl=1.35.3-*",
        "systemctl restart kubelet",
        answer("done"),
    ]
    assert machine.run().returncode == 0
    assert machine.told() == [answer("done")], "what was done is only told again: nobody may have heard it"


def test_the_first_of_the_control_plane_applies_without_a_question(machine: Machine) -> None:
    machine.asks(ASKED.replace("node", "apply"))
    machine.run()
    assert f"kubeadm upgrade apply --yes --config {machine.place}/kubeadm/upgrade.yaml" in machine.told()


@pytest.mark.parametrize(
    ("asked", "cordoned", "why"),
    [
        ("node 1.36.0 now", True, "says 1.35.3: bring the files of bootstrap/ to this node first"),
        (ASKED, False, "gpu-01 is not cordoned"),
    ],
)
def test_what_must_not_be_done_is_not_begun(machine: Machine, asked: str, cordoned: bool, why: str) -> None:  # noqa: FBT001
    machine.asks(asked, cordoned=cordoned)
    assert machine.run().returncode == 1
    (told,) = machine.told()
    assert f"upgrade-answer={asked}: failed: " in told
    assert told.endswith(why)


def files(words: str) -> list[str]:
    return [f"kubectl annotate --overwrite node gpu-01 gen.internal/upgrade-files={words}"]


def test_a_machine_tells_of_which_version_its_files_are_before_it_is_asked(machine: Machine) -> None:
    machine.asks("", cordoned=False, files="")
    assert (machine.run().returncode, machine.told()) == (0, files("1.35.3"))
    machine.asks("", cordoned=False)
    assert (machine.run().returncode, machine.told()) == (0, []), "nothing new"
    file = machine.place / "kubeadm/upgrade.yaml"
    file.write_text(file.read_text().replace("1.35.3", "1.36.0"))
    assert (machine.run().returncode, machine.told()) == (0, files("1.36.0"))
    file.unlink()
    machine.asks("", cordoned=False)
    machine.run()
    assert machine.told() == files(f"{file} names no version: bring the files of bootstrap/ to this node")
    machine.asks(ASKED)
    assert machine.run().returncode == 1
    assert machine.told()[-1] == answer(f"failed: {file} names no version: bring the files of bootstrap/ to this node")
    (machine.root / "etc/gen-upgrade/folder").unlink()
    machine.asks("", cordoned=False)
    machine.run()
    assert machine.told() == files("/etc/gen-upgrade/folder names no folder that is here: run prepare.sh again")


def open_to_all(machine: Machine) -> Path:
    file = machine.place / "node/prepare.sh"
    file.chmod(0o777)
    return file


def open_file_of_a_pool(machine: Machine) -> Path:
    file = machine.place / "node/all/etc/x"
    file.write_text("")
    file.chmod(0o666)
    return file


def linked(machine: Machine) -> Path:
    file = machine.place / "kubeadm/upgrade.yaml"
    file.rename(machine.place / "elsewhere")
    file.symlink_to(machine.place / "elsewhere")
    return file


def open_folder(machine: Machine) -> Path:
    machine.place.chmod(0o777)
    return machine.place


def open_folder_above(machine: Machine) -> Path:
    machine.place.parent.chmod(0o777)
    return machine.place.parent


def another_folder(machine: Machine) -> Path:
    file = machine.root / "etc/gen-upgrade/folder"
    file.chmod(0o666)
    return file


@pytest.mark.parametrize(
    "opened",
    [open_to_all, open_file_of_a_pool, linked, open_folder, open_folder_above, another_folder],
)
def test_nothing_is_run_that_another_one_could_have_written(
    machine: Machine, opened: Callable[[Machine], Path]
) -> None:
    file = opened(machine)
    try:
        assert machine.run().returncode == 1
    finally:
        machine.place.parent.chmod(0o700)
    told = machine.told()
    assert len(told) == 2, "it tells, and does nothing"
    why = f"{file} is not root's alone: bring the files, as root, to a folder that only root may write, such as"
    assert told[0].startswith(f"{files('')[0]}{why}")
    assert told[1].startswith(answer(f"failed: {why}"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to another user")
def test_nothing_is_run_that_belongs_to_another_user(machine: Machine) -> None:
    file = machine.place / "node/prepare.sh"
    os.chown(file, 65534, 65534)
    assert machine.run().returncode == 1
    assert f"{file} is not root's alone" in machine.told()[-1]


def test_a_machine_that_is_asked_nothing_does_nothing(machine: Machine) -> None:
    machine.asks("")
    assert (machine.run().returncode, machine.told()) == (0, [])


def test_what_failed_is_told_with_its_last_words_and_done_when_it_is_asked_anew(machine: Machine) -> None:
    (machine.place / "full").touch()
    assert machine.run().returncode == 1
    told = machine.told()
    assert told[-1] == answer("failed: kubeadm upgrade: no space left on device")
    assert not [one for one in told if "kubelet" in one]
    machine.run()
    assert machine.told() == [told[-1]], "not tried again before somebody asks"
    (machine.place / "full").unlink()
    machine.asks("node 1.35.3 2026-11-23T16:00:00Z")
    assert machine.run().returncode == 0
    assert machine.told()[-1].endswith("16:00:00Z: done")


def test_a_run_that_was_killed_is_gone_on_with(machine: Machine) -> None:
    """Killed by its power: nothing says how it ended, and all is done once more."""
    machine.program("kubeadm", f'echo "kubeadm $*" >>{machine.place}/calls; [ "$1" = version ] || kill -9 $PPID')
    assert machine.run().returncode == -9
    assert machine.told()[-1].startswith("kubeadm upgrade node")
    machine.program("kubeadm", f'echo "kubeadm $*" >>{machine.place}/calls')
    assert machine.run().returncode == 0
    assert machine.told()[-1] == answer("done")


def test_only_who_asks_for_the_timer_gets_it(ml50: Cluster, tmp_path: Path) -> None:
    node = PreparedNode(tmp_path, ml50)
    assert node.prepare("gpu-training").returncode == 0
    assert "node-upgrade" not in node.calls
    assert not (node.root / "usr/local/sbin/node-upgrade.sh").exists()
