"""The mover's own script, as VolSync's release has it, with the real restic on a real MinIO that the rendered setup
made ready: backup, loss, the way back. Volumes are folders here: snapshots and claims of them are the cluster's.
"""

import json
import os
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from minioserver import archive_over, asked
from volumebackups import HOME
from volumesite import LOCKED, MODELS, Site, fill, good, script, serving, sums

from generator.live.status.last_volumes import EMPTY
from generator.model.backup import VolumeBackup

pytestmark = pytest.mark.real

STALE = 11
"""What restic ends with where somebody else holds the repository (since 0.17)."""
LOCKS = "s/volumes/language/language-models/locks/"


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with serving() as made:
        yield made


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The folder that the mover sees: it looks for `/data` in the list of snapshots."""
    return tmp_path / "data"


def test_what_was_damaged_and_deleted_comes_back_also_as_it_was_before(site: Site, data: Path, tmp_path: Path) -> None:
    first = fill(data, 1)
    good(site.run(HOME, data, "backup"))
    time.sleep(1.1)
    between = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    time.sleep(1.1)
    second = fill(data, 2)
    assert second != first
    good(site.run(HOME, data, "backup", "prune"))
    (data / "checkpoint.pt").write_bytes(b"overwritten")
    shutil.rmtree(data / "run-3")
    newest, older = tmp_path / "newest" / "data", tmp_path / "older" / "data"
    good(site.run(HOME, newest, "restore"))
    assert sums(newest) == second
    good(site.run(HOME, older, "restore", RESTORE_AS_OF=between, TZ="UTC"))
    assert sums(older) == first
    assert "no errors were found" in good(site.restic(HOME, "check", "--read-data"))


def test_a_wrong_password_reads_and_writes_nothing(site: Site, data: Path, tmp_path: Path) -> None:
    fill(data, 3, 5)
    good(site.run(HOME, data, "backup"))
    before = site.mc("ls", "--recursive", "s/volumes/vision/").stdout
    for action in ("backup", "restore"):
        folder = tmp_path / action / "data"
        fill(folder, 4, 1)
        held = sums(folder)
        done = site.run(HOME, folder, action, RESTIC_PASSWORD="another")
        assert done.returncode == 3
        assert "incorrect password" in done.stdout
        assert sums(folder) == held
    assert site.mc("ls", "--recursive", "s/volumes/vision/").stdout == before


def test_a_key_reaches_its_own_repository_alone(site: Site, data: Path) -> None:
    fill(data, 5, 5)
    good(site.run(HOME, data, "backup"))
    good(site.run(MODELS, data, "backup"))
    theirs, own = "s/volumes/language/language-models/config", "s/volumes/vision/vision-home/config"
    key = site.key(HOME)
    assert site.mc("cat", own, key=key).returncode == 0
    for words in (
        ("cat", theirs),
        ("rm", theirs),
        ("cp", own, "s/volumes/language/language-models/other"),
        ("cp", own, "s/volumes/vision/vision-home-2/config"),
        ("ls", "s/volumes/language/language-models/"),
        ("ls", "s/volumes/"),
        ("rb", "--force", "s/volumes"),
        ("version", "suspend", "s/volumes"),
    ):
        assert site.mc(*words, key=key).returncode != 0, words
    assert "no errors were found" in good(site.restic(MODELS, "check"))


@pytest.mark.parametrize("backup", [HOME, LOCKED], ids=["versions", "lock"])
def test_who_steals_the_key_destroys_nothing_that_root_cannot_undo(
    site: Site, data: Path, tmp_path: Path, backup: VolumeBackup
) -> None:
    held = fill(data, 6, 20)
    good(site.run(backup, data, "backup", "prune"))
    key, place = site.key(backup), f"s/{backup.target.bucket}/{backup.prefix}/"
    assert site.mc("rm", "--recursive", "--force", place, key=key).returncode == 0
    assert site.restic(backup, "snapshots").returncode != 0
    assert site.mc("rm", "--recursive", "--force", "--versions", place, key=key).returncode != 0
    below, server = f"/{backup.target.bucket}/{backup.prefix}", (site.server.address, site.ca)
    for path in (below, f"{below}/", f"{below}/config"):
        assert asked(server, key, "DELETE", path, headers={"x-minio-force-delete": "true"}) in {400, 403}
    (config,) = site.mc("--json", "ls", "--versions", f"{place}config").stdout.splitlines()[1:]
    version = json.loads(config)["versionId"]
    assert asked(server, key, "PUT", f"{below}/config", query={"versionId": version}) == 403
    packed = {"x-amz-meta-snowball-auto-extract": "true"}
    prefixes: tuple[dict[str, str], ...] = (
        {},
        {"x-amz-meta-minio-snowball-prefix": backup.prefix},
        {"x-amz-meta-minio-snowball-prefix": f"/{backup.prefix}/."},
    )
    for prefix in prefixes:
        body = archive_over("config", version)
        assert asked(server, key, "PUT", f"{below}/any.tar", body=body, headers=packed | prefix) == 403
    listed = site.mc("--json", "ls", "--recursive", "--versions", place).stdout.splitlines()
    for one in map(json.loads, listed):
        # Locks that restic took away itself would hold the repository again.
        if one.get("isDeleteMarker") and not one["key"].startswith("locks/"):
            done = site.mc("rm", "--version-id", one["versionId"], f"{place}{one['key']}")
            assert done.returncode == 0, done.stderr
    back = tmp_path / "back" / "data"
    good(site.run(backup, back, "restore"))
    assert sums(back) == held


def written_twice(site: Site, place: str) -> set[str]:
    """Return the objects with several versions that are no deletions: restic makes none but of its locks."""
    listed = map(json.loads, site.mc("--json", "ls", "--recursive", "--versions", place).stdout.splitlines())
    names = Counter(one["key"] for one in listed if not one.get("isDeleteMarker"))
    return {name for name, count in names.items() if count > 1 and not name.startswith("locks/")}


@pytest.mark.parametrize("backup", [HOME, LOCKED], ids=["versions", "lock"])
def test_what_was_written_over_is_found_by_a_comparison_and_taken_back_by_root(
    site: Site, data: Path, tmp_path: Path, backup: VolumeBackup
) -> None:
    """A new version lies on top of each pack, which a lock lets be made; and an index that is none is new there. The
    next run still goes well: it reads no pack of files again. What brings all back is in operations.md.
    """
    held = fill(data, 12, 20)
    good(site.run(backup, data, "backup", "prune"))
    theft, key, place = now(), site.key(backup), f"s/{backup.target.bucket}/{backup.prefix}/"
    assert not written_twice(site, place)
    time.sleep(2.1)
    junk = tmp_path / "junk"
    junk.write_bytes(b"junk")
    listed = site.mc("--json", "ls", "--recursive", f"{place}data/", key=key).stdout.splitlines()
    for one in map(json.loads, listed):
        assert site.mc("cp", str(junk), f"{place}data/{one['key']}", key=key).returncode == 0
    good(site.run(backup, data, "backup"))
    assert written_twice(site, place) == {f"data/{one['key']}" for one in map(json.loads, listed)}
    done = site.compare(backup, data, now())
    assert done.returncode == 1
    assert "FAILED: restic could not read snapshot" in done.stderr
    assert site.restic(backup, "check", "--read-data").returncode == 1
    assert site.mc("cp", str(junk), f"{place}index/{'0' * 64}", key=key).returncode == 0
    assert site.run(backup, data, "backup").returncode != 0
    for words in (("rm", "--recursive", "--force", place), ("cp", "--recursive", "--rewind", theft, place, place)):
        undone = site.mc(*words)
        assert undone.returncode == 0, undone.stderr
    assert "no errors were found" in good(site.restic(backup, "check", "--read-data"))
    back = tmp_path / "back" / "data"
    good(site.run(backup, back, "restore"))
    assert sums(back) == held


def killed(site: Site, data: Path, folder: Path, *before: str) -> None:
    """Kill a mover in the middle of its backup, as a node that loses power does."""
    log = folder / "killed.log"
    with log.open("w") as out:
        process = subprocess.Popen(
            [*before, "bash", str(script()), "backup"],
            env=site.mover(MODELS, data),
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        for _ in range(1200):
            if "Starting backup" in log.read_text() and site.mc("ls", LOCKS).stdout.strip():
                break
            assert process.poll() is None, log.read_text()
            time.sleep(0.05)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert "Restic completed" not in log.read_text()
    assert site.mc("ls", LOCKS).stdout.strip()


def test_a_mover_that_was_killed_is_gone_on_with_once_it_is_unlocked(site: Site, data: Path, tmp_path: Path) -> None:
    """The backup itself goes on beside the lock; what takes out old ones does not, so that the run fails."""
    fill(data, 7, 5)
    good(site.run(MODELS, data, "backup"))
    (data / "large.bin").write_bytes(os.urandom(128 * 2**20))
    held = sums(data)
    killed(site, data, tmp_path)
    again = site.run(MODELS, data, "backup")
    assert again.returncode == STALE, again.stdout + again.stderr
    assert "repository is already locked" in again.stderr
    good(site.run(MODELS, data, "unlock", "backup"))
    assert not site.mc("ls", LOCKS).stdout.strip()
    back = tmp_path / "back" / "data"
    good(site.run(MODELS, back, "restore"))
    assert sums(back) == held
    assert "no errors were found" in good(site.restic(MODELS, "check", "--read-data"))


def test_the_lock_of_another_pod_is_kept_while_it_is_young(site: Site, data: Path, tmp_path: Path) -> None:
    """Restic takes the lock of another host for good for half an hour: so long no `unlock` helps."""
    pod = ("unshare", "--uts", "sh", "-c", 'hostname another-pod && exec "$@"', "pod")
    if os.geteuid() or subprocess.run([*pod, "true"], check=False, capture_output=True).returncode:
        pytest.skip("only root gives a process another host name")
    fill(data, 11, 5)
    good(site.run(MODELS, data, "backup"))
    (data / "large.bin").write_bytes(os.urandom(128 * 2**20))
    killed(site, data, tmp_path, *pod)
    try:
        assert site.run(MODELS, data, "unlock", "backup").returncode == STALE
        back = tmp_path / "back" / "data"
        good(site.run(MODELS, back, "restore"))
        assert sums(back) == sums(data)
    finally:
        good(site.restic(MODELS, "unlock", "--remove-all"))


def test_an_empty_volume_is_no_backup_and_deletes_none(site: Site, data: Path, tmp_path: Path) -> None:
    """A volume that came up empty, as a new claim does, must not push out what there is."""
    held = fill(data, 9, 5)
    assert not EMPTY.search(good(site.run(HOME, data, "backup")))
    said = good(site.run(HOME, tmp_path / "none" / "data", "backup"))
    assert EMPTY.search(said)
    folders = tmp_path / "folders" / "data"
    (folders / "run-1").mkdir(parents=True)
    assert EMPTY.search(good(site.run(MODELS, folders, "backup")))
    back = tmp_path / "back" / "data"
    good(site.run(HOME, back, "restore"))
    assert sums(back) == held


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 1))


def test_what_was_brought_back_is_compared_file_by_file(site: Site, data: Path, tmp_path: Path) -> None:
    held = fill(data, 10, 20)
    good(site.run(HOME, data, "backup"))
    at, back = now(), tmp_path / "back" / "data"
    good(site.run(HOME, back, "restore"))
    regular = sum(1 for value in held.values() if not value.startswith("->"))
    assert f"compared: {regular} files of " in good(site.compare(HOME, back, at))
    part = back / "run-3" / "part 3 ä.bin"
    whole = part.read_bytes()
    for damage, said in (
        (lambda: part.write_bytes(whole[:-1] + b"?"), "has another content"),
        (part.unlink, "is missing"),
        (part.mkdir, "is missing"),
    ):
        damage()
        done = site.compare(HOME, back, at)
        assert done.returncode == 1
        assert said in done.stdout
        assert f"FAILED: 1 of {regular} files differ" in done.stderr
    part.rmdir()
    part.write_bytes(whole)
    (back / "latest").unlink()
    (back / "latest").symlink_to("empty")
    (back / "more").write_text("not of the backup")
    done = site.compare(HOME, back, at)
    assert "latest: leads elsewhere" in done.stdout
    assert "more: is not in the backup" in done.stdout


def test_a_comparison_with_nothing_is_no_success(site: Site, tmp_path: Path) -> None:
    """What VolSync itself calls a success: before the first backup, and from a repository that it just made."""
    early = tmp_path / "early" / "data"
    said = good(site.run(HOME, early, "restore", RESTORE_AS_OF="2020-01-01T00:00:00Z"))
    assert "No data will be restored" in said
    done = site.compare(HOME, early, "2020-01-01T00:00:00Z")
    assert done.returncode == 1
    assert "FAILED: no backup had been made by 2020-01-01T00:00:00Z" in done.stderr
