"""A MinIO with repositories of volume backups, as the rendered setup makes it ready, and what runs there beside a
cluster: movers as VolSync has them, on folders.
"""

import contextlib
import hashlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from minioserver import ROOT_PASSWORD, ROOT_USER, Server, certificates
from msgspec import structs
from reference import load
from volumebackups import HOME

from generator.components.minio.settings import settings
from generator.components.minio.volume_keys import user
from generator.components.static import read_text
from generator.components.volsync.sources import source
from generator.model.backup import CopyTarget, VolumeBackup
from generator.model.storage import Bucket, Lock, Objects
from tools import program

FILES = 200
MODELS = structs.replace(HOME, name="language-models", source=structs.replace(HOME.source, team="language"))
LOCKED = structs.replace(HOME, name="locked-home", target=CopyTarget(bucket="locked"))
BACKUPS = (HOME, MODELS, LOCKED)
OBJECTS = Objects(pool="nas", buckets=(Bucket(name="volumes"), Bucket(name="locked", lock=Lock(days=2))))


class Site:
    """A MinIO with the buckets and users of the cluster file, and a folder for what a test needs."""

    def __init__(self, folder: Path, server: Server, backups: tuple[VolumeBackup, ...]) -> None:
        self.folder, self.server, self.backups = folder, server, backups
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
        cluster = structs.replace(load("ml50"), volume_backups=self.backups)
        files = {f"settings/{name}": text for name, text in settings(cluster, OBJECTS)["data"].items()}
        files |= {"secrets/root/rootUser": ROOT_USER, "secrets/root/rootPassword": ROOT_PASSWORD}
        for one in self.backups:
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

    def drill(self, backup: VolumeBackup, folder: Path, **more: str) -> "subprocess.CompletedProcess[str]":
        """Run what tries a backup, which takes all of it for a sample."""
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-c", read_text("volsync/drill.py.txt")]
        env = self.drilled(backup, folder) | more
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=300)

    def drilled(self, backup: VolumeBackup, folder: Path) -> dict[str, str]:
        """Return the environment of what tries a backup."""
        given = {"SAMPLE": "1000", "SAMPLE_BYTES": str(2**30), "TOO_OLD": "172800", "PATIENCE": "0", "GIVEN_UP": "1800"}
        given["READY_SECONDS"] = "4"
        own = {"RESTIC_CACHE_DIR": str(folder / "cache"), "WORK": str(folder), "TMPDIR": str(folder)}
        return self.mover(backup, folder, **given, **own, SEED="", SINCE=str(int(time.time())))

    def restic(self, backup: VolumeBackup, *words: str) -> subprocess.CompletedProcess[str]:
        env = self.mover(backup, self.folder)
        command = [program("restic"), "--cacert", str(self.ca), *words]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=300)


def script() -> Path:
    return Path(program("volsync")).resolve().with_name("mover-restic.sh")


@contextlib.contextmanager
def serving(backups: tuple[VolumeBackup, ...] = BACKUPS) -> Iterator[Site]:
    """Run MinIO, ready for some backups, until the block ends."""
    program("restic"), program("volsync"), program("mc")
    with tempfile.TemporaryDirectory(prefix="volumes-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        server = Server(folder / "minio", certificates=certificates(folder / "certificates"))
        try:
            made = Site(folder, server, backups)
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


def good(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
