"""The hard cases of backups of buckets, as rendered, by the real workflow controller in real pods between real servers.

Many objects and a very large one, a copy that is killed, a target that is full, keys and buckets that are gone, bytes
that rot on a disk, and Ceph's own gateway as the source.
"""

import contextlib
import hashlib
import json
import os
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from auditing import betrayed, stored, unused, written
from bucketpair import UNPACKED, large, many
from cephgateway import gateway
from onenode.backups import PATIENCE, READER, WRITER, at_once, fails, records
from onenode.site import Site, every, good, run_of, serving, shown, words

from generator.components.argo_workflows import NAMESPACE as ARGO
from generator.components.rook_ceph import NAMESPACE
from generator.live.apiserver import tries

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin

ODD = ('odd "<&>" 100% k\\y é', "a folder/한글 + &=?.txt", "$(touch x)", "~tilde'quote")
MANY, GIB = 10_000, 1024
"""How many small objects there are, and how many MiB the large one has."""
ACCOUNTS = tuple(f"{NAMESPACE}:{name}" for name in ("backup", "restore", "drill"))


@pytest.fixture(scope="module")
def site(backups: Site) -> Site:
    backups.api.apply(at_once(4))  # one is killed and waits for its next try, beside all others
    return backups


def backup(site: Site, name: str, *more: str, **given: str) -> "subprocess.CompletedProcess[str]":
    """Submit the backup of a bucket into its copy, as nothing in the cluster file asks for it."""
    ends = {"source_url": site.source.url, "target_url": site.target.url, "source_secret": READER}
    told = ends | {"name": name, "source_bucket": name, "target_bucket": f"{name}-backup", "target_secret": WRITER}
    told |= {"turn": "minio", "turns_in": ARGO, **given}
    return site.gen("submit", "backup", "--namespace", NAMESPACE, *words(**told), *more)


@pytest.fixture(scope="module")
def hard(site: Site) -> dict[str, str]:
    """Fill a bucket with all that is hard; returns the checksum of each object, that of the large one by SHA-256."""
    held = {key: f"content of {key}".encode() for key in ODD}
    for key, data in held.items():
        site.mc("pipe", f"source/checkpoints/{key}", text=data.decode())
    file = site.folder / "gibibyte"
    file.write_bytes(held.setdefault("empty", b""))
    site.mc("cp", str(file), "source/checkpoints/empty")
    held |= many(file, MANY)
    site.mc("cp", *UNPACKED, str(file), "source/checkpoints/archive.tar")
    sums = {key: hashlib.md5(data).hexdigest() for key, data in held.items()} | {"gibibyte": large(file, GIB)}
    site.mc("put", "--part-size", "64MiB", str(file), "source/checkpoints/gibibyte")
    file.unlink()
    assert site.listed("source/checkpoints/gibibyte")["gibibyte"][1].endswith("-16")
    time.sleep(1.1)
    return sums


@pytest.fixture(scope="module")
def killed(site: Site, hard: dict[str, str]) -> str:
    """Begin the backup of all this, and kill the container that copies, as the kernel does where memory ends; returns
    the name of the run.
    """
    ends = words(source_url=site.source.url, target_url=site.target.url, compare_percent="1")
    run = good(site.gen("submit", "backup-checkpoints", *ends))
    copy = site.target.folder / "checkpoints-backup"
    parts = site.target.folder / ".minio.sys" / "multipart"
    in_the_middle = ((copy / "many", 2), (parts, 0))
    assert any(all(more(*one) for one in in_the_middle) for _ in tries(PATIENCE)), site.gen("logs", run).stdout
    kill(site, run, "mirror")
    assert not (copy / "gibibyte").exists(), "the large object was there already"
    assert len(list((copy / "many").glob("*/*"))) < len(hard) / 2
    return run


def more(folder: Path, number: int) -> bool:
    return folder.is_dir() and len(list(folder.iterdir())) > number


def kill(site: Site, run: str, step: str) -> None:
    """Kill the container of a run's step with all that it runs."""
    from onenode.node import Node

    node = Node(site.folder)
    wanted = f'labels."io.kubernetes.container.name"==main,labels."io.kubernetes.pod.name"~="^{run}-{step}-"'
    (container,) = node.ctr("containers", "list", "--quiet", wanted).split()
    node.ctr("tasks", "kill", "--signal", "SIGKILL", container)


