"""Room given back by a real etcd of three members, by the script that control-plane nodes get."""

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from etcdsite import Machine, Site, healthy, site

from tools import program

pytestmark = pytest.mark.real
MIB = 2**20
QUOTA = 40 * MIB
LEAST = str(4 * MIB)


class Status(NamedTuple):
    """What a member tells of itself."""

    id: int
    leader: int
    size: int
    used: int


@pytest.fixture(scope="module")
def three() -> Iterator[Site]:
    """A control plane of three nodes, whose etcd may hold 40 MiB."""
    with (
        pytest.MonkeyPatch.context() as patch,
        tempfile.TemporaryDirectory(prefix="etcd-", ignore_cleanup_errors=True) as folder,
    ):
        patch.setattr(Machine, "quota", QUOTA)
        with site(Path(folder)) as made:
            for one in made.machines:
                healthy(one)
            yield made


def status(machine: Machine) -> Status:
    (told,) = json.loads(machine.ctl("endpoint", "status", "--write-out=json"))
    found: dict[str, Any] = told["Status"]
    return Status(found["header"]["member_id"], found["leader"], found["dbSize"], found["dbSizeInUse"])


def in_order(made: Site) -> list[Machine]:
    """Return the machines as their turns come."""
    found = {one.name: status(one) for one in made.machines}
    return sorted(made.machines, key=lambda one: (found[one.name].id == found[one.name].leader, found[one.name].id))


def put(machine: Machine, count: int) -> int:
    """Write as often 128 values, 1.25 MiB together; how often etcd took it."""
    words = [program("etcdctl"), f"--endpoints=https://{machine.address}:2379", f"--cacert={machine.pki}/ca.crt"]
    words += [f"--cert={machine.pki}/healthcheck-client.crt", f"--key={machine.pki}/healthcheck-client.key", "txn"]
    for number in range(count):
        puts = "".join(f"put /big/{number}-{each} {'x' * 10_000}\n" for each in range(128))
        done = subprocess.run(words, input=f"\n{puts}\n\n", capture_output=True, text=True, check=False)
        if done.returncode:
            assert "database space exceeded" in done.stderr, done.stderr
            return number
    return count


def unused(made: Site, count: int = 14) -> None:
    """Let all members hold room that they do not use."""
    first = made.machines[0]
    assert put(first, count) == count
    first.ctl("del", "/big/", "--prefix")
    (told,) = json.loads(first.ctl("endpoint", "status", "--write-out=json"))
    first.ctl("compact", "--physical", str(told["Status"]["header"]["revision"]))
    # What is free is counted when others write.
    for number in range(3):
        first.ctl("put", "/small", str(number))
        time.sleep(0.2)
    for one in made.machines:
        wait(one, lambda found: found.used * 2 < found.size)


def wait(machine: Machine, good: Any) -> None:
    for _ in range(100):
        if good(status(machine)):
            return
        time.sleep(0.1)
    raise AssertionError(status(machine))


def good(machine: Machine, **environment: str) -> str:
    done = machine.defragment("now", LEAST=LEAST, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def refused(machine: Machine, **environment: str) -> str:
    done = machine.defragment("now", LEAST=LEAST, **environment)
    assert (done.returncode, done.stdout) == (1, ""), done.stdout
    return done.stderr


def test_members_take_turns_and_the_leader_is_last(three: Site) -> None:
    unused(three)
    first, second, leader = in_order(three)
    assert status(leader).id == status(leader).leader
    for one in (leader, second):
        assert f"{first.name} comes first, then others; this is {one.name}" in good(one)
    assert all(status(one).size > 16 * MIB for one in three.machines)
    for one in (first, second, leader):
        before = status(one).size
        said = good(one)
        assert f"{one.name}: {before} bytes before, {status(one).size} now" in said
        assert status(one).size < 2 * MIB
        assert ("nothing to be gained from any member" in said) == (one is leader)
    assert "nothing to be gained" in good(first)
    assert put(first, 1) == 1


def test_by_the_timer_it_is_done_in_its_hours_alone(three: Site) -> None:
    unused(three)
    first = in_order(three)[0]
    done = first.defragment(LEAST=LEAST, HOURS="no")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    always = " ".join(f"{hour:02}" for hour in range(24))
    last = first.root / "var/lib/etcd-defragment/last"
    last.touch()
    soon = first.defragment(LEAST=LEAST, HOURS=always)
    assert (soon.returncode, f"{first.name} gave room back 0 minutes ago" in soon.stdout) == (0, True), soon
    assert status(first).size > 16 * MIB
    os.utime(last, (0, 0))
    done = first.defragment(LEAST=LEAST, HOURS=always)
    assert "bytes before" in done.stdout, done.stderr
    assert time.time() - last.stat().st_mtime < 60


def test_a_run_that_was_killed_is_done_again(three: Site) -> None:
    second = in_order(three)[1]
    assert status(second).size > 16 * MIB
    second.put("ctr", '#!/bin/sh\ncase "$*" in *" defrag"*) kill -KILL $PPID; exit 1 ;; esac\nexec /usr/bin/ctr "$@"\n')
    assert second.defragment("now", LEAST=LEAST).returncode == -signal.SIGKILL
    (second.tools / "ctr").unlink()
    assert "bytes before" in good(second)


def test_what_must_not_be_done_is_said(three: Site) -> None:
    """Of three members the leader alone still needs it."""
    first, _, leader = in_order(three)
    leader.put("df", "#!/bin/sh\necho Avail\necho 1000\n")
    assert "half as much again must be free" in refused(leader)
    (leader.tools / "df").unlink()
    assert first.etcd
    first.etcd.send_signal(signal.SIGSTOP)
    try:
        assert "a member of etcd does not answer" in refused(leader, WAIT="3s")
        assert status(leader).size > 16 * MIB
    finally:
        first.etcd.send_signal(signal.SIGCONT)
    healthy(first)
    with subprocess.Popen(
        ["flock", "--no-fork", str(leader.root / "var/lib/etcd-defragment/lock"), "sleep", "30"]
    ) as held:
        time.sleep(0.3)
        assert "another run is under way" in refused(leader)
        held.terminate()
    assert "bytes before" in good(in_order(three)[-1])


def test_an_etcd_that_is_full_takes_writes_again(three: Site) -> None:
    first = in_order(three)[0]
    count = put(first, 200)
    assert count < 200
    wait(first, lambda found: found.size > QUOTA * 9 // 10)
    full = first.defragment(LEAST=LEAST, HOURS="no")
    assert full.returncode == 1
    assert "its database is full of what is in use" in full.stderr
    first.ctl("del", "/big/", "--prefix")
    said = [one.defragment(LEAST=LEAST, HOURS="no") for one in in_order(three)]
    assert [one.returncode for one in said] == [0] * 3, [one.stderr for one in said]
    assert ["etcd takes writes again" in one.stdout for one in said] == [False, False, True]
    assert first.ctl("alarm", "list") == ""
    assert put(first, 1) == 1
    assert all(status(one).size < QUOTA // 4 for one in three.machines)
