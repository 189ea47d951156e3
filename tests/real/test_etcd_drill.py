"""Snapshots of a real etcd tried by the script that control-plane nodes get: restored, started, compared."""

import json
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from etcdsite import Machine, fill, healthy, site

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    """A control-plane node with data, of which older revisions were thrown away."""
    with (
        tempfile.TemporaryDirectory(prefix="etcd-", ignore_cleanup_errors=True) as folder,
        site(Path(folder), 1) as made,
    ):
        (one,) = made.machines
        healthy(one)
        fill(one, 50)
        fill(one, 20)
        one.ctl("compact", "30")
        yield one


@pytest.fixture(autouse=True)
def apart(machine: Machine) -> Iterator[None]:
    """Let each test begin on a node that has tried nothing, and leave nothing behind."""
    (machine.out / "last-drill").unlink(missing_ok=True)
    yield
    (machine.tools / "ctr").unlink(missing_ok=True)
    (machine.tools / "df").unlink(missing_ok=True)
    (machine.tools / "free").unlink(missing_ok=True)
    assert not containers(machine)
    assert not (machine.root / "var/lib/etcd-snapshots/work").exists()


def containers(machine: Machine) -> str:
    command = ["ctr", "--namespace=k8s.io", "containers", "ls", "--quiet"]
    return subprocess.run(command, env=machine.environment, capture_output=True, text=True, check=True).stdout


def last(machine: Machine) -> dict[str, object]:
    found: dict[str, object] = json.loads((machine.out / "last-drill").read_text())
    return found


def newest(machine: Machine) -> dict[str, object]:
    found: dict[str, object] = json.loads(max(machine.out.glob("*.json")).read_text())
    return found


# Between the script and the real `ctr`: what it does before, and after, where its words have this in them.
BETWEEN = """#!/bin/sh
case "$*" in *"{words}"*) {before} ;; esac
{ctr} "$@" || exit
case "$*" in *"{words}"*) {after} ;; esac
"""


def between(machine: Machine, words: str, *, before: str = ":", after: str = ":") -> None:
    values = {"words": words, "before": before, "after": after, "ctr": shutil.which("ctr")}
    machine.put("ctr", BETWEEN.format(**values))


def test_a_snapshot_is_restored_started_and_compared(machine: Machine) -> None:
    done = machine.snapshot()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "tried: a member made of it holds 50 keys, all as the live etcd held them" in done.stdout
    told, about = last(machine), newest(machine)
    assert (told["result"], told["counted"], told["worked"]) == ("good", 50, about["taken"])
    file = machine.out / "last-drill"
    assert (file.stat().st_mode & 0o777, file.stat().st_gid) == (0o640, 8737)
    time.sleep(1.1)
    again = machine.snapshot()
    assert again.returncode == 0, again.stderr
    assert "tried" not in again.stdout
    assert newest(machine)["drill"] == told


@pytest.mark.parametrize(("days", "tried"), [(8, True), (6, False), (-1, True)])
def test_it_is_tried_again_after_a_week_and_where_a_clock_was_ahead(
    machine: Machine, days: int, *, tried: bool
) -> None:
    when = datetime.now(UTC) - timedelta(days=days)
    (machine.out / "last-drill").write_text(f'{{"result":"good","worked":"{when:%Y-%m-%dT%H:%M:%SZ}"}}\n')
    done = machine.snapshot()
    assert done.returncode == 0, done.stderr
    assert (last(machine)["worked"] == newest(machine)["taken"]) is tried


def test_what_is_written_and_compacted_meanwhile_is_no_difference(machine: Machine) -> None:
    ctl = f"ctr --namespace=k8s.io run --rm --net-host --mount type=bind,src={machine.pki},dst=/pki,options=rbind:ro"
    words = f"--endpoints=https://{machine.address}:2379 --cacert=/pki/ca.crt --cert=/pki/healthcheck-client.crt"
    etcdctl = f"/usr/bin/{ctl} registry.k8s.io/etcd:3.6.6-0 other etcdctl {words} --key=/pki/healthcheck-client.key"
    between(machine, "snapshot save", after=f"{etcdctl} put /registry/pods/new new; {etcdctl} compact 60")
    done = machine.snapshot()
    assert "tried: a member made of it holds 50 keys" in done.stdout, done.stdout + done.stderr
    machine.ctl("del", "/registry/pods/new")


# A value is another one, and the checksum fits: etcdutl takes it, and a member starts of it.
DAMAGE = (
    "f={file}; LC_ALL=C sed 's/pod 41/pod 4X/g' $f | head -c -32 >$f.new; cp $f.new $f; "
    "sha256sum $f.new | cut -c 1-64 | xxd -r -p >>$f; rm $f.new"
)