def test_a_container_that_is_killed_while_it_copies_is_begun_again(site: Site, killed: str) -> None:
    def first() -> list[str]:
        return [one["message"] for one in every(shown(site, killed)["steps"]) if one["name"] == "mirror(0)"]

    assert any("137" in "".join(first()) for _ in tries(PATIENCE)), shown(site, killed)
    assert shown(site, killed)["phase"] == "Running"


@pytest.fixture(scope="module")
def small(site: Site) -> str:
    """Back a bucket up whose writer can be removed; returns its name."""
    site.mc("mb", "source/small")
    site.mc("mb", "--with-lock", "target/small-backup")
    allow(site)
    site.secret("small-writer", accessKey="writes-small", secretKey="only-to-write-small")
    for key in ODD:
        site.mc("pipe", f"source/small/{key}", text=f"content of {key}")
    (site.folder / "three").write_bytes(os.urandom(3_000_000))
    site.mc("cp", str(site.folder / "three"), "source/small/three")
    time.sleep(1.1)
    good(of_small(site, "--watch"))
    return "small"


def allow(site: Site) -> None:
    site.mc("admin", "user", "add", "target", "writes-small", "only-to-write-small")
    site.mc("admin", "policy", "attach", "target", "readwrite", "--user", "writes-small")


def of_small(site: Site, *more: str) -> "subprocess.CompletedProcess[str]":
    return backup(site, "small", *more, target_secret="small-writer")


def versions(site: Site) -> list[str]:
    """Return each version of what the small bucket's copy holds."""
    return sorted(site.mc("--json", "ls", "--recursive", "--versions", "target/small-backup").splitlines())


def test_keys_that_were_removed_from_the_target_are_told_and_the_backup_stays(site: Site, small: str) -> None:
    before = versions(site)
    site.mc("admin", "user", "rm", "target", "writes-small")
    run = fails(site, of_small(site), "precheck", "The Access Key Id you provided does not exist in our records")
    assert versions(site) == before
    allow(site)
    good(site.gen("retry", run, "--watch"))
    assert len(records(site, small)) == 2


def test_bytes_that_rot_on_the_targets_disk_are_found_and_mended_from_the_source(site: Site, small: str) -> None:
    """Size and time are what they were: MinIO knows it by the checksum of its own when somebody reads."""
    before = len(records(site, small))
    (file,) = (site.target.folder / "small-backup" / "three").rglob("part.1")
    data = bytearray(file.read_bytes())
    data[1_500_000] ^= 1
    file.write_bytes(data)
    run = fails(site, of_small(site), "verify", "cannot read target/small-backup/three")
    assert "copied 0 objects" in site.gen("logs", run).stdout
    assert len(records(site, small)) == before
    site.mc("cp", str(site.folder / "three"), "source/small/three")
    time.sleep(1.1)
    good(site.gen("retry", run, "--watch"))
    assert site.digest("target/small-backup/three") == site.digest("source/small/three")


def test_a_source_bucket_that_was_removed_by_force_leaves_its_backup_whole(site: Site, small: str) -> None:
    held = {key: site.digest(f"source/small/{key}") for key in site.listed("source/small")}
    before = versions(site)
    site.mc("rb", "--force", "source/small")
    fails(site, of_small(site), "precheck", "The specified bucket does not exist")
    assert versions(site) == before
    assert {key: site.digest(f"target/small-backup/{key}") for key in held} == held
    told = words(backup_url=site.target.url, backup_bucket="small-backup", name=small)
    good(site.gen("submit", "drill-checkpoints", *told, *words(backup_secret=WRITER), "--watch"))
    (drill,) = [json.loads(site.mc("cat", f"target/small-backup/{key}")) for key in drills(site)]
    assert drill["objects"] == drill["proven"] == len(held)


def drills(site: Site) -> list[str]:
    at = "_gen/backups/_drills/small/"
    return [at + json.loads(line)["key"] for line in site.mc("--json", "ls", f"target/small-backup/{at}").splitlines()]


@pytest.fixture
def disk(site: Site) -> Iterator[Path]:
    """A file system of a few MiB, which can grow, and a server that keeps all there."""
    folder = site.folder / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96m", "tmpfs", str(folder)], check=True)
    try:
        assert site.target.certificates
        with serving(folder, site.target.certificates) as server:
            site.others["disk"] = server.url
            assert any(answers(site, "disk") for _ in tries())
            yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def answers(site: Site, name: str) -> bool:
    with contextlib.suppress(subprocess.CalledProcessError):
        site.mc("ls", name)
        return True
    return False


