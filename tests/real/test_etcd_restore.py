"""A snapshot of a real etcd put into the place of lost data, on one node and on three, by the script of the runbook."""

import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from etcdsite import PARTS, Machine, Site, fill, healthy, site

pytestmark = pytest.mark.real
BUMP = 1_000_000_000


@pytest.fixture(scope="module")
def one() -> Iterator[Site]:
    with (
        tempfile.TemporaryDirectory(prefix="etcd-", ignore_cleanup_errors=True) as folder,
        site(Path(folder), 1) as made,
    ):
        healthy(made.machines[0])
        fill(made.machines[0], 20)
        yield made


@pytest.fixture(scope="module")
def stopped(one: Site) -> tuple[Machine, Path]:
    """A machine that is stopped, and a snapshot of it that is older than its data."""
    (machine,) = one.machines
    assert machine.snapshot().returncode == 0
    snapshot = one.decrypted(machine)
    machine.ctl("put", "/registry/pods/default/late", "after the snapshot")
    done = machine.restore("stop")
    assert done.returncode == 0, done.stderr
    shutil.copytree(machine.data / "member", machine.root / "former")
    return machine, snapshot


def afresh(machine: Machine) -> None:
    """Put the machine back to where it was stopped."""
    shutil.rmtree(machine.data)
    machine.data.mkdir(mode=0o700)
    shutil.copytree(machine.root / "former", machine.data / "member")


def same(one: Path, other: Path) -> bool:
    def files(folder: Path) -> dict[str, bytes]:
        return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}

    return files(one) == files(other)


def test_three_members_hold_again_what_the_snapshot_held(tmp_path: Path) -> None:
    with site(tmp_path) as made:
        first, second, third = made.machines
        for machine in made.machines:
            healthy(machine)
        fill(first, 30)
        done = second.snapshot()
        assert done.returncode == 0, done.stderr
        snapshot = made.decrypted(second)
        first.ctl("put", "/registry/pods/default/late", "after the snapshot")
        before = int(first.ctl("endpoint", "status", "--write-out=json").split('"revision":')[1].split(",")[0])
        ids = first.ctl("member", "list")
        for machine in made.machines:
            refused = machine.restore("restore", str(snapshot))
            assert refused.returncode == 1
            assert "the kubelet runs it: " in refused.stderr
        for machine in made.machines:
            done = machine.restore("stop")
            assert done.returncode == 0, done.stderr
            # As kubeadm writes it for those that joined.
            text = (machine.root / "etc/kubernetes/manifests-stopped/etcd.yaml").read_text()
            joined = text.replace("cluster-state=new", "cluster-state=existing")
            (machine.root / "etc/kubernetes/manifests-stopped/etcd.yaml").write_text(joined)
        # Two lost their disks.
        for machine in (first, third):
            shutil.rmtree(machine.data)
        said = {
            machine.restore("restore", str(snapshot)).stdout.splitlines()[-1].split()[2] for machine in made.machines
        }
        assert len(said) == 1
        (kept,) = second.data.glob("member-before-*")
        assert (kept / "snap/db").exists()
        done = first.restore("start-etcd")
        assert done.returncode == 0, done.stderr
        waits = first.restore("start")
        assert waits.returncode == 1
        assert "it waits for a majority" in waits.stderr
        for machine in (second, third):
            assert machine.restore("start-etcd").returncode == 0
        for machine in made.machines:
            healthy(machine)
            done = machine.restore("start")
            assert done.returncode == 0, done.stderr
            assert {file.stem for file in machine.manifests.iterdir()} == {*PARTS}
            read = machine.ctl("get", "/registry/pods", "--prefix", "--keys-only").split()
            assert len(read) == 30
            assert "/registry/pods/default/late" not in read
        assert third.ctl("get", "/registry/pods/default/pod-7", "--print-value-only") == "pod 7\n"
        third.ctl("put", "/registry/pods/default/new", "written to the restored cluster")
        after = int(first.ctl("endpoint", "status", "--write-out=json").split('"revision":')[1].split(",")[0])
        assert after > before + BUMP - 100
        assert not set(ids.split()) & {word for word in first.ctl("member", "list").split() if len(word) == 17}


def test_members_of_different_snapshots_form_no_cluster(tmp_path: Path) -> None:
    with site(tmp_path) as made:
        first, second, _ = made.machines
        for machine in made.machines:
            healthy(machine)
        fill(first, 3)
        done = first.snapshot()
        assert done.returncode == 0, done.stderr
        one = made.decrypted(first)
        time.sleep(1.1)
        first.ctl("put", "another", "state")
        done = second.snapshot()
        assert done.returncode == 0, done.stderr
        other = made.decrypted(second)
        for machine in made.machines:
            assert machine.restore("stop").returncode == 0
        for machine, snapshot in ((first, one), (second, other)):
            assert machine.restore("restore", str(snapshot)).returncode == 0
            assert machine.restore("start-etcd").returncode == 0
        time.sleep(3)
        waits = first.restore("start")
        assert waits.returncode == 1
        assert "not healthy" in waits.stderr


# Between the script and a real program: at its turn it kills the script, before or after it did its work.
KILLING = """#!/bin/sh
turn=$(($(cat {count}) + 1))
echo "$turn" >{count}
[ "$turn {when}" != "{at} before" ] || kill -KILL $PPID
{program} "$@"
rc=$?
[ "$turn {when}" != "{at} after" ] || kill -KILL $PPID
exit $rc
"""
STEPS = {"ctr": "/usr/bin/ctr", "mv": "/bin/mv", "rmdir": "/bin/rmdir", "rm": "/bin/rm", "sync": "/bin/sync"}


