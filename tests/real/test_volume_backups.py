"""The mover's own script, as VolSync's release has it, with the real restic on a real MinIO that the rendered setup
made ready: backup, loss, the way back. Volumes are folders here: snapshots and claims of them are the cluster's.
"""

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from minioserver import ROOT_PASSWORD, ROOT_USER, Server, archive_over, asked, certificates, program
from msgspec import structs
from reference import load

from generator.components.minio.settings import settings
from generator.components.minio.volume_keys import user
from generator.components.static import read_text
from generator.components.volsync.sources import source
from generator.live.status.last_volumes import EMPTY
from generator.model.backup import BackupTarget, VolumeBackup, VolumeSource
from generator.model.quantity import Quantity
from generator.model.storage import Bucket, Lock, Objects

pytestmark = pytest.mark.real

FILES = 200
STALE = 11
"""What restic ends with where somebody else holds the repository (since 0.17)."""
HOME = VolumeBackup(
    name="vision-home",
    source=VolumeSource(team="vision", claim="home", storage_class="rbd-nvme"),
    target=BackupTarget(bucket="volumes"),
    schedule="0 21 * * *",
    size=Quantity.parse("2Ti"),
    daily_change=Quantity.parse("50Gi"),
    user=1000,
)
MODELS = structs.replace(HOME, name="language-models", source=structs.replace(HOME.source, team="language"))
LOCKED = structs.replace(HOME, name="locked-home", target=BackupTarget(bucket="locked"))
LOCKS = "s/volumes/language/language-models/locks/"
BACKUPS = (HOME, MODELS, LOCKED)
OBJECTS = Objects(pool="nas", buckets=(Bucket(name="volumes"), Bucket(name="locked", lock=Lock(days=2))))


class Site:
    """A MinIO with the buckets and users of the cluster file, and a folder for what a test needs."""

    def __init__(self, folder: Path, server: Server) -> None:
        self.folder, self.server = folder, server
        assert server.certificates
        self.ca = server.certificates / "CAs" / "ca.crt"

    def mc(self, *words: str, key: str = f"{ROOT_USER}:{ROOT_PASSWORD}") -> subprocess.CompletedProcess[str]:
        config = self.folder / "mc"
        (config / "certs" / "CAs").mkdir(parents=True, exist_ok=True)
        shutil.copy(self.ca, config / "certs" / "CAs" / "ca.crt")
        env = {"HOME": str(config), "MC_CONFIG_DIR": str(config), "MC_HOST_s": f"https://{key}@{self.server.address}"}
        command = [program("mc"), *words]
        return subprocess.run(
            command, env=env, capture_output=True, text=True, errors="replace", check=False, timeout=120
        )

    def key(self, backup: VolumeBackup) -> str:
        return f"key{backup.name}:secret{backup.name}"

    def prepare(self) -> None:
        """Run the rendered setup of MinIO as its Job does."""
        cluster = structs.replace(load("ml50"), volume_backups=BACKUPS)
        files = {f"settings/{name}": text for name, text in settings(cluster, OBJECTS)["data"].items()}
        files |= {"secrets/root/rootUser": ROOT_USER, "secrets/root/rootPassword": ROOT_PASSWORD}
        for one in BACKUPS:
            access, secret = self.key(one).split(":")
            files |= {f"secrets/{user(one)}/accessKey": access, f"secrets/{user(one)}/secretKey": secret}
        files |= {"secrets/ca.crt": self.ca.read_text(), "setup.sh": read_text("minio/setup.sh")}
        for name, text in files.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(text)
        places = {
            "PATH": f"{Path(program('mc')).parent}:/usr/bin:/bin",
            "ENDPOINT": self.server.address,
            "SETTINGS": str(self.folder / "settings"),
            "SECRETS": str(self.folder / "secrets"),
            "MC_CONFIG_DIR": str(self.folder / "setup"),
            "WAIT": "120",
        }
        command = ["sh", str(self.folder / "setup.sh")]
        done = subprocess.run(command, env=places, capture_output=True, text=True, check=False, timeout=400)
        assert done.returncode == 0, done.stdout + done.stderr

    def mover(self, backup: VolumeBackup, data: Path, **more: str) -> dict[str, str]:
        """Return the environment of a mover as VolSync gives it (v0.16.0: `mover/restic/mover.go`)."""
        access, secret = self.key(backup).split(":")
        made = source(load("ml50"), backup)
        assert made
        return {
            "PATH": f"{Path(program('restic')).parent}:/usr/bin:/bin",
            "FORGET_OPTIONS": f" --keep-within {made['spec']['restic']['retain']['within']}",
            "DATA_DIR": str(data),
            "RESTIC_CACHE_DIR": str(self.folder / f"cache-{backup.name}"),
            "RESTIC_REPOSITORY": f"s3:https://{self.server.address}/{backup.target.bucket}/{backup.prefix}",
            "RESTIC_PASSWORD": f"password of {backup.name}",
            "AWS_ACCESS_KEY_ID": access,
            "AWS_SECRET_ACCESS_KEY": secret,
            "CUSTOM_CA": str(self.ca),
            "PRIVILEGED_MOVER": "0",
            "HOME": str(self.folder),
            **more,
        }

    def run(self, backup: VolumeBackup, data: Path, *actions: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run a mover to its end."""
        data.mkdir(parents=True, exist_ok=True)
        command, env = ["bash", str(script()), *actions], self.mover(backup, data, **more)
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=300)

    def compare(self, backup: VolumeBackup, data: Path, at: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run what compares a folder with the backup of a time."""
        env = self.mover(backup, data, **more)
        command = [sys.executable, "-c", read_text("volsync/compare.py.txt"), str(data), at]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=300)

    def restic(self, backup: VolumeBackup, *words: str) -> subprocess.CompletedProcess[str]:
        env = self.mover(backup, self.folder)
        command = [program("restic"), "--cacert", str(self.ca), *words]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=300)


def script() -> Path:
    return Path(program("volsync")).resolve().with_name("mover-restic.sh")


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    program("restic"), program("volsync"), program("mc")
    with tempfile.TemporaryDirectory(prefix="volumes-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        server = Server(folder / "minio", certificates=certificates(folder / "certificates"))
        try:
            made = Site(folder, server)
            made.prepare()
            yield made
        finally:
            server.stop()


def fill(folder: Path, seed: int, count: int = FILES) -> dict[str, str]:
    """Write files as a team has them: many small ones, one that is large, odd names, an empty one, a link."""
    some = random.Random(seed)
    for number in range(count):
        file = folder / f"run-{number % 7}" / f"part {number} ä.bin"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(some.randbytes(some.randrange(1, 20_000)))
    (folder / "checkpoint.pt").write_bytes(some.randbytes(24 * 2**20))
    (folder / "empty").write_bytes(b"")
    (folder / "latest").unlink(missing_ok=True)
    (folder / "latest").symlink_to("checkpoint.pt")
    return sums(folder)


def sums(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file, and where each link leads."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_file():
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The folder that the mover sees: it looks for `/data` in the list of snapshots."""
    return tmp_path / "data"


def good(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


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
