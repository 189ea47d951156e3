"""Certificates of a control-plane node renewed by the script that its Node asks: real kubeadm, its real
certificates. Static pods are played: each shows the certificate that lay there when kubelet started it.
"""

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest
from machineplayed import Machine, by_timer
from ports import free_port

from generator.model.cluster import Cluster

pytest_plugins = ["apiserver"]
pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can give kubeadm another /etc"),
    pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed"),
]
PARTS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
ASKED = "certificates b1 2026-11-23T15:00:00Z"


class Kubelet:
    """Who starts a static pod when its manifest comes, and stops it when that goes."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.folder = machine, machine.root / "etc/kubernetes"
        self.ports = {"etcd": free_port(), "kube-apiserver": free_port()}
        self.running: dict[str, subprocess.Popen[bytes] | None] = {}
        self.down: list[frozenset[str]] = []
        self.never: set[str] = set()
        self.count = 0
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def manifests(self) -> None:
        """Write down what is read of kubeadm's manifests."""
        (self.folder / "manifests").mkdir()
        told = {
            "etcd": f"--listen-client-urls=https://127.0.0.1:{self.ports['etcd']},https://10.10.0.11:2379",
            "kube-apiserver": f"--secure-port={self.ports['kube-apiserver']}",
        }
        for name in PARTS:
            (self.folder / "manifests" / f"{name}.yaml").write_text(f"    - --v=2\n    - {told.get(name, '--x=y')}\n")

    def __enter__(self) -> Self:
        self.look()
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join(timeout=20)
        for name in [*self.running]:
            self.stop(name)

    def run(self) -> None:
        while not self.over.wait(0.02):
            self.look()

    def look(self) -> None:
        there = {one.stem for one in (self.folder / "manifests").glob("[!.]*.yaml")}
        for name in {*self.running} - there:
            self.stop(name)
        for name in there - {*self.running} - self.never:
            self.start(name)
        down = frozenset(PARTS) - {*self.running}
        if down and (not self.down or self.down[-1] != down):
            self.down.append(down)

    def start(self, name: str) -> None:
        self.count += 1
        pki = self.folder / "pki"
        pair = {"etcd": "etcd/server", "kube-apiserver": "apiserver"}.get(name)
        if pair:
            place = f"127.0.0.1:{self.ports[name]}"
            words = ["-accept", place, "-cert", f"{pki}/{pair}.crt", "-key", f"{pki}/{pair}.key"]
            quiet = subprocess.DEVNULL
            self.running[name] = subprocess.Popen(
                ["openssl", "s_server", "-quiet", *words], stdin=quiet, stdout=quiet, stderr=quiet
            )
        else:
            self.running[name] = None
        (self.machine.place / f"container-{name}").write_text(f"id{self.count}\n")

    def stop(self, name: str) -> None:
        (self.machine.place / f"container-{name}").unlink(missing_ok=True)
        process = self.running.pop(name)
        if process:
            process.kill()
            process.wait()


@pytest.fixture
def machine(tmp_path: Path, ml50: Cluster) -> Machine:
    """A node of the control plane, whose certificates end in a month."""
    from apiserver import programs

    (kubeadm,) = programs("kubeadm")
    made = Machine(tmp_path, by_timer(ml50))
    folder = made.root / "etc/kubernetes"
    config = tmp_path / "short.yaml"
    config.write_text(
        "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nkubernetesVersion: v1.35.3\n"
        f"certificateValidityPeriod: 720h\ncertificatesDir: {folder}/pki\n"
    )
    for words in (["certs", "all"], ["kubeconfig", "all", "--kubeconfig-dir", str(folder)]):
        subprocess.run([kubeadm, "init", "phase", *words, "--config", config], check=True, capture_output=True)
    made.program(
        "kubeadm",
        f'echo "kubeadm $*" >>{tmp_path}/calls; exec unshare --mount sh -c '
        f"""'mount --bind {made.root}/etc /etc && exec {kubeadm} "$@"' sh "$@" """,
    )
    made.program("crictl", f'for w; do :; done; w=${{w#^}}; cat "{tmp_path}/container-${{w%?}}" 2>/dev/null || true')
    made.asks(ASKED, cordoned=False)
    return made


@pytest.fixture
def kubelet(machine: Machine) -> Iterator[Kubelet]:
    made = Kubelet(machine)
    made.manifests()
    with made:
        yield made


def serials(machine: Machine) -> dict[str, str]:
    """Return the numbers of all certificates by their files."""
    found = {}
    pki = machine.root / "etc/kubernetes/pki"
    for file in sorted(pki.rglob("*.crt")):
        command = ["openssl", "x509", "-noout", "-serial", "-in", str(file)]
        found[str(file.relative_to(pki))] = subprocess.check_output(command).decode()
    return found


