"""What a machine does for a maintenance when its Node asks: a folder stands for the root, programs only tell."""

import os
import time
from pathlib import Path

import pytest
from machineplayed import APT_WAYS, Machine, by_timer

from generator.model.cluster import Cluster

WHEN = "2026-11-23T15:00:00Z"
DONE = "done: kernel 6.1.0-28-amd64"


@pytest.fixture
def machine(tmp_path: Path, ml50: Cluster) -> Machine:
    made = Machine(tmp_path, by_timer(ml50))
    made.program("kubeadm", f'case $1 in version) echo v1.35.3 ;; *) echo "kubeadm $*" >>{tmp_path}/calls ;; esac')
    installed = [
        "bash",
        "containerd.io",
        "kubeadm",
        "kubelet",
        "libnvidia-compute-570",
        "linux-image-amd64",
        "mlnx-tools",
    ]
    (tmp_path / "packages").write_text("".join(f"ii  {one}\n" for one in installed) + "rc  runc\n")
    return made


def asks(machine: Machine, action: str, *, boot: str = "b1", cordoned: bool = True) -> None:
    machine.asks(f"{action} {boot} {WHEN}", cordoned=cordoned)


def answer(action: str, words: str, boot: str = "b1") -> str:
    return f"kubectl annotate --overwrite node gpu-01 gen.internal/upgrade-answer={action} {boot} {WHEN}: {words}"


def good(machine: Machine) -> list[str]:
    """Run the script, which must not fail; what it did."""
    done = machine.run()
    assert done.returncode == 0, done.stderr
    return machine.told()


def test_a_machine_reboots_once_for_what_is_asked_once(machine: Machine) -> None:
    asks(machine, "reboot")
    assert good(machine) == ["systemctl reboot"]
    assert good(machine) == [], "it is on its way down"
    machine.boot("b2")
    assert good(machine) == [answer("reboot", DONE)]
    assert good(machine) == [answer("reboot", DONE)]


def test_it_reboots_no_second_time_if_all_that_it_knew_is_lost(machine: Machine) -> None:
    asks(machine, "reboot")
    good(machine)
    for boot in ("b2", "b3"):
        machine.boot(boot)
        for file in (machine.root / "var/lib/gen-upgrade").iterdir():
            if file.is_file():
                file.unlink()
        assert good(machine) == [answer("reboot", DONE)]


def test_one_that_does_not_go_down_is_told(machine: Machine) -> None:
    asks(machine, "reboot")
    good(machine)
    os.utime(machine.root / "var/lib/gen-upgrade/going-down", (1, 1))
    assert machine.run().returncode == 1
    (told,) = machine.told()
    assert told == answer("reboot", "failed: it was to reboot a quarter of an hour ago, and still runs")


HOLD = "apt-mark hold containerd.io kubeadm kubelet libnvidia-compute-570 mlnx-tools"
APT = [
    "dpkg --force-confdef --force-confold --configure -a",
    HOLD,
    f"apt-get {APT_WAYS} update",
    f"apt-get {APT_WAYS} upgrade --with-new-pkgs",
]


def test_patches_leave_kubernetes_containers_and_drivers_as_they_are(machine: Machine) -> None:
    asks(machine, "patch")
    assert good(machine) == [*APT, answer("patch", DONE)], "no reboot is needed"


def test_patches_that_need_a_reboot_get_one_and_are_told_after_it(machine: Machine) -> None:
    flag = machine.root / "run/reboot-required"
    flag.parent.mkdir()
    flag.touch()
    asks(machine, "patch")
    assert good(machine) == [*APT, "systemctl reboot"]
    machine.boot("b2")
    flag.unlink()
    assert good(machine) == [*APT, answer("patch", DONE)]


def test_patches_that_need_another_reboot_than_the_one_asked_for_do_not_take_it(machine: Machine) -> None:
    (machine.root / "run").mkdir()
    (machine.root / "run/reboot-required").touch()
    machine.boot("b2")
    asks(machine, "patch")
    assert machine.run().returncode == 1
    why = "failed: it has booted since it was asked, and waits for a reboot still: begin again"
    assert machine.told() == [*APT, answer("patch", why)]


