"""The kernel judges the host firewall: who gets in, what stays, and what comes back when nobody confirms."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator

import pytest
from firewalled import SCRIPT, Node, behind, files, node, until
from reference import load

from generator.model.cluster import Cluster

pytestmark = pytest.mark.real
ML50, A30, SERVING = map(load, ("ml50", "a30-bench", "gpu-serving"))
NODE, POD, ADMIN, STRANGER, STORAGE, CONTROL = (
    "10.10.0.131", "10.244.7.9", "10.50.0.7", "192.0.2.1", "10.20.0.132", "10.10.0.12",
)  # fmt: skip
PORTS = ("tcp/22", "tcp/6443", "tcp/2380", "tcp/10250", "tcp/9999", "udp/8472", "udp/9999")
ROLLBACK = "10"
"""Seconds of a trial that nobody confirms."""


@pytest.fixture(scope="module")
def machine() -> Iterator[Node]:
    with node("10.10.0.11", (NODE, POD, ADMIN, STRANGER, STORAGE, CONTROL)) as made, made.listening(*PORTS):
        made.lay(behind(ML50), "system")
        yield made


@pytest.fixture
def control_plane(machine: Node) -> Iterator[Node]:
    """A control-plane node without any firewall yet."""
    yield machine
    machine.lay(behind(ML50), "system")
    machine.must("off")


@pytest.mark.parametrize("cluster", [ML50, A30, SERVING], ids=lambda cluster: cluster.name)
def test_the_kernel_takes_every_pools_rules(machine: Node, cluster: Cluster) -> None:
    rules = {path: text for path, text in files(behind(cluster)).items() if path.endswith(".nft")}
    assert len(rules) == len(cluster.pools)
    file = machine.root / "judged.nft"
    for text in rules.values():
        file.write_text(text)
        machine.space.must("nft", "--check", "--file", str(file))


def test_ports_answer_those_who_need_them_and_nobody_else(control_plane: Node) -> None:
    everybody = (NODE, POD, ADMIN, STRANGER, STORAGE, CONTROL)
    assert all(control_plane.reaches(source, 9999) for source in everybody)
    control_plane.must("apply", "600")
    control_plane.must("confirm")
    let_in = {
        22: {ADMIN, CONTROL},
        6443: {NODE, POD, ADMIN, STORAGE, CONTROL},
        2380: {CONTROL},
        10250: {NODE, POD, STORAGE, CONTROL},
        9999: set(),
    }
    for port, expected in let_in.items():
        assert {source for source in everybody if control_plane.reaches(source, port)} == expected, port
    assert {source for source in everybody if control_plane.reaches(source, 8472, "udp")} == {NODE, STORAGE, CONTROL}
    assert not control_plane.reaches(NODE, 9999, "udp")


def test_connections_survive_that_rules_are_applied_again(control_plane: Node) -> None:
    control_plane.must("apply", "600")
    control_plane.must("confirm")
    assert control_plane.callers.open(ADMIN, 22)
    # Now nobody may open a new one.
    rules = control_plane.root / "etc/gen-firewall/rules.nft"
    rules.write_text("".join(line for line in rules.read_text().splitlines(keepends=True) if '"ssh"' not in line))
    control_plane.must("apply", "600")
    assert control_plane.callers.still()
    assert not control_plane.reaches(ADMIN, 22)


def test_what_nobody_confirms_is_taken_back(control_plane: Node) -> None:
    control_plane.must("apply", ROLLBACK)
    assert not control_plane.reaches(STRANGER, 9999)
    assert until(lambda: control_plane.reaches(STRANGER, 9999))
    done = control_plane.firewall("confirm")
    assert done.returncode == 1
    assert "nothing is on trial" in done.stderr
    assert "in force: no" in control_plane.must("status")


def test_taking_back_restores_what_was_confirmed(control_plane: Node) -> None:
    control_plane.must("apply", "600")
    control_plane.must("confirm")
    locked = control_plane.root / "etc/gen-firewall/rules.nft"
    locked.write_text("".join(line for line in locked.read_text().splitlines(keepends=True) if "@" not in line))
    control_plane.must("apply", ROLLBACK)
    assert not control_plane.reaches(ADMIN, 22)
    assert until(lambda: control_plane.reaches(ADMIN, 22))
    assert not control_plane.reaches(STRANGER, 9999)
    assert "other rules than" in control_plane.must("status")


def test_a_later_trial_is_not_ended_by_an_earlier_one(control_plane: Node) -> None:
    control_plane.must("apply", ROLLBACK)
    control_plane.must("apply", "600")
    time.sleep(int(ROLLBACK) + 5)
    assert not control_plane.reaches(STRANGER, 9999)
    control_plane.must("confirm")
    assert "confirmed: what the cluster file says" in control_plane.must("status")


def test_the_way_back_outlives_the_connection_that_applied(control_plane: Node) -> None:
    command = control_plane.space.inside("sh", str(control_plane.root / SCRIPT), "apply", ROLLBACK)
    env = {**os.environ, "GEN_ROOT": str(control_plane.root)}
    with subprocess.Popen(command, env=env, start_new_session=True, stdout=subprocess.PIPE) as session:
        assert session.stdout
        assert b"applied for" in session.stdout.readline()
    assert not control_plane.reaches(STRANGER, 9999)
    # The terminal goes, and with it whatever is left of that session.
    left = subprocess.run(["pgrep", "-s", str(session.pid)], capture_output=True, text=True, check=False)
    assert not left.stdout, "it dies with the session"
    assert until(lambda: control_plane.reaches(STRANGER, 9999))


def test_killed_while_it_applies_nothing_is_left_half_done(control_plane: Node) -> None:
    slow = control_plane.root / "slow"
    slow.mkdir(exist_ok=True)
    # Stops where the rules are about to be applied, once they are checked.
    program = slow / "nft"
    program.write_text(
        '#!/bin/sh\ncase $* in *--check*) exit 0 ;; *trial.nft*) kill -STOP $$ ;; esac\nexec /usr/sbin/nft "$@"\n'
    )
    program.chmod(0o755)
    env = {**os.environ, "GEN_ROOT": str(control_plane.root), "PATH": f"{slow}:{os.environ['PATH']}"}
    command = control_plane.space.inside("sh", str(control_plane.root / SCRIPT), "apply", "5")
    session = subprocess.Popen(command, env=env, start_new_session=True)
    assert until((control_plane.root / "var/lib/gen-firewall/trial").exists)
    time.sleep(1)
    os.killpg(session.pid, signal.SIGKILL)
    session.wait()
    done = control_plane.firewall("confirm")
    assert done.returncode == 1, "what was never applied must not be confirmed"
    assert control_plane.reaches(STRANGER, 9999)
    assert until(lambda: not (control_plane.root / "var/lib/gen-firewall/trial").exists())
    control_plane.must("apply", "600")
    control_plane.must("confirm")
    assert not control_plane.reaches(STRANGER, 9999)


def test_after_a_restart_there_is_what_was_confirmed(control_plane: Node) -> None:
    control_plane.must("apply", "600")
    control_plane.must("confirm")
    control_plane.space.must("nft", "flush", "ruleset")
    assert control_plane.reaches(STRANGER, 9999)
    control_plane.must("start")
    assert not control_plane.reaches(STRANGER, 9999)
    assert control_plane.reaches(ADMIN, 22)


def test_other_tables_stay(control_plane: Node) -> None:
    others = "table ip kube-proxy { chain services { counter accept; }; }\n"
    file = control_plane.root / "others.nft"
    file.write_text(others)
    control_plane.space.must("nft", "--file", str(file))
    before = control_plane.space.must("nft", "list", "table", "ip", "kube-proxy")
    for words in (("apply", "600"), ("confirm",), ("start",), ("off",)):
        control_plane.must(*words)
        assert control_plane.space.must("nft", "list", "table", "ip", "kube-proxy") == before
    control_plane.space.must("nft", "delete", "table", "ip", "kube-proxy")


def test_wrong_rules_are_told_and_change_nothing(control_plane: Node) -> None:
    (control_plane.root / "etc/gen-firewall/rules.nft").write_text("table inet gen { chain input { nonsense } }\n")
    done = control_plane.firewall("apply", "600")
    assert done.returncode == 1
    assert "nothing was changed" in done.stderr
    assert control_plane.reaches(STRANGER, 9999)
    for words in (("apply", "0"), ("apply", "soon"), ("confirm",), ("nonsense",), ()):
        assert control_plane.firewall(*words).returncode == 1, words


def test_what_cilium_hands_to_its_proxy_passes(control_plane: Node) -> None:
    """Ingress and policies by name end at a port of the node that no rule names, with Cilium's mark."""
    control_plane.must("apply", "600")
    chain = "type filter hook prerouting priority mangle; tcp dport 9999 meta mark set 0x7b0200"
    file = control_plane.root / "marks.nft"
    assert not control_plane.reaches(STRANGER, 9999)
    file.write_text(f"table ip marks {{ chain before {{ {chain}; }}; }}\n")
    control_plane.space.must("nft", "--file", str(file))
    assert control_plane.reaches(STRANGER, 9999)
    control_plane.space.must("nft", "delete", "table", "ip", "marks")