def test_a_disk_that_is_full_is_a_verdict_and_with_more_room_it_goes_on(site: Site, disk: Path) -> None:
    site.mc("mb", "source/heavy")
    site.mc("mb", "--with-lock", "disk/heavy-backup")
    for number in range(2):
        large(site.folder / f"heavy-{number}", 60)
        site.mc("cp", str(site.folder / f"heavy-{number}"), f"source/heavy/{number}")
    time.sleep(1.1)
    done = backup(site, "heavy", "--watch", target_url=site.others["disk"])
    assert done.returncode == 1, done.stdout
    why = "the copy is not whole: there is no room where it goes, or its quota is reached: Storage backend has reached"
    assert why in done.stdout, done.stdout
    assert "mirror(1)" not in site.gen("show", run_of(done)).stdout, "a verdict is not tried again"
    assert records(site, "heavy", "disk") == []
    subprocess.run(["mount", "-o", "remount,size=400m", str(disk)], check=True)
    good(site.gen("retry", run_of(done), "--watch"))
    for number in range(2):
        assert site.digest(f"disk/heavy-backup/{number}") == site.digest(f"source/heavy/{number}")


def test_a_bucket_of_cephs_own_gateway_is_backed_up_and_compared(site: Site) -> None:
    assert site.target.certificates
    with gateway(site.target.certificates) as ceph:
        site.others["ceph"] = ceph.url
        site.mc("mb", "ceph/from-ceph")
        site.mc("mb", "--with-lock", "target/from-ceph-backup")
        for key in ODD:
            site.mc("pipe", f"ceph/from-ceph/{key}", text=f"content of {key}")
        (site.folder / "empty").write_bytes(b"")
        site.mc("cp", str(site.folder / "empty"), "ceph/from-ceph/empty")
        whole = large(site.folder / "parts", 64)
        site.mc("put", "--part-size", "16MiB", str(site.folder / "parts"), "ceph/from-ceph/parts")
        time.sleep(1.1)
        run = good(backup(site, "from-ceph", "--watch", source_url=ceph.url, compare_percent="100"))
        assert f"and {len(ODD) + 2} that it read whole" in site.gen("logs", run).stdout
    assert site.digest("target/from-ceph-backup/parts") == whole
    for key in ODD:
        assert site.mc("cat", f"target/from-ceph-backup/{key}") == f"content of {key}"
    (record,) = records(site, "from-ceph")
    assert (record["objects"], record["moving"], record["sampled"]) == (len(ODD) + 2, 0, len(ODD) + 2)


def test_what_was_killed_is_whole_the_second_time_and_comes_back_as_it_was(
    site: Site, hard: dict[str, str], killed: str
) -> None:
    watched = site.gen("watch", killed)
    assert watched.returncode == 0, watched.stdout
    kept = map(
        json.loads, site.mc("--json", "ls", "--recursive", "--versions", "target/checkpoints-backup").splitlines()
    )
    times = Counter(one["key"] for one in kept)
    assert [key for key in hard if times[key] != 1] == [], "what was there is not copied again"
    as_it_was(site, "target/checkpoints-backup", hard)
    done = site.run("restore", "checkpoints", "--into", "checkpoints-then", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    as_it_was(site, "source/checkpoints-then", hard)


def as_it_was(site: Site, bucket: str, sums: dict[str, str]) -> None:
    """See that a bucket holds what was written into the source: all of it, by its content."""
    found = site.listed(bucket)
    found.pop("one", None)  # of another test
    assert found.keys() == sums.keys()
    assert {key: etag for key, (_, etag) in found.items() if key != "gibibyte"} == {
        key: sum_ for key, sum_ in sums.items() if key != "gibibyte"
    }
    assert site.digest(f"{bucket}/gibibyte") == sums["gibibyte"]


def test_no_right_is_unused_and_none_is_missing(site: Site) -> None:
    """After all others."""
    assert unused(site.api, site.folder, *ACCOUNTS) == set()


def test_no_secret_is_told(site: Site) -> None:
    """After all others."""
    assert "only-to-write-small" in site.secrets
    places = [*stored(site.api), *written(site.folder)]
    assert any("pod-logs/" in place and "cannot read target/small-backup/three" in text for place, text in places)
    assert betrayed(places, site.secrets) == []