def test_the_timers_of_the_system_end_their_work_on_packages_first(machine: Machine) -> None:
    """They begin when a machine has booted, and hold what dpkg locks."""
    script = machine.root / "usr/local/lib/gen-upgrade/patch.sh"
    script.write_text(script.read_text().replace("by 1800", "by 6"))
    busy = "echo ActiveState=inactive; echo ActiveState=activating"
    machine.program("systemctl", f'[ "$1" != show ] || {{ echo "$*" >>{machine.place}/looked; {busy}; }}')
    asks(machine, "patch")
    assert machine.run().returncode == 1
    why = "apt-daily has worked on packages for half an hour: look at it, then begin again"
    assert machine.told() == [answer("patch", f"failed: {why}")]
    looked = (machine.place / "looked").read_text().splitlines()
    assert len(looked) > 3
    assert {*looked} == {"show --property=ActiveState apt-daily.service apt-daily-upgrade.service"}
    asked = f"patch b1 {WHEN.replace('15', '16', 1)}"
    machine.asks(asked)
    machine.program("systemctl", "echo ActiveState=inactive")
    assert machine.run().returncode == 0
    assert machine.told()[:-1] == APT


def test_where_there_is_no_apt_dnf_does_it(machine: Machine) -> None:
    without_apt(machine)
    asks(machine, "patch")
    before, upgrade, after, told = good(machine)
    assert upgrade.startswith("dnf upgrade --assumeyes --exclude=cri-tools,containerd*,cuda-*,")
    assert ",kubelet," in upgrade
    assert ",mlnx-*," in upgrade
    assert " " not in upgrade.partition("--exclude=")[2]
    assert (before, after, told) == ("dnf needs-restarting -r", "dnf needs-restarting -r", answer("patch", DONE))


def without_apt(machine: Machine) -> None:
    """Let the machine be one of the RHEL family; a file `restart` lets it wait for a reboot."""
    machine.without("apt", "dpkg")
    machine.program("dnf", f'echo "dnf $*" >>{machine.place}/calls; [ "$1" != needs-restarting ] || '
                    f'[ ! -e {machine.place}/restart ] || {{ echo "Reboot is required to use it."; '
                    'exit 1; }')  # fmt: skip


def test_what_dnf_says_is_believed_and_not_how_it_ends(machine: Machine) -> None:
    without_apt(machine)
    (machine.place / "restart").touch()
    asks(machine, "patch")
    assert good(machine)[-1] == "systemctl reboot"
    machine.boot("b2")
    machine.program("dnf", 'echo "No such command: needs-restarting." >&2; exit 1')
    machine.asks("")
    assert machine.run().returncode == 0
    assert machine.state()["reboot"] == "no"


def test_a_machine_tells_since_when_it_waits_for_a_reboot(machine: Machine) -> None:
    def told() -> str:
        machine.run()
        return machine.state()["reboot"]

    machine.asks("")
    assert told() == "no"
    (machine.root / "boot").mkdir()
    for name in ("vmlinuz-6.1.0-28-amd64", "vmlinuz-6.1.0-29-amd64"):
        (machine.root / "boot" / name).touch()
    link = machine.root / "vmlinuz"
    link.symlink_to("boot/vmlinuz-6.1.0-28-amd64")
    assert told() == "no", "the newest kernel runs"
    link.unlink()
    link.symlink_to("boot/vmlinuz-6.1.0-29-amd64")
    assert machine.conditions() == {"RebootPending": "False", "CertificatesEndSoon": "False"}
    since = told()
    assert since.startswith("20")
    assert machine.conditions() == {"RebootPending": "True", "CertificatesEndSoon": "False"}
    machine.told()
    told()
    assert machine.conditions() == {}, "nothing new"
    (machine.root / "var/lib/gen-upgrade/waits").write_text("2026-11-01T00:00:00Z\n")
    assert told() == "2026-11-01T00:00:00Z"
    machine.boot("b2")
    assert told() > "2026-11-01T00:00:00Z", "seen anew after each boot"
    machine.program("uname", "echo 6.1.0-29-amd64")
    assert told() == "no"