def test_all_are_renewed_and_each_part_is_started_anew_alone(machine: Machine, kubelet: Kubelet) -> None:
    machine.asks("")
    machine.run()
    assert machine.conditions()["CertificatesEndSoon"] == "True"
    machine.asks(ASKED, cordoned=False)
    before = serials(machine)
    done = machine.run()
    assert done.returncode == 0, done.stderr + (machine.root / "var/lib/gen-upgrade/log").read_text()
    after = serials(machine)
    authorities = {"ca.crt", "etcd/ca.crt", "front-proxy-ca.crt"}
    assert {name for name in before if before[name] == after[name]} == authorities
    assert kubelet.down == [frozenset({name}) for name in PARTS], "etcd first, and never two at once"
    end = machine.state()["certificates"]
    assert end > "2027"
    assert machine.conditions() == {"RebootPending": "False", "CertificatesEndSoon": "False"}
    assert machine.told()[-1].endswith(f"upgrade-answer={ASKED}: done: until {end}")
    copy = machine.root / "var/lib/gen-upgrade/kubernetes-2026-11-23T15:00:00Z"
    assert (copy.stat().st_mode & 0o777, (copy / "pki/ca.key").is_file()) == (0o700, True)
    count = kubelet.count
    machine.run()
    assert kubelet.count == count, "once for what is asked once"


def test_what_kubeadm_does_not_renew_is_nothing_to_wait_for(machine: Machine) -> None:
    """As of an issuer of tokens: kubeadm shows that folder to API servers."""
    machine.asks("")
    machine.run()
    before = machine.state()["certificates"]
    pki = machine.root / "etc/kubernetes/pki"
    words = ["-keyout", f"{machine.place}/key", "-out", f"{pki}/oidc.crt", "-days", "5", "-subj", "/CN=issuer"]
    subprocess.run(["openssl", "req", "-x509", "-nodes", *words], check=True, capture_output=True)
    machine.run()
    assert machine.state()["certificates"] == before != "unknown"
    (pki / "apiserver-etcd-client.crt").write_text((pki / "oidc.crt").read_text())
    machine.run()
    assert machine.state()["certificates"] < before


def test_a_part_that_does_not_start_is_told_and_its_manifest_is_there(machine: Machine, kubelet: Kubelet) -> None:
    script = machine.root / "usr/local/lib/gen-upgrade/certificates.sh"
    script.write_text(script.read_text().replace("by 300", "by 3"))
    machine.moment = "0.5"
    kubelet.never = {"kube-apiserver"}
    assert machine.run().returncode == 1
    assert "failed: kube-apiserver does not start again" in machine.told()[-1]
    assert {one.stem for one in (machine.root / "etc/kubernetes/manifests").glob("[!.]*")} == {*PARTS}
    assert len(kubelet.down) == 2, "no other one was stopped"


def test_what_was_there_before_outlives_a_renewal_that_failed(machine: Machine) -> None:
    """Nothing plays kubelet: each fails once all are renewed."""
    script = machine.root / "usr/local/lib/gen-upgrade/certificates.sh"
    (machine.root / "etc/kubernetes/manifests").mkdir()
    (machine.root / "etc/kubernetes/manifests/kube-apiserver.yaml").write_text("    - --secure-port=1\n")
    script.write_text(script.read_text().replace("by 300", "by 1"))
    before = serials(machine)["apiserver.crt"]
    for hour in ("15", "16"):
        machine.asks(ASKED.replace("15", hour), cordoned=False)
        assert machine.run().returncode == 1
    first, second = sorted((machine.root / "var/lib/gen-upgrade").glob("kubernetes-*"))
    command = ["openssl", "x509", "-noout", "-serial", "-in", str(first / "pki/apiserver.crt")]
    assert subprocess.check_output(command).decode() == before
    os.utime(first, (1, 1))
    machine.asks(ASKED.replace("15", "17"), cordoned=False)
    machine.run()
    left = {one.name for one in (machine.root / "var/lib/gen-upgrade").glob("kubernetes-*")}
    assert left == {second.name, second.name.replace("T16", "T17")}


def test_what_a_killed_run_took_away_comes_back_with_the_next(machine: Machine, kubelet: Kubelet) -> None:
    """Killed by its power, when etcd was just gone; afterwards all is done once more."""
    gone = machine.root / "etc/kubernetes/manifests/etcd.yaml"
    crictl = machine.place / "bin/crictl"
    plain = crictl.read_text()
    machine.program("crictl", f'[ -e "{gone}" ] || kill -9 "$(cat {machine.place}/shell)"\n{plain}')
    assert machine.run().returncode == -9
    assert not gone.exists()
    crictl.write_text(plain)
    machine.asks("")
    assert machine.run().returncode == 0
    assert gone.is_file(), "whatever is asked meanwhile"
    machine.asks(ASKED, cordoned=False)
    assert machine.run().returncode == 0
    assert {*kubelet.running} == {*PARTS}