@pytest.mark.parametrize(
    ("words", "what", "why"),
    [
        ("snapshot save", DAMAGE, "it does not hold what the live etcd held"),
        ("etcdutl snapshot restore", "exit 1", "etcdutl does not restore it"),
        (" etcd --data-dir", "echo no member; exit 1", "a member that is made of it does not answer"),
    ],
)
def test_a_snapshot_that_brings_nothing_back_is_told_and_kept(
    machine: Machine, words: str, what: str, why: str
) -> None:
    (machine.out / "last-drill").write_text('{"result":"good","worked":"2020-01-01T00:00:00Z"}\n')
    time.sleep(1.1)
    when = "after" if what == DAMAGE else "before"
    between(machine, words, **{when: what.format(file=machine.root / "var/lib/etcd-snapshots/work/new.db")})
    began = datetime.now(UTC)
    done = machine.snapshot()
    assert done.returncode == 1, done.stdout
    assert why in done.stderr
    assert "It is kept; the next one is tried again" in done.stderr
    assert (last(machine)["result"], last(machine)["worked"]) == ("bad", "2020-01-01T00:00:00Z")
    assert str(newest(machine)["taken"]) >= f"{began:%Y-%m-%dT%H:%M:%SZ}"


def test_without_room_nothing_is_tried_and_the_snapshot_stays(machine: Machine) -> None:
    taken = machine.root / "var/lib/etcd-snapshots/work/new.db"
    machine.put("df", f"#!/bin/sh\necho Avail\nif [ -e {taken} ]; then echo 1000; else echo 100000000000; fi\n")
    done = machine.snapshot()
    assert done.returncode == 1
    assert "was not tried" in done.stderr
    assert "1000 bytes left, too few for a second database" in done.stderr
    assert newest(machine)["keys"]
    assert not (machine.out / "last-drill").exists()


@pytest.mark.parametrize("free", [400_000_000, 700_000_000])
def test_without_memory_for_a_second_member_nothing_is_tried_and_the_snapshot_stays(
    machine: Machine, free: int
) -> None:
    """Of the second number the member itself would have enough, and others nothing."""
    header = "  total used free shared buff/cache available"
    machine.put("free", f"#!/bin/sh\necho '{header}'\necho 'Mem: 9 9 9 9 9 {free}'\n")
    done = machine.snapshot()
    assert done.returncode == 1
    assert f"{free} bytes of memory are free, and a member of it needs up to 5" in done.stderr
    assert newest(machine)["keys"]
    assert not (machine.out / "last-drill").exists()


@pytest.mark.parametrize(
    ("words", "before", "why"),
    [
        ("--memory-limit", "exit 137", "a member of it was killed. Is 5"),
        ("--count-only", "exit 0", "the member made of it gave no answer"),
    ],
)
def test_what_says_nothing_of_the_snapshot_is_not_told_as_a_bad_one(
    machine: Machine, words: str, before: str, why: str
) -> None:
    between(machine, words, before=before)
    done = machine.snapshot()
    assert done.returncode == 1
    assert f"the snapshot is kept and was not tried to its end: {why}" in done.stderr
    assert newest(machine)["keys"]
    assert not (machine.out / "last-drill").exists()


def test_the_member_gets_no_more_memory_than_was_free(machine: Machine) -> None:
    limits = machine.root / "limits"
    # Kernels of tests may bind no memory of containers: the words of the command are seen.
    told = f'case "$*" in *"--memory-limit "*) echo "$*" >{limits} ;; esac'
    between(machine, "/work/drill/client", before=told)
    assert machine.snapshot().returncode == 0
    bound = int(limits.read_text().split("--memory-limit ")[1].split()[0])
    assert 536870912 < bound < 700_000_000


def killed(machine: Machine) -> None:
    script = machine.root / "usr/local/sbin/etcd-snapshot.sh"
    # The oldest: others of that name are shells that it began.
    between(machine, "/work/drill/client", after=f"pkill -KILL -o -f {script}")
    assert machine.snapshot().returncode == -signal.SIGKILL
    (machine.tools / "ctr").unlink()
    assert "etcd-snapshot-member" in containers(machine)
    assert not (machine.out / "last-drill").exists()


def test_a_drill_that_was_killed_leaves_nothing_to_the_next_run(machine: Machine) -> None:
    killed(machine)
    time.sleep(1.1)
    done = machine.snapshot()
    assert "tried: a member" in done.stdout, done.stdout + done.stderr


def test_what_outlives_a_drill_that_was_killed_writes_no_more_where_the_next_one_clears_up(machine: Machine) -> None:
    killed(machine)
    drill = machine.root / "var/lib/etcd-snapshots/work/drill"
    left = {*drill.iterdir()}
    command = ["ctr", "--namespace=k8s.io", "tasks", "kill", "--signal=KILL", "etcd-snapshot-member"]
    subprocess.run(command, env=machine.environment, check=True)
    while containers(machine):
        time.sleep(0.1)
    time.sleep(0.5)
    assert {*drill.iterdir()} == left
    shutil.rmtree(drill.parent)