def test_a_kernel_that_was_there_at_the_last_boot_is_not_waited_for(machine: Machine) -> None:
    """The boot menu holds to another one, or takes that of another flavour: patches would fail each time."""
    (machine.root / "boot").mkdir()
    (machine.root / "boot/vmlinuz-6.1.0-29-amd64").touch()
    (machine.root / "boot/vmlinuz").symlink_to("vmlinuz-6.1.0-29-amd64")
    asks(machine, "patch")
    for later, words in ((-60, "systemctl reboot"), (60, answer("patch", DONE))):
        (machine.root / "proc/stat").write_text(f"cpu 1 2\nbtime {int(time.time()) + later}\n")
        assert good(machine) == [*APT, words]
        machine.boot("b2")


def test_changed_files_are_told_and_put_in_place_with_what_reads_them_started_anew(machine: Machine) -> None:
    machine.asks("")
    machine.run()
    before = machine.state()
    assert before["files"] == before["applied"] != "none"
    file = machine.place / "node/all/etc/sysctl.d/90-kubernetes.conf"
    file.write_text(file.read_text() + "vm.max_map_count = 262144\n")
    machine.run()
    changed = machine.state()
    assert changed["applied"] == before["applied"] != changed["files"]
    machine.told()
    asks(machine, "files")
    config = machine.place / "kubeadm/upgrade.yaml"
    assert machine.run().returncode == 0
    assert machine.state()["applied"] == changed["files"]
    assert machine.told() == [
        "systemctl restart containerd",
        f"kubeadm upgrade node phase kubelet-config --config {config}",
        "systemctl restart kubelet",
        answer("files", "done"),
    ]
    assert "max_map_count" in (machine.root / "etc/sysctl.d/90-kubernetes.conf").read_text()


def test_files_of_another_kubernetes_are_not_put_in_place(machine: Machine) -> None:
    machine.program("kubeadm", "echo v1.34.6")
    asks(machine, "files")
    assert machine.run().returncode == 1
    why = "failed: the files are those of 1.35.3, kubeadm is v1.34.6: kubernetes-upgrade comes first"
    assert machine.told() == [answer("files", why)]


@pytest.mark.parametrize("action", ["patch", "reboot", "files"])
def test_nothing_that_takes_pods_away_is_done_on_a_node_that_takes_pods(machine: Machine, action: str) -> None:
    asks(machine, action, cordoned=False)
    assert machine.run().returncode == 1
    assert machine.told() == [answer(action, "failed: gpu-01 is not cordoned")]


@pytest.mark.parametrize("action", ["reinstall", "sh", "../../tmp/x", "certificates;reboot"])
def test_nothing_else_can_be_asked_for(machine: Machine, action: str) -> None:
    asks(machine, action)
    assert machine.run().returncode == 1
    assert machine.told() == [answer(action, f"failed: {action} is nothing that is done here")]


@pytest.mark.parametrize("asked", ["reboot b1", "reboot", f"patch b1 at noon {WHEN}", f"reboot b1  {WHEN}"])
def test_what_is_asked_in_more_or_fewer_words_is_done_once_as_well(machine: Machine, asked: str) -> None:
    machine.asks(asked)
    first = [one for _ in range(2) for one in (machine.run(), machine.told())][1::2]
    machine.boot("b2")
    machine.run()
    machine.told()
    machine.run()
    assert machine.told()[:-1] == [], f"it only tells again, after {first}"


@pytest.mark.parametrize("when", ["../../../tmp", "a/b", "now|b1", "1;2"])
def test_what_is_asked_names_no_place_on_the_machine(machine: Machine, when: str) -> None:
    asked = f"certificates b1 {when}"
    machine.asks(asked, cordoned=False)
    assert machine.run().returncode == 1
    (told,) = machine.told()
    assert told.endswith(f"answer={asked}: failed: it is asked in other words than operations ask in")


def test_a_worker_has_no_certificates_of_a_control_plane(machine: Machine) -> None:
    asks(machine, "certificates", cordoned=False)
    assert machine.run().returncode == 1
    assert machine.state()["certificates"] == "none"
    assert machine.told() == [answer("certificates", "failed: gpu-01 is no node of the control plane")]


def test_the_parts_of_the_script_are_roots_alone(machine: Machine) -> None:
    file = machine.root / "usr/local/lib/gen-upgrade/patch.sh"
    file.chmod(0o666)
    asks(machine, "patch")
    assert machine.run().returncode == 1
    assert f"{file} is not root's alone" in machine.told()[-1]