@pytest.mark.parametrize("when", ["before", "after"])
def test_it_may_be_killed_at_each_step_and_run_again(stopped: tuple[Machine, Path], when: str) -> None:
    machine, snapshot = stopped
    killed = 0
    for at in range(1, 60):
        afresh(machine)
        count = machine.root / "turn"
        count.write_text("0")
        for name, program in STEPS.items():
            machine.put(name, KILLING.format(count=count, when=when, at=at, program=program))
        first = machine.restore("restore", str(snapshot))
        for name in STEPS:
            (machine.tools / name).unlink()
        killed += first.returncode != 0
        turns = int(count.read_text())
        again = machine.restore("restore", str(snapshot))
        assert again.returncode == 0, (at, again.stderr)
        assert (machine.data / "in-place").exists()
        assert sorted(one.name for one in machine.data.glob("restor*")) == []
        (kept,) = machine.data.glob("member-before-*")
        assert same(kept, machine.root / "former"), at
        assert not same(machine.data / "member", machine.root / "former")
        if turns < at:
            break
    assert killed >= 10


def test_former_data_comes_back_and_no_more_than_that(stopped: tuple[Machine, Path]) -> None:
    """Done twice, as where nobody knows whether it was done: an older folder beside it is no step further back."""
    machine, snapshot = stopped
    afresh(machine)
    nothing = machine.restore("undo")
    assert nothing.returncode == 1
    assert "no former data" in nothing.stderr
    (machine.data / "member-before-20200101T000000").mkdir()
    assert machine.restore("restore", str(snapshot)).returncode == 0
    for _ in range(2):
        done = machine.restore("undo")
        assert done.returncode == 0, done.stderr
        assert same(machine.data / "member", machine.root / "former")
    assert (machine.data / "member-before-20200101T000000").exists()


def test_going_back_may_be_killed_and_run_again(stopped: tuple[Machine, Path]) -> None:
    machine, snapshot = stopped
    killed = 0
    for at in range(1, 20):
        afresh(machine)
        assert machine.restore("restore", str(snapshot)).returncode == 0
        count = machine.root / "turn"
        count.write_text("0")
        for name, program in STEPS.items():
            machine.put(name, KILLING.format(count=count, when="after", at=at, program=program))
        killed += machine.restore("undo").returncode != 0
        for name in STEPS:
            (machine.tools / name).unlink()
        again = machine.restore("undo")
        assert again.returncode == 0, (at, again.stderr)
        assert same(machine.data / "member", machine.root / "former"), at
        if int(count.read_text()) < at:
            break
    assert killed >= 3


def test_a_node_that_had_no_data_has_none_to_go_back_to(stopped: tuple[Machine, Path]) -> None:
    machine, snapshot = stopped
    afresh(machine)
    shutil.rmtree(machine.data / "member")
    (machine.data / "member-before-20200101T000000").mkdir()
    assert machine.restore("restore", str(snapshot)).returncode == 0
    refused = machine.restore("undo")
    assert refused.returncode == 1
    assert "this node had none" in refused.stderr
    assert (machine.data / "member/snap/db").exists()


def test_what_is_wrong_is_refused_and_nothing_is_changed(stopped: tuple[Machine, Path]) -> None:
    machine, snapshot = stopped
    afresh(machine)
    damaged, encrypted = machine.root / "damaged.db", machine.root / "a.db.age"
    content = bytearray(snapshot.read_bytes())
    content[20_000] ^= 1
    damaged.write_bytes(content)
    encrypted.write_bytes(b"age")
    members = (machine.tools / "members").read_text()
    for words, why in (
        (("restore", str(damaged)), "etcdutl did not restore"),
        (("restore", str(encrypted)), "is encrypted: decrypt it"),
        (("restore", str(machine.root / "none.db")), "is not there, or empty"),
        (("restore",), "usage: restore.sh restore FILE"),
        (("restor",), "usage: "),
        (("start",), "etcd is not started here"),
    ):
        done = machine.restore(*words)
        assert done.returncode != 0
        assert why in done.stderr, done.stderr
        assert same(machine.data / "member", machine.root / "former")
    (machine.tools / "members").write_text("cp-1 192.0.2.1\n")
    other = machine.restore("restore", str(snapshot))
    (machine.tools / "members").write_text("gpu-1 192.0.2.1\n")
    foreign = machine.restore("restore", str(snapshot))
    (machine.tools / "members").write_text(members)
    assert "says 192.0.2.1" in other.stderr
    assert "is this the right cluster?" in foreign.stderr
    shutil.rmtree(machine.data / "member")
    empty = machine.restore("start-etcd")
    assert "etcd would begin an empty cluster" in empty.stderr
    afresh(machine)


def test_a_node_whose_etcd_still_runs_is_refused(stopped: tuple[Machine, Path]) -> None:
    """Its manifest is gone, and the kubelet has not ended it."""
    machine, snapshot = stopped
    afresh(machine)
    aside = machine.root / "etc/kubernetes/manifests-stopped/etcd.yaml"
    machine.over.set()
    time.sleep(0.3)
    shutil.copy(aside, machine.manifests / "etcd.yaml")
    machine.etcd = machine.started()
    (machine.manifests / "etcd.yaml").unlink()
    try:
        healthy(machine)
        refused = machine.restore("restore", str(snapshot))
        assert refused.returncode == 1
        assert "still runs on this node" in refused.stderr
    finally:
        machine.etcd.send_signal(signal.SIGTERM)
        machine.end()
